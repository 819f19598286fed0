//! Passwords: the rules, changes, resets, and the emails about them.

use rcpt_tests::{
    Account, Edge, Mail,
    people::{PASSWORD, send_all},
    process::turn,
};
use reqwest::Method;
use serde_json::json;
use tokio::sync::OnceCell;

const NEW: &str = "copper-meadow-58-lattice";

async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    EDGE.get_or_init(async || Edge::builder().shimmed().start().await.unwrap()).await
}

async fn nth_mail(email: &str, nth: usize) -> Mail {
    edge().await.mailbox().wait_for_nth_mail(email, nth).await.unwrap()
}

/// Requests the account's `nth` reset link, and returns its token.
async fn reset_token(account: &Account, nth: usize) -> String {
    let reply = account.anonymous.forgot_password(&account.email).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let mailbox = edge().await.mailbox();
    let mail = mailbox.wait_for_titled(&account.email, "Set a new password", nth).await.unwrap();
    mail.token().expect("a link").to_owned()
}

async fn assert_sessions_are_over(account: &Account) {
    for path in ["/me", "/me/quota"] {
        let reply = account.get(path).await;
        assert_eq!(reply.status, 401, "{path}: {}", reply.body);
    }
    account.rotate_api_key().await.assert_error(401, "invalid_session", "an old session");
}

fn change(current: &str, new: &str) -> serde_json::Value {
    json!({ "current_password": current, "new_password": new })
}

#[tokio::test]
async fn changing_the_password_ends_every_session_and_leaves_the_key() {
    let edge = edge().await;
    let account = edge.account().await;
    let elsewhere = account.anonymous.login(&account.email, PASSWORD).await;
    let elsewhere = Account::from_credentials(&account.anonymous, PASSWORD, &elsewhere);
    let reply = account.put("/auth/password", &change("not-the-password", NEW)).await;
    reply.assert_error(403, "wrong_password", "a wrong current password");
    assert_eq!(elsewhere.get("/me").await.status, 200, "nothing happened");

    let reply = account.put("/auth/password", &change(PASSWORD, NEW)).await;
    let renewed = Account::from_credentials(&account.anonymous, NEW, &reply);
    assert_sessions_are_over(&account).await;
    assert_sessions_are_over(&elsewhere).await;
    assert_eq!(renewed.get("/me").await.status, 200, "the answer's session lives");
    assert_eq!(renewed.api_key, account.api_key);
    assert_eq!(account.quota().await.status, 200, "the key works on");
    let reply = account.anonymous.login(&account.email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "the old password");
    assert_eq!(account.anonymous.login(&account.email, NEW).await.status, 200);
    assert_eq!(nth_mail(&account.email, 2).await.subject, "Your password has been changed");
}

#[tokio::test]
async fn changing_the_password_voids_a_waiting_reset_link() {
    let account = edge().await.account().await;
    let token = reset_token(&account, 1).await;
    assert_eq!(account.put("/auth/password", &change(PASSWORD, NEW)).await.status, 200);
    let reply = account.anonymous.reset_password(&token, "another-new-91-password").await;
    reply.assert_error(400, "invalid_token", "a link from before the change");
}

#[tokio::test]
async fn a_mailed_link_sets_a_new_password_once_and_ends_every_session() {
    let account = edge().await.account().await;
    let token = reset_token(&account, 1).await;
    assert_eq!(account.get("/me").await.status, 200, "asking changes nothing");
    let reply = account.anonymous.reset_password(&token, NEW).await;
    let renewed = Account::from_credentials(&account.anonymous, NEW, &reply);
    assert_eq!((&renewed.email, &renewed.api_key), (&account.email, &account.api_key));
    assert_sessions_are_over(&account).await;
    assert_eq!((renewed.get("/me").await.status, account.quota().await.status), (200, 200));
    let reply = account.anonymous.reset_password(&token, "another-new-91-password").await;
    reply.assert_error(400, "invalid_token", "a used link");
    assert_eq!(account.anonymous.login(&account.email, NEW).await.status, 200);
    assert_eq!(nth_mail(&account.email, 3).await.subject, "Your password has been changed");
}

#[tokio::test]
async fn a_reset_link_is_valid_for_an_hour_and_only_the_newest_is() {
    let edge = edge().await;
    let account = edge.account().await;
    let older = reset_token(&account, 1).await;
    let newer = reset_token(&account, 2).await;
    let reply = account.anonymous.reset_password(&older, NEW).await;
    reply.assert_error(400, "invalid_token", "a replaced link");
    let query = "SELECT expires_at - unixepoch() AS seconds FROM reset_links
        WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
    let rows = edge.sql(query, &[account.email.as_str().into()]).await;
    let seconds = rows[0]["seconds"].as_i64().unwrap();
    assert!((3500..=3600).contains(&seconds), "{seconds}");
    let expire = "UPDATE reset_links SET expires_at = unixepoch()
        WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
    edge.sql(expire, &[account.email.as_str().into()]).await;
    let reply = account.anonymous.reset_password(&newer, NEW).await;
    reply.assert_error(400, "invalid_token", "an expired link");
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn of_a_hundred_uses_of_a_reset_link_at_once_exactly_one_succeeds() {
    let _turn = turn().await;
    // Uses a separate edge, because so much hashing would delay the other tests.
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let reply = account.anonymous.forgot_password(&account.email).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    let token = mail.token().unwrap();
    let requests = (0..100).map(|n| {
        let body = json!({ "token": token, "password": format!("copper-meadow-{n}-lattice") });
        account.anonymous.request(Method::POST, "/auth/reset-password").json(&body)
    });
    let replies = send_all(requests, 100).await;
    let winners: Vec<_> = (0..100).filter(|n| replies[*n].status == 200).collect();
    println!("100 parallel uses of one reset link: {} succeeded", winners.len());
    assert_eq!(winners.len(), 1);
    for reply in replies.iter().filter(|reply| reply.status != 200) {
        reply.assert_error(400, "invalid_token", "a used link");
    }
    let password = format!("copper-meadow-{}-lattice", winners[0]);
    assert_eq!(account.anonymous.login(&account.email, &password).await.status, 200);
}

#[tokio::test]
async fn a_reset_does_not_bypass_two_factor_and_a_wrong_code_does_not_use_up_the_link() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    super::resets::settled(edge, &account).await;
    let token = reset_token(&account, 1).await;
    let with_code = |code: String| json!({ "token": token, "password": NEW, "totp_code": code });
    let reply = account.anonymous.reset_password(&token, NEW).await;
    reply.assert_error(401, "totp_required", "no code");
    let path = "/auth/reset-password";
    let reply = account.anonymous.post(path, &with_code(authenticator.wrong_code())).await;
    reply.assert_error(401, "totp_invalid", "a wrong code");
    let reply = account.anonymous.reset_password(&token, "short").await;
    reply.assert_error(400, "invalid_password", "a password that is too short");
    assert_eq!(account.get("/me").await.status, 200, "nothing has happened");
    let code = edge.fresh_code(&account, &authenticator).await;
    let reply = account.anonymous.post(path, &with_code(code)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let reply = account.anonymous.login(&account.email, NEW).await;
    reply.assert_error(401, "totp_required", "two-factor is still on");
}

#[tokio::test]
async fn a_reset_link_is_no_confirmation_link_nor_the_other_way_round() {
    let edge = edge().await;
    let account = edge.account().await;
    let reset = reset_token(&account, 1).await;
    account.anonymous.verify_email(&reset).await.assert_error(400, "invalid_token", "a reset link");
    let (email, mail) = edge.registered().await;
    let reply = account.anonymous.reset_password(mail.token().unwrap(), NEW).await;
    reply.assert_error(400, "invalid_token", "a confirmation link");
    assert_eq!(edge.count(&format!("accounts WHERE email = '{email}'")).await, 0);
    assert_eq!(account.anonymous.reset_password(&reset, NEW).await.status, 200);
}

#[tokio::test]
async fn a_common_password_and_one_like_the_address_are_refused_with_the_reason() {
    let edge = edge().await;
    let account = edge.account().await;
    let anonymous = &account.anonymous;
    let token = reset_token(&account, 1).await;
    let local = account.email.split('@').next().unwrap();
    let domain = account.email.split('@').nth(1).unwrap();
    let reversed: String = account.email.chars().rev().collect();
    let common = "This password is too common. Attackers try it first.";
    let address = "The password must not be the email address or a part of it.";
    for (password, reason) in [
        ("password123", common),
        ("iloveyou1", common),
        ("QWERTYUIOP", common),
        ("fuckyou123", common),
        ("contrasena", common),
        (&account.email, address),
        (&account.email.to_uppercase(), address),
        (&reversed, address),
        (&format!("{local}2026"), address),
        (&domain.replace('.', "-"), address),
    ] {
        let expected = json!({ "detail": reason, "code": "invalid_password" });
        let registration = anonymous.register(&account.email, password).await;
        assert_eq!(registration.parts(), (400, &expected), "{password}");
        let reset = anonymous.reset_password(&token, password).await;
        assert_eq!(reset.parts(), (400, &expected), "{password}");
        let changed = account.put("/auth/password", &change(PASSWORD, password)).await;
        assert_eq!(changed.parts(), (400, &expected), "{password}");
    }
    assert_eq!(account.get("/me").await.status, 200, "nothing has changed");
}

/// A password with a combining accent, as some systems send it. Other systems send the composed letter; both
/// texts have the same normal form.
const DECOMPOSED: &str = " cafe\u{301}-meadow-58 ";
const COMPOSED: &str = " caf\u{e9}-meadow-58 ";

#[tokio::test]
async fn a_password_is_the_same_from_every_keyboard_and_otherwise_as_it_was_sent() {
    let account = edge().await.account().await;
    let reply = account.put("/auth/password", &change(PASSWORD, DECOMPOSED)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    for other in
        [COMPOSED.trim(), DECOMPOSED.trim_start(), " cafe-meadow-58 ", " CAF\u{c9}-meadow-58 "]
    {
        let reply = account.anonymous.login(&account.email, other).await;
        reply.assert_error(401, "invalid_credentials", other);
    }
    for same in [COMPOSED, DECOMPOSED] {
        assert_eq!(account.anonymous.login(&account.email, same).await.status, 200, "{same:?}");
    }
}

#[tokio::test]
async fn an_old_hash_is_renewed_at_sign_in() {
    let edge = edge().await;
    let account = edge.account().await;
    let row = edge.row(&account.email, "password_hash").await;
    let current = row["password_hash"].as_str().unwrap().to_owned();
    assert!(current.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{current}");
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
    let row = edge.row(&account.email, "password_hash").await;
    assert_eq!(row["password_hash"], current, "today's parameters stay");
    edge.set(&account.email, &format!("password_hash = '{OUTDATED}'")).await;
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
    // It is renewed after the response.
    let email = &account.email;
    let renewed = "password_hash GLOB '$argon2id$v=19$m=19456,t=2,p=1$*'";
    edge.wait_for_count(&format!("accounts WHERE email = '{email}' AND {renewed}"), 1).await;
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
}

/// Hash of [`PASSWORD`] with weaker parameters, made with Python's argon2-cffi.
const OUTDATED: &str = "$argon2id$v=19$m=1024,t=1,p=1$7jv22VDMOt23VkMQxQKk9A$rHQgUKcAqeiDhwgIJbj7twN4/HJbf7QPsDzSpxlwQjg";

#[tokio::test]
async fn every_mail_is_plain_and_its_links_lead_to_the_portal_whatever_host_was_named() {
    let edge = edge().await;
    let account = edge.account().await;
    let lying = |path: &str, body: serde_json::Value| {
        let request = account.anonymous.request(Method::POST, path).json(&body);
        request
            .header("host", "evil.example")
            .header("x-forwarded-host", "evil.example")
            .header("x-forwarded-proto", "https")
            .header("forwarded", "host=evil.example")
            .header("origin", "https://evil.example")
            .header("referer", "https://evil.example/")
    };
    let stranger = edge.new_email();
    let unknown = edge.new_email();
    let registration = |email: &str| json!({ "email": email, "password": PASSWORD });
    let replies = send_all(
        [
            lying("/auth/register", registration(&stranger)),
            lying("/auth/register", registration(&account.email)),
            lying("/auth/forgot-password", json!({ "email": account.email })),
            lying("/auth/forgot-password", json!({ "email": unknown })),
        ],
        1,
    )
    .await;
    let codes: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(codes, [201, 201, 200, 200]);
    let (_, codes) = account.enable_two_factor().await;
    assert_eq!(account.rotate_with(&codes[0]).await.status, 200);
    let off = json!({ "password": PASSWORD, "totp_code": codes[1] });
    assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
    assert_eq!(account.put("/auth/password", &change(PASSWORD, NEW)).await.status, 200);

    nth_mail(&stranger, 1).await;
    nth_mail(&unknown, 1).await;
    // The second use of a recovery code is announced an hour later.
    nth_mail(&account.email, 8).await;
    let mails: Vec<_> = [&stranger, &unknown, &account.email]
        .into_iter()
        .flat_map(|to| edge.mailbox().mails_to(to))
        .collect();
    let subjects: std::collections::BTreeSet<_> =
        mails.iter().map(|m| m.subject.as_str()).collect();
    assert_eq!(subjects.len(), 9, "every kind of mail: {subjects:?}");
    for mail in &mails {
        for (kind, text) in [("text", &mail.text), ("html", &mail.html)] {
            assert!(!text.contains("evil.example"), "{kind}: {text}");
            let links: Vec<_> = text.match_indices("http").map(|(at, _)| &text[at..]).collect();
            assert!(links.iter().all(|link| link.starts_with(&edge.url)), "{kind}: {text}");
            assert!(text.matches("?token=").count() <= 2, "{kind}: {text}");
        }
        assert!(mail.html.starts_with("<!doctype html>\n<html lang=\"en\">"), "{}", mail.html);
        for tag in ["<img", "<script", "<link", "@import", "<iframe", "src=", "url("] {
            assert!(!mail.html.contains(tag), "{tag} in {}", mail.html);
        }
        let secret = mail.subject.starts_with("Confirm") || mail.subject.starts_with("Set a new");
        // An email about a change has a link that stops it, and opens nothing.
        let stops = ["Two-factor authentication is on", "Two-factor authentication is off"]
            .contains(&mail.subject.as_str())
            || mail.subject == "Your password has been changed";
        assert_eq!(mail.text.contains("/stop?token="), stops, "{mail:?}");
        assert_eq!(mail.token().is_some(), secret || stops, "{mail:?}");
        assert!(!mail.text.contains("rcpt_live_"), "{}", mail.text);
    }
    let handed_over = edge.mails().await;
    assert!(handed_over.len() >= mails.len(), "{handed_over:?}");
    for mail in handed_over {
        let mut headers = mail["headers"].clone();
        let opt_out = headers.as_object_mut().unwrap().remove("List-Unsubscribe");
        let others_cause_it =
            ["There is no account with this address", "You already have an account"];
        let subject = mail["subject"].as_str().unwrap();
        assert_eq!(opt_out.is_some(), others_cause_it.contains(&subject), "{mail}");
        assert_eq!(headers, json!({ "Content-Language": "en" }), "{mail}");
    }
}
