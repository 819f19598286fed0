//! EHLO or HELO: the greeting that a host accepts is remembered.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::harness::{MailServer, origin, verdict};
use rcpt_shared::{Reason, Status};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// The commands of each session, in the order of sessions.
type Commands = Arc<Mutex<Vec<Vec<String>>>>;

/// Starts a server that replies to each command with the result of `answer`, which gets the number
/// of the session.
async fn server(commands: &Commands, answer: fn(usize, &str) -> &'static str) -> MailServer {
    let commands = commands.clone();
    MailServer::serving(move |stream, session| {
        let commands = commands.clone();
        async move {
            commands.lock().push(Vec::new());
            let mut stream = BufReader::new(stream);
            let (mut line, mut reply) = (String::new(), "220 mx");
            while stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_ok() {
                line.clear();
                if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return;
                }
                let verb = line.split([' ', '\r']).next().unwrap();
                reply = answer(session, verb);
                commands.lock()[session].push(verb.to_owned());
            }
        }
    })
    .await
}

/// Probes `count` addresses, each in its own session.
async fn ask(server: &MailServer, count: usize) -> Vec<(Status, Reason)> {
    let origin = origin(&[("RCPT_ROUTES", &*server.route()), ("RCPT_SESSION_RECIPIENTS", "1")]);
    let mut verdicts = Vec::new();
    for n in 0..count {
        let verdict = verdict(&origin, &format!("u{n}@sandbox.test")).await;
        // The host's catch-all behaviour is tested separately.
        let reason = match verdict.reason {
            Reason::AcceptedCatchAll => Reason::Accepted,
            other => other,
        };
        verdicts.push((verdict.status, reason));
    }
    verdicts
}

fn greetings(commands: &Commands) -> Vec<Vec<String>> {
    let mut sessions = commands.lock().clone();
    for commands in &mut sessions {
        commands.retain(|verb| ["EHLO", "HELO"].contains(&verb.as_str()));
    }
    sessions
}

const ACCEPTED: (Status, Reason) = (Status::Accepted, Reason::Accepted);

#[tokio::test]
async fn a_host_that_takes_helo_alone_is_not_asked_with_ehlo_again() {
    let commands = Commands::default();
    let server =
        server(&commands, |_, verb| if verb == "EHLO" { "500 what?" } else { "250 ok" }).await;
    assert_eq!(ask(&server, 3).await, [ACCEPTED; 3]);
    assert_eq!(greetings(&commands), [&["EHLO", "HELO"][..], &["HELO"], &["HELO"]]);
}

#[tokio::test]
async fn a_host_that_takes_helo_no_more_is_asked_with_ehlo() {
    let commands = Commands::default();
    let server = server(&commands, |session, verb| match (session, verb) {
        (0, "EHLO") | (1.., "HELO") => "502 what?",
        _ => "250 ok",
    })
    .await;
    assert_eq!(ask(&server, 3).await, [ACCEPTED; 3]);
    assert_eq!(greetings(&commands), [&["EHLO", "HELO"][..], &["HELO", "EHLO"], &["EHLO"]]);
}

#[tokio::test]
async fn a_host_that_demands_encryption_may_offer_it_in_the_next_session() {
    let commands = Commands::default();
    let server = server(&commands, |session, verb| match (session, verb) {
        (0, "EHLO") => "502 not yet",
        (1, "MAIL") => "530 5.7.0 Must issue a STARTTLS command first",
        _ => "250 ok",
    })
    .await;
    let verdicts = ask(&server, 3).await;
    assert_eq!(verdicts, [ACCEPTED, (Status::BlockedByProvider, Reason::Blocked), ACCEPTED]);
    assert_eq!(greetings(&commands), [&["EHLO", "HELO"][..], &["HELO"], &["EHLO"]]);
}
