//! `POST /v1/operator`: signed calls of operators, each of which takes effect once and leaves a record with its deed.

use std::collections::BTreeSet;

use rcpt_shared::Ticket;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin,
    people::{Operator, PASSWORD},
    service::{clock, secret},
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

async fn own_edge() -> Edge {
    Edge::builder().databases(3).start().await.unwrap()
}

/// An action of one account with another parameter.
fn with(action: &str, account: &str, name: &str, value: Value) -> Value {
    json!({ action: { "account": account, name: value } })
}

fn records(audit: &Value) -> Vec<[&str; 5]> {
    let members = ["operator", "action", "account", "value", "reason"];
    let rows = audit["records"].as_array().unwrap().iter();
    rows.map(|row| members.map(|member| row[member].as_str().unwrap())).collect()
}

#[tokio::test]
async fn every_action_takes_effect_in_the_next_request() {
    let edge = own_edge().await;
    let (operator, account) = (edge.operator(), edge.account().await);
    let email = account.email.as_str();
    let shown = operator.on("show", &email.to_uppercase()).await;
    assert_eq!((&shown["state"], &shown["email"]), (&json!("confirmed"), &json!(email)));

    let after = operator.done(&with("set-plan", email, "plan", json!("pro"))).await;
    assert_eq!((&after["plan"], &after["applied"]), (&json!("pro"), &json!(true)));
    assert_eq!(account.quota().await.body["plan"], "pro");
    assert_eq!(account.email_checks().await.daily_allowance, 5000);
    let query = "SELECT deeds FROM notices WHERE kind = 'plan_changed' AND account_id = ?";
    let id = edge.id(email).await;
    let deeds = edge.sql(query, &[id.as_str().into()]).await;
    assert_eq!(deeds, [json!({ "deeds": 1 })], "the owner is told by the next scheduled run");
    let reference = account.get("/me/plan").await.text("reference").to_owned();
    assert_eq!(after["reference"], reference);
    let until = json!({ "set-plan": { "account": reference, "plan": "pro", "until": "2099-01-31T00:00:00Z" } });
    assert_eq!(operator.done(&until).await["plan_until"], "2099-01-31 00:00:00");
    assert_eq!(account.get("/me/plan").await.body["until"], "2099-01-31T00:00:00Z");
    assert_eq!(edge.sql(query, &[id.as_str().into()]).await, deeds, "it is the same plan");
    let after = operator.done(&with("grant-checks", email, "number", json!(25))).await;
    assert_eq!(after["welcome_left"], 75);
    assert_eq!(account.email_checks().await.welcome_left, 75);

    assert_eq!(operator.on("deactivate-key", email).await["key_active"], 0);
    account.quota().await.assert_error(401, "invalid_api_key", "a deactivated key");
    account.rotate_api_key().await.assert_error(403, "key_deactivated", "it cannot be replaced");
    assert_eq!(account.get("/me").await.status, 200, "the session goes on");
    assert_eq!(operator.on("reactivate-key", email).await["key_active"], 1);
    assert_eq!(account.quota().await.status, 200);

    assert_eq!(operator.on("deactivate", &id).await["state"], "deactivated");
    account.quota().await.assert_error(401, "invalid_api_key", "the key");
    account.get("/me").await.assert_error(401, "invalid_session", "the session");
    let reply = account.anonymous.login(email, PASSWORD).await;
    reply.assert_error(403, "deactivated", "sign-in");
    assert_eq!(operator.on("reactivate", email).await["state"], "confirmed");
    account.get("/me").await.assert_error(401, "invalid_session", "old sessions stay dead");
    let reply = account.anonymous.login(email, PASSWORD).await;
    let again = Account::from_credentials(&account.anonymous, PASSWORD, &reply);
    assert_eq!((again.get("/me").await.status, again.quota().await.status), (200, 200));
}

#[tokio::test]
async fn wrong_input_is_named_and_changes_nothing() {
    let edge = own_edge().await;
    let (operator, account) = (edge.operator(), edge.account().await);
    let email = account.email.as_str();
    let before = (edge.row(email, "*").await, edge.count("operator_actions").await);
    let on = |action: &str| json!({ action: { "account": email } });
    for (action, status, code) in [
        (json!("promote"), 400, "invalid_body"),
        (json!({ "show": {} }), 400, "invalid_body"),
        (json!({ "show": { "account": "nobody@example.org" } }), 404, "no_such_account"),
        (
            json!({ "deactivate": { "account": "x' OR 1=1 --@example.org" } }),
            404,
            "no_such_account",
        ),
        (json!({ "deactivate": { "account": "00ffffffffffffff" } }), 404, "no_such_account"),
        (json!({ "tenant": { "name": "0".repeat(32) } }), 404, "no_such_account"),
        (with("set-plan", email, "plan", json!("gold")), 400, "no_such_plan"),
        (
            json!({ "set-plan": { "account": email, "plan": "pro", "until": "2001-01-01T00:00:00Z" } }),
            400,
            "invalid_body",
        ),
        (with("grant-checks", email, "number", json!(0)), 400, "invalid_body"),
        (with("grant-checks", email, "number", json!(1_000_000_000)), 400, "invalid_body"),
        (
            json!({ "set-size": { "plan": "gold", "size": "scan-size", "number": 5 } }),
            409,
            "not_possible",
        ),
        (
            json!({ "set-size": { "plan": "unlimited", "size": "daily-checks", "number": 5 } }),
            409,
            "not_possible",
        ),
        (
            json!({ "set-size": { "plan": "pro", "size": "name", "number": 5 } }),
            400,
            "invalid_body",
        ),
        (
            json!({ "set-size": { "plan": "pro", "size": "scan-size", "number": 0 } }),
            400,
            "invalid_body",
        ),
        (json!({ "allow": { "email": "no address" } }), 400, "invalid_email"),
        (on("reactivate"), 409, "not_possible"),
        (on("reactivate-key"), 409, "not_possible"),
        (on("undelete"), 409, "not_possible"),
        (on("stop-recovery"), 409, "not_possible"),
        (on("recover"), 409, "not_possible"),
    ] {
        let reply = operator.call(&action).await;
        reply.assert_error(status, code, &action.to_string());
    }
    assert_eq!((edge.row(email, "*").await, edge.count("operator_actions").await), before);
}

#[tokio::test]
async fn a_call_counts_for_this_service_now_and_with_a_persons_secret_only() {
    let edge = Edge::builder().var("ADMIN_SECRET_BOB", secret::value().unwrap());
    let edge = edge.start().await.unwrap();
    let (operator, account) = (edge.operator(), edge.account().await);
    let fine = operator.body(&json!({ "deactivate": { "account": account.email } }));
    let altered = |member: &str, value: Value| {
        let mut body = fine.clone();
        body[member] = value;
        body
    };
    let stranger = Operator::new(edge.anonymous(), &secret::value().unwrap());
    stranger.send(&fine).await.assert_error(403, "invalid_signature", "another's secret");
    let (text, signature) = (fine.to_string(), operator.signature(&fine.to_string()));
    let changed = text.replace("deactivate", "reactivate");
    let reply = operator.send_signed(&signature, changed).await;
    reply.assert_error(403, "invalid_signature", "another body");
    for (body, code) in [
        (altered("host", json!("other.example")), "another_host"),
        (altered("at", json!(clock::now() - 3600)), "invalid_signature"),
        (altered("at", json!(clock::now() + 3600)), "invalid_signature"),
    ] {
        operator.send(&body).await.assert_error(403, code, &body.to_string());
    }
    for body in [altered("id", json!("short")), altered("id", json!("é".repeat(20))), json!({})] {
        operator.send(&body).await.assert_error(400, "invalid_body", &body.to_string());
    }
    assert_eq!(account.get("/me").await.status, 200, "nothing was done");
    assert_eq!(edge.count("operator_actions").await, 0);
    assert_eq!(operator.send(&fine).await.body["applied"], true);
    // The name in the audit is the signer's.
    let bob = Operator::new(edge.anonymous(), edge.var("ADMIN_SECRET_BOB"));
    bob.on("reactivate", &account.email).await;
    let audit = bob.on("audit", &account.email).await;
    let names: Vec<_> = records(&audit).iter().map(|row| row[0]).collect();
    assert_eq!(names, ["bob", "dev"]);
    let plain = Edge::builder().var(secret::ADMIN, "").start().await.unwrap();
    let reply = operator.send_signed(&signature, text).await;
    assert_eq!(reply.body["applied"], false, "sent again: {}", reply.body);
    let nowhere = plain.anonymous().post("/operator", &fine).await;
    nowhere.assert_error(404, "not_found", "without a secret there is no such path");
}

#[tokio::test]
async fn a_call_that_is_sent_again_does_nothing_even_among_others_and_at_the_same_time() {
    let edge = own_edge().await;
    let (operator, account) = (edge.operator(), edge.account().await);
    let grant = operator.body(&with("grant-checks", &account.email, "number", json!(5)));
    let mut at_once = JoinSet::new();
    for _ in 0..8 {
        let (operator, grant) = (operator.clone(), grant.clone());
        at_once.spawn(async move { operator.send(&grant).await });
    }
    let at_once = at_once.join_all().await;
    assert!(at_once.iter().all(|reply| reply.status == 200), "{at_once:?}");
    let applied = at_once.iter().filter(|reply| reply.body["applied"] == true).count();
    assert_eq!((applied, account.email_checks().await.welcome_left), (1, 55));

    let off = operator.body(&json!({ "deactivate": { "account": account.email } }));
    assert_eq!(operator.send(&off).await.body["applied"], true);
    operator.on("reactivate", &account.email).await;
    let again = operator.send(&off).await;
    assert_eq!(
        (&again.body["applied"], &again.body["state"]),
        (&json!(false), &json!("confirmed"))
    );

    // A change of every database that was cut off: where it is done, it does nothing.
    let size =
        |number| json!({ "set-size": { "plan": "pro", "size": "scan-size", "number": number } });
    let call = operator.body(&size(20_001));
    edge.sql_in(1, "ALTER TABLE plans RENAME TO kept", &[]).await;
    assert_eq!(operator.send(&call).await.status, 503);
    let sizes = "SELECT scan_size FROM plans WHERE name = 'pro'";
    assert_eq!(
        edge.sql_in(2, sizes, &[]).await,
        [json!({ "scan_size": 20_001 })],
        "the others have it"
    );
    edge.sql_in(1, "ALTER TABLE kept RENAME TO plans", &[]).await;
    for applied in [true, false] {
        assert_eq!(
            operator.send(&call).await.body["applied"],
            applied,
            "once where it was lacking"
        );
        assert_eq!(
            edge.sql(sizes, &[]).await,
            [
                json!({ "scan_size": 20_001 }),
                json!({ "scan_size": 20_001 }),
                json!({ "scan_size": 20_001 })
            ]
        );
    }
    assert_eq!(edge.count("operator_actions WHERE action = 'set-size'").await, 3);
}

#[tokio::test]
async fn a_size_is_changed_in_every_database_and_its_old_value_is_kept() {
    let edge = own_edge().await;
    let (operator, account) = (edge.operator(), edge.account().await);
    edge.set(&account.email, "plan = 'pro'").await;
    let plans = operator.done(&json!("plans")).await;
    assert_eq!(plans["plans"].as_array().unwrap().len(), 3, "{plans}");
    let call = json!({ "set-size": { "plan": "pro", "size": "scan-size", "number": 20001 } });
    assert!(operator.done(&call).await.to_string().contains("20001"));
    assert_eq!(account.quota().await.body["scans"]["scan_size"], 20_001);
    let audit = operator.done(&json!({ "audit": {} })).await;
    let expected = ["dev", "set-size", "", "pro scan-size 20001 from 10000", "a test"];
    assert_eq!(records(&audit), [expected], "one row, although each database has it");
    assert_eq!(edge.count("operator_actions").await, 3);
}

#[tokio::test]
async fn an_operator_makes_sixty_changes_a_minute_at_most_and_holds_up_nobody() {
    let edge = Edge::builder().var("ADMIN_SECRET_BOB", secret::value().unwrap());
    let edge = edge.start().await.unwrap();
    let (operator, account) = (edge.operator(), edge.account().await);
    let grant = with("grant-checks", &account.email, "number", json!(1));
    let begun = clock::now();
    let mut done = 0;
    while operator.call(&grant).await.status == 200 {
        done += 1;
    }
    let since = clock::now() - begun;
    assert!((30..=31 + since / 2).contains(&done), "{done} in {since} s");
    let reply = operator.call(&grant).await;
    reply.assert_error(429, "throttled", "one more");
    assert_eq!(operator.on("show", &account.email).await["welcome_left"], 50 + done, "reads go on");
    let bob = Operator::new(edge.anonymous(), edge.var("ADMIN_SECRET_BOB"));
    bob.on("deactivate", &account.email).await;
}

#[tokio::test]
async fn a_deletion_deactivates_at_once_erases_after_a_day_and_can_be_taken_back_until_then() {
    let edge = own_edge().await;
    let operator = edge.operator();
    let [account, kept] = [edge.account().await, edge.account().await];
    let email = account.email.as_str();
    let id = edge.id(email).await;
    let today = clock::today().await;
    let used = format!(
        "day = {today}, daily_charged = 7, scans_day = {today}, scans_charged = 1, welcome_left = 30"
    );
    edge.set(email, &used).await;
    for (lease, n_daily) in [("one", 1), ("two", 0), ("three", 0)] {
        let sql = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
            SELECT ?1, id, ?2, ?3, 1 - ?3, unixepoch() + 60 FROM accounts WHERE id = ?4";
        edge.sql_of(&id, sql, &[json!(lease), json!(today), json!(n_daily), json!(id)]).await;
    }
    let mut body = operator.body(&json!({ "delete": { "account": email } }));
    body["reason"] = json!("");
    operator.send(&body).await.assert_error(400, "invalid_body", "a deletion needs a reason");
    for account in [&account, &kept] {
        let after = operator.on("delete", &account.email).await;
        assert_eq!(after["state"], "deactivated");
        assert!(after["erased_at"].is_string(), "{after}");
        account.get("/me").await.assert_error(401, "invalid_session", "it opens nothing any more");
        account.quota().await.assert_error(401, "invalid_api_key", "nor does its key");
    }
    edge.run_scheduled().await;
    let reply = operator.call(&json!({ "reactivate": { "account": kept.email } })).await;
    reply.assert_error(409, "not_possible", "it is being deleted");
    let pass = "UPDATE accounts SET erase_at = erase_at - 86000 WHERE erase_at IS NOT NULL";
    edge.sql(pass, &[]).await;
    edge.run_scheduled().await;
    assert_eq!(operator.on("undelete", &kept.email).await["state"], "deactivated");
    assert_eq!(operator.on("reactivate", &kept.email).await["state"], "confirmed");
    assert_eq!(kept.anonymous.login(&kept.email, PASSWORD).await.status, 200);

    edge.set(email, "erase_at = unixepoch()").await;
    edge.run_scheduled().await;
    let reply = operator.call(&json!({ "undelete": { "account": id } })).await;
    reply.assert_error(404, "no_such_account", "it is gone");
    assert_eq!(edge.count("throttles WHERE key LIKE 'former:%'").await, 1, "renews nothing");
    assert_eq!(edge.count(&format!("directory WHERE account_id = '{id}'")).await, 0);
    for (table, rows) in edge.dump(&[]).await {
        assert!(!rows.to_string().contains(email), "{table}");
    }
    // The record stays.
    let audit = operator.on("audit", &id).await;
    assert_eq!(records(&audit), [["dev", "delete", &id, "", "a test"]]);
}

#[tokio::test]
async fn reads_leave_no_record_and_what_they_show_has_no_secret_and_fifty_rows_at_most() {
    let edge = own_edge().await;
    let (operator, account) = (edge.operator(), edge.account().await);
    let (authenticator, codes) = account.enable_two_factor().await;
    let sql = "INSERT INTO accounts (id, email, password_hash, created_at)
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        SELECT printf('%02x%014x', ?1, i), 'many-' || i || '-' || ?1 || '@example.org', 'phc', 0
        FROM n";
    for database in 0..3 {
        edge.sql_in(database, sql, &[json!(database)]).await;
    }
    let columns = "password_hash,
        (SELECT secret FROM second_factors f WHERE f.account_id = accounts.id) AS secret";
    let stored = edge.row(&account.email, columns).await;
    let secrets = stored.as_object().unwrap().values().map(|value| value.as_str().unwrap());
    let mine = [&account.api_key, &account.token, &codes[0], &authenticator.code()];
    let secrets: BTreeSet<_> = secrets.chain(mine.into_iter().map(String::as_str)).collect();
    for read in [
        json!("list"),
        json!({ "search": { "text": "@" } }),
        json!({ "show": { "account": account.email } }),
        json!("plans"),
        json!({ "audit": {} }),
        json!({ "audit": { "account": account.email } }),
    ] {
        let answer = operator.done(&read).await;
        let text = answer.to_string();
        assert!(secrets.iter().all(|secret| !text.contains(secret)), "{read}: {text}");
        let rows = ["accounts", "records"].iter().find_map(|rows| answer[rows].as_array());
        assert!(rows.is_none_or(|rows| rows.len() <= 50), "{read}");
    }
    assert_eq!(edge.count("operator_actions").await, 0);
    let read = r#""operator":"dev","action":"show""#;
    edge.process.wait_for_line(read).await;
}

#[tokio::test]
async fn accounts_are_listed_by_use_and_found_by_a_part_of_their_address() {
    let edge = own_edge().await;
    let operator = edge.operator();
    let [busy, idle] = [edge.account().await, edge.account().await];
    edge.set(&busy.email, "day = unixepoch() / 86400, daily_charged = 97").await;
    let list = operator.done(&json!("list")).await;
    assert_eq!(list["accounts"][0]["email"], busy.email);
    assert_eq!(
        (&list["accounts"][0]["used_today"], &list["accounts"][1]["email"]),
        (&json!(97), &json!(idle.email))
    );
    let part = idle.email.split('@').next().unwrap().to_uppercase();
    let found = operator.done(&json!({ "search": { "text": part } })).await;
    assert_eq!(found["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(found["accounts"][0]["email"], idle.email);
    let wildcard = operator.done(&json!({ "search": { "text": "%" } })).await;
    assert_eq!(wildcard["accounts"], json!([]), "no wildcards");
}

#[tokio::test]
async fn the_tenant_of_an_origins_log_is_led_back_to_its_account() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(rcpt_shared::Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let operator = edge.operator();
    let tickets = edge.key_ring("TICKET_SECRET");
    for account in [edge.account().await, edge.account().await] {
        assert_eq!(account.check(&format!("{}-1", account.email)).await.status, 200);
        let probe = origin.probes().pop().unwrap();
        let ticket = Ticket::check(&tickets, &probe.ticket, probe.body.as_bytes(), clock::now());
        let tenant = ticket.unwrap().tenant().unwrap().to_owned();
        let found = operator.done(&json!({ "tenant": { "name": tenant } })).await;
        assert_eq!((&found["email"], &found["tenant"]), (&json!(account.email), &json!(tenant)));
    }
}

#[tokio::test]
async fn an_allowed_address_registers_beside_another_spelling_and_no_other_does() {
    const CONFIRM: &str = "Confirm your email address";
    const TAKEN: &str = "You already have an account";
    let edge = own_edge().await;
    let anonymous = edge.anonymous();
    let ann = edge.account_of("ann.exception@gmail.com").await;
    let (allowed, other) = ("Ann.Exception+2@gmail.com", "ann.exception+3@gmail.com");
    let answer = edge.operator().done(&json!({ "allow": { "email": allowed } })).await;
    assert_eq!(answer, json!({ "applied": true, "allowed": allowed }));
    assert_eq!(anonymous.register(other, PASSWORD).await.status, 201);
    edge.mailbox().wait_for_titled(other, TAKEN, 1).await.unwrap();
    assert_eq!(anonymous.register(allowed, PASSWORD).await.status, 201);
    let mail = edge.mailbox().wait_for_titled(allowed, CONFIRM, 1).await.unwrap();
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
    assert_eq!(anonymous.login(allowed, PASSWORD).await.status, 200);
    assert_eq!(anonymous.login(&ann.email, PASSWORD).await.status, 200, "the first one stays");
    // The mailbox still belongs to the first account: a third spelling finds that account.
    anonymous.login(other, PASSWORD).await.assert_error(401, "invalid_credentials", "");
    let audit = edge.operator().done(&json!({ "audit": {} })).await;
    assert_eq!(records(&audit), [["dev", "allow", "", "", "a test"]], "without the address");
}
