//! Verdicts from whole conversations over real sockets, including hostile conversations.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::harness::{MailServer, drain, obey, origin, verdict};
use rcpt_shared::{
    Reason, Stage,
    Status::{self, BlockedByProvider, SmtpConnectError, SmtpTimeout},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

const ADDRESS: &str = "user@sandbox.test";

async fn answer_of(server: &MailServer, environment: &[(&str, &str)]) -> (Status, Reason, Stage) {
    let route = server.route();
    let environment = [environment, &[("RCPT_ROUTES", route.as_str())]].concat();
    let verdict = verdict(&origin(&environment), ADDRESS).await;
    (verdict.status, verdict.reason, verdict.stage)
}

/// Starts a server that sends each text once the previous text was answered, and then runs `last`.
async fn saying(texts: &'static [&str], last: fn(&TcpStream)) -> MailServer {
    MailServer::serving(move |mut stream, _| async move {
        for (position, text) in texts.iter().enumerate() {
            if position > 0 && stream.read(&mut [0; 1_024]).await.unwrap_or(0) == 0 {
                return;
            }
            if stream.write_all(text.as_bytes()).await.is_err() {
                return;
            }
        }
        last(&stream);
        drain(stream).await;
    })
    .await
}

#[tokio::test]
async fn the_answer_to_rcpt_is_the_verdict() {
    for (rcpt, status, reason) in [
        ("250 2.1.5 ok", Status::Accepted, Reason::AcceptedCatchAll),
        ("550 5.1.1 no", Status::Refused, Reason::NoSuchMailbox),
        ("452 4.2.2 full", Status::Refused, Reason::MailboxFull),
        ("550 5.7.1 blocked", BlockedByProvider, Reason::Blocked),
        ("451 4.3.0 broken", SmtpConnectError, Reason::ServerUnavailable),
    ] {
        for extensions in ["", "250-PIPELINING\r\n"] {
            let server = MailServer::answering("220 mx", extensions, rcpt).await;
            assert_eq!(answer_of(&server, &[]).await, (status, reason, Stage::Rcpt), "{rcpt}");
        }
    }
}

#[tokio::test]
async fn a_server_that_was_not_ready_is_asked_once_more() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = MailServer::serving(move |stream, number| {
        counted.fetch_add(1, Ordering::Relaxed);
        let rcpt = if number == 0 { "450 4.3.2 Service currently unavailable" } else { "250 ok" };
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            // The server also accepts the control recipient.
            let _ = obey(&mut stream, "", "250 ok", rcpt).await;
        }
    })
    .await;
    let answer = answer_of(&server, &[("RCPT_SESSION_RECIPIENTS", "1")]).await;
    assert_eq!(answer, (Status::Accepted, Reason::AcceptedCatchAll, Stage::Rcpt));
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn greylisting_says_when_to_come_back() {
    let server = MailServer::answering("220 mx", "", "451 4.7.1 back in 7 minutes").await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let verdict = verdict(&origin, ADDRESS).await;
    assert_eq!((verdict.reason, verdict.retry_after), (Reason::Greylisted, Some(420)));
}

#[tokio::test]
async fn a_silent_server_is_a_timeout_at_its_stage_when_the_budget_ends() {
    let scripts: [(&'static [&str], Stage); 5] = [
        (&[], Stage::Banner),
        (&["220-still "], Stage::Banner),
        (&["220 mx\r\n"], Stage::Ehlo),
        (&["220 mx\r\n", "250 mx\r\n"], Stage::Mail),
        (&["220 mx\r\n", "250-mx\r\n250 PIPELINING\r\n", "250 ok\r\n"], Stage::Rcpt),
    ];
    for (texts, stage) in scripts {
        let server = saying(texts, |_| ()).await;
        let started = now();
        let answer = answer_of(&server, &[("RCPT_BUDGET_MS", "300")]).await;
        assert_eq!(answer, (SmtpTimeout, Reason::Timeout, stage));
        let took = started.elapsed();
        // Without the budget, the probe would never end; a busy machine may take a little longer.
        assert!((300..3_000).contains(&took.as_millis()), "{took:?}");
    }
}

#[tokio::test]
async fn one_byte_at_a_time_does_not_stretch_the_budget() {
    let server = MailServer::serving(|mut stream, _| async move {
        while stream.write_all(b"2").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let started = now();
    let answer = answer_of(&server, &[("RCPT_BUDGET_MS", "300")]).await;
    assert_eq!(answer, (SmtpTimeout, Reason::Timeout, Stage::Banner));
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_reset_at_any_stage_is_a_failed_connection() {
    let scripts: [(&'static [&str], Stage); 4] = [
        (&[], Stage::Banner),
        (&["220 mx\r\n"], Stage::Ehlo),
        (&["220 mx\r\n", "250 mx\r\n"], Stage::Mail),
        (&["220 mx\r\n", "250 mx\r\n", "250 ok\r\n"], Stage::Rcpt),
    ];
    for (texts, stage) in scripts {
        let server = MailServer::serving(move |mut stream, _| async move {
            for text in texts {
                stream.write_all(text.as_bytes()).await.unwrap();
                let _ = stream.read(&mut [0; 1_024]).await;
            }
            // Closing without lingering sends a reset.
            stream.set_zero_linger().unwrap();
        })
        .await;
        assert_eq!(
            answer_of(&server, &[]).await,
            (SmtpConnectError, Reason::ConnectionFailed, stage)
        );
    }
}

#[tokio::test]
async fn garbage_is_a_protocol_error() {
    for banner in ["HTTP/1.1 400 Bad Request", "220-a\r\n221 b", "354 ok"] {
        let server = MailServer::answering(banner, "", "250 ok").await;
        let answer = answer_of(&server, &[]).await;
        assert_eq!(answer, (SmtpConnectError, Reason::ProtocolError, Stage::Banner), "{banner}");
    }
}

#[tokio::test]
async fn an_unavailable_server_is_told_by_its_code() {
    let server = MailServer::answering("421 4.3.2 shutting down", "", "250 ok").await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let verdict = verdict(&origin, ADDRESS).await;
    assert_eq!(
        (verdict.status, verdict.reason, verdict.stage, verdict.smtp_code),
        (SmtpConnectError, Reason::ServerUnavailable, Stage::Banner, Some(421))
    );
    assert_eq!(verdict.enhanced_code.as_deref(), Some("4.3.2"));
}

#[tokio::test]
async fn a_refused_connection_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let route = format!("sandbox.test={}", listener.local_addr().unwrap());
    drop(listener);
    let verdict = verdict(&origin(&[("RCPT_ROUTES", &route)]), ADDRESS).await;
    assert_eq!(
        (verdict.status, verdict.reason, verdict.stage),
        (SmtpConnectError, Reason::ConnectionFailed, Stage::Connect)
    );
}

#[tokio::test]
async fn a_server_that_closes_on_quit_has_not_changed_the_verdict() {
    let texts: &'static [&str] =
        &["220 mx\r\n", "250-mx\r\n250 PIPELINING\r\n", "250 ok\r\n250 ok\r\n250 ok\r\n"];
    let server = saying(texts, |stream| stream.set_zero_linger().unwrap()).await;
    assert_eq!(answer_of(&server, &[]).await, (Status::Accepted, Reason::Accepted, Stage::Rcpt));
}

#[expect(clippy::disallowed_methods, reason = "a test measures real time")]
fn now() -> Instant {
    Instant::now()
}
