//! `RateLimit` and `RateLimit-Policy`: the remaining units, on every response for which they are known.

use rcpt_tests::{Account, people::Reply, service::clock::today};
use serde_json::json;

use crate::world;

const POLICY: &str = r#""daily";q=100;w=86400, "welcome";q=50"#;

/// Returns both headers; checks and removes the seconds to the reset.
fn headers_of(reply: &Reply) -> (String, String) {
    let limit = reply.header("ratelimit");
    let mut limits = Vec::new();
    for item in limit.split(", ").filter(|item| !item.is_empty()) {
        let (item, seconds) = item.split_once(";t=").unwrap_or((item, "1"));
        assert!((1..=86_400).contains(&seconds.parse::<u64>().unwrap()), "{limit}");
        limits.push(item);
    }
    let limits_text = limits.join(", ");
    (reply.header("ratelimit-policy").to_owned(), limits_text)
}

async fn checked(account: &Account, address: &str) -> (u16, String, String) {
    let reply = account.check(address).await;
    let (policy, remaining) = headers_of(&reply);
    (reply.status, policy, remaining)
}

#[tokio::test]
async fn what_is_left_is_told_with_each_check_and_with_the_quota() {
    let world = world().await;
    let account = world.edge.account().await;
    let day = today().await;
    let expect =
        |status, policy: &str, remaining: &str| (status, policy.to_owned(), remaining.to_owned());
    let daily = |remaining: u32| expect(200, POLICY, &format!("\"daily\";r={remaining}"));
    let address = "ok-told@rate.example";
    assert_eq!(checked(&account, address).await, daily(99), "fresh");
    assert_eq!(checked(&account, address).await, daily(98), "cached");
    assert_eq!(checked(&account, "no address").await, daily(97), "malformed");
    let key = "rate-limit-of-a-repeat";
    for _ in 0..2 {
        assert_eq!(headers_of(&account.check_under(key, address).await).1, "\"daily\";r=96");
    }
    let held_check = world.origin.hold(&account, "held-told@rate.example").await;
    assert_eq!(checked(&account, address).await, daily(94), "one is in flight");
    world.origin.release("held-told@rate.example", rcpt_tests::Conduct::Answer(500, "{}"));
    let failed = held_check.await.unwrap();
    assert_eq!((failed.status, failed.header("ratelimit")), (502, ""), "it was given back");
    let (policy, remaining) = headers_of(&account.quota().await);
    assert_eq!(policy, format!("{POLICY}, \"scans\";q=1;w=86400"));
    assert_eq!(remaining, "\"daily\";r=95, \"scans\";r=1");

    world.edge.set(&account.email, &format!("day = {day}, daily_charged = 100")).await;
    let welcome = expect(200, POLICY, "\"welcome\";r=49");
    assert_eq!(checked(&account, "ok-welcome@rate.example").await, welcome);
    world.edge.set(&account.email, "welcome_left = 0").await;
    let used_up = expect(429, r#""daily";q=100;w=86400"#, "\"daily\";r=0");
    for why in ["as the database says", "as the isolate remembers"] {
        assert_eq!(checked(&account, address).await, used_up, "{why}");
    }
    // Yesterday's checks don't reduce today's allowance.
    let other = world.edge.account().await;
    world.edge.set(&other.email, &format!("day = {}, daily_charged = 100", day - 1)).await;
    assert_eq!(checked(&other, "no address").await, daily(99));
    world.edge.set(&other.email, "plan = 'unlimited'").await;
    assert_eq!(checked(&other, address).await, expect(200, "", ""), "nothing limits");
    assert_eq!(headers_of(&other.quota().await), (String::new(), String::new()));
}

#[tokio::test]
async fn scans_tell_what_is_left() {
    let world = world().await;
    let account = world.edge.account().await;
    world.edge.set(&account.email, "scans_day = unixepoch() / 86400, scans_charged = 1").await;
    let reply = account.post("/scans", &json!({ "total": 2 })).await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    let expected = (r#""scans";q=1;w=86400"#.to_owned(), "\"scans\";r=0".to_owned());
    assert_eq!(headers_of(&reply), expected);
}
