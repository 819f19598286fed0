//! The sandbox gives every documented verdict, and shows the course of a conversation.

use std::time::Duration;

use rcpt_shared::{Confidence, Deliverability, Status, Traits, sandbox::CASES};
use rcpt_tests::{Origin, Sandbox};
use tokio::{task::JoinSet, time::Instant};

async fn world() -> (Sandbox, Origin) {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).start().await.expect("origin");
    (sandbox, origin)
}

/// Checks all addresses of the sandbox concurrently, and asserts their verdicts and details.
async fn assert_verdicts(origin: Origin) {
    let origin = std::sync::Arc::new(origin);
    let mut probes = JoinSet::new();
    for case in &CASES {
        let origin = origin.clone();
        probes.spawn(async move { (case, origin.probe(case.address).await) });
    }
    for (case, verdict) in probes.join_all().await {
        let expected = (case.status, case.reason);
        assert_eq!((verdict.status, verdict.reason), expected, "{}", case.address);
    }
}

#[tokio::test]
async fn every_sandbox_address_gives_its_documented_verdict() {
    let (_sandbox, origin) = world().await;
    assert_verdicts(origin).await;
}

#[tokio::test]
async fn without_a_route_a_table_gives_the_verdicts_of_the_server() {
    assert_verdicts(Origin::builder().start().await.expect("origin")).await;
}

#[tokio::test]
async fn the_sandbox_has_an_address_for_every_word_and_trait_of_the_details() {
    for (_sandbox, origin) in
        [world().await, (Sandbox::start().unwrap(), Origin::builder().start().await.unwrap())]
    {
        let of = async |name: &str| {
            let verdict = origin.probe(&format!("{name}@sandbox.test")).await;
            *verdict.details.unwrap()
        };
        let medium = of("medium").await;
        assert_eq!(
            (medium.confidence, medium.verdict),
            (Confidence::Medium, Deliverability::Deliverable)
        );
        assert_eq!(medium.operator.as_deref(), Some("google"));
        let risky = of("accepted_by_operator_policy").await;
        assert_eq!((risky.confidence, risky.verdict), (Confidence::Low, Deliverability::Risky));
        assert!(of("info").await.traits.role_account);
        assert!(of("disposable").await.traits.disposable);
        assert!(of("free_provider").await.traits.free_provider);
        let misspelt = origin.probe("accepts@snadbox.test").await.details.unwrap();
        assert_eq!(misspelt.traits.suggested_domain.as_deref(), Some("sandbox.test"));
        let plain = of("accepts").await;
        assert_eq!(plain.traits, Traits::default());
        assert_eq!(
            (plain.confidence, plain.verdict),
            (Confidence::High, Deliverability::Deliverable)
        );
    }
}

#[tokio::test]
async fn a_tag_makes_another_address_with_the_same_verdict() {
    let (_sandbox, origin) = world().await;
    for n in 0..3 {
        let verdict = origin.probe(&format!("rejects+{n}@sandbox.test")).await;
        assert_eq!(verdict.status, Status::Refused);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_costs_no_more_than_the_budget() {
    let (_sandbox, origin) = world().await;
    let started = Instant::now();
    let verdict = origin.probe("timeout@sandbox.test").await;
    let took = started.elapsed();
    assert_eq!(verdict.status, Status::SmtpTimeout);
    assert!((9_000..10_500).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test]
async fn a_smaller_budget_is_kept_as_well() {
    let sandbox = Sandbox::start().expect("sandbox");
    let origin = Origin::builder().routes(&sandbox.routes()).env("RCPT_BUDGET_MS", "1500");
    let origin = origin.start().await.expect("origin");
    let started = Instant::now();
    let verdict = origin.probe("slow@sandbox.test").await;
    assert_eq!(verdict.status, Status::SmtpTimeout, "{verdict:?}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_conversation_asks_for_the_recipient_and_nothing_else() {
    let (sandbox, origin) = world().await;
    origin.probe("accepts@sandbox.test").await;
    let sessions = sandbox.server().sessions();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!(session.first().map(String::as_str), Some("EHLO probe.rcpt-tests.net"));
    assert!(
        session.iter().any(|line| line.starts_with("MAIL FROM:<postmaster@rcpt-tests.net>")),
        "{session:?}"
    );
    assert!(
        session.iter().any(|line| line.starts_with("RCPT TO:<accepts@sandbox.test>")),
        "{session:?}"
    );
    for line in session {
        let verb = line.split(' ').next().unwrap_or_default();
        assert!(["EHLO", "MAIL", "RCPT", "RSET", "QUIT"].contains(&verb), "{session:?}");
    }
}
