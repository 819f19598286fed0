//! Politeness (docs/security.md, P7) as in production: the host is found in DNS, and isn't exempted by
//! a route.
//!
//! - P7: 1,000 addresses at one host use at most two sessions at a time. A machine that says 421 before RCPT gets one
//!   new session in ten seconds; an account whose recipients are answered with 421, or with words about our rate, waits
//!   longer each time.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::harness::{MailServer, batch, elsewhere, obey, origin, socket, verdict};
use hickory_resolver::proto::{
    op::Message,
    rr::{
        Name, RData, Record, RecordType,
        rdata::{A, MX},
    },
};
use rcpt_shared::{BatchLine, Reason, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    task::JoinSet,
};

/// Starts a nameserver: every domain's mail host is `mx.example.org`, at 127.0.0.1.
fn nameserver() -> SocketAddr {
    let (address, socket) = socket();
    elsewhere(async move {
        let socket = socket();
        let mut query = [0; 1_500];
        loop {
            let (length, from) = socket.recv_from(&mut query).await.unwrap();
            let query = Message::from_vec(&query[..length]).unwrap();
            let name = query.queries[0].name().clone();
            let data = match query.queries[0].query_type() {
                RecordType::MX => {
                    RData::MX(MX::new(10, Name::from_ascii("mx.example.org.").unwrap()))
                }
                RecordType::A => RData::A(A::new(127, 0, 0, 1)),
                _ => RData::MX(MX::new(10, Name::root())),
            };
            let mut response = query.into_response();
            response.add_answer(Record::from_rdata(name, 60, data));
            socket.send_to(&response.to_vec().unwrap(), from).await.unwrap();
        }
    });
    address
}

fn environment(server: &MailServer, nameserver: SocketAddr) -> Vec<(&'static str, String)> {
    vec![
        ("RCPT_NAMESERVERS", nameserver.to_string()),
        ("RCPT_SMTP_PORT", server.address.port().to_string()),
        ("RCPT_ALLOW_NETWORKS", "127.0.0.0/8".to_owned()),
        ("RCPT_MAX_PROBES", "1000".to_owned()),
        ("RCPT_SESSION_RECIPIENTS", "100".to_owned()),
        ("RCPT_DNS_TIMEOUT_MS", "5000".to_owned()),
    ]
}

#[tokio::test]
async fn a_thousand_addresses_of_many_domains_at_one_host_share_two_sessions() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (open.clone(), most.clone());
    let server = MailServer::serving_elsewhere(move |stream, _| {
        let (open, most) = (counted.clone(), highest.clone());
        async move {
            most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            let _ = obey(&mut stream, "250-PIPELINING\r\n", "250 ok", "250 ok").await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
    });
    let environment = environment(&server, nameserver());
    let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
    // On a busy machine a thousand checks, all begun at once, may take longer than ten seconds before the first asks.
    let origin = origin(&[&environment[..], &[("RCPT_BUDGET_MS", "60000")]].concat());
    let mut all = JoinSet::new();
    for n in 0..1_000 {
        let origin = origin.clone();
        all.spawn(async move { verdict(&origin, &format!("u{n}@d{}.org", n % 20)).await.status });
    }
    let statuses = all.join_all().await;
    let answered = statuses.iter().filter(|status| **status == Status::Accepted).count();
    assert!(most.load(Ordering::Relaxed) <= 2, "{}", most.load(Ordering::Relaxed));
    // The rate is twenty a second after the first two hundred, and half of a thousand checks may wait; the others report
    // our limit.
    assert!(answered >= 200, "{answered}");
    let ours = statuses.iter().filter(|status| **status == Status::FatalException).count();
    assert_eq!(answered + ours, 1_000);
    println!(
        "1000 addresses, {answered} answered, at most {} sessions",
        most.load(Ordering::Relaxed)
    );
}

#[tokio::test]
async fn after_a_421_a_machine_is_connected_to_once_in_ten_seconds() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = MailServer::serving(move |mut stream, _| {
        let connections = counted.clone();
        async move {
            connections.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(b"421 4.7.0 too many connections from your IP\r\n").await;
        }
    })
    .await;
    let environment = environment(&server, nameserver());
    let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let origin = origin(&environment);
    let started = now();
    let first = verdict(&origin, "u@d.org").await;
    assert_eq!((first.status, first.reason), (Status::BlockedByProvider, Reason::RateLimited));
    let mut all = JoinSet::new();
    for n in 0..100 {
        let origin = origin.clone();
        all.spawn(async move { verdict(&origin, &format!("u{n}@d{n}.org")).await });
    }
    let mut ours = 0;
    while let Some(told) = all.join_next().await {
        let answer = told.unwrap();
        if answer.reason == Reason::OurLimit {
            assert!(
                answer.retry_after.is_some_and(|seconds| (1..=20).contains(&seconds)),
                "{answer:?}"
            );
            ours += 1;
        }
    }
    assert!(ours >= 90, "{ours}");
    let passed = 2 + started.elapsed().as_secs() / 10;
    let connections = connections.load(Ordering::Relaxed) as u64;
    assert!(connections <= passed, "{connections} in {:?}", started.elapsed());
}

/// Starts a server that refuses unknown recipients, and MAIL from each session's message after `most` of them; the
/// argument of `most` is the session's number.
async fn server_with_few_messages(
    connections: &Arc<AtomicUsize>,
    most: fn(usize) -> usize,
    refusal: &'static str,
) -> MailServer {
    let counted = connections.clone();
    MailServer::serving(move |stream, number| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            let (mut line, mut mails) = (String::new(), 0);
            while stream.read_line(&mut line).await.is_ok_and(|length| length > 0) {
                mails += usize::from(line.starts_with("MAIL"));
                let is_refused = line.starts_with("MAIL") && mails > most(number);
                let answer = match line.get(..4) {
                    _ if is_refused => refusal,
                    Some("RCPT") => "550 5.1.1 no such user here",
                    _ => "250 ok",
                };
                let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
                if answer.starts_with("421") {
                    return;
                }
                line.clear();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_limit_of_messages_per_session_costs_a_session_and_nobody_an_answer() {
    for refusal in [
        "421 4.7.0 Too many messages in this session",
        "452 4.5.3 Too many messages in this session",
        "450 4.7.1 Too many messages in this session",
        "550 5.7.0 Too many messages in this session",
    ] {
        let connections = Arc::new(AtomicUsize::new(0));
        let server = server_with_few_messages(&connections, |_| 2, refusal).await;
        let mut environment = environment(&server, nameserver());
        environment.push(("RCPT_BUDGET_MS", "6000".to_owned()));
        environment.push(("RCPT_SESSION_INTERVAL_MS", "0".to_owned()));
        let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
        let origin = origin(&environment);
        for (n, domain) in
            ["d.org", "d.org", "d.org", "other.org", "d.org", "other.org"].iter().enumerate()
        {
            let outcome = verdict(&origin, &format!("u{n}@{domain}")).await;
            assert_eq!(
                (outcome.status, outcome.reason),
                (Status::Refused, Reason::NoSuchMailbox),
                "{n}: {refusal}"
            );
        }
        assert_eq!(connections.load(Ordering::Relaxed), 3, "{refusal}");
    }
}

#[tokio::test]
async fn a_421_that_a_new_session_gets_too_is_taken_note_of() {
    let connections = Arc::new(AtomicUsize::new(0));
    let refusal = "421 4.7.0 too many messages from your IP";
    let server =
        server_with_few_messages(&connections, |number| usize::from(number == 0), refusal).await;
    let mut environment = environment(&server, nameserver());
    environment.push(("RCPT_BUDGET_MS", "6000".to_owned()));
    let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let origin = origin(&environment);
    assert_eq!(verdict(&origin, "u@d.org").await.reason, Reason::NoSuchMailbox);
    let outcome = verdict(&origin, "v@d.org").await;
    assert_eq!((outcome.status, outcome.reason), (Status::BlockedByProvider, Reason::RateLimited));
    // After the 421, no further session is opened immediately, neither for the same domain nor for another domain.
    for address in ["v@d.org", "w@other.org"] {
        let outcome = verdict(&origin, address).await;
        assert_eq!((outcome.status, outcome.reason), (Status::FatalException, Reason::OurLimit));
    }
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_batch_stays_away_as_long_as_a_server_says() {
    let server = MailServer::serving(|mut stream, _| async move {
        let _ = stream.write_all(b"421 4.7.0 try again in 10 minutes\r\n").await;
    })
    .await;
    let environment = environment(&server, nameserver());
    let environment: Vec<_> = environment.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let origin = origin(&environment);
    assert_eq!(verdict(&origin, "u@d.org").await.status, Status::BlockedByProvider);
    let lines = batch(&origin, &["v@d.org".to_owned()], None).await;
    let [BatchLine::NotAsked(missed), BatchLine::End(_)] = &lines[..] else { panic!("{lines:?}") };
    // Ten minutes minus the elapsed time, even on a slow machine.
    assert!((500..=600).contains(&missed.not_asked_retry_after), "{missed:?}");
}

#[expect(clippy::disallowed_methods, reason = "a test measures real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}
