//! A process that the harness has started ends with all its children.

use std::{process::Command, time::Duration};

use rcpt_tests::{Process, process::folder};

const LIMIT: Duration = Duration::from_secs(60);

fn shell(script: &str) -> Process {
    let folder = folder::scratch("process").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::spawn_with_grace("shell", &command, &folder, Duration::from_millis(300)).unwrap()
}

fn alive(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat"));
    // A zombie has ended, although its parent hasn't read its status yet.
    status.is_ok_and(|line| !line.contains(") Z "))
}

async fn id_after(process: &mut Process, word: &str) -> String {
    let line = process.wait_for_line(word, LIMIT).await.unwrap();
    line.trim_start_matches(word).trim().to_owned()
}

#[tokio::test]
async fn dropping_a_process_ends_what_it_started_even_if_it_ignores_sigterm() {
    let mut process = shell("trap '' TERM; sleep 600 & echo child $!; echo self $$; wait; wait");
    let ids = [id_after(&mut process, "child").await, id_after(&mut process, "self").await];
    assert!(ids.iter().all(|id| alive(id)));
    drop(process);
    assert!(!ids.iter().any(|id| alive(id)));
}

#[tokio::test]
async fn a_program_that_ends_by_itself_takes_its_children_with_it_and_keeps_its_code() {
    let mut process = shell("sleep 600 & echo child $!; exit 7");
    let child = id_after(&mut process, "child").await;
    let status = process.wait_for_end(LIMIT).await.unwrap();
    assert_eq!(Process::code(status), 7);
    drop(process);
    assert!(!alive(&child));
}

#[tokio::test]
async fn sigterm_lets_a_program_finish() {
    let mut process =
        shell("trap 'echo finished; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    process.wait_for_line("ready", LIMIT).await.unwrap();
    process.terminate();
    let status = process.wait_for_end(LIMIT).await.unwrap();
    assert_eq!(Process::code(status), 0);
    assert!(process.log().contains("finished"));
}

#[tokio::test]
async fn waiting_for_a_program_that_has_ended_fails_at_once_and_shows_its_log() {
    let mut process = shell("echo why; exit 3");
    let error = process.wait_for_line("never", Duration::from_secs(600)).await.unwrap_err();
    assert!(error.to_string().contains("why"), "{error}");
}
