//! Recovery suspends the passkeys that a thief may have added, whichever way the owner recovers, and a concurrent
//! sign-in loses against the recovery (docs/security.md, A16).

use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, PasskeyDevice, send, send_at_once},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

const NEW: &str = "copper-meadow-58-lattice";

async fn link(edge: &Edge, email: &str, subject: &str, nth: usize) -> String {
    let mail = edge.mailbox().wait_for_titled(email, subject, nth).await.unwrap();
    mail.token().unwrap().to_owned()
}

async fn reset_link(edge: &Edge, email: &str) -> String {
    assert_eq!(edge.anonymous().forgot_password(email).await.status, 200);
    link(edge, email, "Set a new password", 1).await
}

/// Makes a passkey a week and a day older.
async fn age(edge: &Edge, account: &Account, id: &str) {
    let older = "UPDATE passkeys SET created_at = created_at - 8 * 86400 WHERE id = ?1";
    let id = id.strip_prefix("pk_").unwrap();
    edge.sql_of(&edge.id(&account.email).await, older, &[json!(id)]).await;
}

async fn suspended(account: &Account) -> Vec<Value> {
    let reply = account.get("/auth/passkeys").await;
    let passkeys = reply.body["passkeys"].as_array().unwrap();
    passkeys.iter().map(|passkey| passkey["suspended"].clone()).collect()
}

/// The ways to recover an account that others had access to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Recovery {
    Reset,
    SignOutEverywhere,
    Undo,
}

/// Recovers an account; returns the account signed in, with the current password.
async fn recover(edge: &Edge, account: &Account, way: Recovery) -> Account {
    let (anonymous, mut password) = (edge.anonymous(), NEW);
    match way {
        Recovery::Reset => {
            let token = reset_link(edge, &account.email).await;
            assert_eq!(anonymous.reset_password(&token, NEW).await.status, 200);
        }
        Recovery::SignOutEverywhere => {
            let reply = account.post("/auth/sign-out-everywhere", &json!({})).await;
            assert_eq!(reply.status, 204, "{}", reply.body);
            password = PASSWORD;
        }
        Recovery::Undo => {
            // The thief has moved the account.
            let away = edge.new_email();
            let body = json!({ "email": away, "password": PASSWORD });
            assert_eq!(account.post("/auth/change-email", &body).await.status, 202);
            let token = link(edge, &away, "Confirm your new email address", 1).await;
            let body = json!({ "token": token, "password": PASSWORD });
            assert_eq!(anonymous.post("/auth/confirm-email", &body).await.status, 200);
            let token = link(edge, &account.email, "Your account has a new email address", 1).await;
            let body = json!({ "token": token, "password": PASSWORD, "new_password": NEW });
            assert_eq!(anonymous.post("/auth/undo-change-email", &body).await.status, 204);
        }
    }
    let login = anonymous.login(&account.email, password).await;
    Account::from_credentials(&anonymous, password, &login)
}

#[tokio::test]
async fn young_passkeys_wait_for_their_owner_after_every_recovery_and_older_ones_go_on() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for way in [Recovery::Reset, Recovery::SignOutEverywhere, Recovery::Undo] {
        let account = edge.account().await;
        let (old, old_id) = account.add_passkey("old").await;
        age(&edge, &account, &old_id).await;
        let (young, id) = account.add_passkey("young").await;
        let stolen = edge.anonymous().sign_in_with(&young).await;
        let stolen = Account::from_credentials(&edge.anonymous(), PASSWORD, &stolen);

        let owner = recover(&edge, &account, way).await;
        assert_eq!(suspended(&owner).await, [json!(false), json!(true)], "{way:?}");
        stolen.get("/me").await.assert_error(401, "invalid_session", "the thief's session");
        let reply = edge.anonymous().sign_in_with(&young).await;
        reply.assert_error(401, "passkey_suspended", "the thief's passkey");
        assert_eq!(edge.anonymous().sign_in_with(&old).await.status, 200, "{way:?}");
        let title = "Passkeys wait for your confirmation";
        let mail = edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap();
        assert!(mail.text.contains("Passkey: made "), "{}", mail.text);
        assert_eq!(mail.text.matches("Passkey: ").count(), 1, "{}", mail.text);

        let path = format!("/auth/passkeys/{id}/confirm");
        let wrong = json!({ "password": "not-the-password" });
        owner.post(&path, &wrong).await.assert_error(403, "wrong_password", "a stolen session");
        let right = json!({ "password": owner.password });
        let none = "/auth/passkeys/pk_ffffffffffffffffffffffffffffffff/confirm";
        owner.post(none, &right).await.assert_error(404, "no_such_passkey", "of nobody");
        assert_eq!(owner.post(&path, &right).await.status, 204);
        assert_eq!(edge.anonymous().sign_in_with(&young).await.status, 200, "confirmed");
    }
}

#[tokio::test]
async fn a_frozen_account_gets_no_passkey_and_loses_one() {
    let edge = edge().await;
    let account = edge.account().await;
    let (device, id) = account.add_passkey("thief's").await;
    let options = account.passkey_options().await.body;
    edge.set(&account.email, "frozen_until = unixepoch() + 86400").await;
    account.passkey_options().await.assert_error(403, "account_frozen", "asked for");
    let (_, credential) = PasskeyDevice::create(&options, &account.anonymous.origin());
    let reply = account.add_credential("late", &credential).await;
    reply.assert_error(403, "account_frozen", "begun before the freeze");
    let path = format!("/auth/passkeys/{id}");
    let proof = json!({ "password": PASSWORD });
    let reply = account.post(&format!("{path}/confirm"), &proof).await;
    reply.assert_error(403, "account_frozen", "confirmed");
    assert_eq!(edge.anonymous().sign_in_with(&device).await.status, 200, "it goes on");
    assert_eq!(account.delete(&path, &json!({})).await.status, 204);
    let reply = edge.anonymous().sign_in_with(&device).await;
    reply.assert_error(401, "passkey_refused", "removed");
}

/// Whatever a thief sends during the recovery, none of the thief's sessions, passkeys and challenges works afterwards.
#[tokio::test]
async fn nothing_that_is_in_flight_during_a_recovery_survives_it() {
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
                reply.assert_error(401, "invalid_session", "a session from during the recovery");
            }
        }
        for device in [&device, &late] {
            let reply = anonymous.sign_in_with(device).await;
            assert_eq!(reply.status, 401, "{round}: {}", reply.body);
        }
        assert!(suspended(&owner).await.iter().all(|is| *is == json!(true)), "{round}");
    }
}

#[tokio::test]
async fn a_challenge_from_before_a_recovery_adds_nothing_after_it() {
    let edge = edge().await;
    for way in [Recovery::Reset, Recovery::SignOutEverywhere] {
        let account = edge.account().await;
        let options = account.passkey_options().await.body;
        let (device, credential) = PasskeyDevice::create(&options, &account.anonymous.origin());
        let owner = recover(edge, &account, way).await;
        let reply = account.add_credential("thief's", &credential).await;
        reply.assert_error(401, "invalid_session", "the thief's session");
        let reply = owner.add_credential("thief's", &credential).await;
        reply.assert_error(400, "invalid_passkey", "in the owner's session");
        let reply = edge.anonymous().sign_in_with(&device).await;
        reply.assert_error(401, "passkey_refused", "never added");
    }
}
