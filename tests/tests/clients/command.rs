//! `rcpt` against the real service: signing in, lists, exit codes, and charges.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _};

use rcpt_tests::{CommandLine, Stack};
use serde_json::Value;

use crate::stack;

#[tokio::test]
async fn signing_in_asks_for_a_code_keeps_the_key_and_ends_the_session() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    let command = CommandLine::new(&edge.url);
    let code = edge.fresh_code(&account, &authenticator).await;
    let input = format!("{}\n{}\n{code}\n", account.email, account.password);
    let ran = command.run(&["sign-in"], &input).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!format!("{ran:?}").contains(&account.api_key), "the key is shown");
    let file = command.home().join(".config/rcpt/credentials.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let stored_text = fs::read_to_string(file).unwrap();
    assert!(
        stored_text.contains(&account.api_key) && !stored_text.contains(&account.password),
        "{stored_text}"
    );
    assert_eq!(account.get("/me").await.status, 200, "other sessions go on");

    let quota = command.run(&["quota"], "").await;
    assert_eq!((quota.code, quota.lines()[0]["plan"].as_str()), (0, Some("free")), "{quota:?}");
    // Two-factor has ended all other sessions, including the command's.
    let sessions = "SELECT id FROM sessions WHERE account_id = ?";
    let id = edge.id(&account.email).await;
    assert_eq!(edge.sql(sessions, &[id.into()]).await.len(), 1);

    let wrong = format!("{}\nnot-the-password\n", account.email);
    let ran = CommandLine::new(&edge.url).run(&["sign-in"], &wrong).await;
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stderr.contains("password is wrong"), "{ran:?}");
}

#[tokio::test]
async fn a_list_is_answered_in_its_order_and_each_address_counted_once() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let command = CommandLine::new(&edge.url).with_key(&account.api_key);
    let kinds = ["accepts", "rejects", "blocked", "full"];
    let list: Vec<_> = (0..80).map(|n| format!("{}+list{n}@sandbox.test", kinds[n % 4])).collect();
    let ran = command.run(&["check", "-", "--no-details"], &list.join("\r\n")).await;
    assert_eq!(ran.code, 1, "one is undeliverable: {}", ran.stderr);
    let lines = ran.lines();
    let emails: Vec<_> = lines.iter().map(|line| line["email"].as_str().unwrap()).collect();
    assert_eq!(emails, list);
    for line in &lines {
        let email = line["email"].as_str().unwrap();
        let expected = match email.split('+').next() {
            Some("accepts") => Value::Bool(true),
            Some("blocked") => "blocked_by_provider".into(),
            _ => Value::Bool(false),
        };
        assert_eq!(line["status"], expected, "{email}");
    }
    assert_eq!(account.email_checks().await.used_today, 80);
}

#[tokio::test]
async fn the_allowance_ends_a_list_and_what_was_answered_is_there() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let ten_left = "day = unixepoch() / 86400, daily_charged = 90, welcome_left = 0";
    edge.set(&account.email, ten_left).await;
    let command = CommandLine::new(&edge.url).with_key(&account.api_key);
    let list: Vec<_> = (0..60).map(|n| format!("accepts+spend{n}@sandbox.test")).collect();
    let ran = command.run(&["check", "-", "--no-details"], &list.join("\n")).await;
    assert_eq!(ran.code, 5, "{ran:?}");
    let lines = ran.lines();
    assert_eq!(lines.len(), 10, "ten were left: {}", ran.stderr);
    assert!(ran.stderr.contains("10 addresses have been answered"), "{}", ran.stderr);
    let emails: BTreeSet<_> = lines.iter().map(|line| line["email"].to_string()).collect();
    assert_eq!(emails.len(), 10);
}

#[tokio::test]
async fn an_origin_that_is_away_is_waited_for_and_nothing_is_counted_meanwhile() {
    let mut stack = Stack::start().await;
    let account = stack.edge.account().await;
    let command = CommandLine::new(&stack.edge.url).with_key(&account.api_key);
    stack.origin.kill();
    let check = ["check", "accepts@sandbox.test"];
    let ran = command.run(&[&check[..], &["--timeout", "1"]].concat(), "").await;
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stderr.contains("Nothing was counted"), "{}", ran.stderr);
    assert_eq!(account.email_checks().await.used_today, 0);

    let check = command.run(&check, "");
    let (ran, restarted) = tokio::join!(check, stack.origin.restart());
    restarted.unwrap();
    assert_eq!((ran.code, &ran.lines()[0]["status"]), (0, &Value::Bool(true)), "{}", ran.stderr);
    assert_eq!(account.email_checks().await.used_today, 1);
}
