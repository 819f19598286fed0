//! `POST /v1/probe/batch` of origin: up to 500 addresses, with a line for each as soon as its verdict is known.

use std::{collections::BTreeSet, time::Duration};

use rcpt_shared::{
    AWAITED_HEADER, BatchAnswer, BatchLine, CatchAll, Reason, Status, Verdict, WITHIN_HEADER,
};
use rcpt_tests::{Answer, Nsd, Origin, Postfix, Sandbox, SmtpServer, process::port};
use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

/// Time limit of a test.
const PATIENCE: Duration = Duration::from_secs(60);

async fn post(origin: &Origin, body: &Value) -> Response {
    let body = body.to_string();
    let response = origin.post_to("/v1/probe/batch", &body, &origin.ticket(&body)).await;
    response.expect("an answer")
}

/// The lines of a response as they arrive.
struct Lines {
    response: Response,
    read: Vec<u8>,
    answered: usize,
}

impl Lines {
    async fn of(origin: &Origin, addresses: &[String]) -> Self {
        Self::from(post(origin, &json!({ "addresses": addresses })).await)
    }

    /// A list that somebody waits for: the edge leaves it 19 s, of which its caller waits for two.
    async fn awaited(origin: &Origin, addresses: &[String]) -> Self {
        let body = json!({ "addresses": addresses }).to_string();
        let request = origin.request("/v1/probe/batch", &body, &origin.ticket(&body));
        let request = request.header(WITHIN_HEADER, "19000").header(AWAITED_HEADER, "1500");
        Self::from(request.send().await.expect("an answer"))
    }

    fn from(response: Response) -> Self {
        let content_type = response.headers().get("content-type").expect("a type");
        assert_eq!(
            (response.status().as_u16(), content_type.as_bytes()),
            (200, &b"application/x-ndjson"[..])
        );
        Self { response, read: Vec::new(), answered: 0 }
    }

    /// The next answer; `None` after the closing line, whose counts must be correct.
    async fn next(&mut self) -> Option<BatchAnswer> {
        match self.line().await.expect("a closing line") {
            BatchLine::Answer(answer) => {
                self.answered += 1;
                Some(answer)
            }
            BatchLine::NotAsked(line) => panic!("{line:?}"),
            BatchLine::End(end) => {
                assert_eq!((end.answered, end.not_asked), (self.answered, 0));
                assert!(self.line().await.is_none(), "a line after the closing one");
                None
            }
        }
    }

    async fn line(&mut self) -> Option<BatchLine> {
        loop {
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("a known kind of line"));
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("a line in time");
            self.read.extend(chunk.expect("no broken connection")?);
        }
    }

    /// The remaining answers in the order of the addresses.
    async fn rest(mut self) -> Vec<BatchAnswer> {
        let mut answers = Vec::new();
        while let Some(answer) = self.next().await {
            answers.push(answer);
        }
        assert_eq!(self.read, b"", "the last line is whole");
        answers.sort_by_key(|answer| answer.index);
        answers
    }
}

/// The number of probes in progress, from `/metrics`.
async fn in_flight(origin: &Origin) -> usize {
    let metrics = origin.get("/metrics").await.unwrap().text().await.unwrap();
    let line = metrics.lines().find(|line| line.starts_with("rcpt_origin_probes_in_flight "));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("the gauge")
}

#[tokio::test]
async fn five_hundred_addresses_of_a_real_server_each_get_their_own_verdict() {
    let mut postfix = Postfix::start(Duration::from_secs(2)).await.expect("Postfix");
    let origin = Origin::builder().routes(&postfix.routes()).env("RCPT_SESSION_RECIPIENTS", "100");
    let origin = origin.start().await.expect("origin");
    let unknown = |n: usize| n % 25 == 7;
    let address = |n| match unknown(n) {
        true => format!("nobody-{n}@postfix.test"),
        false => format!("known+{n}@postfix.test"),
    };
    let addresses: Vec<_> = (0..500).map(address).collect();
    let answers = Lines::of(&origin, &addresses).await.rest().await;
    assert_eq!(answers.len(), 500);
    for (n, answer) in answers.iter().enumerate() {
        let expected = match unknown(n) {
            true => (n, Status::Refused, Reason::NoSuchMailbox),
            false => (n, Status::Accepted, Reason::Accepted),
        };
        let verdict = &answer.verdict;
        assert_eq!((answer.index, verdict.status, verdict.reason), expected, "{verdict:?}");
    }
    // Twenty unknown recipients at three per session need seven sessions, and the known recipients fit in between.
    postfix.process.wait_for_line("ehlo=1", PATIENCE).await.expect("the end of a session");
    let ended = postfix.process.log().matches("ehlo=1").count();
    assert!((1..=20).contains(&ended), "{ended} sessions have ended");
}

#[tokio::test]
async fn no_session_refuses_so_many_recipients_that_the_server_would_slow_down() {
    // Postfix's smtpd_soft_error_limit: a pause of a second after ten unknown recipients in one session.
    let mut postfix = Postfix::start(Duration::from_secs(2)).await.expect("Postfix");
    let origin = Origin::builder().routes(&postfix.routes()).start().await.expect("origin");
    let addresses: Vec<_> = (0..50).map(|n| format!("nobody-{n}@postfix.test")).collect();
    let answers = Lines::of(&origin, &addresses).await.rest().await;
    assert_eq!(answers.len(), 50);
    for answer in &answers {
        let verdict = &answer.verdict;
        assert_eq!((verdict.status, verdict.smtp_code), (Status::Refused, Some(550)), "{answer:?}");
    }
    postfix.process.wait_for_line("rcpt=0/", PATIENCE).await.expect("the end of a session");
    let log = postfix.process.log();
    let refused = log.lines().filter_map(|line| line.split_once("rcpt=0/")?.1.split(' ').next());
    let most = refused.filter_map(|count| count.parse::<u32>().ok()).max();
    assert!(most.is_some_and(|most| most <= 3), "{most:?} in one session");
}

#[tokio::test]
async fn answers_come_as_they_are_known_and_a_silent_server_holds_back_no_other() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).env("RCPT_SESSION_RECIPIENTS", "100");
    let origin = origin.start().await.expect("origin");
    let mut addresses = vec!["timeout@sandbox.test".to_owned()];
    addresses.extend((1..500).map(|n| format!("accepts+{n}@sandbox.test")));
    let mut lines = Lines::awaited(&origin, &addresses).await;
    let mut quick = BTreeSet::new();
    for _ in 1..500 {
        let answer = lines.next().await.expect("499 answers");
        assert_eq!(answer.verdict.status, Status::Accepted, "{answer:?}");
        quick.insert(answer.index);
    }
    assert_eq!(quick, (1..500).collect());
    assert_eq!(in_flight(&origin).await, 1);
    let slow = lines.rest().await;
    let [BatchAnswer { index: 0, verdict }] = &slow[..] else { panic!("{slow:?}") };
    assert_eq!((verdict.status, verdict.reason), (Status::SmtpTimeout, Reason::Timeout));
}

/// The first of ten addresses has no answer; the others have one before a deadline of two seconds.
async fn nine_are_known_in_time(origin: &Origin, addresses: &[String], catch_all: CatchAll) {
    let mut lines = Lines::awaited(origin, addresses).await;
    let known = timeout(Duration::from_millis(1_900), async {
        for _ in 1..10 {
            let answer = lines.next().await.expect("nine answers");
            let details = answer.verdict.details.expect("details");
            let seen = (answer.verdict.status, details.catch_all);
            assert_eq!(seen, (Status::Accepted, catch_all), "{}", answer.index);
        }
    });
    known.await.expect("nine answers before a deadline of two seconds");
    let [BatchAnswer { index: 0, verdict }] = &lines.rest().await[..] else { panic!("one more") };
    assert_eq!((verdict.status, verdict.reason), (Status::SmtpTimeout, Reason::Timeout));
}

#[tokio::test]
async fn where_somebody_waits_what_is_known_comes_at_once_with_its_evidence() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).start().await.expect("origin");
    let mut addresses = vec!["timeout@sandbox.test".to_owned()];
    addresses.extend((1..10).map(|n| format!("accepts+{n}@sandbox.test")));
    nine_are_known_in_time(&origin, &addresses, CatchAll::No).await;
}

#[tokio::test]
async fn where_somebody_waits_evidence_that_is_slow_holds_back_no_accepted_address() {
    const ZONE: &str = "one MX 10 mx\ntwo MX 10 mx\nmx A 127.0.0.33";
    let nsd = Nsd::start(&[("rcpt-tests.net", ZONE)], &[]).await.expect("NSD");
    let smtp_port = port::free();
    let is_known = |recipient: &str| recipient.starts_with("known");
    let late = || Answer::After(Duration::from_secs(30), "550 5.1.1 No".to_owned());
    let rule = move |it: &str| if is_known(it) { Answer::accept() } else { late() };
    let _server = SmtpServer::start(([127, 0, 0, 33], smtp_port).into(), rule).expect("a server");
    let origin = Origin::builder()
        .env("RCPT_NAMESERVERS", nsd.address().to_string())
        .env("RCPT_SMTP_PORT", smtp_port.to_string())
        .env("RCPT_MACHINE_SESSIONS", "4")
        .env("RCPT_SESSION_INTERVAL_MS", "0");
    let origin = origin.start().await.expect("origin");
    let address = |n| match n {
        0 => "silent@one.rcpt-tests.net".to_owned(),
        n => format!("known-{n}@one.rcpt-tests.net"),
    };
    // A single check by the same rule.
    let body = json!({ "address": "known@two.rcpt-tests.net" }).to_string();
    let request = origin.request("/v1/probe", &body, &origin.ticket(&body));
    let request = request.header(AWAITED_HEADER, "1500").send();
    let response = timeout(Duration::from_millis(1_900), request).await;
    let response = response.expect("an answer before a deadline of two seconds").unwrap();
    let verdict: Verdict = response.json().await.expect("a verdict");
    let details = verdict.details.expect("details");
    assert_eq!((verdict.status, details.catch_all), (Status::Accepted, CatchAll::Unknown));
    nine_are_known_in_time(&origin, &(0..10).map(address).collect::<Vec<_>>(), CatchAll::Unknown)
        .await;
}

#[tokio::test]
async fn a_hundred_addresses_of_one_mail_host_take_two_connections_at_most() {
    const ZONE: &str = "one MX 10 mx\nother MX 10 mx\nmx A 127.0.0.32";
    let nsd = Nsd::start(&[("rcpt-tests.net", ZONE)], &[]).await.expect("NSD");
    let smtp_port = port::free();
    let address = ([127, 0, 0, 32], smtp_port).into();
    let server = SmtpServer::start(address, |_| Answer::accept()).expect("a mail server");
    let origin = Origin::builder()
        .env("RCPT_NAMESERVERS", nsd.address().to_string())
        .env("RCPT_SMTP_PORT", smtp_port.to_string())
        .env("RCPT_SESSION_RECIPIENTS", "100");
    let origin = origin.start().await.expect("origin");
    let domain = |n| if n % 2 == 0 { "one" } else { "other" };
    let addresses: Vec<_> =
        (0..100).map(|n| format!("someone-{n}@{}.rcpt-tests.net", domain(n))).collect();
    let answers = Lines::of(&origin, &addresses).await.rest().await;
    assert_eq!(answers.len(), 100);
    for answer in &answers {
        assert_eq!(answer.verdict.status, Status::Accepted, "{answer:?}");
    }
    let sessions = server.sessions();
    assert!((1..=2).contains(&sessions.len()), "{} connections", sessions.len());
    let lines = || sessions.iter().flatten().filter(|line| line.starts_with("RCPT TO:"));
    let request_count = lines().filter(|line| line.contains("<someone-")).count();
    // Each of the two domains also has a control recipient, beside which at most two accepted ones are asked again.
    assert!((100..=104).contains(&request_count), "{request_count} requests");
    assert_eq!(lines().count() - request_count, 2, "control recipients");
}

#[tokio::test]
async fn details_are_given_of_each_address() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).start().await.expect("origin");
    let addresses = ["info@catchall.sandbox.test", "rejects@sandbox.test", "x@nomx.sandbox.test"];
    let addresses = addresses.map(str::to_owned);
    let answers = Lines::of(&origin, &addresses).await.rest().await;
    let answers: Vec<_> = answers
        .iter()
        .map(|answer| {
            let details = answer.verdict.details.as_ref().expect("details");
            (answer.verdict.reason, details.catch_all, details.traits.role_account)
        })
        .collect();
    let expected = [
        (Reason::AcceptedCatchAll, CatchAll::Yes, true),
        (Reason::NoSuchMailbox, CatchAll::Unknown, false),
        (Reason::NullMx, CatchAll::Unknown, false),
    ];
    assert_eq!(answers, expected);
}

#[tokio::test]
async fn one_to_five_hundred_valid_addresses_are_a_batch_and_all_else_is_refused_whole() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).start().await.expect("origin");
    let many = |count: usize| vec!["x@nomx.sandbox.test"; count];
    let malformed =
        json!({ "detail": "The body is not what is asked for, or an address in it is not valid." });
    for body in [
        json!({ "addresses": many(501) }),
        json!({ "addresses": [] }),
        json!({ "addresses": ["accepts@sandbox.test", "no address"] }),
        json!({ "addresses": ["accepts@sandbox.test", 7] }),
        json!({ "addresses": "accepts@sandbox.test" }),
        json!({ "addresses": many(1), "details": "yes" }),
        json!({ "addresses": many(1), "address": "accepts@sandbox.test" }),
        json!({}),
    ] {
        let response = post(&origin, &body).await;
        let status = response.status().as_u16();
        let answer: Value = response.json().await.expect("a body");
        assert_eq!((status, &answer), (400, &malformed), "{body}");
    }
    assert_eq!(sandbox.server().sessions().len(), 0);
    for count in [1, 500] {
        let addresses: Vec<_> = many(count).into_iter().map(str::to_owned).collect();
        let answers = Lines::of(&origin, &addresses).await.rest().await;
        assert_eq!(answers.len(), count);
    }
    let response = post(&origin, &json!({ "addresses": many(20_000) })).await;
    assert_eq!(response.status().as_u16(), 413);
}

#[tokio::test]
async fn a_batch_needs_a_ticket_for_its_own_body() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).start().await.expect("origin");
    let body = json!({ "addresses": ["accepts@sandbox.test"] }).to_string();
    let detail = json!({ "detail": "The ticket is missing or not valid for this request." });
    for ticket in [String::new(), origin.ticket(r#"{"addresses":["other@sandbox.test"]}"#)] {
        let response = origin.post_to("/v1/probe/batch", &body, &ticket).await.unwrap();
        let status = response.status().as_u16();
        assert_eq!((status, response.json::<Value>().await.unwrap()), (401, detail.clone()));
    }
    assert_eq!(sandbox.server().sessions().len(), 0);
}

#[tokio::test]
async fn when_the_client_leaves_what_is_left_of_its_batch_is_not_asked() {
    let sandbox = Sandbox::start().expect("sandbox");
    // Half of the permits are for batches, and an address of a list has three times the budget.
    let origin = Origin::builder().routes(&sandbox.routes()).env("RCPT_MAX_PROBES", "4");
    let origin = origin.env("RCPT_BUDGET_MS", "500");
    let origin = origin.start().await.expect("origin");
    let mut addresses = vec!["x@nomx.sandbox.test".to_owned()];
    addresses.extend((1..100).map(|n| format!("timeout+{n}@sandbox.test")));
    let mut lines = Lines::of(&origin, &addresses).await;
    // The order is arbitrary: the address without a mail host may have to wait for two probes that time out.
    lines.next().await.expect("an answer");
    assert!(in_flight(&origin).await <= 2);
    drop(lines);
    let gone = async {
        while in_flight(&origin).await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, gone).await.expect("nothing in progress");
    let server_lines = sandbox.server().sessions().concat();
    let rcpt_count = server_lines.iter().filter(|line| line.starts_with("RCPT TO:")).count();
    // With two probes at a time for 1.5 s each, forty would be asked about until the batch starts no more.
    assert!(rcpt_count < 20, "{rcpt_count} were asked about");
}
