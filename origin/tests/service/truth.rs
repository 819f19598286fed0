//! Verdicts are correct with servers of all kinds, and after any earlier check.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::harness::{
    MailServer, batch_verdicts,
    internet::{Internet, a, mx, one_machine},
    obey, origin, verdict, verdict_for,
};
use hickory_resolver::proto::rr::RecordType;
use rcpt_origin::dns::mx::guard::Guard;
use rcpt_shared::{CatchAll, Confidence, Deliverability, Reason, Stage, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    task::JoinSet,
    time::sleep,
};

/// Greets, and replies to each command as `answer` says, given its verb and line; `None` means the usual reply. Sends
/// no empty reply, and ends after a 421.
async fn converse(stream: TcpStream, mut answer: impl FnMut(&str, &str) -> Option<String>) {
    let mut stream = BufReader::new(stream);
    let _ = stream.write_all(b"220 mx\r\n").await;
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let verb = line.split([' ', '\r']).next().unwrap().to_owned();
        let reply = match answer(&verb, &line) {
            Some(told) => told,
            None if verb == "EHLO" => "250-mx\r\n250 PIPELINING".to_owned(),
            None => "250 ok".to_owned(),
        };
        if reply.is_empty() {
            continue;
        }
        if stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_err()
            || reply.starts_with("421")
        {
            return;
        }
    }
}

/// Postscreen tests a client in its first session, in which it never accepts RCPT, and admits it
/// when it connects again.
#[tokio::test]
async fn a_server_that_lets_us_in_when_we_connect_again_is_passed_with_the_sessions_of_production()
{
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let server = MailServer::serving(move |stream, number| {
        counted.fetch_add(1, Ordering::Relaxed);
        let rcpt = if number == 0 { "450 4.3.2 Service currently unavailable" } else { "250 ok" };
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            let _ = obey(&mut stream, "250-PIPELINING\r\n", "250 ok", rcpt).await;
        }
    })
    .await;
    let answer = verdict(&origin(&[("RCPT_ROUTES", &server.route())]), "user@sandbox.test").await;
    assert_eq!((answer.status, answer.reason), (Status::Accepted, Reason::AcceptedCatchAll));
    assert_eq!(connections.load(Ordering::Relaxed), 2);
}

/// Three hosts begin their banner and complete it after four seconds; the probe waits for the first host.
#[tokio::test]
async fn a_greet_pause_is_waited_for_however_many_hosts_are_left() {
    let zone = |name: &str, kind| match kind {
        RecordType::MX => (1..4).map(|n| mx(10 * n, &format!("mx{n}.{name}"))).collect(),
        RecordType::A => vec![a(&format!("127.0.5.{}", &name[2..3]))],
        _ => vec![],
    };
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let internet = Internet::start(zone, move |stream, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220-mx.example.org ESMTP\r\n").await;
            sleep(Duration::from_secs(4)).await;
            let _ = stream.write_all(b"220 mx.example.org ESMTP\r\n").await;
            let _ = obey(&mut stream, "250-PIPELINING\r\n", "250 ok", "550 5.1.1 no").await;
        }
    })
    .await;
    let answer = verdict(&internet.origin(&[]), "user@example.org").await;
    assert_eq!((answer.status, answer.reason), (Status::Refused, Reason::NoSuchMailbox));
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_host_that_greets_and_falls_silent_leaves_time_for_the_next() {
    let zone = |name: &str, kind| match kind {
        RecordType::MX => (1..3).map(|n| mx(10, &format!("mx{n}.{name}"))).collect(),
        RecordType::A => vec![a(&format!("127.0.5.{}", &name[2..3]))],
        _ => vec![],
    };
    let internet = Internet::start(zone, |stream, dialled: IpAddr| async move {
        let is_first = dialled.to_string().ends_with('1');
        converse(stream, |verb, _| match verb {
            "EHLO" if is_first => Some(String::new()),
            "RCPT" => Some("550 5.1.1 no".to_owned()),
            _ => None,
        })
        .await;
    })
    .await;
    let answer = verdict(&internet.origin(&[("RCPT_BUDGET_MS", "5000")]), "user@example.org").await;
    assert_eq!((answer.status, answer.reason), (Status::Refused, Reason::NoSuchMailbox));
}

#[tokio::test]
async fn one_name_that_is_refused_makes_no_invented_address_deliverable() {
    for (asked_first, refusal) in [
        ("denied@example.org", "550 5.1.1 no such user here"),
        ("a|b@example.org", "550 restricted characters in address"),
        ("x$y@example.org", "501 5.1.3 Bad recipient address syntax"),
    ] {
        let local_part = asked_first.split('@').next().unwrap();
        let internet = Internet::start(one_machine("127.0.6.1"), move |stream, _| async move {
            let denied = format!("<{local_part}@");
            converse(stream, |_, line| line.contains(&denied).then(|| refusal.to_owned())).await;
        })
        .await;
        let origin = internet.origin(&[]);
        assert_eq!(verdict(&origin, asked_first).await.status, Status::Refused, "{asked_first}");
        let answer = verdict(&origin, "qzxkvjwpqzxkvjwp@example.org").await;
        let details = answer.details.unwrap();
        assert_eq!((answer.reason, details.catch_all), (Reason::AcceptedCatchAll, CatchAll::Yes));
        assert_eq!(
            (details.confidence, details.verdict),
            (Confidence::Low, Deliverability::Risky),
            "{asked_first}"
        );
    }
}

/// A server that verifies the sender refuses at RCPT, with the words and codes for a missing mailbox.
#[tokio::test]
async fn a_refusal_that_quotes_our_sender_or_our_name_is_about_us() {
    for (refusal, status) in [
        ("550 5.1.1 <check@rcpt.example>: user does not exist", Status::BlockedByProvider),
        ("550 No such user <check@rcpt.example>", Status::BlockedByProvider),
        ("550 5.1.2 rcpt.example: domain does not exist", Status::BlockedByProvider),
        ("550 5.1.1 probe.example.com: no such user", Status::BlockedByProvider),
        ("550 5.1.1 <ann@sandbox.test>: no such user for check@rcpt.example", Status::Refused),
        ("550 5.1.1 no such user", Status::Refused),
    ] {
        let server = MailServer::answering("220 mx", "", refusal).await;
        let sender = ("RCPT_MAIL_FROM", "check@rcpt.example");
        let origin = origin(&[("RCPT_ROUTES", &server.route()), sender]);
        let outcome = verdict(&origin, "ann@sandbox.test").await;
        assert_eq!(outcome.status, status, "{refusal}: {outcome:?}");
        let is_refused = status == Status::Refused;
        let reason = if is_refused { Reason::NoSuchMailbox } else { Reason::Blocked };
        assert_eq!((outcome.reason, outcome.stage), (reason, Stage::Rcpt), "{refusal}");
    }
}

/// The control recipient is inconclusive, so it is only known that the host looks names up.
#[tokio::test]
async fn a_refusal_by_name_is_worth_a_medium_where_the_control_recipient_tells_nothing() {
    for (refusal, confidence) in [
        ("550 5.1.1 no such user here", Confidence::Medium),
        ("550 restricted characters in address", Confidence::Low),
    ] {
        let internet = Internet::start(one_machine("127.0.6.1"), move |stream, _| {
            converse(stream, move |verb, line| {
                let reply = match line {
                    _ if verb != "RCPT" => return None,
                    _ if line.contains("<known") => "250 2.1.5 ok",
                    _ if line.contains("<gone") => refusal,
                    _ => "451 4.7.1 try again later",
                };
                Some(reply.to_owned())
            })
        })
        .await;
        let origin = internet.origin(&[]);
        assert_eq!(verdict(&origin, "gone@example.org").await.status, Status::Refused);
        let outcome = verdict(&origin, "known@example.org").await;
        let details = outcome.details.unwrap();
        assert_eq!((outcome.reason, details.catch_all), (Reason::Accepted, CatchAll::Unknown));
        assert_eq!(details.confidence, confidence, "{refusal}");
    }
}

/// The server closes the session at the sixth recipient, whichever accounts the earlier recipients belong to; control
/// recipients also count.
#[tokio::test]
async fn a_session_that_others_used_up_is_nobodys_refusal() {
    let connections = Arc::new(AtomicUsize::new(0));
    let internet = at_most_five_recipients(&connections).await;
    let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
    for n in 0..24 {
        let (tenant, domain) = if n % 2 == 0 { ("a", "one.org") } else { ("b", "two.org") };
        let answer = verdict_for(&origin, tenant, &format!("u{n}@{domain}")).await;
        assert_eq!(answer.status, Status::Accepted, "{n} of {tenant}: {:?}", answer.reason);
    }
    let connections = connections.load(Ordering::Relaxed);
    assert!((5..=8).contains(&connections), "{connections}: each 421 costs one session");
}

#[tokio::test]
async fn a_list_of_existing_mailboxes_goes_on_at_a_server_that_ends_sessions_early() {
    let internet = at_most_five_recipients(&Arc::default()).await;
    let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
    let list: Vec<_> = (0..90).map(|n| format!("u{n}@one.org")).collect();
    let verdicts = batch_verdicts(&origin, &list).await;
    let accepted = verdicts.iter().flatten().filter(|it| it.status == Status::Accepted).count();
    assert_eq!(accepted, 90, "each 421 is a refused recipient");
}

/// All domains are at a server that closes each session at its sixth recipient.
async fn at_most_five_recipients(connections: &Arc<AtomicUsize>) -> Internet {
    let counted = connections.clone();
    let zone = |_: &str, kind| match kind {
        RecordType::MX => vec![mx(10, "mx.shared.org")],
        RecordType::A => vec![a("127.0.6.2")],
        _ => vec![],
    };
    Internet::start(zone, move |stream, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut recipients = 0;
        converse(stream, move |verb, _| {
            recipients += usize::from(verb == "RCPT");
            let closes = verb == "RCPT" && recipients >= 6;
            closes.then(|| "421 4.7.0 Too many recipients in this session, closing".to_owned())
        })
    })
    .await
}

/// MAIL is refused in a flight and the reply to RCPT never comes: the end of the session waits for that reply.
#[tokio::test]
async fn a_session_that_says_farewell_still_counts() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let gauges = (open.clone(), most.clone());
    let zone = |_: &str, kind| match kind {
        RecordType::MX => vec![mx(10, "mx.slow.org")],
        RecordType::A => vec![a("127.0.6.3")],
        _ => vec![],
    };
    let internet = Internet::start(zone, move |stream, _| {
        let (open, most) = gauges.clone();
        async move {
            most.fetch_max(open.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            converse(stream, |verb, _| match verb {
                "MAIL" => Some("451 4.3.0 not now".to_owned()),
                "RCPT" | "QUIT" => Some(String::new()),
                _ => None,
            })
            .await;
            open.fetch_sub(1, Ordering::Relaxed);
        }
    })
    .await;
    let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "50")]);
    let mut all = JoinSet::new();
    for n in 0..10 {
        let origin = origin.clone();
        all.spawn(async move { verdict_for(&origin, "t", &format!("u@d{n}.org")).await.stage });
    }
    let stages = all.join_all().await;
    assert!(stages.contains(&Stage::Mail), "{stages:?}");
    // A closed connection counts as open until the server has read its end.
    assert!(most.load(Ordering::Relaxed) <= 3, "{most:?} at once");
}

/// The limit belongs to the mailbox: the session continues, and no other recipient waits.
#[tokio::test]
async fn a_busy_mailbox_keeps_its_session_and_costs_nobody_else_one() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let zone = |_: &str, kind| match kind {
        RecordType::MX => vec![mx(10, "aspmx.l.google.com")],
        RecordType::A => vec![a("127.0.6.6")],
        _ => vec![],
    };
    let internet = Internet::start(zone, move |stream, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        converse(stream, |verb, line| {
            let reply = match verb {
                "RCPT" if line.contains("<busy") => {
                    "450-4.2.1 The user you are trying to contact is receiving mail at a rate that\r\n\
                     450 4.2.1 prevents additional messages from being delivered."
                }
                "RCPT" => "550 5.1.1 no such user here",
                _ => return None,
            };
            Some(reply.to_owned())
        })
    })
    .await;
    let origin = internet.origin(&[]);
    // Seven refused recipients are the account's share at such a machine.
    for n in 0..7 {
        let outcome = verdict_for(&origin, "attacker", &format!("busy{n}@one.org")).await;
        assert_eq!(
            (outcome.status, outcome.reason),
            (Status::BlockedByProvider, Reason::MailboxBusy)
        );
        let outcome = verdict_for(&origin, "victim", &format!("u{n}@two.org")).await;
        assert_eq!(
            (outcome.status, outcome.reason),
            (Status::Refused, Reason::NoSuchMailbox),
            "{n}"
        );
    }
    // A session ends with its third refusal.
    let connections = connections.load(Ordering::Relaxed);
    assert!(connections <= 5, "{connections} connections");
}

#[tokio::test]
async fn a_domain_takes_no_mail_if_every_host_says_so() {
    let zone = |name: &str, kind| match kind {
        RecordType::MX if name == "closed.org" => {
            vec![mx(10, "closed1.org"), mx(20, "closed2.org")]
        }
        RecordType::MX => vec![mx(10, "closed1.org"), mx(20, "open.org")],
        RecordType::A if name == "open.org" => vec![a("127.0.7.2")],
        RecordType::A => vec![a("127.0.7.1")],
        _ => vec![],
    };
    let internet = Internet::start(zone, |mut stream, dialled: IpAddr| async move {
        if dialled.to_string().ends_with('1') {
            let _ = stream.write_all(b"521 mx.example.org does not accept mail\r\n").await;
            return;
        }
        converse(stream, |verb, _| (verb == "RCPT").then(|| "250 2.1.5 ok".to_owned())).await;
    })
    .await;
    let origin = internet.origin(&[]);
    let answer = verdict(&origin, "user@closed.org").await;
    assert_eq!((answer.status, answer.reason), (Status::Refused, Reason::DomainRefusesMail));
    assert_eq!(
        (answer.stage, answer.details.unwrap().confidence),
        (Stage::Banner, Confidence::High)
    );
    assert_eq!(verdict(&origin, "user@half.org").await.status, Status::Accepted);
}

#[tokio::test]
async fn a_domain_whose_hosts_have_no_address_cannot_be_written_to() {
    let zone = |name: &str, kind| match (name, kind) {
        ("special.org", RecordType::MX) => vec![mx(0, "localhost"), mx(10, "192.0.2.1")],
        ("empty.org", RecordType::MX) => vec![mx(0, "localhost"), mx(10, "nothing.org")],
        _ => vec![],
    };
    let internet = Internet::start(zone, |stream, _| converse(stream, |_, _| None)).await;
    let origin = internet.origin(&[]);
    // `nothing.org`, the mail host of `empty.org`, exists without an address.
    for (address, confidence) in
        [("user@special.org", Confidence::High), ("user@empty.org", Confidence::Medium)]
    {
        let answer = verdict(&origin, address).await;
        assert_eq!(
            (answer.status, answer.reason),
            (Status::SmtpConnectError, Reason::NoUsableAddress)
        );
        let details = answer.details.unwrap();
        assert_eq!(
            (details.confidence, details.verdict),
            (confidence, Deliverability::Undeliverable)
        );
    }
}

/// The first of two hosts refuses us in unknown words; the second is tried, and decides.
#[tokio::test]
async fn a_greeting_that_refuses_us_in_unknown_words_sends_us_to_the_next_host() {
    let zone = |name: &str, kind| match kind {
        RecordType::MX => (1..3).map(|n| mx(10 * n, &format!("mx{n}.{name}"))).collect(),
        RecordType::A => vec![a(&format!("127.0.7.{}", &name[2..3]))],
        _ => vec![],
    };
    let internet = Internet::start(zone, |mut stream, dialled: IpAddr| async move {
        if dialled.to_string().ends_with('1') {
            let _ = stream.write_all(b"554 moved, E-17\r\n").await;
            return;
        }
        converse(stream, |verb, _| (verb == "RCPT").then(|| "550 5.1.1 no".to_owned())).await;
    })
    .await;
    let answer = verdict(&internet.origin(&[]), "user@example.org").await;
    assert_eq!((answer.status, answer.reason), (Status::Refused, Reason::NoSuchMailbox));
}

#[tokio::test]
async fn an_address_that_our_name_leads_to_is_not_dialled() {
    let guard = Guard::new(Vec::new(), vec!["198.51.99.1".parse().unwrap()]);
    let public: IpAddr = "203.0.114.7".parse().unwrap();
    assert!(guard.permits(public));
    let zone = |name: &str, kind| match kind {
        RecordType::A if name == "probe.example.com" => vec![a("203.0.114.7")],
        _ => vec![],
    };
    let internet = Internet::start(zone, |stream, _| converse(stream, |_, _| None)).await;
    let state = internet.state(&[("RCPT_SOURCE_ADDRESSES", "127.0.0.9")]);
    state.prober.clone().learn_own_addresses().await;
    let own = state.prober.own_addresses();
    for address in ["203.0.114.7", "127.0.0.9", "127.0.0.1"] {
        assert!(own.contains(&address.parse().unwrap()), "{address} is missing in {own:?}");
    }
    guard.set_own(own);
    assert!(!guard.permits(public));
}

#[tokio::test]
async fn an_address_that_looks_like_a_search_for_open_relays_reaches_no_server() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    let internet = Internet::start(one_machine("127.0.6.4"), move |stream, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        converse(stream, |_, _| None)
    })
    .await;
    let origin = internet.origin(&[]);
    for address in [
        "user%other.net@example.org",
        "other.net!user@example.org",
        r#""@x.net,@y.net:z"@example.org"#,
    ] {
        let answer = verdict(&origin, address).await;
        assert_eq!((answer.status, answer.reason), (Status::BlockedByProvider, Reason::Unclear));
        assert_eq!((answer.stage, answer.mx_host), (Stage::Dns, None), "{address}");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}
