//! The daily limit of a named key: within the account's allowance and exact, whatever the concurrency
//! (docs/security.md, A14).

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin,
    people::{Reply, send, send_at_once},
    service::clock::today,
};
use reqwest::Method;
use serde_json::{Value, json};

async fn limited(account: &Account, limit: u32) -> (String, String) {
    let terms = json!({ "name": "limited", "rights": ["checks", "quota"], "daily_limit": limit });
    account.named_key(&terms).await
}

async fn check(account: &Account, key: &str, address: &str) -> Reply {
    account.anonymous.check_with_key(key, address).await
}

async fn listed(account: &Account) -> Vec<Value> {
    let keys = account.get("/keys").await.body["keys"].take();
    let is_other = |key: &Value| key["id"] != "own";
    keys.as_array().unwrap().iter().filter(|key| is_other(key)).cloned().collect()
}

fn assert_used_up(reply: &Reply) {
    assert_eq!((reply.status, reply.text("code")), (429, "key_used_up"), "{}", reply.body);
}

#[tokio::test]
async fn of_three_hundred_checks_at_once_a_key_with_a_limit_of_thirty_makes_thirty() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'pro'").await;
    let (key, _) = limited(&account, 30).await;
    // Fresh, cached and malformed addresses: the limit counts leases and charges.
    let address = |n: usize| match n % 3 {
        0 => format!("fresh{n}@limit.example"),
        1 => "cached@limit.example".to_owned(),
        _ => "no address".to_owned(),
    };
    assert_eq!(account.check("cached@limit.example").await.status, 200);
    let requests = (0..300).map(|n| account.anonymous.check_request(&key, &address(n)));
    let mut answered = 0;
    for reply in send_at_once(requests).await {
        match reply.status {
            200 => answered += 1,
            _ if reply.text("code") == "too_many_in_flight" => {}
            _ => assert_used_up(&reply),
        }
    }
    assert!(answered <= 30, "{answered}");
    while answered < 30 {
        assert_eq!(check(&account, &key, "no address").await.status, 200, "after {answered}");
        answered += 1;
    }
    assert_used_up(&check(&account, &key, "no address").await);
    let [row] = listed(&account).await.try_into().unwrap();
    assert_eq!((&row["used_today"], &row["daily_limit"]), (&json!(30), &json!(30)));
    assert_eq!(account.email_checks().await.used_today, 31, "both counters");
    assert_eq!(account.check("no address").await.status, 200, "the account goes on");
}

#[tokio::test]
async fn a_limit_counts_leases_gives_back_what_failed_and_ends_at_midnight() {
    let origin = FakeOrigin::start(|address| match address.split('@').next() {
        Some("held") => Conduct::Hold,
        Some("failed") => Conduct::Answer(500, ""),
        _ => Conduct::Verdict(Status::Accepted),
    });
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let (key, _) = limited(&account, 2).await;
    assert_eq!(check(&account, &key, "failed@limit.example").await.status, 502);
    assert_eq!(listed(&account).await[0]["used_today"], json!(0), "given back");
    let waiting = tokio::spawn({
        let (account, key) = (account.clone(), key.clone());
        async move { check(&account, &key, "held@limit.example").await }
    });
    edge.wait_for_count("leases", 1).await;
    assert_eq!(listed(&account).await[0]["used_today"], json!(1), "held");
    assert_eq!(check(&account, &key, "no address").await.status, 200);
    assert_used_up(&check(&account, &key, "one.more@limit.example").await);
    origin.release("held@limit.example", Conduct::Verdict(Status::Accepted));
    assert_eq!(waiting.await.unwrap().status, 200);
    assert_eq!(listed(&account).await[0]["used_today"], json!(2), "settled");

    // On another day, the counters of the account and the key start from zero.
    edge.set(&account.email, "day = day - 1").await;
    edge.age_key_use(&account.email, 1).await;
    assert_eq!(listed(&account).await[0]["used_today"], json!(0));
    for _ in 0..2 {
        assert_eq!(check(&account, &key, "no address").await.status, 200);
    }
    assert_used_up(&check(&account, &key, "no address").await);
}

#[tokio::test]
async fn a_limit_holds_for_short_lists_and_repeats_cost_nothing() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let (key, _) = limited(&account, 3).await;
    let list = async |emails: &[&str], once: &str| {
        let request = account.anonymous.request(Method::POST, "/validate_emails");
        let request = request.header("x-api-key", &key).header("idempotency-key", once);
        send(request.json(&json!({ "emails": emails }))).await
    };
    let four = ["a@l.example", "b@l.example", "c@l.example", "d@l.example"];
    let reply = list(&four, "a-list-that-is-too-long").await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    assert_eq!(listed(&account).await[0]["used_today"], json!(0), "all or none");
    for _ in 0..3 {
        let request = account.anonymous.check_request(&key, "no address");
        let request = request.header("idempotency-key", "one-and-the-same-check");
        assert_eq!(send(request).await.status, 200);
    }
    assert_eq!(listed(&account).await[0]["used_today"], json!(1), "counted once");
    for _ in 0..2 {
        let reply = list(&["no address", "nor this"], "a-list-that-fits-exactly").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    assert_eq!(listed(&account).await[0]["used_today"], json!(3));
    assert_used_up(&check(&account, &key, "no address").await);
}

#[tokio::test]
async fn the_room_is_the_smaller_of_the_account_s_and_the_key_s() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (key, _) = limited(&account, 50).await;
    let (unlimited, _) = account.named_key(&json!({ "name": "x", "rights": ["checks"] })).await;
    edge.set(
        &account.email,
        "plan = 'free', day = unixepoch() / 86400, daily_charged = 99, welcome_left = 2",
    )
    .await;
    for _ in 0..2 {
        assert_eq!(check(&account, &key, "no address").await.status, 200, "daily, then welcome");
    }
    assert_eq!(check(&account, &unlimited, "no address").await.status, 200);
    for key in [&key, &unlimited, &account.api_key] {
        let reply = check(&account, key, "no address").await;
        assert_eq!((reply.status, reply.text("code")), (429, "used_up"), "{}", reply.body);
    }
    for key in listed(&account).await {
        let used = if key["name"] == "limited" { json!(2) } else { Value::Null };
        assert_eq!(key["used_today"], used, "{key}");
        assert!(key["last_used_on"].is_string(), "{key}");
    }
}

#[tokio::test]
async fn of_two_limited_keys_at_once_neither_takes_the_other_s_units_nor_more_than_the_account_has()
{
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'free', welcome_left = 0").await;
    let (one, _) = limited(&account, 30).await;
    let (two, _) = limited(&account, 90).await;
    let keys = [one.as_str(), &two].into_iter().cycle().take(240);
    let requests = keys.map(|key| account.anonymous.check_request(key, "no address"));
    let replies = send_at_once(requests).await;
    let answered = replies.iter().filter(|reply| reply.status == 200).count();
    let number = |key: &Value, name: &str| key[name].as_u64().unwrap();
    let keys = listed(&account).await;
    let used = keys.iter().map(|key| number(key, "used_today")).sum::<u64>();
    assert_eq!((answered, used), (100, 100), "{keys:?}");
    let is_within = |key: &Value| number(key, "used_today") <= number(key, "daily_limit");
    assert!(keys.iter().all(is_within), "{keys:?}");
    assert_eq!(account.email_checks().await.used_today, 100);
}

/// A rejection reports the key's limit as the key's, and the account's allowances as the account's.
#[tokio::test]
async fn the_limit_that_was_reached_is_told_with_what_is_left_of_it() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let (key, _) = limited(&account, 3).await;
    let list = async |key: &str, count: usize| {
        let emails: Vec<_> = (0..count).map(|n| format!("listed{n}@limit.example")).collect();
        let request = account.anonymous.request(Method::POST, "/validate_emails");
        send(request.header("x-api-key", key).json(&json!({ "emails": emails }))).await
    };
    let told = |reply: &Reply| {
        let limit = reply.header("ratelimit").split(";t=").next().unwrap_or_default().to_owned();
        let error = reply.body["detail"]["error"].as_str().unwrap_or_default().to_owned();
        assert_eq!((reply.status, &reply.body["detail"]["limit"]), (429, &json!("email check")));
        let seconds: u64 = reply.header("retry-after").parse().unwrap();
        assert!((1..=86_400).contains(&seconds), "{seconds}");
        (reply.text("code").to_owned(), limit, reply.header("ratelimit-policy").to_owned(), error)
    };
    assert_eq!(check(&account, &key, "no address").await.status, 200);
    let (code, limit, policy, error) = told(&list(&key, 4).await);
    let of_key = r#""daily";q=3;w=86400"#;
    assert_eq!(
        (code.as_str(), limit.as_str(), policy.as_str()),
        ("key_used_up", "\"daily\";r=2", of_key)
    );
    assert!(error.starts_with("Only 2 of this API key's 3 email checks a day are left"), "{error}");
    assert_eq!(list(&key, 2).await.status, 200);
    for why in ["as the database says", "as the isolate remembers"] {
        let (code, limit, policy, error) = told(&check(&account, &key, "no address").await);
        assert_eq!(
            (code.as_str(), limit.as_str(), policy.as_str()),
            ("key_used_up", "\"daily\";r=0", of_key),
            "{why}"
        );
        assert!(
            error.starts_with("This API key's daily limit of email checks (3) has been reached."),
            "{error}"
        );
    }
    // The account has welcome checks alone.
    let today = today().await;
    edge.set(&account.email, &format!("day = {today}, daily_charged = 100")).await;
    let (code, limit, policy, error) = told(&list(&account.api_key, 60).await);
    let both = r#""daily";q=100;w=86400, "welcome";q=50"#;
    assert_eq!(
        (code.as_str(), limit.as_str(), policy.as_str()),
        ("used_up", "\"welcome\";r=50", both)
    );
    assert!(error.starts_with("Only 50 email checks are left"), "{error}");
    // If the account has nothing left, the rejection reports the account's limit.
    edge.set(&account.email, "welcome_left = 0").await;
    let (other, _) = limited(&account, 3).await;
    assert_eq!(told(&check(&account, &other, "no address").await).0, "used_up");
}
