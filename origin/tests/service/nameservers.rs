//! The time that is lost to nameservers that are silent, closed, or older than EDNS.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::harness::{
    body, domain_report, elsewhere, origin, probe_request, send, socket, state, ticket_of, verdict,
    verdict_for,
};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use hickory_resolver::proto::op::{Edns, Message, ResponseCode};
use rcpt_origin::build;
use rcpt_shared::{Reason, Stage, Status};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::sleep,
};

/// A nameserver that replies to each query as `answer` says, and stays silent for `None`.
struct Nameserver {
    address: SocketAddr,
    questions: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

impl Drop for Nameserver {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Nameserver {
    async fn answering(answer: impl Fn(Message) -> Option<Vec<u8>> + Send + 'static) -> Self {
        let (address, socket) = socket();
        let questions = Arc::new(AtomicUsize::new(0));
        let counted = questions.clone();
        let running = elsewhere(async move {
            let socket = socket();
            let mut query = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut query).await {
                counted.fetch_add(1, Ordering::Relaxed);
                if let Some(told) = answer(Message::from_vec(&query[..length]).unwrap()) {
                    socket.send_to(&told, from).await.unwrap();
                }
            }
        });
        Self { address, questions, running }
    }

    async fn silent() -> Self {
        Self::answering(|_| None).await
    }

    /// A nameserver that knows no name.
    async fn healthy() -> Self {
        Self::answering(|query| Some(coded(query, ResponseCode::NXDomain))).await
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::Relaxed)
    }
}

fn coded(query: Message, code: ResponseCode) -> Vec<u8> {
    let mut response = query.into_response();
    response.metadata.response_code = code;
    response.to_vec().unwrap()
}

/// Only the header, as some servers send it with an error: twelve bytes, all counts zero.
fn coded_without_question(query: Message, code: ResponseCode) -> Vec<u8> {
    let mut response = coded(query, code);
    response.truncate(12);
    response[4..12].fill(0);
    response
}

fn both(first: SocketAddr, second: SocketAddr) -> String {
    format!("{first},{second}")
}

#[tokio::test]
async fn a_nameserver_that_is_silent_costs_one_question_its_time() {
    let (silent, healthy) = (Nameserver::silent().await, Nameserver::healthy().await);
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &both(silent.address, healthy.address)),
        ("RCPT_DNS_TIMEOUT_MS", "500"),
    ]);
    assert_eq!(verdict(&origin, "user@one.org").await.status, Status::DomainNotFound);
    // The silent nameserver also gets a query for the root.
    let mut query_count = 0;
    while query_count < silent.questions() {
        query_count = silent.questions();
        sleep(Duration::from_millis(600)).await;
    }
    assert!(query_count >= 2, "{query_count}");
    for domain in ["two.org", "three.org", "four.org"] {
        let answer = verdict(&origin, &format!("user@{domain}")).await;
        assert_eq!(answer.status, Status::DomainNotFound);
    }
    assert_eq!(silent.questions(), query_count, "it is asked second for a while");
    assert_eq!(healthy.questions(), 4);
}

#[tokio::test]
async fn a_question_that_no_nameserver_answers_tells_nothing_about_one_of_them() {
    let quiet_about_one = |query: Message| {
        let quiet = query.queries[0].name().to_ascii().starts_with("dead");
        (!quiet).then(|| coded(query, ResponseCode::NXDomain))
    };
    let first = Nameserver::answering(quiet_about_one).await;
    let second = Nameserver::answering(quiet_about_one).await;
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &both(first.address, second.address)),
        ("RCPT_DNS_TIMEOUT_MS", "300"),
    ]);
    assert_eq!(verdict(&origin, "user@dead.org").await.reason, Reason::DnsFailure);
    let query_count = second.questions();
    assert_eq!(verdict(&origin, "user@other.org").await.status, Status::DomainNotFound);
    assert_eq!(second.questions(), query_count, "the first is still asked first");
}

/// The owner of a domain decides to which resolvers its own nameserver responds.
#[tokio::test]
async fn a_domain_about_which_the_first_nameserver_is_silent_sends_no_other_domain_to_the_second() {
    let quiet_about_one = |query: Message| {
        let quiet = query.queries[0].name().to_ascii().starts_with("evil");
        (!quiet).then(|| coded(query, ResponseCode::NXDomain))
    };
    let (first, second) =
        (Nameserver::answering(quiet_about_one).await, Nameserver::healthy().await);
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &both(first.address, second.address)),
        ("RCPT_DNS_TIMEOUT_MS", "300"),
    ]);
    assert_eq!(verdict(&origin, "user@evil.org").await.status, Status::DomainNotFound);
    // Waits for the query for the root, after two about the domain.
    while first.questions() < 3 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(50)).await;
    let query_count = second.questions();
    for n in 0..10 {
        let outcome = verdict(&origin, &format!("user@good{n}.org")).await;
        assert_eq!(outcome.status, Status::DomainNotFound);
    }
    assert_eq!(second.questions(), query_count);
}

#[tokio::test]
async fn a_nameserver_that_is_shut_costs_no_time() {
    let shut = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let healthy = Nameserver::healthy().await;
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &both(shut, healthy.address)),
        ("RCPT_DNS_TIMEOUT_MS", "8000"),
    ]);
    #[expect(clippy::disallowed_methods, reason = "the clock of this machine is meant")]
    let began = Instant::now();
    assert_eq!(verdict(&origin, "user@one.org").await.status, Status::DomainNotFound);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_nameserver_without_edns_is_asked_without() {
    for (code, respond) in [
        (ResponseCode::FormErr, coded as fn(Message, ResponseCode) -> Vec<u8>),
        (ResponseCode::NotImp, coded),
        (ResponseCode::FormErr, coded_without_question),
    ] {
        let old = Nameserver::answering(move |query| {
            let code = if query.edns.is_some() { code } else { ResponseCode::NXDomain };
            Some(match code {
                ResponseCode::NXDomain => coded(query, code),
                _ => respond(query, code),
            })
        })
        .await;
        let origin = origin(&[("RCPT_NAMESERVERS", &old.address.to_string())]);
        assert_eq!(verdict(&origin, "user@one.org").await.status, Status::DomainNotFound, "{code}");
        assert_eq!(old.questions(), 2);
        assert_eq!(verdict(&origin, "user@two.org").await.status, Status::DomainNotFound, "{code}");
        assert_eq!(old.questions(), 4, "each name may have an old nameserver of its own");
    }
}

/// RFC 6891 §6.1.3 and §6.2.2: the nameserver knows only a later version, or a firewall drops queries with EDNS.
#[tokio::test]
async fn queries_with_edns_that_are_dropped_or_of_a_bad_version_are_repeated_without_in_time() {
    fn bad_version(query: Message) -> Vec<u8> {
        let mut response = query.into_response();
        response.metadata.response_code = ResponseCode::BADVERS;
        response.edns = Some(Edns::new());
        response.to_vec().unwrap()
    }
    for (fault, rounds) in [(None, 2), (Some(bad_version as fn(Message) -> Vec<u8>), 2)] {
        let nameserver = Nameserver::answering(move |query| match (query.edns.is_some(), fault) {
            (true, None) => None,
            (true, Some(fault)) => Some(fault(query)),
            (false, _) => Some(coded(query, ResponseCode::NXDomain)),
        })
        .await;
        let origin = origin(&[
            ("RCPT_NAMESERVERS", &nameserver.address.to_string()),
            ("RCPT_DNS_TIMEOUT_MS", "1000"),
        ]);
        for round in 1..=rounds {
            let answer = verdict(&origin, &format!("user@n{round}.org")).await;
            assert_eq!(answer.status, Status::DomainNotFound, "{answer:?}");
            // The library repeats a query that gets no reply.
            let (questions, is_exact) = (nameserver.questions(), fault.is_some());
            assert!(questions == 2 * round || !is_exact, "{questions} in round {round}");
        }
    }
}

/// A forwarder passes on the FORMERR of a domain's own nameserver.
#[tokio::test]
async fn a_domain_without_edns_takes_it_from_no_other() {
    let without = Arc::new(AtomicUsize::new(0));
    let counted = without.clone();
    let nameserver = Nameserver::answering(move |query| {
        let is_old = query.queries[0].name().to_ascii().starts_with("old");
        if !is_old && query.edns.is_none() {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        let code = if is_old && query.edns.is_some() {
            ResponseCode::FormErr
        } else {
            ResponseCode::NXDomain
        };
        Some(coded(query, code))
    })
    .await;
    let origin = origin(&[("RCPT_NAMESERVERS", &nameserver.address.to_string())]);
    for name in ["new.org", "old.org", "new2.org", "old2.org", "new3.org"] {
        let answer = verdict(&origin, &format!("user@{name}")).await;
        assert_eq!(answer.status, Status::DomainNotFound, "{name}");
    }
    assert_eq!(without.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn time_lost_to_nameservers_is_not_the_mail_servers() {
    let silent = Nameserver::silent().await;
    let origin = origin(&[
        ("RCPT_NAMESERVERS", &silent.address.to_string()),
        ("RCPT_DNS_TIMEOUT_MS", "1000"),
        ("RCPT_BUDGET_MS", "1000"),
    ]);
    let answer = verdict(&origin, "user@example.org").await;
    let ours = (Status::FatalException, Reason::DnsFailure, Stage::Dns);
    assert_eq!((answer.status, answer.reason, answer.stage), ours);
}

async fn told(origin: &axum::Router, path: &str) -> (StatusCode, String) {
    let response = send(origin, Request::get(path).body(Body::empty()).unwrap()).await;
    let status = response.status();
    let text = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(text.to_vec()).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_customers_dead_domains_take_no_others_check_and_say_nothing_about_the_nameservers() {
    let nameserver = Nameserver::answering(|query| {
        let dead = query.queries[0].name().to_ascii().starts_with("dead");
        (!dead).then(|| coded(query, ResponseCode::NXDomain))
    })
    .await;
    let nameservers = nameserver.address.to_string();
    // On a busy machine 1,500 checks that begin at once take some seconds before they ask.
    let budget = ("RCPT_BUDGET_MS", "60000");
    // On a busy machine most of the first seconds goes into the crowd's start.
    let timeout = ("RCPT_DNS_TIMEOUT_MS", "12000");
    let state = state(&[("RCPT_NAMESERVERS", &nameservers), timeout, budget]);
    tokio::spawn(state.prober.dns().root().watch());
    let origin = build(state.clone());
    let mut dead = JoinSet::new();
    for n in 0..1_500 {
        let origin = origin.clone();
        dead.spawn(async move {
            let body = body(&format!("x@dead{n}.org"));
            let ticket = ticket_of(Some("greedy"), &body);
            let request =
                Request::post("/v1/probe").header("authorization", format!("Bearer {ticket}"));
            send(&origin, request.body(Body::from(body)).unwrap()).await.status()
        });
    }
    let mut checks = 0;
    while !dead.is_empty() {
        let verdict = verdict_for(&origin, "another", &format!("user@fine{checks}.org")).await;
        assert_eq!(verdict.status, Status::DomainNotFound, "after {checks}: {verdict:?}");
        assert!(!state.prober.dns().root().is_silent(), "after {checks}");
        checks += 1;
        while dead.try_join_next().is_some() {}
        sleep(Duration::from_millis(20)).await;
    }
    println!("{checks} checks of another customer");
    assert!(checks > 60, "{checks}");
    let (status, _) = told(&origin, "/ready").await;
    let (_, metrics) = told(&origin, "/metrics").await;
    assert_eq!(status, StatusCode::OK);
    assert!(metrics.contains("\nrcpt_origin_nameserver_answers 1\n"), "{metrics}");
    assert!(metrics.contains("\nrcpt_origin_ready 1\n"), "{metrics}");
}

#[tokio::test]
async fn while_no_nameserver_answers_for_the_root_every_probe_is_503_and_the_sandboxs_too() {
    let speaks = Arc::new(AtomicBool::new(false));
    let asked = speaks.clone();
    let nameserver = Nameserver::answering(move |query| {
        asked.load(Ordering::Relaxed).then(|| coded(query, ResponseCode::NXDomain))
    })
    .await;
    let nameservers = nameserver.address.to_string();
    let state = state(&[("RCPT_NAMESERVERS", &nameservers), ("RCPT_DNS_TIMEOUT_MS", "200")]);
    let origin = build(state.clone());
    let mut expected = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::OK].into_iter();
    tokio::spawn(state.prober.dns().root().watch());
    for answers in [false, true] {
        speaks.store(answers, Ordering::Relaxed);
        while state.prober.dns().root().is_silent() == answers {
            sleep(Duration::from_millis(50)).await;
        }
        let expected = expected.next().unwrap();
        for address in ["user@one.org", "accepts@sandbox.test"] {
            let response = send(&origin, probe_request(body(address))).await;
            assert_eq!(response.status(), expected, "{address}");
        }
        assert_eq!(domain_report(&origin, "one.org").await.status(), expected);
        let (_, metrics) = told(&origin, "/metrics").await;
        let gauge = format!("\nrcpt_origin_nameserver_answers {}\n", u8::from(answers));
        assert!(metrics.contains(&gauge), "{metrics}");
    }
}
