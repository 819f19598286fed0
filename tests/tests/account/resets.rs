//! A reset takes back what was changed in three days, and asks for a second factor only once that counts (docs/security.md,
//! A13, A15).

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, PasskeyDevice, send, send_at_once},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    edge,
    email_change::{DAY_S, NEW, THIEF, link, stop},
};

const RESET: &str = "Set a new password";

/// Asks for a reset link; returns its token.
pub(super) async fn reset_link(edge: &Edge, email: &str) -> String {
    let before = edge.mailbox().mails_to(email).iter().filter(|mail| mail.subject == RESET).count();
    edge.sql("DELETE FROM throttles", &[]).await;
    assert_eq!(edge.anonymous().forgot_password(email).await.status, 200);
    let token = link(edge, email, RESET, before + 1).await;
    edge.wait_for_reset_mails().await;
    token
}

pub(super) async fn reset(edge: &Edge, token: &str, password: &str, code: &str) -> Reply {
    let body = json!({ "token": token, "password": password, "totp_code": code });
    edge.anonymous().post("/auth/reset-password", &body).await
}

pub(super) async fn shown(edge: &Edge, token: &str) -> Value {
    let reply =
        edge.anonymous().post("/auth/reset-password/show", &json!({ "token": token })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body
}

/// Makes a second factor count.
pub(super) async fn settled(edge: &Edge, account: &Account) {
    let id = edge.id(&account.email).await;
    edge.wait_until_told(&id).await;
    edge.pass(&id, 3 * DAY_S).await;
}

pub(super) fn turned_off(password: &str, code: &str) -> Value {
    json!({ "password": password, "totp_code": code })
}

#[tokio::test]
async fn a_forgotten_password_changes_nothing_but_the_password() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (key, _) = account.named_key(&json!({ "name": "shop", "rights": ["checks"] })).await;
    let (passkey, _) = account.add_passkey("laptop").await;
    edge.wait_until_told(&id).await;
    edge.pass(&id, 8 * DAY_S).await;
    let token = reset_link(edge, &account.email).await;
    let expected =
        json!({ "code_needed": false, "code_possible": false, "keys": [], "passkeys": 0 });
    assert_eq!(shown(edge, &token).await, expected);
    let reply = reset(edge, &token, NEW, "").await;
    assert_eq!((reply.status, reply.text("api_key")), (200, account.api_key.as_str()));
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.check_with_key(&key, "no address").await.status, 200);
    assert_eq!(anonymous.sign_in_with(&passkey).await.status, 200);
    reset(edge, &token, NEW, "").await.assert_error(400, "invalid_token", "it works once");
}

#[tokio::test]
async fn a_reset_ends_young_passkeys_and_the_keys_that_stay_ticked() {
    let edge = &Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let terms = json!({ "name": "key", "rights": ["checks"] });
    let (old_key, _) = account.named_key(&terms).await;
    let (old_passkey, _) = account.add_passkey("old").await;
    edge.wait_until_told(&id).await;
    edge.pass(&id, 8 * DAY_S).await;
    let (kept_key, kept_id) = account.named_key(&terms).await;
    let (young_key, young_id) = account.named_key(&terms).await;
    // Two days later a passkey is added: the week counts back from it.
    edge.pass(&id, 2 * DAY_S).await;
    let (young_passkey, _) = account.add_passkey("young").await;

    let token = reset_link(edge, &account.email).await;
    let preview = shown(edge, &token).await;
    let ids: Vec<_> = preview["keys"].as_array().unwrap().iter().map(|key| &key["id"]).collect();
    assert_eq!(ids.len(), 3, "{preview}");
    for id in ["own", &kept_id, &young_id] {
        assert!(ids.contains(&&json!(id)), "{id}: {preview}");
    }
    assert_eq!(preview["passkeys"], 1);
    // A key that is made after the page was shown ends too.
    let (late_key, _) = account.named_key(&terms).await;
    let body = json!({ "token": token, "password": NEW, "keep_keys": [kept_id] });
    let reply = edge.anonymous().post("/auth/reset-password", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_ne!(
        reply.text("api_key"),
        account.api_key,
        "a change was open: the own key is replaced"
    );
    let anonymous = edge.anonymous();
    for (key, status) in [
        (&old_key, 200),
        (&kept_key, 200),
        (&young_key, 401),
        (&late_key, 401),
        (&account.api_key, 401),
    ] {
        assert_eq!(anonymous.check_with_key(key, "no address").await.status, status);
    }
    assert_eq!(anonymous.sign_in_with(&old_passkey).await.status, 200);
    anonymous.sign_in_with(&young_passkey).await.assert_error(401, "passkey_refused", "removed");

    // The own key can be kept; the reset before counts as an open change.
    let token = reset_link(edge, &account.email).await;
    let body = json!({ "token": token, "password": PASSWORD, "keep_keys": ["own"] });
    let again = edge.anonymous().post("/auth/reset-password", &body).await;
    assert_eq!((again.status, again.text("api_key")), (200, reply.text("api_key")));
}

/// A bot signs in every 30 seconds with the next step's code.
#[tokio::test]
async fn a_code_that_a_sign_in_has_used_still_resets_and_stops_and_signs_in_nobody() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (own, _) = account.enable_two_factor().await;
    settled(&edge, &account).await;
    let change = json!({ "current_password": PASSWORD, "new_password": THIEF });
    assert_eq!(account.put("/auth/password", &change).await.status, 200);
    let stopping = link(&edge, &account.email, "Your password has been changed", 1).await;
    let token = reset_link(&edge, &account.email).await;
    let code = edge.fresh_code(&account, &own).await;
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.login_with_code(&account.email, THIEF, &code).await.status, 200);
    stop(&edge, &stopping).await.assert_error(401, "totp_required", "a factor counts");
    let body = json!({ "token": stopping, "totp_code": code });
    for _ in 0..2 {
        assert_eq!(anonymous.post("/auth/stop-changes", &body).await.status, 204);
    }
    assert_eq!(reset(&edge, &token, NEW, &code).await.status, 200);
    let login = anonymous.login_with_code(&account.email, NEW, &code).await;
    login.assert_error(401, "totp_invalid", "a code works once at sign-in");
}

#[tokio::test]
async fn a_password_younger_than_three_days_deletes_nothing() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let token = reset_link(edge, &account.email).await;
    let reply = reset(edge, &token, THIEF, "").await;
    let thief = Account::from_credentials(&edge.anonymous(), THIEF, &reply);
    let body = json!({ "password": THIEF });
    thief.delete("/me", &body).await.assert_error(409, "password_too_young", "a minute old");
    edge.pass(&id, 3 * DAY_S - 60).await;
    thief.delete("/me", &body).await.assert_error(409, "password_too_young", "nearly");
    edge.pass(&id, 60).await;
    assert_eq!(thief.delete("/me", &body).await.status, 204);
}

#[tokio::test]
async fn a_stop_begins_the_three_days_anew_and_its_link_lives_as_long_as_the_change_is_open() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    account.add_passkey("laptop").await;
    let stopping = link(edge, &account.email, "A passkey has been added", 1).await;
    edge.wait_until_told(&id).await;
    for _ in 0..2 {
        edge.pass(&id, 3 * DAY_S - 60).await;
        assert_eq!(stop(edge, &stopping).await.status, 204);
    }
    edge.pass(&id, 3 * DAY_S).await;
    stop(edge, &stopping).await.assert_error(400, "invalid_token", "closed");
    for junk in ["", "x", &stopping[1..], &format!("{stopping}0")] {
        stop(edge, junk).await.assert_error(400, "invalid_token", junk);
    }
    let (other, fresh) = (edge.account().await, edge.account().await);
    other.add_passkey("laptop").await;
    let others = link(edge, &other.email, "A passkey has been added", 1).await;
    let fresh_id = edge.id(&fresh.email).await;
    let forged = others.replacen(&edge.id(&other.email).await, &fresh_id, 1);
    stop(edge, &forged).await.assert_error(400, "invalid_token", "another account's");
}

/// An email that somebody has kept for long stops nothing that is changed later.
#[tokio::test]
async fn the_link_of_a_change_that_is_closed_stops_no_later_one() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let title = "A passkey has been added";
    account.add_passkey("first").await;
    let kept = link(edge, &account.email, title, 1).await;
    edge.wait_until_told(&id).await;
    edge.pass(&id, 3 * DAY_S).await;
    stop(edge, &kept).await.assert_error(400, "invalid_token", "closed");
    account.add_passkey("second").await;
    let stopping = link(edge, &account.email, title, 2).await;
    stop(edge, &kept).await.assert_error(400, "invalid_token", "of the change before");
    assert_eq!(account.get("/me").await.status, 200, "its session goes on");
    assert_eq!(stop(edge, &stopping).await.status, 204);
}

/// Whatever a thief sends during a reset, none of the thief's sessions, passkeys and challenges works afterwards.
#[tokio::test]
async fn nothing_that_is_in_flight_during_a_reset_survives_it() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let anonymous = edge.anonymous();
    for round in 0..6 {
        let account = edge.account().await;
        let (device, _) = account.add_passkey("thief's").await;
        let token = reset_link(&edge, &account.email).await;
        let mut requests = Vec::new();
        for _ in 0..3 {
            let signed = device.sign(&anonymous.passkey_challenge().await);
            let body = json!({ "credential": signed });
            requests.push(anonymous.request(Method::POST, "/auth/passkeys/sign-in").json(&body));
        }
        let options = account.passkey_options().await.body;
        let (late, credential) = PasskeyDevice::create(&options, &anonymous.origin());
        let body = json!({ "name": "late", "credential": credential });
        requests.push(account.request(Method::POST, "/auth/passkeys").json(&body));
        let body = json!({ "token": token, "password": NEW });
        let reset = anonymous.request(Method::POST, "/auth/reset-password").json(&body);
        // Alternates whether the reset or the thief's requests are sent first.
        let (reset, replies) = if round % 2 == 0 {
            tokio::join!(send(reset), send_at_once(requests))
        } else {
            let (replies, reset) = tokio::join!(send_at_once(requests), send(reset));
            (reset, replies)
        };
        let owner = Account::from_credentials(&anonymous, NEW, &reset);
        for reply in &replies {
            assert!([200, 201, 400, 401].contains(&reply.status), "{round}: {}", reply.body);
            if reply.status == 200 {
                let thief = Account::from_credentials(&anonymous, PASSWORD, reply);
                let reply = thief.get("/me").await;
                reply.assert_error(401, "invalid_session", "a session from during the reset");
            }
        }
        for device in [&device, &late] {
            let reply = anonymous.sign_in_with(device).await;
            reply.assert_error(401, "passkey_refused", "a passkey of the thief's");
        }
        assert_eq!(owner.get("/auth/passkeys").await.body["passkeys"], json!([]), "{round}");
    }
}

#[tokio::test]
async fn a_challenge_from_before_a_reset_adds_nothing_after_it() {
    let edge = edge().await;
    let account = edge.account().await;
    let options = account.passkey_options().await.body;
    let (device, credential) = PasskeyDevice::create(&options, &account.anonymous.origin());
    let token = reset_link(edge, &account.email).await;
    let reply = reset(edge, &token, NEW, "").await;
    let owner = Account::from_credentials(&edge.anonymous(), NEW, &reply);
    let reply = account.add_credential("thief's", &credential).await;
    reply.assert_error(401, "invalid_session", "the thief's session");
    let reply = owner.add_credential("thief's", &credential).await;
    reply.assert_error(400, "invalid_passkey", "in the owner's session");
    let reply = edge.anonymous().sign_in_with(&device).await;
    reply.assert_error(401, "passkey_refused", "never added");
}
