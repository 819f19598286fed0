//! Sessions over real sockets are shared between checks, and polite to servers.

use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use crate::harness::{MailServer, origin, verdict};
use rcpt_origin::probe::Prober;
use rcpt_shared::{Address, BatchEnd, BatchLine, CatchAll, Reason, Stage, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    task::JoinSet,
};

/// A server's counters.
#[derive(Default)]
struct ServerCounters {
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
    /// Recipients that don't exist.
    unknown: AtomicUsize,
    /// Source addresses of the connections.
    sources: Mutex<HashSet<IpAddr>>,
}

/// Starts a server that accepts only `known*`. `after` decides whether a session is closed, given its number and the
/// number of answered commands.
async fn server(counters: &Arc<ServerCounters>, after: fn(usize, usize) -> bool) -> MailServer {
    let counters = counters.clone();
    MailServer::serving(move |stream, number| {
        let counters = counters.clone();
        async move {
            counters.connections.fetch_add(1, Ordering::Relaxed);
            let open = counters.open.fetch_add(1, Ordering::Relaxed) + 1;
            counters.most_open.fetch_max(open, Ordering::Relaxed);
            counters.sources.lock().insert(stream.peer_addr().unwrap().ip());
            let _ = converse(&counters, stream, number, after).await;
            counters.open.fetch_sub(1, Ordering::Relaxed);
        }
    })
    .await
}

async fn converse(
    counters: &ServerCounters,
    stream: TcpStream,
    number: usize,
    closes: fn(usize, usize) -> bool,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(b"220 mx\r\n").await?;
    let mut line = String::new();
    for commands in 0.. {
        line.clear();
        if stream.read_line(&mut line).await? == 0 || closes(number, commands) {
            break;
        }
        let answer = match line.split([' ', '\r']).next().unwrap() {
            "EHLO" => "250-mx\r\n250 PIPELINING",
            "RCPT" if line.starts_with("RCPT TO:<known") => "250 2.1.5 ok",
            "RCPT" if line.starts_with("RCPT TO:<slow") => {
                tokio::time::sleep(Duration::from_millis(2_200)).await;
                "550 5.1.1 no such user here"
            }
            "RCPT" if line.starts_with("RCPT TO:<busy") => "450 4.2.1 Too many messages, slow down",
            "RCPT" if line.starts_with("RCPT TO:<grey") => "451 4.7.1 Greylisted, try again later",
            "RCPT" => {
                counters.unknown.fetch_add(1, Ordering::Relaxed);
                "550 5.1.1 no such user here"
            }
            _ => "250 ok",
        };
        stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_next_address_uses_the_same_session_and_learns_nothing_of_the_last() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_SESSION_RECIPIENTS", "100")];
    let origin = origin(&environment);
    for n in 0..20 {
        let is_known = n % 20 != 3;
        let name = if is_known { "known" } else { "nobody" };
        let verdict = verdict(&origin, &format!("{name}{n}@sandbox.test")).await;
        let due = if is_known { Status::Accepted } else { Status::Refused };
        assert_eq!(verdict.status, due, "{n}");
    }
    // The second address may be probed while the first session probes the control recipient.
    assert!(counters.connections.load(Ordering::Relaxed) <= 2);
}

#[tokio::test]
async fn a_stale_session_is_replaced_without_anybody_noticing() {
    let counters = Arc::new(ServerCounters::default());
    // The first session ends when the second envelope comes: EHLO, MAIL, RCPT and RSET were answered.
    let server = server(&counters, |number, commands| number == 0 && commands >= 4).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    for n in 0..3 {
        let verdict = verdict(&origin, &format!("known{n}@sandbox.test")).await;
        assert_eq!((verdict.status, verdict.reason), (Status::Accepted, Reason::Accepted), "{n}");
    }
    assert_eq!(counters.connections.load(Ordering::Relaxed), 2);
}

/// A refusal in a reused session may concern the session's earlier users, and there may be many idle sessions.
#[tokio::test]
async fn a_refusal_of_us_in_a_used_session_is_asked_about_in_a_new_one_however_many_lie_idle() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let mut all = JoinSet::new();
    for n in 0..6 {
        let origin = origin.clone();
        all.spawn(async move { verdict(&origin, &format!("known{n}@sandbox.test")).await.status });
    }
    assert_eq!(all.join_all().await, [Status::Accepted; 6]);
    let idle = counters.connections.load(Ordering::Relaxed);
    assert!(idle >= 6, "{idle}");
    let verdict = verdict(&origin, "busy@sandbox.test").await;
    assert_eq!((verdict.status, verdict.reason), (Status::BlockedByProvider, Reason::RateLimited));
    assert_eq!(counters.connections.load(Ordering::Relaxed), idle + 1);
}

#[tokio::test]
async fn identical_questions_in_flight_are_asked_once() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let mut all = JoinSet::new();
    for _ in 0..50 {
        let origin = origin.clone();
        all.spawn(async move { verdict(&origin, "known@sandbox.test").await.status });
    }
    assert_eq!(all.join_all().await, [Status::Accepted; 50]);
    assert_eq!(counters.connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn details_hold_the_evidence_and_no_address() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let refused = verdict(&origin, "info@sandbox.test").await;
    assert_eq!((refused.status, refused.reason), (Status::Refused, Reason::NoSuchMailbox));
    let details = refused.details.unwrap();
    assert_eq!(details.smtp_text.as_deref(), Some("no such user here"));
    assert_eq!(details.catch_all, CatchAll::Unknown, "of one name");
    assert!(details.traits.role_account && !details.traits.disposable);

    let known = verdict(&origin, "known@sandbox.test").await;
    assert_eq!((known.reason, known.details.unwrap().catch_all), (Reason::Accepted, CatchAll::No));
}

#[tokio::test]
async fn a_domain_that_takes_everybody_is_told_as_such() {
    for extensions in ["", "250-PIPELINING\r\n"] {
        let server = MailServer::answering("220 mx", extensions, "250 ok").await;
        let origin = origin(&[("RCPT_ROUTES", &server.route())]);
        for _ in 0..2 {
            let verdict = verdict(&origin, "anyone@sandbox.test").await;
            assert_eq!(verdict.reason, Reason::AcceptedCatchAll, "{extensions}");
            assert_eq!(verdict.details.unwrap().catch_all, CatchAll::Yes);
        }
    }
}

#[tokio::test]
async fn a_verdict_without_a_session_has_details_too() {
    let origin = origin(&[]);
    let verdict = verdict(&origin, "someone@gmial.invalid").await;
    assert_eq!((verdict.reason, verdict.stage), (Reason::DomainNotFound, Stage::Dns));
    let details = verdict.details.unwrap();
    assert_eq!((details.catch_all, details.smtp_text), (CatchAll::Unknown, None));
}

#[tokio::test]
async fn a_batch_for_a_route_answers_every_address_and_ends_with_a_line() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let environment = [("RCPT_ROUTES", &*server.route()), ("RCPT_SESSION_RECIPIENTS", "100")];
    let origin = origin(&environment);
    let addresses: Vec<_> = (0..500).map(|n| format!("known{n}@sandbox.test")).collect();
    let body = serde_json::json!({ "addresses": addresses }).to_string();
    let request = axum::http::Request::post("/v1/probe/batch")
        .header("authorization", format!("Bearer {}", crate::harness::ticket(&body)))
        .body(axum::body::Body::from(body))
        .unwrap();
    let response = crate::harness::send(&origin, request).await;
    assert_eq!(response.status(), axum::http::StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let text = axum::body::to_bytes(response.into_body(), 1_000_000).await.unwrap();
    let mut indexes: Vec<usize> = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .filter_map(|line| match serde_json::from_slice(line).unwrap() {
            BatchLine::Answer(answer) => {
                assert_eq!(answer.verdict.status, Status::Accepted);
                Some(answer.index)
            }
            BatchLine::End(end) => {
                assert_eq!(end, BatchEnd { answered: 500, not_asked: 0 });
                None
            }
            BatchLine::NotAsked(missed) => panic!("{missed:?}"),
        })
        .collect();
    indexes.sort_unstable();
    assert!(indexes.into_iter().eq(0..500));
    let most_open = counters.most_open.load(Ordering::Relaxed);
    assert!(
        most_open <= 9,
        "{most_open}: as many as are asked about at once, and the control recipient"
    );
    assert!(counters.connections.load(Ordering::Relaxed) <= 13, "a hundred recipients a session");
}

#[tokio::test]
async fn a_batch_of_none_or_too_many_is_malformed() {
    let origin = origin(&[]);
    for count in [0, 501] {
        let body = serde_json::json!({ "addresses": vec!["a@b.invalid"; count] }).to_string();
        let request = axum::http::Request::post("/v1/probe/batch")
            .header("authorization", format!("Bearer {}", crate::harness::ticket(&body)))
            .body(axum::body::Body::from(body))
            .unwrap();
        let response = crate::harness::send(&origin, request).await;
        assert_eq!(response.status(), axum::http::StatusCode::BAD_REQUEST, "{count}");
    }
}

/// The future of a probe occupies memory while a server is silent.
#[tokio::test]
async fn a_probe_in_waiting_is_small() {
    let state = crate::harness::state(&[]);
    let address = Address::parse("user@sandbox.test").unwrap();
    let question = state.prober.question(address);
    let size = std::mem::size_of_val(&Prober::probe(&state.prober, &question, None));
    assert!(size <= 1_024, "{size}");
}

#[tokio::test]
async fn a_hundred_checks_at_once_spend_one_control_recipient() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    let mut all = JoinSet::new();
    for n in 0..100 {
        let origin = origin.clone();
        all.spawn(async move {
            verdict(&origin, &format!("known{n}@sandbox.test")).await.details.unwrap().catch_all
        });
    }
    assert_eq!(all.join_all().await, [CatchAll::No; 100]);
    assert_eq!(counters.unknown.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_control_recipient_is_spent_once_however_many_are_refused_by_name() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    for _ in 0..2 {
        let verdict = verdict(&origin, "nobody@sandbox.test").await;
        assert_eq!(verdict.details.unwrap().catch_all, CatchAll::Unknown);
    }
    for _ in 0..2 {
        let verdict = verdict(&origin, "known@sandbox.test").await;
        assert_eq!(verdict.details.unwrap().catch_all, CatchAll::No);
    }
    let verdict = verdict(&origin, "nobody@sandbox.test").await;
    assert_eq!(verdict.details.unwrap().catch_all, CatchAll::No, "the control recipient has told");
    assert_eq!(counters.unknown.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_session_whose_refusal_took_seconds_is_not_kept() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    for n in 0..2 {
        let verdict = verdict(&origin, &format!("slow{n}@sandbox.test")).await;
        assert_eq!(verdict.reason, Reason::NoSuchMailbox);
    }
    assert_eq!(counters.connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_greylisted_recipient_is_asked_about_once() {
    let counters = Arc::new(ServerCounters::default());
    let server = server(&counters, |_, _| false).await;
    let origin = origin(&[("RCPT_ROUTES", &server.route())]);
    verdict(&origin, "nobody@sandbox.test").await;
    let verdict = verdict(&origin, "grey@sandbox.test").await;
    assert_eq!(verdict.reason, Reason::Greylisted);
    assert_eq!(counters.connections.load(Ordering::Relaxed), 1, "in the session that was there");
}

#[tokio::test]
async fn a_domain_is_always_asked_from_the_same_source_address() {
    let sources = ("RCPT_SOURCE_ADDRESSES", "127.0.0.2,127.0.0.3,127.0.0.4");
    let mut chosen = HashSet::new();
    for domain in ["a.test", "b.test", "c.test", "d.test", "e.test", "f.test", "g.test", "h.test"] {
        let counters = Arc::new(ServerCounters::default());
        let server = server(&counters, |_, _| false).await;
        let route = format!("{domain}={}", server.address);
        let key = ("RCPT_SOURCE_KEY", "sixteen characters");
        let environment = [sources, key, ("RCPT_ROUTES", &route), ("RCPT_SESSION_RECIPIENTS", "1")];
        let origin = origin(&environment);
        for n in 0..5 {
            verdict(&origin, &format!("known{n}@{domain}")).await;
        }
        let from: Vec<_> = counters.sources.lock().iter().copied().collect();
        assert_eq!(from.len(), 1, "{domain}");
        chosen.extend(from);
    }
    assert!(chosen.len() > 1, "and not all domains from one");
}
