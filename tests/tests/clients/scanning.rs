//! `rcpt scan` with the real service: killed halfway, it continues, and the file is complete.

use std::{fmt::Write as _, fs, process::Stdio, time::Duration};

use rcpt_tests::{CommandLine, Stack, proof};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    time::{Instant, sleep},
};

use crate::{hostile, stack};

/// Time limit of a step of a test.
const LIMIT: Duration = Duration::from_secs(400);

/// The address of row `n`, and the expected text after it.
fn row(n: usize) -> (String, &'static str) {
    match n % 8 {
        0 => (format!("accepts+{n}@sandbox.test"), "deliverable,accepted,,false,false,false,true"),
        1 => (format!("rejects+{n}@sandbox.test"), "undeliverable,no_such_mailbox,,"),
        2 => (format!("blocked+{n}@sandbox.test"), "unknown,blocked,,"),
        3 => (format!("full+{n}@sandbox.test"), "undeliverable,mailbox_full,,"),
        // Repeats the address of an earlier row.
        4 => (
            format!("accepts+{}@sandbox.test", n - 4),
            "deliverable,accepted,,false,false,false,true",
        ),
        5 => ("nobody at all".to_owned(), "not_an_address,"),
        6 => (format!("x{n}@nomx.sandbox.test"), "undeliverable,null_mx,,"),
        _ => (String::new(), ",,,,,,"),
    }
}

#[tokio::test]
async fn a_list_that_is_killed_in_the_middle_goes_on_and_is_whole() {
    let stack = Stack::start().await;
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    let count = proof::count(2_400, 100_000);
    let command = CommandLine::new(&stack.edge.url).with_key(&account.api_key);
    let mut text = "name;email;note\n".to_owned();
    for n in 0..count {
        writeln!(text, "person {n};{};\"a; \"\"quoted\"\" note\"", row(n).0).unwrap();
    }
    fs::write(command.home().join("customers.csv"), text).unwrap();

    let mut first = command.command(&["scan", "customers.csv"]).spawn().unwrap();
    let deadline = Instant::now() + LIMIT;
    loop {
        let page = account.get("/scans").await.body;
        if page["scans"][0]["answered"].as_u64() > Some(0) {
            break;
        }
        assert!(first.try_wait().unwrap().is_none(), "it ended too early: {page}");
        assert!(Instant::now() < deadline, "nothing is answered: {page}");
        sleep(Duration::from_millis(20)).await;
    }
    first.kill().await.unwrap();
    let journal = command.home().join("customers.verdicts.rcpt-journal");
    let journal_text = fs::read_to_string(&journal).unwrap();
    assert!(
        journal_text.contains("scan_") && !journal_text.contains("sandbox.test"),
        "{journal_text}"
    );

    let ran = command.run(&["scan", "customers.csv"], "").await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!journal.exists());
    let written = fs::read_to_string(command.home().join("customers.verdicts.csv")).unwrap();
    let mut lines = written.lines().skip(1);
    for n in 0..count {
        let (address, verdict) = row(n);
        let line = lines.next().unwrap_or_default();
        let expected = verdict.replace(',', ";");
        let start = format!("person {n};{address};\"a; \"\"quoted\"\" note\";{expected}");
        assert!(line.starts_with(&start), "{line}\nis not\n{start}");
    }
    assert_eq!(lines.next(), None, "each row once");
    let quota = account.quota().await.body;
    assert_eq!((&quota["total_scans"], &quota["completed_scans"]), (&1.into(), &1.into()));
    let used = &quota["email_checks"]["used_today"];
    assert_eq!(used, &Value::from(0), "a scan takes no checks");

    let listed = command.run(&["scans"], "").await;
    let id = listed.lines()[0]["id"].as_str().unwrap().to_owned();
    let results = command.run(&["results", &id], "").await;
    assert_eq!(results.lines().len(), count / 8 * 5, "each address once: {}", results.stderr);
}

#[tokio::test]
async fn a_piped_list_is_scanned_told_to_a_receiver_and_deleted() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let command = CommandLine::new(&edge.url).with_key(&account.api_key);
    let list = "accepts+piped@sandbox.test\r\nnobody\r\nrejects+piped@sandbox.test\r\n";
    let ran = command.run(&["scan", "-"], list).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let expected = "accepts+piped@sandbox.test,deliverable,accepted,,false,false,false,true\r\n\
                    nobody,not_an_address,There is no @ in it.,,,,,\r\n\
                    rejects+piped@sandbox.test,undeliverable,no_such_mailbox,,false,false,false,true\r\n";
    assert_eq!(ran.out, expected);
    assert!(ran.stderr.contains("1 deliverable, 1 undeliverable."), "{ran:?}");

    let receiver = hostile::receiver();
    let mut listen = command.command(&["listen", "--replay", "--forward-to", &receiver]);
    let mut listen = listen.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(listen.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap_or_default();
    assert!(line.starts_with("scan.completed  msg_") && line.ends_with("  204"), "{line}");
    listen.kill().await.unwrap();

    let id = command.run(&["scans"], "").await.lines()[0]["id"].as_str().unwrap().to_owned();
    let deleted = command.run(&["scans", "delete", &id], "").await;
    assert_eq!(deleted.code, 0, "{deleted:?}");
    let gone = command.run(&["results", &id], "").await;
    assert_eq!((gone.code, gone.out.as_str()), (12, ""), "{gone:?}");
}
