//! Actions of operators beyond changing a value, and the record of each.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rcpt_shared::Ticket;
use rcpt_tests::{Edge, people::PASSWORD, service::clock};
use serde_json::{Value, json};

use super::admin::operated;

/// Returns the recorded actions with everything except the time.
async fn records(edge: &Edge, account_id: &str) -> Vec<Value> {
    let sql = "SELECT operator, action, value, reason FROM operator_actions WHERE account_id = ?
        ORDER BY id";
    edge.sql(sql, &[account_id.into()]).await
}

#[tokio::test]
async fn every_action_leaves_a_record_that_outlives_the_account() {
    let service = operated().await;
    let account = service.edge.account().await;
    let email = account.email.as_str();
    let id = service.edge.id(email).await;
    assert_eq!(service.shown(&["--as", "ann", "show", email], "state").await, "confirmed");
    service
        .shown(&["--as", "ann", "--reason", "paid; it's the 2nd", "set-plan", email, "pro"], "plan")
        .await;
    let (code, _, errors) = service.admin(&["delete", email]).await;
    assert_eq!((code, errors.trim()), (2, "admin: delete needs --reason TEXT"));
    let used = "day = unixepoch() / 86400, daily_charged = 7, scans_day = unixepoch() / 86400,
        scans_charged = 1, welcome_left = 3";
    service.edge.set(email, used).await;
    let deletion = ["--as", "bob", "--reason", "asked for", "delete", email];
    assert!(service.output(&deletion).await.contains(email));
    account.get("/me").await.assert_error(401, "invalid_session", "the account is gone");
    let record = |operator, action, value, reason| json!({ "operator": operator, "action": action, "value": value, "reason": reason });
    let expected = [
        record("ann", "show", "", ""),
        record("ann", "set-plan", "pro", "paid; it's the 2nd"),
        record("bob", "delete", "", "asked for"),
    ];
    assert_eq!(records(&service.edge, &id).await, expected);
    let audit = service.output(&["--as", "ann", "audit"]).await;
    assert!(audit.contains("asked for") && audit.contains(&id), "{audit}");
    // Other tests also delete accounts of this service.
    let query = "SELECT used, scans_used, welcome_left FROM tombstones WHERE used > 0";
    let expected = [json!({ "used": 7, "scans_used": 1, "welcome_left": 3 })];
    assert_eq!(service.edge.sql(query, &[]).await, expected, "registering again renews nothing");
    // The next scheduled run removes the account from the directory.
    service.edge.run_scheduled().await;
    let entry_rows = format!("addresses WHERE account_id = '{id}'");
    assert_eq!(service.edge.count(&entry_rows).await, 0);
    let tombstones = "tombstones WHERE account_id IS NOT NULL";
    assert_eq!(service.edge.count(tombstones).await, 0);
    // No table contains the address any more.
    for (table, rows) in service.edge.dump(&[]).await {
        assert!(!rows.to_string().contains(email), "{table}");
    }
}

#[tokio::test]
async fn the_tenant_of_an_origins_log_is_led_back_to_its_account() {
    let service = operated().await;
    let (ann, bob) = (service.edge.account().await, service.edge.account().await);
    for account in [&ann, &bob] {
        assert_eq!(account.check(&format!("{}-1", account.email)).await.status, 200);
    }
    let tickets = service.edge.key_ring("TICKET_SECRETS");
    let tenants: Vec<_> = service.origin.probes()[..]
        .iter()
        .map(|probe| {
            let body = probe.body.as_bytes();
            let ticket = Ticket::check(&tickets, &probe.ticket, body, clock::now()).unwrap();
            (probe.address.clone(), ticket.tenant().unwrap().to_owned())
        })
        .collect();
    let tenant = |email: &str| {
        let own = tenants.iter().find(|(address, _)| *address == format!("{email}-1"));
        own.unwrap().1.clone()
    };
    let (of_ann, of_bob) = (tenant(&ann.email), tenant(&bob.email));
    let ring = service.edge.key_ring("ADDRESS_SECRETS");
    let (kid, secret) = ring.signing();
    let secrets = format!("old:{},{kid}:{}", "A".repeat(43), URL_SAFE_NO_PAD.encode(secret));
    let (code, output, errors) =
        service.admin_with(&[("ADDRESS_SECRETS", &secrets)], &["tenant", &of_ann]).await;
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(output.contains(&ann.email) && !output.contains(&bob.email), "{output}");
    for (ring, name, message) in [
        (&*secrets, "me", "a tenant is 32 hexadecimal digits"),
        ("k:AAAA", &of_bob, "no account is the tenant"),
    ] {
        let (code, _, errors) =
            service.admin_with(&[("ADDRESS_SECRETS", ring)], &["tenant", name]).await;
        assert!(code == 2 && errors.contains(message), "{errors}");
    }
}

#[tokio::test]
async fn accounts_are_listed_by_use_and_found_by_a_part_of_their_address() {
    let service = operated().await;
    let [busy, idle] = [service.edge.account().await, service.edge.account().await];
    let today = "day = unixepoch() / 86400, daily_charged = 97";
    service.edge.set(&busy.email, today).await;
    let list = service.output(&["list"]).await;
    let lines: Vec<_> = list.lines().collect();
    assert!(lines[0].starts_with("email") && lines[1].starts_with(&busy.email), "{list}");
    assert!(lines[1].contains("97") && list.contains(&idle.email), "{list}");
    let part = idle.email.split('@').next().unwrap().to_uppercase();
    let output = service.output(&["search", &part]).await;
    assert!(output.contains(&idle.email) && !output.contains(&busy.email), "{output}");
    let wildcard = service.output(&["search", "%"]).await;
    assert!(!wildcard.contains('@'), "no wildcards: {wildcard}");
    let secrets = service.output(&["secrets"]).await;
    assert!(secrets.contains("ADDRESS_SECRETS  dev1"), "{secrets}");
    // After the password change, an undo still needs the former TOTP secret.
    let count = async || {
        let secrets = service.output(&["secrets"]).await;
        let line = secrets.lines().find(|line| line.starts_with("TOTP_SECRETS"));
        line.and_then(|line| line.split_whitespace().last()?.parse::<u32>().ok()).unwrap_or(0)
    };
    let before = count().await;
    busy.enable_two_factor().await;
    let body = json!({ "current_password": PASSWORD, "new_password": "copper-meadow-58-lattice" });
    assert_eq!(busy.put("/auth/password", &body).await.status, 200);
    assert_eq!(count().await, before + 2, "the account's and the former one");
}

#[tokio::test]
async fn a_confirmation_link_is_sent_again() {
    let service = operated().await;
    let (email, first) = service.edge.registered().await;
    assert_eq!(service.shown(&["resend", &email], "state").await, "unconfirmed");
    service.edge.run_scheduled().await;
    let mail = service.edge.mailbox().wait_for_nth_mail(&email, 2).await.unwrap();
    let anonymous = service.edge.anonymous();
    let reply = anonymous.verify_email(first.token().unwrap()).await;
    reply.assert_error(400, "invalid_token", "a newer link voids it");
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
    service.edge.run_scheduled().await;
    let (code, _, errors) = service.admin(&["resend", &email]).await;
    assert_eq!(
        (code, errors.trim()),
        (2, format!("admin: {email} isn't waiting for confirmation").as_str())
    );
    assert_eq!(service.edge.mailbox().mails_to(&email).len(), 2, "once");
}

#[tokio::test]
async fn the_size_of_a_plan_is_changed_in_every_database_and_leaves_a_record() {
    let service = operated().await;
    let before = service.output(&["plans"]).await;
    assert_eq!(before.lines().count(), 4, "the databases agree: {before}");
    assert!(before.lines().next().unwrap().contains("scans-at-once"), "{before}");
    let account = service.edge.account().await;
    service.edge.set(&account.email, "plan = 'pro'").await;
    let words = ["--as", "ann", "--reason", "asked for", "set-size", "pro", "scan-size", "20001"];
    let after = service.output(&words).await;
    assert!(after.contains("20001") && after.lines().count() == 4, "{after}");
    assert_eq!(account.quota().await.body["scans"]["scan_size"], 20_001);
    let sql = "SELECT operator, value, reason FROM operator_actions WHERE action = 'set-size'";
    let record =
        json!({ "operator": "ann", "value": "pro scan-size 20001", "reason": "asked for" });
    assert_eq!(service.edge.sql(sql, &[]).await, [record]);
    for (words, error) in [
        (["set-size", "gold", "scan-size", "5"], "there is no plan gold"),
        (["set-size", "pro", "scan-size", "0"], "N must be a whole number"),
        (["set-size", "pro", "name", "5"], "expected set-size PLAN"),
    ] {
        let (code, _, errors) = service.admin(&words).await;
        assert!(code == 2 && errors.contains(error), "{words:?}: {errors}");
    }
    service.output(&["set-size", "pro", "scan-size", "10000"]).await;
}

#[tokio::test]
async fn accounts_that_the_directory_has_lost_are_shown_and_entered_again() {
    let service = operated().await;
    let edge = &service.edge;
    let (lost, other, moved) = (edge.account().await, edge.account().await, edge.account().await);
    let (lost_id, other_id) = (edge.id(&lost.email).await, edge.id(&other.email).await);
    let moved_id = edge.id(&moved.email).await;
    edge.sql("DELETE FROM addresses WHERE account_id = ?", &[lost_id.as_str().into()]).await;
    let renamed = "UPDATE addresses SET account_id = ?2 WHERE account_id = ?1";
    let nobody = "00ffffffffffffff";
    edge.sql(renamed, &[other_id.as_str().into(), nobody.into()]).await;
    // As if one of the two databases had been restored to a minute before the account's address changed.
    let another = "UPDATE addresses SET address_hash = address_hash || '0' WHERE account_id = ?1";
    edge.sql(another, &[moved_id.as_str().into()]).await;
    let line_of = |text: &str, id: &str| {
        let line = text.lines().find(|line| line.starts_with(id));
        line.unwrap_or_else(|| panic!("no {id} in {text}")).to_owned()
    };
    for (words, said) in
        [(&["directory"][..], "has lost it"), (&["directory", "--mend"], "entered")]
    {
        let text = service.output(words).await;
        let line = line_of(&text, &lost_id);
        assert!(line.contains(&lost.email) && line.ends_with(said), "{line}");
        assert!(line_of(&text, &other_id).ends_with(&format!("names {nobody}")), "{text}");
        assert!(line_of(&text, nobody).ends_with("names no account"), "{text}");
        assert!(line_of(&text, &moved_id).ends_with("has another address for it"), "{text}");
    }
    assert_eq!(lost.anonymous.login(&lost.email, PASSWORD).await.status, 200);
    assert_eq!(service.shown(&["show", &other_id], "email").await, other.email);
    edge.sql(renamed, &[nobody.into(), other_id.as_str().into()]).await;
    let address_hash = edge.row(&moved.email, "address_hash").await["address_hash"].clone();
    let right = "UPDATE addresses SET address_hash = ?2 WHERE account_id = ?1";
    edge.sql(right, &[moved_id.into(), address_hash]).await;
    // The accounts that other tests deleted are no longer in the directory.
    edge.run_scheduled().await;
    assert_eq!(service.output(&["directory"]).await, "every account is in the directory\n");
}

// A single statement for all rows of the account would exceed D1's time limit.
#[tokio::test]
async fn an_account_of_many_rows_that_the_operator_deletes_goes_in_steps() {
    let service = operated().await;
    let (edge, account) = (&service.edge, service.edge.account().await);
    let id = edge.id(&account.email).await;
    let keys = "INSERT INTO idempotency_keys (account_id, name, request, answer, expires_at)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        SELECT ?, printf('%032d', i), 'request', 'answer', unixepoch() + 3600 FROM n";
    edge.sql_of(&id, keys, &[id.as_str().into()]).await;
    let printed = service.output(&["--reason", "asked for", "delete", &account.email]).await;
    assert!(printed.contains(&account.email), "{printed}");
    let its = format!("idempotency_keys WHERE account_id = '{id}'");
    assert_eq!(edge.count(&its).await, 20_000, "its rows are not in the same statement");
    account.get("/me").await.assert_error(401, "invalid_session", "it opens nothing any more");
    account.quota().await.assert_error(401, "invalid_api_key", "nor does its key");
    let (code, _, errors) = service.admin(&["show", &id]).await;
    assert_eq!((code, errors.contains("there is no account")), (2, true), "{errors}");
    assert!(!service.output(&["secrets"]).await.contains("deleted"));
    for _ in 0..20 {
        edge.run_scheduled().await;
    }
    assert_eq!(edge.count(&its).await, 0);
    assert_eq!(edge.count(&format!("accounts WHERE id = '{id}'")).await, 0);
    assert!(service.output(&["audit"]).await.contains(&id));
}
