//! One abuser can't stop the service for everybody else. Shields by network, site and account reject requests before
//! D1, throttles refill with time, and few emails are sent (docs/security.md, B2, B3 and B5).
//!
//! - B2: limits by network (IPv4, /64, /48) and by account come before D1. B3: forty replaced keys cause two emails;
//!   one address gets at most three emails with links an hour. B5: sixty people behind one address register.

use std::time::Duration;

use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, send, send_all},
    process::turn,
};
use reqwest::Method;
use serde_json::{Value, json};

const SECOND: &str = "copper-meadow-58-lattice";
const THIRD: &str = "amber-willow-63-harbour";
const OFFICE: &str = "203.0.113.9";

fn junk_token(edge: &Edge, from: &str) -> reqwest::RequestBuilder {
    let request = edge.anonymous().request(Method::POST, "/auth/verify-email");
    request.json(&json!({ "token": "junk" })).header("cf-connecting-ip", from)
}

// --- shields

#[tokio::test]
async fn a_flood_of_junk_tokens_is_turned_away_before_the_database() {
    const TRIES: usize = 300;
    let _turn = turn().await;
    let edge = Edge::builder().throttled().shimmed().start().await.unwrap();
    let flood = (0..TRIES).map(|_| junk_token(&edge, OFFICE));
    let replies = send_all(flood, 20).await;
    let evaluated = replies.iter().filter(|reply| reply.status == 400).count();
    for reply in replies.iter().filter(|reply| reply.status != 400) {
        reply.assert_error(429, "throttled", "turned away");
        assert_eq!(reply.header("retry-after"), "60");
    }
    // The limit is 60 a minute; a new minute may have begun.
    assert!((1..=120).contains(&evaluated), "{evaluated}");
    assert!(edge.counts().await.d1_trips <= evaluated as u64);
    assert_eq!(send(junk_token(&edge, "198.51.100.7")).await.status, 400, "another network");
}

#[tokio::test]
async fn the_networks_of_one_site_are_shielded_together() {
    const TRIES: usize = 800;
    let _turn = turn().await;
    let edge = Edge::builder().throttled().start().await.unwrap();
    let flood = (0..TRIES).map(|n| junk_token(&edge, &format!("2001:db8:7:{n:x}::1")));
    let replies = send_all(flood, 20).await;
    let evaluated = replies.iter().filter(|reply| reply.status == 400).count();
    println!("{TRIES} networks of one site: {evaluated} requests let through");
    // The limit is 240 a minute; a new minute may have begun.
    assert!((1..=480).contains(&evaluated), "{evaluated}");
    assert_eq!(send(junk_token(&edge, "2001:db8:8::1")).await.status, 400, "another site");
}

#[tokio::test]
async fn an_account_that_asks_without_end_is_turned_away_before_the_database() {
    const TRIES: usize = 400;
    let edge = Edge::builder().throttled().shimmed().start().await.unwrap();
    let (busy, other) = (edge.account().await, edge.account().await);
    // The shield's minute may end during one flood, but not during two in a row.
    let mut quota = 200;
    for _ in 0..2 {
        edge.counts().await;
        let replies = send_all((0..TRIES).map(|_| busy.request(Method::GET, "/me")), 20).await;
        let shown = replies.iter().filter(|reply| reply.status == 200).count();
        assert!((1..=240).contains(&shown), "{shown}");
        assert!(edge.counts().await.d1_trips <= shown as u64);
        let refused = replies.iter().find(|reply| reply.status != 200).unwrap();
        refused.assert_error(429, "throttled", "turned away");
        quota = send(busy.request(Method::GET, "/me/quota")).await.status;
        if quota == 429 {
            break;
        }
    }
    assert_eq!(quota, 429, "another path of the same account");
    assert_eq!(other.get("/me").await.status, 200, "another account");
}

#[tokio::test]
async fn a_flood_with_a_stolen_key_does_not_keep_its_owner_from_replacing_it() {
    let edge = Edge::builder().throttled().start().await.unwrap();
    let (account, other) = (edge.account().await, edge.account().await);
    let by_key = |_| {
        let request = account.anonymous.request(Method::GET, "/me/quota");
        request.header("x-api-key", &account.api_key)
    };
    let replies = send_all((0..300).map(by_key), 100).await;
    let refused = replies.iter().find(|reply| reply.status != 200).unwrap();
    refused.assert_error(429, "throttled", "turned away");
    assert_eq!(account.rotate_api_key().await.status, 200, "its owner, who is signed in");
    assert_eq!(other.get("/me").await.status, 200, "another account");
}

/// With an ended session or a replaced key, only the first calls query the database, and no call counts for the owner.
#[tokio::test]
async fn a_flood_with_an_ended_session_or_a_replaced_key_costs_its_owner_nothing() {
    const AT_ONCE: usize = 20;
    let edge = Edge::builder().throttled().shimmed().start().await.unwrap();
    let owner = edge.account().await;
    let reply = owner.anonymous.login(&owner.email, PASSWORD).await;
    let ended = Account::from_credentials(&owner.anonymous, PASSWORD, &reply);
    assert_eq!(ended.post("/auth/sign-out", &json!({})).await.status, 204);
    let new_key = owner.rotate_api_key().await.text("api_key").to_owned();
    let by_key = |key: &str, path: &str| {
        owner.anonymous.request(Method::GET, path).header("x-api-key", key.to_owned())
    };
    let floods: [(&str, Vec<_>); 3] = [
        ("invalid_session", (0..300).map(|_| ended.request(Method::GET, "/me")).collect()),
        ("invalid_api_key", (0..700).map(|_| by_key(&owner.api_key, "/scans")).collect()),
        ("invalid_api_key", (0..300).map(|_| by_key(&owner.api_key, "/me/quota")).collect()),
    ];
    for (code, flood) in floods {
        edge.counts().await;
        for reply in send_all(flood, AT_ONCE).await {
            reply.assert_error(401, code, "over");
        }
        let trips = edge.counts().await.d1_trips;
        assert!(trips <= 3 * AT_ONCE as u64, "{code}: {trips}");
    }
    assert_eq!(owner.get("/me").await.status, 200);
    assert_eq!(owner.rotate_api_key().await.status, 200, "the owner's session");
    let newest = by_key(&new_key, "/scans");
    send(newest).await.assert_error(401, "invalid_api_key", "replaced by now");
}

/// A second, live session has a separate rate.
#[tokio::test]
async fn a_flood_with_a_stolen_session_does_not_keep_its_owner_from_ending_it() {
    let edge = Edge::builder().throttled().start().await.unwrap();
    let owner = edge.account().await;
    let reply = owner.anonymous.login(&owner.email, PASSWORD).await;
    let thief = Account::from_credentials(&owner.anonymous, PASSWORD, &reply);
    let replies = send_all((0..300).map(|_| thief.request(Method::GET, "/me")), 20).await;
    let refused = replies.iter().find(|reply| reply.status != 200).unwrap();
    refused.assert_error(429, "throttled", "turned away");
    assert_eq!(owner.post("/auth/sign-out-everywhere", &json!({})).await.status, 204);
    assert_eq!(edge.count("sessions").await, 0);
}

#[tokio::test]
async fn what_one_account_sends_in_one_moment_is_spread_or_refused_before_the_database() {
    const TRIES: usize = 300;
    const BURST: usize = 20;
    let edge = Edge::builder().var("ACCOUNT_REQUESTS_PER_SECOND", "10").shimmed();
    let edge = edge.start().await.unwrap();
    let (busy, other) = (edge.account().await, edge.account().await);
    edge.counts().await;
    let burst: Vec<_> = (0..TRIES).map(|_| busy.request(Method::GET, "/me")).collect();
    let started = tokio::time::Instant::now();
    let burst = tokio::spawn(async move { (send_all(burst, TRIES).await, started.elapsed()) });
    let mut answered = 0;
    while !burst.is_finished() {
        assert_eq!(other.get("/me").await.status, 200, "another account");
        answered += 1;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let (replies, took) = burst.await.unwrap();
    let shown = replies.iter().filter(|reply| reply.status == 200).count();
    println!("{TRIES} at once: {shown} answered in {took:?}");
    assert!((BURST..TRIES).contains(&shown), "{shown}");
    // The Worker's clock and timers may differ by milliseconds from ours.
    let spread = Duration::from_millis(90 * (shown - BURST) as u64);
    assert!(took >= spread, "{shown} in {took:?}");
    for refused in replies.iter().filter(|reply| reply.status != 200) {
        refused.assert_error(429, "throttled", "too much at once");
        assert_eq!(refused.header("retry-after"), "5");
    }
    assert!(edge.counts().await.d1_trips <= (shown + answered) as u64);
}

#[tokio::test]
async fn checks_at_an_absurd_rate_are_turned_away_before_the_database_and_count_nothing() {
    const LIMIT: u32 = 30;
    const TRIES: usize = 200;
    let _turn = turn().await;
    let edge = Edge::builder().shield("SHIELD_CHECKS", LIMIT).shimmed().start().await.unwrap();
    let (busy, other) = (edge.account().await, edge.account().await);
    edge.set(&busy.email, "plan = 'unlimited'").await;
    edge.counts().await;
    let flood = (0..TRIES).map(|_| busy.anonymous.check_request(&busy.api_key, "no address"));
    let replies = send_all(flood, 20).await;
    let checked = replies.iter().filter(|reply| reply.status == 200).count() as u64;
    assert_eq!(checked, u64::from(LIMIT));
    assert_eq!(edge.counts().await.d1_trips, checked, "a charge each, and nothing else");
    assert_eq!(edge.row(&busy.email, "daily_charged").await["daily_charged"], json!(checked));
    for refused in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!((refused.status, &refused.body["code"]), (429, &json!("throttled")));
        assert_eq!(refused.body["detail"]["limit"], "email check");
        assert_eq!(refused.header("retry-after"), "10");
        let resets_at = refused.body["detail"]["resets_at"].as_str().unwrap();
        assert!(refused.body["detail"]["error"].as_str().unwrap().contains(resets_at));
    }
    assert_eq!(other.check("no address").await.status, 200, "another account");
}

#[tokio::test]
async fn readiness_is_looked_at_once_however_often_it_is_asked_for() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let anonymous = edge.anonymous();
    anonymous.get("/health/ready").await;
    edge.counts().await;
    let started = tokio::time::Instant::now();
    for _ in 0..50 {
        anonymous.get("/health/ready").await;
    }
    let looks = edge.counts().await.d1_trips;
    let periods = started.elapsed().as_secs() / 2 + 1;
    // Each of the three databases is queried at most once in two seconds.
    assert!(looks <= 3 * periods, "{looks} looks in {:?}", started.elapsed());
}

// --- throttles

#[tokio::test]
async fn an_office_that_mistypes_waits_for_seconds_and_never_for_the_way_out_by_mail() {
    let _turn = turn().await;
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let account = edge.account().await;
    let guesses = (0..150).map(|n| {
        let body = json!({ "email": format!("person{n}@example.org"), "password": PASSWORD });
        let request = account.anonymous.request(Method::POST, "/auth/login").json(&body);
        request.header("cf-connecting-ip", OFFICE)
    });
    for reply in send_all(guesses, 10).await.iter().filter(|reply| reply.status != 401) {
        reply.assert_error(429, "throttled", "a full bucket");
        let wait: u64 = reply.header("retry-after").parse().unwrap();
        assert!((1..=6).contains(&wait), "{wait}");
    }
    let forgot = account.anonymous.request(Method::POST, "/auth/forgot-password");
    let forgot = forgot.header("cf-connecting-ip", OFFICE).json(&json!({ "email": account.email }));
    assert_eq!(send(forgot).await.status, 200);
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    assert_eq!(mail.subject, "Set a new password");
}

// --- emails

#[tokio::test]
async fn a_victim_gets_three_mails_an_hour_however_they_are_caused() {
    let _turn = turn().await;
    let edge = Edge::builder().with_waits().start().await.unwrap();
    for victim in [edge.account().await.email, edge.new_email()] {
        for n in 0..20 {
            for (path, body) in [
                ("/auth/register", json!({ "email": victim, "password": SECOND })),
                ("/auth/forgot-password", json!({ "email": victim })),
            ] {
                let request = edge.anonymous().request(Method::POST, path).json(&body);
                let from = format!("198.51.100.{n}");
                let reply = send(request.header("cf-connecting-ip", from)).await;
                assert!([200, 201].contains(&reply.status), "{path}: {}", reply.body);
            }
        }
        // An email sent to somebody else now arrives after all emails to the victim.
        edge.registered().await;
        edge.mailbox().wait_for_nth_mail(&victim, 3).await.unwrap();
        // If the victim has an account, one of the three emails is that account's own confirmation.
        assert_eq!(edge.mailbox().mails_to(&victim).len(), 3);
    }
}

#[tokio::test]
async fn a_registration_that_mails_nothing_changes_nothing() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let (email, anonymous) = (edge.new_email(), edge.anonymous());
    let mut bodies = Vec::new();
    for password in [PASSWORD, SECOND, THIRD] {
        let reply = anonymous.register(&email, password).await;
        assert_eq!(reply.status, 201);
        bodies.push(reply.body);
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let mail = edge.mailbox().wait_for_nth_mail(&email, 2).await.unwrap();
    assert!(mail.text.contains("once more"), "it says that it was a second one: {}", mail.text);
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
    assert_eq!(anonymous.login(&email, THIRD).await.status, 401);
    assert_eq!(anonymous.login(&email, SECOND).await.status, 200);
    assert_eq!(edge.mailbox().mails_to(&email).len(), 2);
}

#[tokio::test]
async fn the_budget_of_registrations_is_shared_and_leaves_resets_alone() {
    let edge = Edge::builder().with_waits().var("REGISTRATION_MAILS_PER_DAY", "2");
    let edge = edge.start().await.unwrap();
    let account = edge.account().await;
    let reply = edge.anonymous().register(&edge.new_email(), PASSWORD).await;
    reply.assert_error(503, "unavailable", "a stranger");
    let reply = edge.anonymous().register(&account.email, PASSWORD).await;
    reply.assert_error(503, "unavailable", "a member");
    assert_eq!(edge.anonymous().forgot_password(&account.email).await.status, 200);
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    assert_eq!(mail.subject, "Set a new password");
}

// --- passwords of others

#[tokio::test]
async fn the_password_sent_with_the_confirmation_becomes_the_account_s() {
    let edge = Edge::builder().start().await.unwrap();
    let (email, mail) = edge.registered().await;
    let anonymous = edge.anonymous();
    let confirm = |password: Value| json!({ "token": mail.token().unwrap(), "password": password });
    let weak = anonymous.post("/auth/verify-email", &confirm(json!("password"))).await;
    weak.assert_error(400, "invalid_password", "a weak one, and the link still works");
    let reply = anonymous.post("/auth/verify-email", &confirm(json!(SECOND))).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(anonymous.login(&email, PASSWORD).await.status, 401);
    assert_eq!(anonymous.login(&email, SECOND).await.status, 200);
    let junk = json!({ "token": "junk", "password": SECOND });
    let reply = anonymous.post("/auth/verify-email", &junk).await;
    reply.assert_error(400, "invalid_token", "an unknown token");
}
