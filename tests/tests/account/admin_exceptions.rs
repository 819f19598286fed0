//! An operator's decisions about single addresses and domains: `allow`, `domains`, `set-domain`.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rcpt_tests::{people::PASSWORD, service::clock};
use serde_json::json;

use crate::admin::operated;

const CONFIRM: &str = "Confirm your email address";
const TAKEN: &str = "You already have an account";

#[tokio::test]
async fn an_allowed_address_registers_beside_another_spelling_and_no_other_does() {
    let service = operated().await;
    let (edge, anonymous) = (&service.edge, service.edge.anonymous());
    let ann = edge.account_of("ann.exception@gmail.com").await;
    let (allowed, other) = ("Ann.Exception+2@gmail.com", "ann.exception+3@gmail.com");
    let ring = edge.key_ring("ADDRESS_SECRETS");
    let (kid, secret) = ring.signing();
    let ring = format!("{kid}:{}", URL_SAFE_NO_PAD.encode(secret));
    let secrets = [("ADDRESS_SECRETS", ring.as_str())];
    for (words, message) in [
        (vec!["allow", allowed], "allow needs --reason TEXT"),
        (vec!["--reason", "r", "allow"], "expected allow EMAIL"),
        (vec!["--reason", "r", "allow", "ann@bücher.example"], "expected allow EMAIL"),
        (vec!["--reason", "r", "allow", allowed, "2"], "expected allow EMAIL"),
    ] {
        let (code, output, errors) = service.admin_with(&secrets, &words).await;
        assert_eq!((code, output.as_str()), (2, ""), "{words:?}");
        assert!(errors.starts_with(&format!("admin: {message}")), "{words:?}: {errors}");
    }
    let words = ["--reason", "two people, seen", "allow", allowed];
    let (code, output, errors) = service.admin_with(&secrets, &words).await;
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(output.starts_with("allowed_since"), "{output}");
    // None of the addresses is stored.
    for table in ["allowed_addresses", "operator_actions"] {
        let rows = json!(edge.sql(&format!("SELECT * FROM {table}"), &[]).await).to_string();
        assert!(!rows.to_lowercase().contains("exception"), "{rows}");
    }

    assert_eq!(anonymous.register(other, PASSWORD).await.status, 201);
    edge.mailbox().wait_for_titled(other, TAKEN, 1).await.unwrap();
    assert_eq!(anonymous.register(allowed, PASSWORD).await.status, 201);
    let mail = edge.mailbox().wait_for_titled(allowed, CONFIRM, 1).await.unwrap();
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
    assert_eq!(anonymous.login(allowed, PASSWORD).await.status, 200);
    assert_eq!(anonymous.login(&ann.email, PASSWORD).await.status, 200, "the first one stays");
    // The mailbox still belongs to the first account: a third spelling finds that account.
    anonymous.login(other, PASSWORD).await.assert_error(401, "invalid_credentials", "");
    for (email, has_mailbox) in [(ann.email.as_str(), 1), (allowed, 0)] {
        let sql = "SELECT mailbox_hash NOT GLOB '- *' AS n FROM addresses WHERE account_id = ?";
        let rows = edge.sql(sql, &[edge.id(email).await.into()]).await;
        assert_eq!(rows, [json!({ "n": has_mailbox })], "{email}");
    }
}

#[tokio::test]
async fn a_domain_without_welcome_checks_has_its_daily_ones() {
    let service = operated().await;
    let edge = &service.edge;
    let before = edge.account_of("first@bulk-exceptions.net").await;
    for (words, message) in [
        (vec!["set-domain", "bulk-exceptions.net"], "expected set-domain NAME"),
        (vec!["set-domain", "bulk-exceptions.net", "none"], "expected set-domain NAME"),
        (vec!["set-domain", "ann@bulk-exceptions.net", "welcome"], "expected set-domain NAME"),
    ] {
        let (code, output, errors) = service.admin(&words).await;
        assert_eq!((code, output.as_str()), (2, ""), "{words:?}");
        assert!(errors.starts_with(&format!("admin: {message}")), "{words:?}: {errors}");
    }
    let row = |output: &str| -> Vec<String> {
        let line = output.lines().find(|line| line.starts_with("bulk-exceptions.net"));
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    let listed = service.output(&["domains"]).await;
    assert_eq!(row(&listed), ["bulk-exceptions.net", "1", "welcome"], "{listed}");
    service.output(&["set-domain", "Bulk-Exceptions.NET", "no-welcome"]).await;

    let second = edge.account_of("second@bulk-Exceptions.net").await;
    let checks = second.email_checks().await;
    assert_eq!((checks.welcome_left, checks.daily_allowance), (0, 100));
    assert_eq!(second.check("accepts@sandbox.test").await.status, 200);
    assert_eq!(before.email_checks().await.welcome_left, 50, "what is there stays");
    let beside = edge.account_of("ann@sub.bulk-exceptions.net").await;
    assert_eq!(beside.email_checks().await.welcome_left, 50, "it is another domain");
    let listed = service.output(&["domains"]).await;
    assert_eq!(row(&listed), ["bulk-exceptions.net", "2", "no-welcome"], "{listed}");

    service.output(&["set-domain", "bulk-exceptions.net", "welcome"]).await;
    let third = edge.account_of("third@bulk-exceptions.net").await;
    assert_eq!(third.email_checks().await.welcome_left, 50);
}

#[tokio::test]
async fn a_deletion_by_the_operator_remembers_the_checks_in_flight_too() {
    let service = operated().await;
    let edge = &service.edge;
    let account = edge.account().await;
    let today = clock::today().await;
    edge.set(&account.email, &format!("day = {today}, daily_charged = 7, welcome_left = 30")).await;
    let id = edge.id(&account.email).await;
    for (lease, n_daily) in [("one", 1), ("two", 0), ("three", 0)] {
        let sql = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
            SELECT ?1, id, ?2, ?3, 1 - ?3, unixepoch() + 60 FROM accounts WHERE id = ?4";
        let params = [json!(lease), json!(today), json!(n_daily), json!(id)];
        edge.sql(sql, &params).await;
    }
    service.output(&["--reason", "asked for", "delete", &account.email]).await;
    let sql = "SELECT used, welcome_left FROM tombstones WHERE account_id = ?";
    let rows = edge.sql(sql, &[id.as_str().into()]).await;
    assert_eq!(rows, [json!({ "used": 8, "welcome_left": 28 })]);
}
