//! The scheduled handler: which rows it removes, and which it keeps.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rcpt_tests::{Account, Edge};
use serde_json::{Value, json};

const DAY: u64 = 24 * 60 * 60;

async fn names(edge: &Edge, sql: &str) -> Vec<Value> {
    let rows = edge.sql(sql, &[]).await;
    let mut names: Vec<_> = rows.into_iter().map(|mut row| row["name"].take()).collect();
    names.sort_by_key(Value::to_string);
    names
}

#[tokio::test]
async fn what_has_expired_goes_and_everything_else_stays() {
    let edge = Edge::builder().start().await.unwrap();
    let (confirmed, reset) = (edge.account().await, edge.account().await);
    let (fresh, _) = edge.registered().await;
    let (six_days, _) = edge.registered().await;
    let (eight_days, eight_days_mail) = edge.registered().await;
    let (eight_days_and_a_link, link) = edge.registered().await;
    let (closed, _) = edge.registered().await;
    assert_eq!(reset.anonymous.forgot_password(&reset.email).await.status, 200);
    assert_eq!(confirmed.anonymous.forgot_password(&confirmed.email).await.status, 200);
    edge.wait_for_reset_mails().await;
    let age = |days: u64| format!("created_at = created_at - {}", days * DAY);
    for (email, days) in [(&six_days, 6), (&eight_days, 8), (&eight_days_and_a_link, 8)] {
        edge.set(email, &age(days)).await;
    }
    edge.set(&confirmed.email, &age(400)).await;
    edge.set(&closed, &format!("{}, state = 'deactivated'", age(400))).await;
    for email in [&eight_days, &six_days, &closed, &confirmed.email] {
        let expire = "UPDATE mailed_tokens SET expires_at = unixepoch()
            WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
        edge.sql(expire, &[email.as_str().into()]).await;
    }
    let claims = "UPDATE addresses SET claimed_at = claimed_at - ? WHERE account_id = ?";
    for email in [&eight_days, &confirmed.email] {
        edge.sql(claims, &[(9 * DAY).into(), edge.id(email).await.into()]).await;
    }
    edge.sql("DELETE FROM throttles", &[]).await;
    let rows = "INSERT INTO throttles (key, last_attempt, drained_at)
        VALUES ('idle', 'a', unixepoch()), ('busy', 'a', unixepoch() + 60)";
    edge.sql_in(0, rows, &[]).await;
    let rows = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
        VALUES ('expired', ?1, 1, 1, 0, unixepoch()), ('live', ?1, 1, 1, 0, unixepoch() + 60)";
    let id = edge.id(&confirmed.email).await;
    edge.sql_of(&id, rows, &[id.as_str().into()]).await;

    let rows = "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at)
        VALUES (?1, 'expired', 'r', '', unixepoch()), (?1, 'live', 'r', '', unixepoch() + 60)";
    edge.sql_of(&id, rows, &[id.as_str().into()]).await;

    let rows = "INSERT INTO guard_refusals (account_id, day, reason, count)
        VALUES (?1, unixepoch() / 86400 - 40, 'old', 1), (?1, unixepoch() / 86400 - 29, 'recent', 1)";
    edge.sql_of(&id, rows, &[id.as_str().into()]).await;

    edge.run_scheduled().await;

    let accounts = names(&edge, "SELECT email AS name FROM accounts").await;
    let mut expected =
        vec![&confirmed.email, &reset.email, &fresh, &six_days, &eight_days_and_a_link, &closed];
    expected.sort();
    assert_eq!(json!(accounts), json!(expected), "only {eight_days} goes");
    let tokens =
        "SELECT a.email AS name FROM mailed_tokens t JOIN accounts a ON a.id = t.account_id";
    let mut expected = vec![&reset.email, &fresh, &eight_days_and_a_link];
    expected.sort();
    assert_eq!(json!(names(&edge, tokens).await), json!(expected));
    assert_eq!(edge.count("addresses").await, 6, "of {eight_days} nothing is left");
    assert_eq!(names(&edge, "SELECT key AS name FROM throttles").await, ["busy"]);
    assert_eq!(names(&edge, "SELECT id AS name FROM leases").await, ["live"]);
    assert_eq!(names(&edge, "SELECT name FROM idempotency_keys").await, ["live"]);
    assert_eq!(names(&edge, "SELECT reason AS name FROM guard_refusals").await, ["recent"]);

    let anonymous = edge.anonymous();
    let reply = anonymous.verify_email(eight_days_mail.token().unwrap()).await;
    reply.assert_error(400, "invalid_token", "the account is gone");
    assert_eq!(anonymous.verify_email(link.token().unwrap()).await.status, 200);
    assert_eq!(confirmed.get("/me").await.status, 200);
}

#[tokio::test]
async fn a_table_that_fails_holds_up_no_other_and_many_rows_go_in_one_run() {
    const ROWS: u64 = 12_000;
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let leases = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
        SELECT 'lease-' || i, ?1, 1, 1, 0, unixepoch() - 1 FROM n";
    let id = edge.id(&account.email).await;
    edge.sql_of(&id, leases, &[id.as_str().into(), ROWS.into()]).await;
    let (stale, _) = edge.registered().await;
    edge.set(&stale, &format!("created_at = created_at - {}", 8 * DAY)).await;
    edge.sql("UPDATE mailed_tokens SET expires_at = unixepoch()", &[]).await;
    edge.sql("ALTER TABLE throttles RENAME TO throttles_gone", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(names(&edge, "SELECT id AS name FROM leases").await, [] as [Value; 0]);
    let accounts = names(&edge, "SELECT email AS name FROM accounts").await;
    assert_eq!(json!(accounts), json!([account.email]));
}

/// Returns the durations of `count` consecutive calls of the owner.
async fn calls(account: &Account, count: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..count {
        let begun = tokio::time::Instant::now();
        assert_eq!(account.get("/me").await.status, 200);
        times.push(begun.elapsed());
    }
    times
}

/// Even among many live `Idempotency-Key`s, each range is read by the primary key, and a run reads a million rows.
#[tokio::test]
async fn expired_idempotency_keys_go_in_one_run_among_many_that_live() {
    let live = rcpt_tests::proof::count(200_000, 5_000_000) as u64;
    const EXPIRED: u64 = 60_000;
    const AT_ONCE: usize = 260_000;
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    // A statement may take up to half a minute.
    let fill = "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at)
        WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2 + ?4)
        SELECT ?1, printf('%043d', (i * 2654435761) % 4294967296) || i, 'request', 'answer',
          CASE WHEN i <= ?3 THEN 1 ELSE unixepoch() + 80000 END
        FROM n";
    let all = live + EXPIRED;
    for first in (1..=all).step_by(AT_ONCE) {
        let some = (all + 1 - first).min(AT_ONCE as u64);
        edge.sql_of(&id, fill, &[json!(id), json!(first), json!(EXPIRED), json!(some)]).await;
    }
    let alone = calls(&account, 300).await;
    let begun = tokio::time::Instant::now();
    let (mut runs, mut beside) = (0, Vec::new());
    while edge.count("idempotency_keys WHERE expires_at = 1").await > 0 {
        runs += 1;
        assert!(runs <= 1 + all / 1_000_000, "a run reads a million");
        let (done, mut run) = (AtomicBool::new(false), Vec::new());
        let work = async {
            edge.run_scheduled().await;
            done.store(true, Ordering::Relaxed);
        };
        let others = async {
            while !done.load(Ordering::Relaxed) {
                run.append(&mut calls(&account, 1).await);
            }
        };
        tokio::join!(work, others);
        beside.append(&mut run);
    }
    let took = begun.elapsed();
    // Other requests are served between two ranges of ten thousand.
    assert!(beside.len() as u64 >= all / 10_000, "{} calls beside the runs", beside.len());
    println!("{EXPIRED} expired keys among {live}: gone in {runs} runs and {took:?}");
    for (what, mut times) in [("alone", alone), ("beside the runs", beside)] {
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len() - 1));
        println!("{} calls {what}: median {:?}, p99 {:?}", times.len(), at(50), at(99));
    }
    assert_eq!(edge.count("idempotency_keys").await, live);
    let plan =
        "EXPLAIN QUERY PLAN DELETE FROM idempotency_keys WHERE (account_id, name) > ('a', 'b')
        AND (account_id, name) <= ('c', 'd') AND expires_at <= 1";
    let plan = json!(edge.sql_in(0, plan, &[]).await).to_string();
    assert!(plan.contains("SEARCH"), "{plan}");
}

#[tokio::test]
async fn what_is_looked_for_is_found_by_an_index() {
    let edge = Edge::builder().start().await.unwrap();
    for (query, index) in [
        ("id FROM leases WHERE account_id = 'a' AND n_daily > 0", "PRIMARY KEY"),
        ("account_id FROM addresses WHERE confirmed = 0 AND claimed_at <= 1", "addresses_unconf"),
        ("day FROM tombstones WHERE account_id IS NOT NULL", "tombstones_to_be_told"),
        ("account_id FROM guard_refusals WHERE day < 1", "guard_refusals_by_day"),
        ("hash FROM mailed_tokens WHERE expires_at <= 1", "mailed_tokens_by_expiry"),
        ("key FROM throttles WHERE drained_at <= 1", "throttles_by_time"),
        ("id FROM sessions WHERE expires_at <= 1", "sessions_by_expiry"),
        ("address_hash FROM tombstones WHERE expires_at <= 1", "tombstones_by_expiry"),
        (
            "id FROM accounts WHERE state = 'unconfirmed' AND created_at <= 1",
            "accounts_unconfirmed",
        ),
        (
            "id FROM second_factors WHERE secret >= 'a.' AND secret < 'a/'",
            "second_factors_by_secret",
        ),
        ("id FROM second_factors WHERE off_at <= 1", "second_factors_off"),
        ("about FROM changes WHERE since <= 1", "changes_by_time"),
        ("id FROM accounts WHERE address_hash < 'a.' OR address_hash >= 'a/'", "MULTI-INDEX OR"),
        ("id FROM accounts WHERE lower(email) = lower('a')", "accounts_by_email"),
    ] {
        let plan = edge.sql(&format!("EXPLAIN QUERY PLAN SELECT {query}"), &[]).await;
        let plan = json!(plan).to_string();
        let is_whole = plan.contains("SCAN") && !plan.contains("USING");
        assert!(plan.contains(index) && !is_whole, "{query}: {plan}");
    }
}

#[tokio::test]
async fn a_database_that_fails_is_logged_and_the_next_run_works() {
    let edge = Edge::builder().start().await.unwrap();
    edge.sql("ALTER TABLE throttles RENAME TO throttles_gone", &[]).await;
    edge.run_scheduled().await;
    let limit = std::time::Duration::from_secs(10);
    let line = edge.process.wait_for_line("housekeeping", limit).await.unwrap();
    assert!(line.contains("no such table"), "{line}");
    edge.sql("ALTER TABLE throttles_gone RENAME TO throttles", &[]).await;
    let row = "INSERT INTO throttles (key, last_attempt, drained_at)
        VALUES ('idle', 'a', unixepoch())";
    edge.sql(row, &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.sql("SELECT key FROM throttles", &[]).await, [] as [Value; 0]);
}
