//! Servers whose replies don't match our commands: one too many, none, or a late one. No session with them accepts a
//! recipient who doesn't exist, also after other recipients.

use std::time::Duration;

use crate::harness::{MailServer, origin, verdict};
use rcpt_shared::Status;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    sync::mpsc,
    time::sleep,
};

/// Deviations of a server; each time is in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Habit {
    /// The server takes one command after the other.
    step_by_step: bool,
    /// Replies to RSET: the delay of each, and its text.
    resets: &'static [(u64, &'static str)],
    /// MAIL and EHLO are answered twice, the second time after this delay.
    second_mail: Option<u64>,
    second_ehlo: Option<u64>,
    /// Time for looking a recipient up.
    look_up: u64,
    /// A recipient who doesn't exist gets no reply.
    ignores_unknown: bool,
    /// A further reply to each refused recipient, after this delay.
    second_refusal: Option<u64>,
}

const NORMAL: &[(u64, &str)] = &[(0, "250 ok")];

async fn serve(stream: TcpStream, habit: Habit) {
    let (reader, mut writer) = stream.into_split();
    let (say, mut said) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        while let Some(text) = said.recv().await {
            if writer.write_all(format!("{text}\r\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    // A delayed reply doesn't hold up the replies to later commands.
    let later = |delay: u64, text: &str| {
        let (say, text) = (say.clone(), text.to_owned());
        if delay == 0 {
            let _ = say.send(text);
            return;
        }
        tokio::spawn(async move {
            sleep(Duration::from_millis(delay)).await;
            let _ = say.send(text);
        });
    };
    later(0, "220 mx");
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        match line.get(..4) {
            Some("EHLO") => {
                let offers = if habit.step_by_step { "250 mx" } else { "250-mx\r\n250 PIPELINING" };
                later(0, offers);
                habit.second_ehlo.into_iter().for_each(|delay| later(delay, "250 mx"));
            }
            Some("MAIL") => {
                later(0, "250 ok");
                habit.second_mail.into_iter().for_each(|delay| later(delay, "250 ok"));
            }
            Some("RSET") => habit.resets.iter().for_each(|(delay, text)| later(*delay, text)),
            Some("RCPT") => {
                sleep(Duration::from_millis(habit.look_up)).await;
                if line.contains("<ann") {
                    later(0, "250 ok");
                } else if !habit.ignores_unknown {
                    later(0, "550 no such user");
                    habit
                        .second_refusal
                        .into_iter()
                        .for_each(|delay| later(delay, "550 no such user"));
                }
            }
            Some("QUIT") => return later(0, "221 bye"),
            _ => later(0, "250 ok"),
        }
    }
}

#[tokio::test]
async fn no_habit_of_a_server_turns_an_invented_name_into_a_mailbox() {
    let two: &[(u64, &str)] = &[(0, "250 ok"), (0, "250 ok")];
    let usual = Habit { resets: NORMAL, ..Habit::default() };
    let habits = [
        usual,
        Habit { resets: two, look_up: 150, ..usual },
        Habit { resets: two, ..usual },
        Habit {
            resets: &[(0, "250 ok"), (30, "250 ok")],
            look_up: 250,
            step_by_step: true,
            ..usual
        },
        Habit { resets: &[(0, "250 ok"), (30, "250 ok")], look_up: 150, ..usual },
        Habit { resets: &[(40, "250 ok")], look_up: 150, ..usual },
        Habit { resets: &[], look_up: 50, ..usual },
        Habit { resets: &[], step_by_step: true, ..usual },
        Habit { resets: &[(0, "220 ready")], ..usual },
        Habit { second_mail: Some(0), look_up: 150, ..usual },
        Habit { second_mail: Some(20), look_up: 150, ..usual },
        Habit { second_mail: Some(20), look_up: 150, step_by_step: true, ..usual },
        Habit { second_ehlo: Some(20), look_up: 150, ..usual },
        Habit { ignores_unknown: true, ..usual },
        Habit { second_refusal: Some(0), ..usual },
        Habit { second_refusal: Some(100), ..usual },
        Habit { second_refusal: Some(100), look_up: 60, ..usual },
        Habit { second_refusal: Some(30), look_up: 60, ..usual },
        Habit { second_refusal: Some(100), look_up: 60, step_by_step: true, ..usual },
        Habit { second_refusal: Some(30), look_up: 60, step_by_step: true, ..usual },
    ];
    let runs = habits.into_iter().enumerate().map(|(number, habit)| async move {
        let server = MailServer::serving(move |stream, _| serve(stream, habit)).await;
        let origin = origin(&[("RCPT_ROUTES", &server.route()), ("RCPT_BUDGET_MS", "3000")]);
        let mut existing = 0;
        for name in ["ann", "dead1", "dead2", "ann2", "dead3", "dead4", "ann3"] {
            let status = verdict(&origin, &format!("{name}@sandbox.test")).await.status;
            let is_wrong = match status {
                Status::Accepted => !name.starts_with("ann"),
                Status::Refused => name.starts_with("ann"),
                _ => false,
            };
            assert!(!is_wrong, "{number} {habit:?}: {name} is {status:?}");
            existing += usize::from(status == Status::Accepted);
        }
        (number, existing, habit.resets.is_empty())
    });
    let answered = futures_util::future::join_all(runs).await;
    // The existing mailboxes are found, except at servers that never answer RSET.
    assert!(answered.iter().all(|(_, existing, mute)| (*existing == 3) != *mute), "{answered:?}");
}
