//! The ticket has a name of the account: an origin can tell accounts apart but learns nothing else
//! about them. An account that floods an origin has to wait for other accounts.

use std::{collections::BTreeSet, time::Duration};

use rcpt_shared::{Ticket, Verdict};
use rcpt_tests::{Account, Edge, FakeOrigin, Stack, service::clock};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

/// The tickets of the checks of `address`, in order.
fn tickets(edge: &Edge, origin: &FakeOrigin, address: &str) -> Vec<Ticket> {
    let keys = edge.key_ring("TICKET_SECRET");
    let probes = origin.probes().into_iter().filter(|probe| probe.address == address);
    let check =
        |ticket: &str, body: &str| Ticket::check(&keys, ticket, body.as_bytes(), clock::now());
    probes.map(|probe| check(&probe.ticket, &probe.body).unwrap()).collect()
}

#[tokio::test]
async fn an_account_has_one_tenant_whatever_it_shows_and_no_two_have_the_same() {
    let origin = FakeOrigin::by_name();
    let no_cache = ("CACHE_DECIDED_SECONDS", "0");
    let edge = Edge::builder().origins(&[&origin.url]).var(no_cache.0, no_cache.1);
    let edge = edge.start().await.unwrap();
    let (mut ann, bob) = (edge.account().await, edge.account().await);
    edge.set(&bob.email, "plan = 'pro'").await;

    assert_eq!(ann.check("ann@tenant.example").await.status, 200);
    assert_eq!(ann.check_in_session("ann@tenant.example").await.status, 200);
    ann.api_key = ann.rotate_api_key().await.text("api_key").to_owned();
    assert_eq!(ann.check("ann@tenant.example").await.status, 200);
    assert_eq!(bob.check("bob@tenant.example").await.status, 200);

    let of_ann = tickets(&edge, &origin, "ann@tenant.example");
    let of_bob = tickets(&edge, &origin, "bob@tenant.example");
    let names: Vec<_> = of_ann.iter().map(|ticket| ticket.tenant().unwrap()).collect();
    assert_eq!(names, [names[0]; 3], "by key, by session, and by the next key");
    assert_ne!(of_bob[0].tenant().unwrap(), names[0]);
    assert_eq!(of_ann[0].counted_as(), Some("free"), "all free accounts are counted as one");
    assert_eq!(of_bob[0].counted_as(), of_bob[0].tenant());
    for account in [&ann, &bob] {
        let id = edge.id(&account.email).await;
        assert!(of_ann.iter().chain(&of_bob).all(|ticket| !format!("{ticket:?}").contains(&id)));
    }
}

async fn flood(stack: &Stack, account: &Account, checks: usize) -> JoinSet<u16> {
    let mut all = JoinSet::new();
    for n in 0..checks {
        let account = account.clone();
        let address = format!("slow+{}-{n}@sandbox.test", &account.email[..4]);
        all.spawn(async move { account.check(&address).await.status });
    }
    // Waits until the origin has its maximum of checks.
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let metrics = stack.origin.get("/metrics").await.unwrap().text().await.unwrap();
        if metrics.lines().any(|line| line == "rcpt_origin_probes_in_flight 4") {
            return all;
        }
        assert!(Instant::now() < deadline, "{metrics}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn an_account_that_floods_an_origin_gives_way_to_the_others() {
    let stack = Stack::builder().origin_env("RCPT_MAX_PROBES", "8").start().await;
    let (flooder, other) = (stack.edge.account().await, stack.edge.account().await);
    for account in [&flooder, &other] {
        stack.edge.set(&account.email, "plan = 'pro'").await;
    }
    let flood = flood(&stack, &flooder, 40).await;
    for n in 0..4 {
        let reply = other.check(&format!("accepts+{n}@sandbox.test")).await;
        assert_eq!((reply.status, &reply.body["status"]), (200, &Value::Bool(true)), "{n}");
    }
    let statuses = flood.join_all().await;
    let answered = statuses.iter().filter(|status| **status == 200).count();
    assert!((4..40).contains(&answered), "half of the places are an account's share: {statuses:?}");
    assert!(statuses.iter().all(|status| [200, 502].contains(status)), "{statuses:?}");
    // The line of each probe names the tenant, but nothing about its account. It is written after the answer.
    let tenants = || -> BTreeSet<_> {
        let log = stack.origin.process.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|line| Some(line["tenant"].as_str()?.to_owned())).collect()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while tenants().len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", tenants());
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(tenants().len(), 2, "{:?}", tenants());
    assert!(!stack.origin.process.log().contains(&stack.edge.id(&flooder.email).await));
}

#[tokio::test]
async fn a_ticket_whose_tenant_was_changed_asks_for_nothing() {
    let stack = Stack::start().await;
    let body = r#"{"address":"accepts@sandbox.test"}"#;
    let issue = |name| {
        let tenant = rcpt_shared::Tenant { name, paying: true };
        let keys = stack.origin.keys();
        Ticket::issue_for(keys, "r-1", body.as_bytes(), clock::now(), Some(tenant)).unwrap()
    };
    let (mine, theirs) = (issue("mine"), issue("theirs"));
    let [own, other] = [&mine, &theirs].map(|ticket| ticket.split('.').collect::<Vec<_>>());
    let forged = [own[0], other[1], own[2]].join(".");
    assert_eq!(stack.origin.post(body, &forged).await.unwrap().status(), 401);
    let answer = stack.origin.post(body, &mine).await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.json::<Verdict>().await.unwrap();
}
