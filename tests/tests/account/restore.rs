//! `tools/admin restore` against the stand-in for Cloudflare's API: rows come from a database's past, and nothing is lost
//! that wasn't chosen, wherever a run is cut.

use std::{fs, os::unix::fs::PermissionsExt as _};

use rcpt_shared::Status;
use rcpt_tests::{
    Conduct, Edge, FakeOrigin, Platform, people::PASSWORD, servers::Run, service::clock,
};
use serde_json::{Value, json};

const ANN: &str = "0123456789abcdef";
const BOB: &str = "0223456789abcdef";

struct World {
    platform: Platform,
    database: String,
}

impl World {
    /// Ann is on `pro` with a key; Bob has an account. Later a fault loses Ann's display name and Bob's account, and
    /// meanwhile there are a payment, a new password, a revoked key and a deletion.
    async fn start() -> Self {
        let platform = Platform::small().await.unwrap();
        let run = platform.deploy(&[]).await.unwrap();
        assert!(run.succeeded, "{}", run.output);
        let state = platform.state().await.unwrap();
        let database = state["databases"][0]["uuid"].as_str().unwrap().to_owned();
        let world = Self { platform, database };
        for (id, email) in
            [(ANN, "ann@example.org"), (BOB, "bob@example.org"), ("03", "carl@example.org")]
        {
            world
                .sql(&format!(
                    "INSERT INTO accounts (id, email, password_hash, created_at, display_name)
                     VALUES ('{id}', '{email}', 'old password', 7, 'name')"
                ))
                .await;
            world.sql(&format!("INSERT INTO keys (account_id, id, name, rights, created_at) VALUES ('{id}', 'k', 'key', 1, 7)")).await;
        }
        // The platform's bookmark of this minute.
        world.platform.order(&json!({ "state": { "later": -60 } })).await.unwrap();
        world.platform.bookmark(&world.database).await.unwrap();
        world.platform.order(&json!({ "state": { "later": 3_600 } })).await.unwrap();
        for fault in [
            format!("UPDATE accounts SET display_name = '' WHERE id = '{ANN}'"),
            format!("DELETE FROM accounts WHERE id = '{BOB}'"),
            format!(
                "UPDATE accounts SET plan = 'pro', password_hash = 'new password' WHERE id = '{ANN}'"
            ),
            format!("DELETE FROM keys WHERE account_id = '{ANN}'"),
            "DELETE FROM accounts WHERE id = '03'".to_owned(),
        ] {
            world.sql(&fault).await;
        }
        world
    }

    async fn sql(&self, sql: &str) -> Value {
        self.platform.sql(&self.database, sql).await.unwrap()
    }

    async fn everything(&self) -> Value {
        json!([
            self.sql("SELECT * FROM accounts").await,
            self.sql("SELECT * FROM keys").await,
            self.sql("SELECT * FROM plans").await,
        ])
    }

    /// Names of the Worker's bindings that say that a database is closed.
    async fn closed(&self) -> Vec<String> {
        let state = self.platform.state().await.unwrap();
        let bindings = state["workers"]["rcpt"]["bindings"].as_array().unwrap().iter();
        let names = bindings.filter_map(|each| each["name"].as_str());
        names.filter(|name| name.starts_with("CLOSED_")).map(str::to_owned).collect()
    }

    async fn admin(&self, words: &[&str]) -> Run {
        self.platform.admin(&[&["restore", "--yes", "DB"], words].concat()).await.unwrap()
    }
}

fn a_minute_ago() -> String {
    let ago = i64::try_from(clock::now() - 1).unwrap();
    chrono::DateTime::from_timestamp(ago, 0).unwrap().format("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[tokio::test]
async fn rows_are_taken_from_the_past_and_nothing_is_lost_that_was_not_chosen() {
    let world = World::start().await;
    let present = world.everything().await;
    // Nothing is read unasked, and the past is none of the future.
    let unasked = world.platform.admin(&["restore", "DB", &a_minute_ago()]).await.unwrap();
    assert!(
        !unasked.succeeded && unasked.output.contains("nothing was changed"),
        "{}",
        unasked.output
    );
    // The operator's clock may show another zone than the platform's.
    for minute in ["2099-01-01T00:00Z", "2026-11-22T10:00", "2026-11-22T10:00+01:00"] {
        let run = world.admin(&[minute]).await;
        assert!(!run.succeeded && run.output.contains("in UTC"), "{minute}: {}", run.output);
    }
    let run = world.admin(&[&a_minute_ago()]).await;
    assert!(run.succeeded && run.output.contains("is as before"), "{}", run.output);
    assert_eq!((world.everything().await, world.closed().await), (present.clone(), vec![]));

    // What was read is sealed, and no value of it is shown.
    let folder = world.platform.secrets_file().parent().unwrap().to_owned();
    let file = folder.join("rcpt-DB.past");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read(&file).unwrap();
    assert!(!text.windows(3).any(|window| window == b"ann"));
    let run = world.admin(&["--take", "accounts"]).await;
    assert!(run.output.contains("look at the differences first"), "{}", run.output);
    let run = world.admin(&[]).await;
    for line in [
        format!("accounts/{ANN}"),
        format!("accounts/{BOB}"),
        format!("keys/{ANN}/k"),
        "accounts/03 ".to_owned(),
        "only in the past".to_owned(),
    ] {
        assert!(run.output.contains(&line), "{line}: {}", run.output);
    }
    assert!(!run.output.contains("password") && !run.output.contains("@"), "{}", run.output);

    // A row that has changed since it was shown stays.
    world.sql(&format!("UPDATE accounts SET welcome_left = 3 WHERE id = '{ANN}'")).await;
    let run = world.admin(&["--take", &format!("accounts/{ANN}")]).await;
    assert!(
        !run.succeeded && run.output.contains("has changed since it was shown"),
        "{}",
        run.output
    );
    let run =
        world.admin(&["--take", &format!("accounts/{BOB}"), "--reason", "fault of 10:00"]).await;
    assert!(run.succeeded && run.output.contains("is taken"), "{}", run.output);
    let bob = world.sql(&format!("SELECT * FROM accounts WHERE id = '{BOB}'")).await;
    assert_eq!(
        (&bob[0]["email"], &bob[0]["display_name"]),
        (&json!("bob@example.org"), &json!("name"))
    );
    let audit = world.sql("SELECT action, account_id, value, reason FROM operator_actions").await;
    let row = json!({ "action": "restore", "account_id": BOB, "value": "accounts", "reason": "fault of 10:00" });
    assert_eq!(audit, json!([row]));
    // The payment, the password, the revoked key and the deletion stand.
    let ann =
        world.sql(&format!("SELECT plan, password_hash FROM accounts WHERE id = '{ANN}'")).await;
    assert_eq!(ann, json!([{ "plan": "pro", "password_hash": "new password" }]));
    assert_eq!(world.sql("SELECT id FROM accounts ORDER BY id").await.as_array().unwrap().len(), 2);
    assert_eq!(world.sql("SELECT * FROM keys").await, json!([]));
    // Shown again, it can be taken; its columns are then all of the past.
    assert!(world.admin(&[]).await.succeeded);
    let run = world.admin(&["--take", &format!("accounts/{ANN}")]).await;
    assert!(run.succeeded, "{}", run.output);
    let ann =
        world.sql(&format!("SELECT plan, display_name FROM accounts WHERE id = '{ANN}'")).await;
    assert_eq!(ann, json!([{ "plan": "free", "display_name": "name" }]));
    let run = world.admin(&["--end"]).await;
    assert!(run.succeeded && !file.exists(), "{}", run.output);
}

#[tokio::test]
async fn a_restore_that_is_cut_anywhere_goes_back_first() {
    let world = World::start().await;
    let present = world.everything().await;
    for after in 1..=6 {
        for before in [false, true] {
            let minute = a_minute_ago();
            let cut = json!({ "cut": { "after": after, "before": before } });
            world.platform.order(&cut).await.unwrap();
            let run = world.admin(&[&minute]).await;
            assert!(!run.succeeded, "{after}: {}", run.output);
            world.platform.order(&json!({})).await.unwrap();
            // While it may be in its past, it is closed, and any machine sees where it leads back to.
            let (now, closed) = (world.everything().await, world.closed().await);
            if now != present {
                assert_eq!(closed.len(), 2, "{after} {before}");
            }
            let run = world.admin(&["--end"]).await;
            assert!(run.succeeded, "{after} {before}: {}", run.output);
            assert_eq!(world.everything().await, present, "{after} {before}");
            assert_eq!(world.closed().await, [""; 0], "{after} {before}");
        }
    }
}

#[tokio::test]
async fn a_closed_database_is_its_accounts_trouble_only_and_opens_as_it_was() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).var("HOMES", "*:1");
    let mut edge = edge.start().await.unwrap();
    let closed = edge.account().await;
    edge.restart_with(|edge| edge.var("HOMES", "*:2")).await.unwrap();
    let other = edge.account().await;
    edge.restart_with(|edge| edge.var("CLOSED_DB_1", "1").var("CLOSED_DB_1_AT_0a_0b", "1"))
        .await
        .unwrap();
    for (account, expected) in [(&closed, 503), (&other, 200)] {
        let login = account.anonymous.login(&account.email, PASSWORD).await.status;
        let check = account.check("ann@closed.example").await.status;
        let me = account.get("/me").await.status;
        assert_eq!((login, check, me), (expected, expected, expected), "{}", account.email);
    }
    let ready = edge.anonymous().get("/health/ready").await;
    assert_eq!((ready.status, ready.text("database")), (503, "down"));
    assert!(!ready.body.to_string().contains("settings"), "{}", ready.body);
    edge.restart_with(|edge| edge.without_ring("CLOSED")).await.unwrap();
    assert_eq!(closed.check("ann@closed.example").await.status, 200);
}
