//! Everything stored about an account, in one document for its owner, without anything that grants access.

use std::collections::BTreeSet;

use rcpt_tests::people::PASSWORD;
use serde_json::{Value, json};

use super::edge;

#[tokio::test]
async fn the_export_has_everything_of_the_account_and_no_secret() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    assert_eq!(account.put("/auth/settings", &json!({ "display_name": "Ann" })).await.status, 200);
    // Before the webhook: nothing is delivered to a host that this machine can't look up.
    let scan = json!({ "addresses": ["no address"], "name": "A list" });
    assert_eq!(account.post("/scans", &scan).await.status, 201);
    let hook = json!({ "webhook_url": "https://hooks.example.com/rcpt" });
    let secret = account.put("/notifications", &hook).await.body["webhook_secret"].clone();
    let action = "INSERT INTO operator_actions (id, at, operator, action, account_id, value, reason)
        VALUES ('call', unixepoch(), 'the-operator-s-name', 'set-plan', ?1, 'pro', 'a private note')";
    edge.sql_of(&id, action, &[json!(id)]).await;
    let (authenticator, codes) = account.enable_two_factor().await;

    let terms = json!({ "name": "shop", "rights": ["checks"] });
    let mut body = terms.clone();
    body["password"] = json!(PASSWORD);
    body["totp_code"] = json!(codes[1]);
    let made = account.post("/keys", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let named_key = made.text("api_key");
    // Until its email is handed over, a change is open for longer.
    edge.wait_until_told(&id).await;

    let reply = account.get("/me/export").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let members: Vec<_> = reply.body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "account",
        "exported_at",
        "guard",
        "keys",
        "notifications",
        "operator_actions",
        "passkeys",
        "plan",
        "scans",
        "security_events",
        "sessions",
        "usage",
    ];
    assert_eq!(members, expected);
    // Each of these members equals the response of its operation.
    for (member, path) in [
        ("account", "/me"),
        ("plan", "/me/plan"),
        ("usage", "/me/usage"),
        ("sessions", "/auth/sessions"),
        ("keys", "/keys"),
        ("passkeys", "/auth/passkeys"),
        ("security_events", "/me/events"),
    ] {
        assert_eq!(reply.body[member], account.get(path).await.body, "{member}");
    }
    assert_eq!(reply.body["account"]["display_name"], "Ann");
    assert_eq!(reply.body["notifications"]["webhook_url"], hook["webhook_url"]);
    assert_eq!(reply.body["scans"][0]["name"], "A list");
    assert_eq!(reply.body["operator_actions"][0]["action"], "set-plan");
    assert_eq!(reply.body["operator_actions"][0]["value"], "pro");

    let text = reply.body.to_string();
    let sealed = "password_hash, (SELECT secret FROM second_factors f WHERE f.account_id = accounts.id) AS secret";
    let stored = edge.row(&account.email, sealed).await;
    let secrets = [
        secret.as_str().unwrap(),
        PASSWORD,
        &account.api_key,
        named_key,
        &account.token,
        &codes[0],
        stored["password_hash"].as_str().unwrap(),
        stored["secret"].as_str().unwrap(),
        &authenticator.code(),
        "the-operator-s-name",
        "a private note",
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// Looks at tables with a column `account_id`; `left_out` gives the reasons.
#[tokio::test]
async fn every_table_about_accounts_is_exported_or_has_a_reason_not_to_be() {
    let tables = edge().await.sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'", &[]);
    let text = |row: &Value, column: &str| row[column].as_str().unwrap_or_default().to_owned();
    let tables = tables.await.into_iter().filter(|row| text(row, "sql").contains("account_id"));
    let tables: BTreeSet<_> = tables.map(|row| text(&row, "name")).collect();
    let exported = [
        "guard_policies",
        "guard_refusals",
        "keys",
        "operator_actions",
        "passkeys",
        "scans",
        "security_events",
        "sessions",
        "webhook_deliveries",
        "webhooks",
    ];
    let left_out = [
        // The address, which `account` has; for a day the id of an account that was closed.
        "directory",
        "registrations",
        // The account's own response shows what a reset can take back, and when a recovery takes effect.
        "changes",
        "waiting",
        // Sealed secrets.
        "second_factors",
        // Hashes, and sealed responses that are removed within a day.
        "idempotency_keys",
        "reset_links",
        "recovery_codes",
        // A check in progress.
        "leases",
        // Due and recent emails: `security_events` has each of their events.
        "notices",
    ];
    let expected: BTreeSet<_> = exported.into_iter().chain(left_out).map(str::to_owned).collect();
    assert_eq!(tables, expected);
}

#[tokio::test]
async fn an_account_with_many_scans_gets_them_all() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let rows = "INSERT INTO scans (id, account_id, name, total, details, source, day, window_at, previous_at, created_at, state,
          ended_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        SELECT 'scan_' || printf('%06d', i) || ?1, ?1, 'list ' || i, 1, 0, 'daily', 1, 0, 0, unixepoch(), 'cancelled', unixepoch() FROM n";
    edge.sql_of(&id, rows, &[json!(id)]).await;
    let reply = account.get("/me/export").await;
    let scans = reply.body["scans"].as_array().unwrap();
    let names: BTreeSet<_> = scans.iter().map(|scan| scan["name"].as_str().unwrap()).collect();
    assert_eq!((scans.len(), names.len()), (1_000, 1_000), "each once");
}
