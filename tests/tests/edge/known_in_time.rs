//! Checks with `deadline_ms` at a server that delays its answers about names that don't exist: the acceptance is the answer,
//! although its evidence is missing.

use std::time::Duration;

use rcpt_tests::{Account, Answer, Reply, SmtpServer, Stack, people::send};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

struct World {
    account: Account,
    _stack: Stack,
    _server: SmtpServer,
}

impl World {
    async fn start() -> Self {
        let answer = |recipient: &str| match recipient.starts_with("known") {
            true => Answer::accept(),
            false => Answer::After(Duration::from_secs(30), "550 5.1.1 No".to_owned()),
        };
        let server = SmtpServer::start(([127, 0, 0, 1], 0).into(), answer).expect("a mail server");
        let at = server.address();
        let route = |n| format!("tarpit-{n}.test={at}");
        let routes = (0..4).map(route).collect::<Vec<_>>().join(",");
        let stack = Stack::builder().origin_env("RCPT_ROUTES", routes);
        let stack = stack.origin_env("RCPT_BUDGET_MS", "10000").start().await;
        Self { account: stack.edge.account().await, _stack: stack, _server: server }
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        let request = self.account.anonymous.request(Method::POST, path);
        send(request.header("x-api-key", &self.account.api_key).json(&body)).await
    }

    async fn check(&self, email: &str) -> Reply {
        self.post("/validate_email", json!({ "email": email, "deadline_ms": 2_000 })).await
    }
}

fn accepted(email: &str) -> Value {
    json!({ "email": email, "verdict": "risky", "status": true, "cached": false })
}

#[tokio::test]
async fn a_check_is_answered_at_its_deadline_by_the_acceptance_that_is_known() {
    let world = World::start().await;
    let email = "known@tarpit-0.test";
    assert_eq!(world.check(email).await.parts(), (200, &accepted(email)));
}

#[tokio::test]
async fn a_list_gives_at_its_deadline_the_acceptances_that_are_known() {
    let world = World::start().await;
    for (domain, deadline_ms) in [("tarpit-1.test", 2_000), ("tarpit-2.test", 1_000)] {
        let emails = [1, 2].map(|n| format!("known-{n}@{domain}"));
        let body = json!({ "emails": emails, "deadline_ms": deadline_ms });
        let reply = world.post("/validate_emails", body).await;
        let expected = emails.each_ref().map(|email| accepted(email));
        assert_eq!((reply.status, &reply.body["results"]), (200, &json!(expected)));
        assert_eq!(reply.body["pending"], Value::Null);
    }
}

#[tokio::test]
async fn who_takes_what_is_known_does_not_wait_with_an_identical_check_that_waits_for_all() {
    let world = World::start().await;
    let email = "known@tarpit-3.test";
    let patient = world.post("/validate_email", json!({ "email": email }));
    let hurried = async {
        sleep(Duration::from_millis(300)).await;
        world.check(email).await
    };
    let (patient, hurried) = tokio::join!(patient, hurried);
    assert_eq!(hurried.parts(), (200, &accepted(email)));
    assert_eq!(patient.parts(), (200, &accepted(email)));
}
