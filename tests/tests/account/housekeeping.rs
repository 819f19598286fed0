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
    let (fresh, link) = edge.registered().await;
    let (expired, expired_mail) = edge.registered().await;
    let (entered, _) = edge.registered().await;
    let closed = edge.account().await.email;
    assert_eq!(reset.anonymous.forgot_password(&reset.email).await.status, 200);
    assert_eq!(confirmed.anonymous.forgot_password(&confirmed.email).await.status, 200);
    edge.wait_for_reset_mails().await;
    let age = |days: u64| format!("created_at = created_at - {}", days * DAY);
    edge.sql(
        "UPDATE registrations SET expires_at = unixepoch() WHERE email IN (?, ?)",
        &[expired.as_str().into(), entered.as_str().into()],
    )
    .await;
    // Its link was used a moment before it expired, and then the confirmation was cut off.
    let enter = "INSERT INTO directory SELECT address, address, email, account_id FROM registrations WHERE email = ?";
    edge.sql_in(0, enter, &[entered.as_str().into()]).await;
    let enter = "UPDATE registrations SET is_entered = 1 WHERE email = ?";
    edge.sql_in(0, enter, &[entered.as_str().into()]).await;
    edge.set(&confirmed.email, &age(400)).await;
    edge.set(&closed, &format!("{}, state = 'deactivated'", age(400))).await;
    let expire = "UPDATE reset_links SET expires_at = unixepoch()
        WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
    edge.sql(expire, &[confirmed.email.as_str().into()]).await;
    let rows = "INSERT INTO allowed_addresses (address, allowed_at)
        VALUES ('old', unixepoch() - 31 * 86400), ('new', unixepoch() - 29 * 86400)";
    edge.sql_in(0, rows, &[]).await;
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
    let mut expected = vec![&confirmed.email, &reset.email, &entered, &closed];
    expected.sort();
    assert_eq!(json!(accounts), json!(expected), "none goes, and a confirmation is finished");
    let links = "SELECT a.email AS name FROM reset_links t JOIN accounts a ON a.id = t.account_id";
    assert_eq!(json!(names(&edge, links).await), json!([reset.email]));
    let registrations = "SELECT email AS name FROM registrations";
    assert_eq!(
        json!(names(&edge, registrations).await),
        json!([fresh]),
        "of {expired} nothing is left"
    );
    assert_eq!(edge.count("directory").await, 4);
    assert_eq!(names(&edge, "SELECT address AS name FROM allowed_addresses").await, ["new"]);
    assert_eq!(names(&edge, "SELECT key AS name FROM throttles").await, ["busy"]);
    assert_eq!(names(&edge, "SELECT id AS name FROM leases").await, ["live"]);
    assert_eq!(names(&edge, "SELECT name FROM idempotency_keys").await, ["live"]);
    assert_eq!(names(&edge, "SELECT reason AS name FROM guard_refusals").await, ["recent"]);

    let anonymous = edge.anonymous();
    let reply = anonymous.verify_email(expired_mail.token().unwrap()).await;
    reply.assert_error(400, "invalid_token", "the registration is gone");
    assert_eq!(anonymous.verify_email(link.token().unwrap()).await.status, 200);
    assert_eq!(confirmed.get("/me").await.status, 200);
    assert_eq!(anonymous.login(&entered, rcpt_tests::people::PASSWORD).await.status, 200);
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
    edge.registered().await;
    edge.sql("UPDATE registrations SET expires_at = unixepoch()", &[]).await;
    edge.sql("ALTER TABLE throttles RENAME TO throttles_gone", &[]).await;
    // A table has five seconds of a run, which this one needs only on a machine with much to do.
    let mut begun = tokio::time::Instant::now();
    edge.run_scheduled().await;
    while begun.elapsed() > Duration::from_secs(5) && edge.count("leases").await > 0 {
        begun = tokio::time::Instant::now();
        edge.run_scheduled().await;
    }
    assert_eq!(names(&edge, "SELECT id AS name FROM leases").await, [] as [Value; 0]);
    assert_eq!((edge.count("registrations").await, edge.count("accounts").await), (0, 1));
}

/// The durations of `count` consecutive calls of the owner.
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
        let longest = 1 + all / 1_000_000 + begun.elapsed().as_secs() / 10;
        assert!(runs <= longest, "a run reads a million, or for ten seconds");
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
        ("account_id FROM directory WHERE address = 'a' OR mailbox = 'b'", "MULTI-INDEX OR"),
        ("address FROM directory WHERE account_id = 'a'", "directory_by_account"),
        ("address FROM registrations WHERE expires_at <= 1", "registrations_by_expiry"),
        ("address FROM registrations WHERE is_entered = 1", "registrations_entered"),
        (
            "address FROM registrations WHERE is_entered = 1 AND account_id IN ('a')",
            "registrations_entered",
        ),
        ("account_id FROM guard_refusals WHERE day < 1", "guard_refusals_by_day"),
        ("hash FROM reset_links WHERE expires_at <= 1", "reset_links_by_expiry"),
        ("key FROM throttles WHERE drained_at <= 1", "throttles_by_time"),
        ("id FROM sessions WHERE expires_at <= 1", "sessions_by_expiry"),
        (
            "id FROM second_factors WHERE secret >= 'a.' AND secret < 'a/'",
            "second_factors_by_secret",
        ),
        ("id FROM second_factors WHERE off_at <= 1", "second_factors_off"),
        ("about FROM changes WHERE since <= 1", "changes_by_time"),
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
    let line = edge.process.wait_for_line("housekeeping").await;
    assert!(line.contains("no such table"), "{line}");
    edge.sql("ALTER TABLE throttles_gone RENAME TO throttles", &[]).await;
    let row = "INSERT INTO throttles (key, last_attempt, drained_at)
        VALUES ('idle', 'a', unixepoch())";
    edge.sql(row, &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.sql("SELECT key FROM throttles", &[]).await, [] as [Value; 0]);
}
