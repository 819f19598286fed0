//! The service looks up a domain before it emails a link. A domain without mail causes the same error for everybody.
//! A failing or slow resolver rejects nobody.

use rcpt_tests::{
    Dns, Edge, FakeDns, Reply,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::json;

const NO_DOMAIN: &str = r#"{"Status":3,"TC":false,"Authority":[{"name":"","type":6,"data":"x."}]}"#;
const NULL_MX: &str = r#"{"Status":0,"Answer":[
    {"name":"deaf.example","type":5,"TTL":9,"data":"other.example."},
    {"name":"other.example","type":15,"TTL":9,"data":"0 ."}]}"#;
const MX: &str =
    r#"{"Status":0,"Answer":[{"name":"a.example","type":15,"TTL":9,"data":"10 mx.a.example."}]}"#;
const NO_MX: &str = r#"{"Status":0}"#;

/// A resolver whose answer depends on the name; unknown names have an MX record.
fn resolver() -> FakeDns {
    FakeDns::start(|target| {
        let name = target.split(['=', '&']).nth(1).unwrap_or_default();
        match name.split('.').next().unwrap_or_default() {
            "gone" => Dns::Document(NO_DOMAIN),
            "deaf" => Dns::Document(NULL_MX),
            "implicit" => Dns::Document(NO_MX),
            "broken" => Dns::Document(r#"{"Status":2}"#),
            "refused" => Dns::Document(r#"{"Status":5}"#),
            "nonsense" => Dns::Document("<html>"),
            "status" => Dns::Status(500),
            "slow" => Dns::Silence,
            _ => Dns::Document(MX),
        }
    })
}

async fn edge(resolver: &FakeDns) -> Edge {
    Edge::builder().var("DNS_URL", &resolver.url).shimmed().start().await.unwrap()
}

async fn both(edge: &Edge, email: &str) -> [Reply; 2] {
    let anonymous = edge.anonymous();
    [anonymous.register(email, PASSWORD).await, anonymous.forgot_password(email).await]
}

#[tokio::test]
async fn a_domain_that_gets_no_mail_is_told_before_anything_is_stored_or_mailed() {
    let resolver = resolver();
    let edge = edge(&resolver).await;
    edge.anonymous().get("/health").await;
    edge.counts().await;
    for (domain, detail) in [
        (
            "gone.example",
            "The domain gone.example doesn't exist. Check the spelling of your email.",
        ),
        ("deaf.example", "The domain deaf.example doesn't accept email. Use another address."),
    ] {
        for reply in both(&edge, &format!("Ann@{}", domain.to_uppercase())).await {
            let expected = json!({ "detail": detail, "code": "undeliverable_email" });
            assert_eq!(reply.parts(), (400, &expected));
        }
    }
    assert_eq!(edge.mails().await, [] as [serde_json::Value; 0]);
    assert_eq!(edge.counts().await.d1_trips, 0);
    for target in resolver.targets() {
        assert!(!target.contains('@') && !target.to_lowercase().contains("ann"), "{target}");
    }
}

#[tokio::test]
async fn a_member_and_a_stranger_of_a_dead_domain_are_told_the_same_after_the_same_work() {
    let resolver = resolver();
    let mut edge = Edge::builder().shimmed().start().await.unwrap();
    let member = edge.account_of("member@gone.example").await.email;
    let url = resolver.url.clone();
    edge.restart_with(|builder| builder.var("DNS_URL", url)).await.unwrap();
    let mut answers = Vec::new();
    for email in [&*member, "stranger@gone.example"] {
        edge.counts().await;
        let replies = both(&edge, email).await;
        answers
            .push((replies.map(|reply| (reply.status, reply.body)), edge.counts().await.d1_trips));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].1, 0);
}

#[tokio::test]
async fn a_resolver_that_fails_or_is_slow_keeps_nobody_out() {
    let resolver = resolver();
    let edge = edge(&resolver).await;
    for kind in ["fine", "implicit", "broken", "refused", "nonsense", "status", "slow"] {
        let email = format!("ann@{kind}.example");
        let [registered, forgotten] = both(&edge, &email).await;
        assert_eq!((registered.status, forgotten.status), (201, 200), "{kind}");
        edge.mailbox().wait_for_nth_mail(&email, 2).await.unwrap();
    }
    assert_eq!(resolver.targets().len(), 14, "each is asked about once");
}

#[tokio::test]
async fn a_client_that_is_shielded_asks_no_resolver() {
    let resolver = resolver();
    let edge = Edge::builder().var("DNS_URL", &resolver.url).throttled();
    let edge = edge.start().await.unwrap();
    for n in 0..200 {
        let body = json!({ "email": format!("ann{n}@gone.example") });
        send(edge.anonymous().request(Method::POST, "/auth/forgot-password").json(&body)).await;
    }
    // The limit is 60 a minute; a new minute may have begun.
    assert!((1..=120).contains(&resolver.targets().len()), "{}", resolver.targets().len());
}
