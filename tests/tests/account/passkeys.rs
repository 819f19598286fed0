//! Passkeys: added with the password, used once per challenge, and rejected with the same answer each time
//! (docs/security.md, A16).
//!
//! - Of eight copies of one signature one starts a session, and none after its end. At most 20 passkeys, whatever runs
//!   at once.

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, PasskeyDevice, send, send_at_once},
    service::shim::Fault,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

async fn listed(account: &Account) -> Vec<Value> {
    let reply = account.get("/auth/passkeys").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body["passkeys"].as_array().unwrap().clone()
}

fn signed_in(account: &Account, reply: &Reply) -> Account {
    let owner = Account::from_credentials(&account.anonymous, &account.password, reply);
    assert_eq!((&owner.email, &owner.api_key), (&account.email, &account.api_key));
    owner
}

#[tokio::test]
async fn a_passkey_signs_in_without_the_password_until_it_is_removed() {
    let edge = edge().await;
    let account = edge.account().await;
    let options = account.passkey_options().await;
    assert_eq!(options.status, 200, "{}", options.body);
    let id = u64::from_str_radix(&edge.id(&account.email).await, 16).unwrap().to_be_bytes();
    let handle = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, id);
    let expected = json!({
        "rp": { "id": "127.0.0.1", "name": "rcpt" },
        "user": { "id": handle, "name": account.email, "displayName": account.email },
        "challenge": options.body["challenge"],
        "pubKeyCredParams": [{ "type": "public-key", "alg": -7 }, { "type": "public-key", "alg": -257 }],
        "timeout": 300_000, "excludeCredentials": [], "attestation": "none",
        "authenticatorSelection": {
            "residentKey": "required", "requireResidentKey": true, "userVerification": "required",
        },
    });
    assert_eq!(options.body, expected);
    let origin = account.anonymous.origin();
    let (laptop, credential) = PasskeyDevice::create(&options.body, &origin);
    let reply = account.add_credential(" laptop ", &credential).await;
    let added = json!({
        "id": reply.body["id"], "name": "laptop", "created_at": reply.body["created_at"],
        "last_used_at": null, "syncable": false,
    });
    assert_eq!(reply.parts(), (201, &added));
    // The second passkey uses RSA and is synced.
    let options = account.passkey_options().await.body;
    assert_eq!(
        options["excludeCredentials"],
        json!([{ "type": "public-key", "id": credential["id"] }])
    );
    let phone = PasskeyDevice::create_rsa(&options, &origin).0.synced();
    let reply = account.add_credential("phone", &phone.attest(&options["challenge"])).await;
    assert_eq!((reply.status, &reply.body["syncable"]), (201, &json!(true)), "{}", reply.body);
    // Makes the order definite: passkeys are sorted by creation time, and both passkeys may have the same second.
    let older = "UPDATE passkeys SET created_at = created_at - 1 WHERE id = ?1";
    let id = added["id"].as_str().unwrap().strip_prefix("pk_").unwrap();
    edge.sql_of(&edge.id(&account.email).await, older, &[json!(id)]).await;
    let passkeys = listed(&account).await;
    assert_eq!(passkeys[0]["name"], "laptop");
    assert_eq!(passkeys[1], reply.body);

    for device in [&laptop, &phone, &laptop, &phone] {
        let owner = signed_in(&account, &account.anonymous.sign_in_with(device).await);
        assert_eq!(owner.get("/me").await.body["email"], account.email);
    }
    assert!(listed(&account).await[0]["last_used_at"].is_string());
    assert_eq!(edge.anonymous().login(&account.email, PASSWORD).await.status, 200, "as before");

    let path = format!("/auth/passkeys/{}", added["id"].as_str().unwrap());
    assert_eq!(account.delete(&path, &json!({})).await.status, 204);
    account.delete(&path, &json!({})).await.assert_error(404, "no_such_passkey", "twice");
    let reply = account.anonymous.sign_in_with(&laptop).await;
    reply.assert_error(401, "passkey_refused", "removed");
    assert_eq!(account.anonymous.sign_in_with(&phone).await.status, 200);
    for subject in ["A passkey has been added", "A passkey has been removed"] {
        edge.mailbox().wait_for_titled(&account.email, subject, 1).await.unwrap();
    }
    let events = account.get("/me/events").await.body["events"].to_string();
    for kind in ["passkey_added", "passkey_removed", "signed_in"] {
        assert!(events.contains(kind), "{events}");
    }
    let dump = format!("{:?}", edge.dump(&[]).await);
    let secret = options["challenge"].as_str().unwrap();
    assert!(!dump.contains(secret), "a challenge is in the database");
}

#[tokio::test]
async fn a_stolen_session_or_key_adds_no_passkey_and_the_code_is_shown_once() {
    let edge = edge().await;
    let account = edge.account().await;
    let ask = async |body: Value| account.post("/auth/passkeys/options", &body).await;
    ask(json!({})).await.assert_error(400, "invalid_body", "a stolen session");
    ask(json!({ "password": "not-the-password" })).await.assert_error(
        403,
        "wrong_password",
        "a wrong password",
    );
    let (authenticator, codes) = account.enable_two_factor().await;
    ask(json!({ "password": PASSWORD })).await.assert_error(403, "totp_required", "no code");
    let wrong = json!({ "password": PASSWORD, "totp_code": authenticator.wrong_code() });
    ask(wrong).await.assert_error(403, "totp_invalid", "a wrong code");
    let right = json!({ "password": PASSWORD, "totp_code": codes[0] });
    let options = ask(right.clone()).await;
    assert_eq!(options.status, 200, "{}", options.body);
    ask(right).await.assert_error(403, "totp_invalid", "a used code");

    // The challenge is valid in this session only.
    let other = edge.account().await;
    let login = edge.anonymous().login_with_code(&account.email, PASSWORD, &codes[1]).await;
    let second = Account::from_credentials(&account.anonymous, PASSWORD, &login);
    let (device, credential) = PasskeyDevice::create(&options.body, &edge.anonymous().origin());
    for session in [&other, &second] {
        let reply = session.add_credential("thief", &credential).await;
        reply.assert_error(400, "invalid_passkey", "another session");
    }
    let by_key = account.anonymous.request(Method::POST, "/auth/passkeys");
    let body = json!({ "name": "thief", "credential": credential });
    let reply = send(by_key.header("x-api-key", &account.api_key).json(&body)).await;
    reply.assert_error(401, "missing_credentials", "a stolen key");
    // A challenge for a sign-in, which anybody gets, can't add a passkey.
    let challenge = account.anonymous.passkey_challenge().await;
    let reply = account.add_credential("thief", &device.attest(&challenge["challenge"])).await;
    reply.assert_error(400, "invalid_passkey", "a challenge for anybody");
    assert_eq!(account.add_credential("mine", &credential).await.status, 201);
    assert_eq!(listed(&account).await.len(), 1);
    // A used challenge adds no other passkey, nor the same passkey after its removal.
    let (another, _) = PasskeyDevice::create(&options.body, &edge.anonymous().origin());
    let again = another.attest(&options.body["challenge"]);
    account.add_credential("thief", &again).await.assert_error(400, "invalid_passkey", "twice");
    account.add_credential("mine", &credential).await.assert_error(400, "invalid_passkey", "known");
    let id = listed(&account).await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(account.delete(&format!("/auth/passkeys/{id}"), &json!({})).await.status, 204);
    account.add_credential("mine", &credential).await.assert_error(400, "invalid_passkey", "again");
    // With two-factor on, a passkey that verifies its owner needs no code.
    let codes = json!({ "password": PASSWORD, "totp_code": codes[2] });
    let options = ask(codes).await.body;
    let (mut device, credential) = PasskeyDevice::create(&options, &edge.anonymous().origin());
    assert_eq!(account.add_credential("mine", &credential).await.status, 201);
    assert_eq!(account.anonymous.sign_in_with(&device).await.status, 200);
    // A passkey that doesn't verify its owner needs a code each time; with two-factor off, it is rejected.
    device.verify_owner(false);
    let reply = account.anonymous.sign_in_with(&device).await;
    reply.assert_error(401, "totp_required", "unverified");
    let code = edge.fresh_code(&account, &authenticator).await;
    let mut body =
        json!({ "credential": device.sign(&account.anonymous.passkey_challenge().await) });
    body["totp_code"] = json!(authenticator.wrong_code());
    let reply = edge.anonymous().post("/auth/passkeys/sign-in", &body).await;
    reply.assert_error(401, "totp_invalid", "a wrong code");
    body["totp_code"] = json!(code);
    let reply = edge.anonymous().post("/auth/passkeys/sign-in", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let mut body =
        json!({ "credential": device.sign(&account.anonymous.passkey_challenge().await) });
    body["totp_code"] = json!(code);
    let reply = edge.anonymous().post("/auth/passkeys/sign-in", &body).await;
    reply.assert_error(401, "totp_invalid", "a used code");
    let (mut device, _) = other.add_passkey("mine").await;
    device.verify_owner(false);
    let reply = other.anonymous.sign_in_with(&device).await;
    reply.assert_error(401, "passkey_unverified", "no second factor");
}

#[tokio::test]
async fn an_account_has_at_most_twenty_passkeys_however_many_are_added_at_once() {
    let account = edge().await.account().await;
    for n in 0..17 {
        account.add_passkey(&format!("device {n}")).await;
    }
    let mut requests = Vec::new();
    for _ in 0..8 {
        let options = account.passkey_options().await.body;
        let (_, credential) = PasskeyDevice::create(&options, &account.anonymous.origin());
        let body = json!({ "name": "one of many", "credential": credential });
        requests.push(account.request(Method::POST, "/auth/passkeys").json(&body));
    }
    let replies = send_at_once(requests).await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    for reply in replies.iter().filter(|reply| reply.status != 201) {
        reply.assert_error(409, "too_many_passkeys", "the account has twenty");
    }
    assert_eq!((made, listed(&account).await.len()), (3, 20));
    account.passkey_options().await.assert_error(409, "too_many_passkeys", "not even asked");
}

#[tokio::test]
async fn one_signature_starts_one_session_however_often_it_is_sent() {
    // A separate edge: other tests' challenges would also be counted.
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    for device in [account.add_passkey("counts").await.0, account.add_passkey("b").await.0.synced()]
    {
        // A passkey is synced from its creation or never: this passkey was created unsynced.
        if device.counter.is_none() {
            let reply = account.anonymous.sign_in_with(&device).await;
            reply.assert_error(401, "passkey_refused", "eligible for backups all of a sudden");
            continue;
        }
        let signed = device.sign(&account.anonymous.passkey_challenge().await);
        let body = json!({ "credential": signed });
        let requests = (0..8)
            .map(|_| account.anonymous.request(Method::POST, "/auth/passkeys/sign-in").json(&body));
        let replies = send_at_once(requests).await;
        let [won, lost]: [Vec<&Reply>; 2] = [200, 401]
            .map(|status| replies.iter().filter(|reply| reply.status == status).collect());
        assert_eq!((won.len(), lost.len()), (1, 7));
        // The challenge doesn't work after the session has ended.
        let owner = signed_in(&account, won[0]);
        assert_eq!(owner.post("/auth/sign-out", &json!({})).await.status, 204);
        let reply = account.anonymous.send_assertion(&signed).await;
        reply.assert_error(401, "passkey_refused", "a replay");
    }
    // Without a counter, only the challenge stops a replay.
    let options = account.passkey_options().await.body;
    let device = PasskeyDevice::create(&options, &account.anonymous.origin()).0.synced();
    let added = account.add_credential("synced", &device.attest(&options["challenge"])).await;
    assert_eq!(added.status, 201, "{}", added.body);
    let signed = device.sign(&account.anonymous.passkey_challenge().await);
    let body = json!({ "credential": signed });
    let requests = (0..8)
        .map(|_| account.anonymous.request(Method::POST, "/auth/passkeys/sign-in").json(&body));
    let replies = send_at_once(requests).await;
    assert_eq!(replies.iter().filter(|reply| reply.status == 200).count(), 1);
    let used = "throttles WHERE key LIKE 'challenge %'";
    assert!(edge.count(used).await >= 2);
    edge.sql("UPDATE throttles SET drained_at = 1 WHERE key LIKE 'challenge %'", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count(used).await, 0, "forgotten once they expire");
}

#[tokio::test]
async fn nobody_sees_or_removes_the_passkeys_of_another_account() {
    let edge = edge().await;
    let (ann, eve) = (edge.account().await, edge.account().await);
    let (device, id) = ann.add_passkey("ann's").await;
    assert_eq!(listed(&eve).await, Vec::<Value>::new());
    let path = format!("/auth/passkeys/{id}");
    eve.delete(&path, &json!({})).await.assert_error(404, "no_such_passkey", "another's");
    let body = json!({ "password": PASSWORD });
    assert_eq!(ann.anonymous.sign_in_with(&device).await.status, 200);
    assert_eq!(ann.delete("/me", &body).await.status, 204);
    ann.anonymous.sign_in_with(&device).await.assert_error(401, "passkey_refused", "deleted");
    assert_eq!(edge.count("passkeys WHERE name = 'ann''s'").await, 0);
}

#[tokio::test]
async fn adding_and_signing_in_that_are_cut_off_anywhere_can_be_tried_again() {
    let edge = Edge::builder().var("HOMES", "EU:1 NA:2 *:0").shimmed().start().await.unwrap();
    let account = edge.account().await;
    let anonymous = edge.anonymous();
    let (device, _) = account.add_passkey("first").await;
    let id = edge.id(&account.email).await;
    let own = edge.sql_of(&id, "SELECT id FROM sessions WHERE account_id = ?1", &[json!(id)]).await;
    let own = own[0]["id"].clone();
    let mut trips = [0; 2];
    for (trips, is_sign_in) in trips.iter_mut().zip([false, true]) {
        let options = account.passkey_options().await.body;
        let (_, credential) = PasskeyDevice::create(&options, &anonymous.origin());
        let signed = device.sign(&anonymous.passkey_challenge().await);
        edge.counts().await;
        let reply = if is_sign_in {
            anonymous.send_assertion(&signed).await
        } else {
            account.add_credential("whole", &credential).await
        };
        *trips = u32::try_from(edge.counts().await.d1_trips).unwrap();
        assert!([200, 201].contains(&reply.status), "{}", reply.body);
    }
    assert!(trips[0] >= 2 && trips[1] >= 3, "{trips:?}");
    for (trips, is_sign_in) in trips.into_iter().zip([false, true]) {
        for (cut, late) in (0..trips).flat_map(|cut| [(cut, false), (cut, true)]) {
            let what = format!("sign-in {is_sign_in}, cut off at {cut} of {trips}, {late}");
            edge.sql("DELETE FROM throttles", &[]).await;
            // Deletes passkeys to get below the limit of twenty.
            edge.sql_of(&id, "DELETE FROM passkeys WHERE name <> 'first'", &[]).await;
            edge.sql_of(&id, "DELETE FROM sessions WHERE id <> ?1", std::slice::from_ref(&own))
                .await;
            let options = account.passkey_options().await.body;
            let (new, credential) = PasskeyDevice::create(&options, &anonymous.origin());
            let signed = device.sign(&anonymous.passkey_challenge().await);
            let sessions = format!("sessions WHERE account_id = '{id}'");
            let before = edge.count(&sessions).await;
            let down = Fault { part: "d1", times: 1_000_000, error: "away", ..Fault::default() };
            let faults = if late {
                vec![Fault { skip: cut, times: 1, late, ..down.clone() }, down]
            } else {
                vec![Fault { skip: cut, ..down }]
            };
            edge.counts().await;
            edge.fail(&faults).await;
            if is_sign_in {
                anonymous.send_assertion(&signed).await;
            } else {
                account.add_credential(&what, &credential).await;
            }
            edge.fail(&[]).await;
            if is_sign_in {
                // Sending the assertion again starts no second session.
                let reply = anonymous.send_assertion(&signed).await;
                assert!([200, 401].contains(&reply.status), "{what}: {}", reply.body);
                let after = edge.count(&sessions).await;
                assert!(after == before + 1, "{what}: {before} {after}");
                assert_eq!(anonymous.sign_in_with(&device).await.status, 200, "{what}");
            } else {
                let reply = account.add_credential(&what, &credential).await;
                assert!([201, 400].contains(&reply.status), "{what}: {}", reply.body);
                assert_eq!(anonymous.sign_in_with(&new).await.status, 200, "{what}");
                let rows_named = format!("passkeys WHERE name = '{what}'");
                assert_eq!(edge.count(&rows_named).await, 1, "{what}");
            }
        }
    }
}
