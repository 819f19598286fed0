//! `GET /v1/me/quota` (docs/api.md): the report, and the events that change its numbers.

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Reply,
    people::{EmailChecks, send},
    service::clock::{resets_at, today},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{World, world};

async fn account() -> Account {
    world().await.edge.account().await
}

async fn set(account: &Account, assignments: &str) {
    world().await.edge.set(&account.email, assignments).await;
}

async fn by_session(account: &Account) -> Reply {
    account.get("/me/quota").await
}

fn checks(daily_allowance: i64, used_today: i64, welcome_left: i64) -> EmailChecks {
    let left_today = daily_allowance - used_today;
    EmailChecks { daily_allowance, used_today, left_today, welcome_left }
}

#[tokio::test]
async fn a_new_account_is_on_the_free_plan_with_everything_left() {
    let account = account().await;
    let day = today().await;
    let expected = json!({
        "plan": "free",
        "unlimited": false,
        "resets_at": resets_at(day),
        "scans": {"daily_allowance": 1, "used_today": 0, "left_today": 1, "credits": 0,
            "scan_size": 200},
        "email_checks":
            {"daily_allowance": 100, "used_today": 0, "left_today": 100, "welcome_left": 50},
        "total_scans": 0,
        "completed_scans": 0,
    });
    assert_eq!(account.quota().await.parts(), (200, &expected), "by key");
    assert_eq!(by_session(&account).await.parts(), (200, &expected), "by session");
}

#[tokio::test]
async fn the_pro_plan_has_larger_allowances() {
    let account = account().await;
    let day = today().await;
    let usage = format!("plan = 'pro', scan_credits = 7, day = {day}, daily_charged = 100");
    set(&account, &usage).await;
    let expected = json!({
        "plan": "pro",
        "unlimited": false,
        "resets_at": resets_at(day),
        "scans": {"daily_allowance": 20, "used_today": 0, "left_today": 20, "credits": 7,
            "scan_size": 10_000},
        "email_checks":
            {"daily_allowance": 5000, "used_today": 100, "left_today": 4900, "welcome_left": 50},
        "total_scans": 0,
        "completed_scans": 0,
    });
    assert_eq!(account.quota().await.parts(), (200, &expected));
}

#[tokio::test]
async fn the_unlimited_plan_says_so_counts_and_never_touches_the_welcome_checks() {
    let account = account().await;
    let day = today().await;
    set(&account, &format!("plan = 'unlimited', day = {day}, daily_charged = 6000")).await;
    for address in ["unlimited@example.org", "unlimited@example.org", "no address"] {
        assert_eq!(account.check(address).await.status, 200);
    }
    let expected = json!({
        "plan": "unlimited",
        "unlimited": true,
        "resets_at": resets_at(day),
        "scans": {
            "daily_allowance": 2_147_483_647, "used_today": 0, "left_today": 2_147_483_647,
            "credits": 0, "scan_size": 100_000
        },
        "email_checks": {
            "daily_allowance": 2_147_483_647, "used_today": 6003,
            "left_today": 2_147_483_647 - 6003, "welcome_left": 50
        },
        "total_scans": 0,
        "completed_scans": 0,
    });
    assert_eq!(account.quota().await.parts(), (200, &expected));
}

#[tokio::test]
async fn the_daily_allowance_is_used_first_and_the_welcome_checks_after_it() {
    let account = account().await;
    let day = today().await;
    set(&account, &format!("day = {day}, daily_charged = 98, welcome_left = 3")).await;
    let steps = [
        ("first@example.org", checks(100, 99, 3)),
        ("first@example.org", checks(100, 100, 3)),
        ("second@example.org", checks(100, 100, 2)),
        ("second@example.org", checks(100, 100, 1)),
        ("no address", checks(100, 100, 0)),
    ];
    for (address, left) in steps {
        assert_eq!(account.check(address).await.status, 200);
        assert_eq!(account.email_checks().await, left);
    }
    for address in ["third@example.org", "first@example.org", "no address"] {
        assert_eq!(account.check(address).await.status, 429);
    }
    assert_eq!(account.email_checks().await, checks(100, 100, 0));
}

#[tokio::test]
async fn used_and_left_add_up_after_every_check() {
    let account = account().await;
    today().await;
    for n in 1..=10 {
        assert_eq!(account.check(&format!("sum-{}@example.org", n % 3)).await.status, 200);
        assert_eq!(account.email_checks().await, checks(100, n, 50));
    }
}

#[tokio::test]
async fn asking_for_the_report_costs_nothing() {
    let account = account().await;
    today().await;
    for _ in 0..5 {
        assert_eq!(account.email_checks().await, checks(100, 0, 50));
        assert_eq!(by_session(&account).await.status, 200);
    }
}

#[tokio::test]
async fn a_check_in_progress_counts_as_used_from_the_daily_or_the_welcome_checks() {
    let World { edge, origin } = world().await;
    let account = account().await;
    let day = today().await;
    set(&account, &format!("day = {day}, daily_charged = 99, welcome_left = 1")).await;
    let first = origin.hold(&account, "held-1@example.org").await;
    assert_eq!(account.email_checks().await, checks(100, 100, 1));
    let second = origin.hold(&account, "held-2@example.org").await;
    assert_eq!(account.email_checks().await, checks(100, 100, 0));
    assert_eq!(account.check("third@example.org").await.status, 429);
    assert_eq!(edge.leases(&account.email).await.len(), 2);

    origin.release("held-2@example.org", Conduct::Verdict(Status::FatalException));
    assert_eq!(second.await.unwrap().body["status"], "fatal_exception");
    assert_eq!(account.email_checks().await, checks(100, 100, 1), "not counted after all");
    origin.release("held-1@example.org", Conduct::Verdict(Status::Refused));
    assert_eq!(first.await.unwrap().body["status"], false);
    assert_eq!(account.email_checks().await, checks(100, 100, 1));
    assert_eq!(edge.leases(&account.email).await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_new_day_brings_a_fresh_allowance_and_no_new_welcome_checks() {
    let World { edge, .. } = world().await;
    let account = account().await;
    let day = today().await;
    let yesterday = day - 1;
    set(&account, &format!("day = {yesterday}, daily_charged = 100, welcome_left = 4")).await;
    assert_eq!(account.email_checks().await, checks(100, 0, 4), "before the first check");
    assert_eq!(account.check("today@example.org").await.status, 200);
    assert_eq!(account.email_checks().await, checks(100, 1, 4));
    assert_eq!(account.check("today@example.org").await.body["cached"], true);
    assert_eq!(account.email_checks().await, checks(100, 2, 4));
    let row = edge
        .row(&account.email, "day, daily_charged, previous_day, previous_charged, welcome_left")
        .await;
    let expected = json!({
        "day": day, "daily_charged": 2,
        "previous_day": yesterday, "previous_charged": 100, "welcome_left": 4,
    });
    assert_eq!(row, expected);
}

#[tokio::test]
async fn a_cached_answer_may_be_the_first_of_a_new_day() {
    let account = account().await;
    let day = today().await;
    assert_eq!(account.check("rollover@example.org").await.status, 200);
    let yesterday = day - 1;
    set(&account, &format!("day = {yesterday}, daily_charged = 100, welcome_left = 0")).await;
    assert_eq!(account.check("rollover@example.org").await.body["cached"], true);
    assert_eq!(account.email_checks().await, checks(100, 1, 0));
}

#[tokio::test]
async fn a_plan_made_smaller_during_the_day_leaves_nothing_and_not_less() {
    let account = account().await;
    let day = today().await;
    set(&account, &format!("day = {day}, daily_charged = 130, welcome_left = 1")).await;
    let overdrawn =
        EmailChecks { daily_allowance: 100, used_today: 130, left_today: 0, welcome_left: 1 };
    assert_eq!(account.email_checks().await, overdrawn);
    assert_eq!(account.check("overdrawn@example.org").await.status, 200);
    assert_eq!(account.email_checks().await, EmailChecks { welcome_left: 0, ..overdrawn });
    assert_eq!(account.check("overdrawn@example.org").await.status, 429);
}

#[tokio::test]
async fn the_report_is_for_its_owner_only() {
    const INVALID_KEY: &str = "Invalid API key.";
    const INVALID_SESSION: &str = "Invalid or expired session token. Sign in again.";
    let World { edge, .. } = world().await;
    let [replaced, ended, closed] = [account().await, account().await, account().await];
    assert_eq!(replaced.rotate_api_key().await.status, 200);
    set(&ended, "key_active = 0").await;
    edge.end_sessions(&ended.email).await;
    set(&closed, "state = 'deactivated'").await;
    let bearer = |token: &str| format!("Bearer {token}");
    let (missing, key, session) = ("missing_credentials", "invalid_api_key", "invalid_session");
    let cases = [
        ("x-none", String::new(), missing, "Missing API key: send it in the X-API-Key header."),
        ("x-api-key", "junk".to_owned(), key, INVALID_KEY),
        ("x-api-key", replaced.api_key.clone(), key, INVALID_KEY),
        ("x-api-key", ended.api_key.clone(), key, INVALID_KEY),
        ("x-api-key", closed.api_key.clone(), key, INVALID_KEY),
        ("authorization", bearer("junk"), session, INVALID_SESSION),
        ("authorization", bearer(&ended.token), session, INVALID_SESSION),
        ("authorization", bearer(&closed.token), session, INVALID_SESSION),
    ];
    for (header, value, code, detail) in cases {
        let request = edge.anonymous().request(Method::GET, "/me/quota").header(header, &value);
        let reply = send(request).await;
        let expected = json!({ "detail": detail, "code": code });
        assert_eq!(reply.parts(), (401, &expected), "{header}");
        let challenge = match header {
            "x-none" => "ApiKey, Bearer",
            "x-api-key" => "ApiKey",
            _ => "Bearer",
        };
        assert_eq!(reply.header("www-authenticate"), challenge, "{header}");
    }
    assert_eq!(by_session(&replaced).await.status, 200);
}
