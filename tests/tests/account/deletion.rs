//! An account as its owner sees it, and its deletion.

use rcpt_tests::{Account, Edge, people::PASSWORD, service::shim::Fault};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::tombstones::again;

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    // Waits are on, so that attempts are counted in D1.
    let edge = Edge::builder().with_waits().var("REGISTRATION_MAILS_FREE", "100");
    EDGE.get_or_init(async || edge.start().await.unwrap()).await
}

/// The names of the tables that hold any of these texts.
async fn tables_with(texts: &[String]) -> Vec<String> {
    let dump = edge().await.dump(&[]).await;
    let holds = |rows: &Value| texts.iter().any(|text| rows.to_string().contains(text.as_str()));
    dump.into_iter().filter(|(_, rows)| holds(rows)).map(|(name, _)| name).collect()
}

#[tokio::test]
async fn the_account_shows_itself_to_its_session() {
    let edge = edge().await;
    let account = edge.account().await;
    let created =
        edge.row(&account.email, "strftime('%Y-%m-%dT%H:%M:%SZ', created_at, 'unixepoch') AS t");
    let mut expected = json!({
        "email": account.email, "display_name": "", "plan": "free", "two_factor": false,
        "recovery_codes_left": 0, "created_at": created.await["t"], "key_last_used": null,
        "open_changes": [],
    });
    assert_eq!(account.get("/me").await.parts(), (200, &expected));
    let reply = account.put("/auth/settings", &json!({ "display_name": "Ann" })).await;
    assert_eq!(reply.status, 200);
    account.enable_two_factor().await;
    edge.set(&account.email, "plan = 'pro'").await;
    expected["display_name"] = "Ann".into();
    expected["plan"] = "pro".into();
    expected["two_factor"] = true.into();
    expected["recovery_codes_left"] = 10.into();
    let reply = account.get("/me").await;
    let open = reply.body["open_changes"].clone();
    assert_eq!(
        (open[0]["kind"].as_str(), open.as_array().unwrap().len()),
        (Some("two_factor_on"), 1)
    );
    expected["open_changes"] = open;
    assert_eq!(reply.parts(), (200, &expected));
}

#[tokio::test]
async fn deleting_needs_the_password_and_a_code_when_two_factor_is_on() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    let wrong = json!({ "password": "not-the-password", "totp_code": authenticator.code() });
    account.delete("/me", &wrong).await.assert_error(403, "wrong_password", "a wrong password");
    let without = json!({ "password": PASSWORD });
    account.delete("/me", &without).await.assert_error(403, "totp_required", "no code");
    let wrong = json!({ "password": PASSWORD, "totp_code": authenticator.wrong_code() });
    account.delete("/me", &wrong).await.assert_error(403, "totp_invalid", "a wrong code");
    assert_eq!(account.get("/me").await.status, 200);
    let code = edge.fresh_code(&account, &authenticator).await;
    let right = json!({ "password": PASSWORD, "totp_code": code });
    let reply = account.delete("/me", &right).await;
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
}

#[tokio::test]
async fn deleting_removes_every_row_of_the_account() {
    let edge = edge().await;
    let account = edge.account().await;
    let anonymous = &account.anonymous;
    let email = account.email.as_str();
    let marks = [edge.id(email).await, email.to_owned()];

    // Creates a row in every table that can have rows of an account.
    let (_, codes) = account.enable_two_factor().await;
    let lease = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
        VALUES ('a-lease', ?, 1, 1, 0, 4000000000)";
    edge.sql_of(&marks[0], lease, &[marks[0].as_str().into()]).await;
    assert_eq!(anonymous.forgot_password(email).await.status, 200);
    assert_eq!(anonymous.register(email, PASSWORD).await.status, 201);
    assert_eq!(anonymous.login(email, "not-the-password").await.status, 401);
    let wrong = json!({ "password": "not-the-password", "totp_code": "123456" });
    assert_eq!(account.post("/auth/totp/disable", &wrong).await.status, 403);
    assert_eq!(account.rotate_with("123456").await.status, 403);
    assert_eq!(account.post("/scans", &json!({ "total": 3 })).await.status, 201);
    assert_eq!(account.put("/guard", &json!({ "refuse": [] })).await.status, 200);
    for row in [
        "idempotency_keys (account_id, name, request, answer, expires_at)
         VALUES (?, 'name', 'request', 'answer', 4000000000)",
        "waiting (account_id, id, kind, state, new_email, token_hash, at, expires_at)
         VALUES (?, 'change', 'address', 'asked', 'new@example.org', 'hash', 1, 4000000000)",
        "guard_refusals (account_id, day, reason, count) VALUES (?, 1, 'disposable', 1)",
        "keys (account_id, id, name, rights, created_at) VALUES (?, 'an-id', 'name', 1, 1)",
        "passkeys (account_id, id, credential, public_key, name, counter, is_syncable, created_at)
         VALUES (?, 'an-id', 'credential', '{}', 'name', 0, 0, 1)",
        "webhooks (account_id, url, secret) VALUES (?, 'https://example.com/', 'name')",
        "webhook_deliveries (account_id, id, kind, created_at)
         VALUES (?, 'msg_1', 'webhook.test', 1)",
    ] {
        let insert = format!("INSERT INTO {row}");
        edge.sql_of(&marks[0], &insert, &[marks[0].as_str().into()]).await;
    }
    let link = edge.mailbox().wait_for_titled(email, "Set a new password", 1).await.unwrap();
    let tables = [
        "accounts",
        "changes",
        "directory",
        "guard_policies",
        "guard_refusals",
        "idempotency_keys",
        "keys",
        "leases",
        "notices",
        "passkeys",
        "recovery_codes",
        "reset_links",
        "scans",
        "second_factors",
        "security_events",
        "sessions",
        "throttles",
        "waiting",
        "webhook_deliveries",
        "webhooks",
    ];
    assert_eq!(tables_with(&marks).await, tables);
    let schema = "SELECT name FROM sqlite_master WHERE sql LIKE '%REFERENCES accounts%'";
    let referring = edge.sql(schema, &[]).await;
    assert!(referring.iter().all(|row| tables.contains(&row["name"].as_str().unwrap())));

    let body = json!({ "password": PASSWORD, "totp_code": codes[0] });
    let reply = account.delete("/me", &body).await;
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
    // Guesses, and a mark against a fresh allowance, stay under a hash (tombstones.rs); the address is removed, and the
    // id after a day: until then a step that comes late finds it.
    assert_eq!(tables_with(&marks).await, ["closed_accounts"]);
    edge.sql("UPDATE closed_accounts SET closed_at = closed_at - 86400", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(tables_with(&marks).await, [] as [String; 0]);
    account.get("/me").await.assert_error(401, "invalid_session", "the session");
    account.quota().await.assert_error(401, "invalid_api_key", "the key");
    assert_eq!(account.check("accepts@sandbox.test").await.status, 401);
    let reply = anonymous.login(email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "sign-in");
    let reply = anonymous.reset_password(link.token().unwrap(), "copper-meadow-58-lattice").await;
    reply.assert_error(400, "invalid_token", "a link that was mailed before");

    let farewell = "Your account has been deleted";
    let notice = edge.mailbox().wait_for_titled(email, farewell, 1).await.unwrap();
    assert!(notice.text.contains("When: ") && notice.text.contains("Browser: "), "{}", notice.text);
    assert_eq!(anonymous.register(email, "copper-meadow-58-lattice").await.status, 201);
    let mail =
        edge.mailbox().wait_for_titled(email, "Confirm your email address", 2).await.unwrap();
    let reply = anonymous.verify_email(mail.token().unwrap()).await;
    let fresh = Account::from_credentials(anonymous, "copper-meadow-58-lattice", &reply);
    assert_ne!(fresh.api_key, account.api_key);
    assert_eq!(fresh.get("/me").await.body["two_factor"], false);
    assert_eq!(account.get("/me").await.status, 401, "the session of before stays dead");
    assert_eq!(account.quota().await.status, 401, "and so does the key");
}

/// The statements of one step (edge/src/accounts/deletion_sql.rs).
const STEP: &[&str] = &[
    "delete scan_results",
    "delete scan_parts",
    "delete scan_retries",
    "delete scans",
    "delete idempotency_keys",
    "delete webhook_deliveries",
    "delete sessions",
    "delete accounts",
    "select accounts",
];

/// Inserts rows of an account into the tables that can have many of them.
async fn fill(edge: &Edge, id: &str, keys: u64) {
    for rows in [
        "idempotency_keys (account_id, name, request, answer, expires_at)
         SELECT ?1, i, 'request', '', unixepoch() + 80000 FROM n",
        "scans (id, account_id, details, total, source, day, created_at, window_at, previous_at)
         SELECT 'scan_' || ?1 || i, ?1, 0, 1, 'daily', 1, 1, 1, 1 FROM n WHERE i <= 20",
        "scan_parts (scan_id, part, mac) SELECT s.id, i, '' FROM scans s JOIN n ON i <= 50 WHERE account_id = ?1",
        "scan_results (scan_id, part, slot, round, results, writer)
         SELECT s.id, i, 0, 0, printf('%.*c', 25000, 'x'), '' FROM scans s JOIN n ON i <= 50 WHERE account_id = ?1",
    ] {
        let (table, select) = rows.split_once("SELECT").unwrap();
        let insert = format!(
            "INSERT INTO {table} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
             SELECT {select}"
        );
        edge.sql_of(id, &insert, &[json!(id), json!(keys)]).await;
    }
}

/// The number of rows left of an account.
async fn rows_left(edge: &Edge, id: &str) -> u64 {
    let mut rows_at_first = 0;
    for table in
        ["accounts WHERE id", "idempotency_keys WHERE account_id", "scans WHERE account_id"]
    {
        rows_at_first += edge.count(&format!("{table} = '{id}'")).await;
    }
    rows_at_first + edge.count("scan_results").await + edge.count("scan_parts").await
}

#[tokio::test]
async fn an_account_with_a_hundred_thousand_rows_is_ended_by_one_statement_and_its_rows_go_in_steps()
 {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    fill(&edge, &id, 100_000).await;
    let begun = tokio::time::Instant::now();
    let reply = account.delete("/me", &json!({ "password": PASSWORD })).await;
    let took = begun.elapsed();
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
    let rows_at_first = rows_left(&edge, &id).await;
    println!("102,000 rows: 204 after {took:?}, with {rows_at_first} of them left");
    assert!(rows_at_first > 90_000, "{rows_at_first}");

    // The account's credentials no longer work, and no data of the owner is left.
    account.get("/me").await.assert_error(401, "invalid_session", "the session");
    account.quota().await.assert_error(401, "invalid_api_key", "the key");
    let row = "SELECT email, display_name, password_hash, totp_pending FROM accounts";
    let blank =
        json!([{ "email": "", "display_name": "", "password_hash": "", "totp_pending": null }]);
    assert_eq!(json!(edge.sql(row, &[]).await), blank);
    let back = edge.try_sql("UPDATE accounts SET state = 'confirmed'", &[]).await.unwrap_err();
    assert!(format!("{back:#}").contains("the account is deleted"), "{back:#}");

    // The owner registers again, and gets another account.
    let fresh = again(&edge, &account).await;
    assert_eq!(fresh.get("/me").await.status, 200);
    assert_ne!(edge.id(&account.email).await, id);

    // Each run is cut off at its second step.
    let mut runs = 0;
    while rows_left(&edge, &id).await > 0 {
        runs += 1;
        assert!(runs < 50, "{} rows are left", rows_left(&edge, &id).await);
        let cut = Fault {
            part: "d1",
            statements: STEP,
            skip: 1,
            times: 1,
            error: "gone",
            ..Fault::default()
        };
        edge.fail(&[cut]).await;
        edge.run_scheduled().await;
    }
    assert!(runs > 5, "{runs}");
    assert_eq!(fresh.get("/me").await.status, 200);
    assert_eq!(account.get("/me").await.status, 401);
}

#[tokio::test]
async fn a_deletion_that_is_cut_off_anywhere_is_finished_by_the_scheduled_run() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let look: &[&str] = &["select directory"];
    let forget: &[&str] =
        &["insert throttles", "delete directory", "delete registrations", "delete throttles"];
    for cut in [&[look][..], &[forget], &[STEP], &[forget, STEP]] {
        let account = edge.account().await;
        let id = edge.id(&account.email).await;
        let faults = cut.iter().map(|&statements| Fault {
            part: "d1",
            statements,
            times: 1,
            error: "gone",
            ..Fault::default()
        });
        edge.fail(&faults.collect::<Vec<_>>()).await;
        let reply = account.delete("/me", &json!({ "password": PASSWORD })).await;
        assert_eq!(reply.status, 204, "{cut:?}: {}", reply.body);
        assert_eq!(account.get("/me").await.status, 401, "{cut:?}");
        // While the directory still names the account, neither the password nor a link signs anybody in.
        let anonymous = &account.anonymous;
        let reply = anonymous.login(&account.email, PASSWORD).await;
        reply.assert_error(401, "invalid_credentials", "sign-in");
        edge.run_scheduled().await;
        for rows in ["accounts WHERE id", "directory WHERE account_id"] {
            assert_eq!(edge.count(&format!("{rows} = '{id}'")).await, 0, "{cut:?}");
        }
        let fresh = again(&edge, &account).await;
        assert_ne!(edge.id(&account.email).await, id, "{cut:?}");
        assert_eq!(fresh.get("/me").await.status, 200, "{cut:?}");
        assert_eq!(anonymous.login(&account.email, PASSWORD).await.status, 200, "{cut:?}");
    }
}

// A single statement for all rows of the account would exceed D1's time limit.
#[tokio::test]
async fn an_account_of_many_rows_that_the_operator_deletes_goes_in_steps() {
    let edge = &Edge::builder().start().await.unwrap();
    let (operator, account) = (edge.operator(), edge.account().await);
    let id = edge.id(&account.email).await;
    let keys = "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT ?, printf('%032d', i), 'request', 'answer', unixepoch() + 3600 FROM n";
    edge.sql_of(&id, keys, &[id.as_str().into()]).await;
    operator.on("delete", &account.email).await;
    edge.set(&account.email, "erase_at = unixepoch()").await;
    let its = format!("idempotency_keys WHERE account_id = '{id}'");
    assert_eq!(edge.count(&its).await, 20_000, "its rows are not in the same statement");
    edge.run_scheduled().await;
    let reply = operator.call(&json!({ "show": { "account": id } })).await;
    reply.assert_error(404, "no_such_account", "it is gone, while its rows go");
    for _ in 0..20 {
        edge.run_scheduled().await;
    }
    assert_eq!(edge.count(&its).await, 0);
    assert_eq!(edge.count(&format!("accounts WHERE id = '{id}'")).await, 0);
    let audit = operator.on("audit", &id).await;
    assert_eq!(audit["records"][0]["action"], "delete");
}
