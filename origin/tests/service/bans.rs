//! A machine that answered a moment ago and now refuses us has banned us, in whatever form: lists wait, and single
//! checks ask on.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::harness::{
    batch, batch_verdicts,
    internet::{Internet, one_machine},
    verdict,
};
use rcpt_shared::{BatchLine, NotAsked, Reason, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// The server's habit: open, closing each connection, or refusing our address in words.
const OPEN: usize = 0;
const CLOSED: usize = 1;
const BLOCKED: usize = 2;

#[derive(Default)]
struct Server {
    habit: AtomicUsize,
    sessions: AtomicUsize,
}

async fn serve(stream: TcpStream, server: Arc<Server>) {
    server.sessions.fetch_add(1, Ordering::Relaxed);
    let mut stream = BufReader::new(stream);
    let (mut line, mut reply) = (String::new(), "220 mx");
    loop {
        match server.habit.load(Ordering::Relaxed) {
            OPEN => {}
            CLOSED => return,
            _ => reply = "554 5.7.1 Your IP address is blocked here",
        }
        if stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_err() {
            return;
        }
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        reply = match line.get(..4) {
            Some("EHLO") => "250-mx\r\n250 PIPELINING",
            Some("RCPT") if line.contains("<ann") => "250 2.1.5 ok",
            Some("RCPT") => "550 5.1.1 no such user",
            _ => "250 ok",
        };
    }
}

async fn internet() -> (Internet, Arc<Server>) {
    let server = Arc::new(Server::default());
    let serving = server.clone();
    let serve = move |stream, _: IpAddr| serve(stream, serving.clone());
    (Internet::start(one_machine("127.8.1.1"), serve).await, server)
}

fn people(domain: usize) -> Vec<String> {
    (0..5).map(|n| format!("ann{n}@d{domain}.org")).collect()
}

#[tokio::test]
async fn a_list_waits_for_a_machine_that_answered_and_now_refuses_us_until_it_answers_again() {
    for (refusal, failure) in [
        (CLOSED, (Status::SmtpConnectError, Reason::ConnectionFailed)),
        (BLOCKED, (Status::BlockedByProvider, Reason::Blocked)),
    ] {
        let (internet, server) = internet().await;
        let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
        server.habit.store(refusal, Ordering::Relaxed);
        let stranger = batch_verdicts(&origin, &people(1)[..1]).await.remove(0).unwrap();
        assert_eq!((stranger.status, stranger.reason), failure, "it has never answered");
        server.habit.store(OPEN, Ordering::Relaxed);
        let accepted = verdict(&origin, "ann@d2.org").await;
        assert_eq!(accepted.status, Status::Accepted);
        server.habit.store(refusal, Ordering::Relaxed);
        for line in batch(&origin, &people(3), Some("list")).await {
            match line {
                BatchLine::NotAsked(NotAsked { not_asked_retry_after, .. }) => {
                    assert!((10..=3_600).contains(&not_asked_retry_after));
                }
                BatchLine::Answer(answer) => panic!("{answer:?}"),
                BatchLine::End(end) => assert_eq!((end.answered, end.not_asked), (0, 5)),
            }
        }
        let before = server.sessions.load(Ordering::Relaxed);
        assert_eq!(batch(&origin, &people(7), Some("list")).await.len(), 6);
        let after = server.sessions.load(Ordering::Relaxed);
        assert_eq!(after, before, "a line asks whether it is over a minute later");
        let single = verdict(&origin, "ann@d4.org").await;
        assert_eq!((single.status, single.reason), failure, "a person isn't kept waiting");
        server.habit.store(OPEN, Ordering::Relaxed);
        assert_eq!(verdict(&origin, "ann@d5.org").await.status, Status::Accepted);
        let verdicts = batch_verdicts(&origin, &people(6)).await;
        assert!(verdicts.iter().flatten().all(|verdict| verdict.status == Status::Accepted));
        assert_eq!(verdicts.iter().flatten().count(), 5);
    }
}
