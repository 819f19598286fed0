//! Two-factor authentication (docs/security.md, A4): setting up, turning on and off, codes and recovery codes.
//!
//! - A4: of 100 uses at once of a code, or of a recovery code, one is accepted; a step of 30 s early or late, and not
//!   two. RFC 6238's vectors are in `rcpt-edge`.

use std::{collections::HashSet, process::Command};

use rcpt_tests::{
    Account, Authenticator, Edge, Reply,
    people::{PASSWORD, authenticator::step, send_all},
    process::{folder, turn},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::edge;

async fn two_factor(account: &Account) -> (bool, u64) {
    let reply = account.get("/me").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    (reply.body["two_factor"] == true, reply.body["recovery_codes_left"].as_u64().unwrap())
}

/// Replaces the key with the code of the step at `offset` from now; retries if a step ends meanwhile.
async fn rotate_at(account: &Account, authenticator: &Authenticator, offset: i64) -> Reply {
    loop {
        edge().await.forget_steps(account).await;
        let now = step();
        let code = authenticator.code_of(now.checked_add_signed(offset).unwrap());
        let reply = account.rotate_with(&code).await;
        if step() == now {
            return reply;
        }
    }
}

#[tokio::test]
async fn setting_up_needs_the_password_and_answers_a_secret_and_a_url() {
    let account = edge().await.account().await;
    let reply = account.post("/auth/totp/setup", &json!({ "password": "not-the-password" })).await;
    reply.assert_error(403, "wrong_password", "a wrong password");
    let reply = account.post("/auth/totp/setup", &json!({ "password": PASSWORD })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let members: Vec<_> = reply.body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["otpauth_url", "secret"]);
    let (secret, url) = (reply.text("secret"), reply.text("otpauth_url"));
    assert_eq!(secret.len(), 32, "160 bits in base32");
    assert!(url.starts_with("otpauth://totp/rcpt:person"), "{url}");
    assert!(url.contains(&format!("secret={secret}")) && url.contains("issuer=rcpt"), "{url}");
    assert_eq!(two_factor(&account).await, (false, 0), "nothing is on before the first code");
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn turning_on_needs_a_valid_code_and_shows_ten_recovery_codes_once() {
    let edge = edge().await;
    let account = edge.account().await;
    account.enable_with("123456").await.assert_error(409, "totp_not_set_up", "no set-up before");
    let authenticator = account.set_up_two_factor().await;
    let wrong = authenticator.wrong_code();
    account.enable_with(&wrong).await.assert_error(403, "totp_invalid", "a wrong code");
    assert_eq!(two_factor(&account).await, (false, 0));

    let reply = account.enable_with(&authenticator.code()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let codes: Vec<String> = serde_json::from_value(reply.body["recovery_codes"].clone()).unwrap();
    let different: HashSet<_> = codes.iter().collect();
    assert_eq!((codes.len(), different.len()), (10, 10));
    for code in &codes {
        let letters: String = code.split('-').collect();
        let base32 = letters.bytes().all(|b| b.is_ascii_lowercase() || (b'2'..=b'7').contains(&b));
        // 24 letters of 5 bits are 120 bits.
        assert!(letters.len() == 24 && base32, "{code}");
    }
    assert_eq!(two_factor(&account).await, (true, 10));
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    assert_eq!(mail.subject, "Two-factor authentication is on");

    let again = account.post("/auth/totp/setup", &json!({ "password": PASSWORD })).await;
    again.assert_error(409, "totp_already_on", "set up twice");
    let code = edge.fresh_code(&account, &authenticator).await;
    account.enable_with(&code).await.assert_error(409, "totp_already_on", "turned on twice");
    assert_eq!(two_factor(&account).await, (true, 10));
}

#[tokio::test]
async fn a_newer_set_up_replaces_the_pending_secret() {
    let account = edge().await.account().await;
    let older = account.set_up_two_factor().await;
    let newer = account.set_up_two_factor().await;
    assert_ne!(older.secret, newer.secret);
    account.enable_with(&older.code()).await.assert_error(403, "totp_invalid", "the older secret");
    assert_eq!(account.enable_with(&newer.code()).await.status, 200);
}

#[tokio::test]
async fn of_many_who_turn_it_on_at_once_one_succeeds_and_its_codes_are_the_ones_kept() {
    let _turn = turn().await;
    let account = edge().await.account().await;
    let code = account.set_up_two_factor().await.code();
    let body = json!({ "totp_code": code });
    let requests = (0..20).map(|_| account.request(Method::POST, "/auth/totp/enable").json(&body));
    let replies = send_all(requests, 20).await;
    let on: Vec<_> = replies.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(on.len(), 1);
    assert!(replies.iter().all(|reply| [200, 409].contains(&reply.status)));
    assert_eq!(two_factor(&account).await, (true, 10));
    let recovery_code = on[0].body["recovery_codes"][0].as_str().unwrap();
    assert_eq!(account.rotate_with(recovery_code).await.status, 200);
}

#[tokio::test]
async fn signing_in_asks_for_the_code_only_after_the_right_password() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    let (anonymous, email) = (&account.anonymous, account.email.as_str());
    let code = edge.fresh_code(&account, &authenticator).await;
    let reply = anonymous.login_with_code(email, "not-the-password", &code).await;
    reply.assert_error(401, "invalid_credentials", "a wrong password with a right code");
    let reply = anonymous.login(email, PASSWORD).await;
    reply.assert_error(401, "totp_required", "no code");
    let reply = anonymous.login_with_code(email, PASSWORD, "").await;
    reply.assert_error(401, "totp_required", "an empty code");
    let wrong = authenticator.wrong_code();
    let reply = anonymous.login_with_code(email, PASSWORD, &wrong).await;
    reply.assert_error(401, "totp_invalid", "a wrong code");
    let reply = anonymous.login_with_code(email, PASSWORD, &code).await;
    assert_eq!(
        (reply.status, reply.text("email")),
        (200, email),
        "the code was not used up before"
    );
    let reply = anonymous.login_with_code(email, PASSWORD, &code).await;
    reply.assert_error(401, "totp_invalid", "the same code again");
}

#[tokio::test]
async fn of_a_hundred_uses_of_one_code_at_once_exactly_one_is_accepted() {
    let _turn = turn().await;
    // Uses a separate edge, because so much hashing would delay the other tests.
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    // Uses the next step's code, which is accepted for at least a minute: hashing is slow on a busy machine.
    let code = authenticator.code_of(step() + 1);
    let sign_in = json!({ "email": account.email, "password": PASSWORD, "totp_code": code });
    let rotation = json!({ "totp_code": code });
    let requests = (0..100).map(|n| match n % 2 {
        0 => account.anonymous.request(Method::POST, "/auth/login").json(&sign_in),
        _ => account.request(Method::POST, "/auth/rotate-api-key").json(&rotation),
    });
    let replies = send_all(requests, 100).await;
    let accepted = replies.iter().filter(|reply| reply.status == 200).count();
    println!("100 parallel uses of one code: {accepted} accepted");
    assert_eq!(accepted, 1);
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        let status = reply.status;
        assert!([401, 403].contains(&status));
        reply.assert_error(status, "totp_invalid", "a used code");
    }
}

#[tokio::test]
async fn one_step_either_way_is_accepted_and_two_are_not() {
    let account = edge().await.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    for offset in [-1, 0, 1] {
        let reply = rotate_at(&account, &authenticator, offset).await;
        assert_eq!(reply.status, 200, "{offset}: {}", reply.body);
    }
    for offset in [-20, -3, -2, 2, 3, 20] {
        let reply = rotate_at(&account, &authenticator, offset).await;
        reply.assert_error(403, "totp_invalid", &offset.to_string());
    }
}

#[tokio::test]
async fn a_step_is_not_accepted_again_nor_after_a_later_one() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    loop {
        edge.forget_steps(&account).await;
        let now = step();
        let steps = [now, now, now - 1, now + 1, now + 1, now, now - 1];
        let mut replies = Vec::new();
        for step in steps {
            replies.push(account.rotate_with(&authenticator.code_of(step)).await.status);
        }
        if step() == now {
            assert_eq!(replies, [200, 403, 403, 200, 403, 403, 403]);
            return;
        }
    }
}

#[tokio::test]
async fn of_a_hundred_uses_of_one_recovery_code_at_once_exactly_one_is_accepted() {
    let _turn = turn().await;
    // Uses a separate edge, because so much hashing would delay the other tests.
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (_, codes) = account.enable_two_factor().await;
    let body = json!({ "totp_code": codes[3] });
    let requests =
        (0..100).map(|_| account.request(Method::POST, "/auth/rotate-api-key").json(&body));
    let replies = send_all(requests, 100).await;
    let accepted = replies.iter().filter(|reply| reply.status == 200).count();
    println!("100 parallel uses of one recovery code: {accepted} accepted");
    assert_eq!(accepted, 1);
    assert!(
        replies.iter().all(|reply| reply.status == 200 || reply.text("code") == "totp_invalid")
    );
    assert_eq!(two_factor(&account).await, (true, 9), "two-factor stays on");
}

#[tokio::test]
async fn a_recovery_code_works_once_however_it_is_typed_and_its_owner_is_told() {
    let edge = edge().await;
    let account = edge.account().await;
    let (_, codes) = account.enable_two_factor().await;
    let (anonymous, email) = (&account.anonymous, account.email.as_str());
    let typed = [codes[0].clone(), codes[1].to_uppercase(), codes[2].replace('-', " ")];
    for code in typed {
        let (reply, code) = (anonymous.login_with_code(email, PASSWORD, &code).await, &code);
        assert_eq!(reply.status, 200, "{code}: {}", reply.body);
        // Further uses are announced an hour later.
        edge.mailbox().wait_for_titled(email, "A recovery code has been used", 1).await.unwrap();
        let reply = anonymous.login_with_code(email, PASSWORD, code).await;
        reply.assert_error(401, "totp_invalid", "a used recovery code");
    }
    assert_eq!(two_factor(&account).await, (true, 7));
    let other = edge.account().await;
    let (_, codes_of_other) = other.enable_two_factor().await;
    let reply = account.rotate_with(&codes_of_other[0]).await;
    reply.assert_error(403, "totp_invalid", "a recovery code of another account");
    assert_eq!(two_factor(&other).await, (true, 10));
}

#[tokio::test]
async fn turning_off_needs_password_and_code_and_forgets_the_recovery_codes() {
    let edge = edge().await;
    let account = edge.account().await;
    let path = "/auth/totp/disable";
    let body = |password: &str, code: &str| json!({ "password": password, "totp_code": code });
    account.post(path, &body(PASSWORD, "123456")).await.assert_error(409, "totp_not_on", "off");
    let (authenticator, codes) = account.enable_two_factor().await;
    let code = edge.fresh_code(&account, &authenticator).await;
    let reply = account.post(path, &body("not-the-password", &codes[0])).await;
    reply.assert_error(403, "wrong_password", "a recovery code alone");
    let reply = account.post(path, &json!({ "totp_code": codes[0] })).await;
    reply.assert_error(400, "invalid_body", "no password");
    let reply = account.post(path, &json!({ "password": PASSWORD })).await;
    reply.assert_error(400, "invalid_body", "no code");
    let reply = account.post(path, &body(PASSWORD, &authenticator.wrong_code())).await;
    reply.assert_error(403, "totp_invalid", "a wrong code");
    assert_eq!(two_factor(&account).await, (true, 10), "nothing was used up");
    let reply = account.post(path, &body(PASSWORD, &code)).await;
    assert_eq!(reply.parts(), (204, &Value::String(String::new())));
    assert_eq!(two_factor(&account).await, (false, 0));
    let off = "Two-factor authentication is off";
    edge.mailbox().wait_for_titled(&account.email, off, 1).await.unwrap();
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn new_recovery_codes_void_the_old_ones() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, old) = account.enable_two_factor().await;
    let path = "/auth/totp/recovery-codes";
    let code = edge.fresh_code(&account, &authenticator).await;
    let reply =
        account.post(path, &json!({ "password": "not-it-at-all", "totp_code": code })).await;
    reply.assert_error(403, "wrong_password", "a wrong password");
    let reply = account.post(path, &json!({ "password": PASSWORD, "totp_code": code })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let new: Vec<String> = serde_json::from_value(reply.body["recovery_codes"].clone()).unwrap();
    assert_eq!((new.len(), two_factor(&account).await), (10, (true, 10)));
    for code in &old {
        account.rotate_with(code).await.assert_error(403, "totp_invalid", "an old recovery code");
    }
    assert_eq!(account.rotate_with(&new[0]).await.status, 200);
}

#[tokio::test]
async fn a_sealed_secret_that_is_copied_from_another_account_does_not_open() {
    let edge = edge().await;
    let (attacker, victim) = (edge.account().await, edge.account().await);
    let (authenticator, _) = attacker.enable_two_factor().await;
    victim.enable_two_factor().await;
    let id = edge.id(&attacker.email).await;
    let secret = "SELECT secret FROM second_factors WHERE account_id = ?1";
    let rows = edge.sql_of(&id, secret, &[json!(id)]).await;
    let sealed = rows[0]["secret"].as_str().unwrap();
    let victims = edge.id(&victim.email).await;
    let exchange = "UPDATE second_factors SET secret = ?2, last_step = 0 WHERE account_id = ?1";
    edge.sql_of(&victims, exchange, &[json!(victims), json!(sealed)]).await;
    let expected = json!({ "detail": "Something went wrong on our side.", "code": "internal" });
    let code = authenticator.code();
    let reply = victim.anonymous.login_with_code(&victim.email, PASSWORD, &code).await;
    assert_eq!(reply.parts(), (500, &expected));
    assert_eq!(victim.rotate_with(&code).await.parts(), (500, &expected));
    assert_eq!(edge.own_version(&victim.email).await, 1);
    edge.process.wait_for_line("a TOTP secret does not open").await;
    let log = edge.process.log();
    assert!(!log.contains(sealed) && !log.contains(&authenticator.secret));
}

/// pyotp represents real authenticator apps.
#[tokio::test]
async fn codes_of_pyotp_are_accepted() {
    let edge = edge().await;
    let account = edge.account().await;
    let reply = account.post("/auth/totp/setup", &json!({ "password": PASSWORD })).await;
    let url = reply.text("otpauth_url").to_owned();
    let code = || {
        let program = "import pyotp, sys; print(pyotp.parse_uri(sys.argv[1]).now())";
        let python = folder::tools().join("python/bin/python");
        let output = Command::new(python).args(["-c", program, &url]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(account.enable_with(&code()).await.status, 200);
    edge.forget_steps(&account).await;
    let reply = account.anonymous.login_with_code(&account.email, PASSWORD, &code()).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}
