//! Every wrong sign-in gets the same answer, and a wrong passkey isn't added (docs/security.md, A16).
//!
//! - Wrong origin, relying party, challenge, account or key, a counter that doesn't grow, an owner who wasn't verified:
//!   equal trips.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rcpt_tests::{Edge, people::PasskeyDevice};
use serde_json::{Value, json};

use super::edge;

#[tokio::test]
async fn whatever_is_wrong_gets_one_answer_after_the_same_work() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let (ann, eve) = (edge.account().await, edge.account().await);
    let (mut device, _) = ann.add_passkey("ann's").await;
    let (thief, _) = eve.add_passkey("eve's").await;
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.sign_in_with(&device).await.status, 200);

    let challenge = || anonymous.passkey_challenge();
    let with = |mut signed: Value, pointer: &str, value: Value| {
        *signed.pointer_mut(pointer).unwrap() = value;
        signed
    };
    let handle = |of: &Value| of["response"]["userHandle"].clone();
    let anns = device.sign(&challenge().await);
    // Rejected without a look-up, because the ceremony itself is wrong.
    let mut unread = vec![
        ("no challenge of ours", device.sign(&json!({ "challenge": "AAAA" }))),
        ("a challenge of a registration", device.sign(&ann.passkey_options().await.body)),
        ("a short handle", with(anns.clone(), "/response/userHandle", json!("AAAA"))),
        ("not base64url", with(anns.clone(), "/response/signature", json!("+/=="))),
        ("no client data", with(anns.clone(), "/response/clientDataJSON", json!("AAAA"))),
    ];
    for (what, origin, rp_id) in [
        ("another origin", "https://evil.example".to_owned(), "127.0.0.1"),
        ("another party", anonymous.origin(), "evil.example"),
    ] {
        (device.origin, device.rp_id) = (origin, rp_id.to_owned());
        unread.push((what, device.sign(&challenge().await)));
        (device.origin, device.rp_id) = (anonymous.origin(), "127.0.0.1".to_owned());
    }
    device.flags &= !1;
    unread.push(("nobody present", device.sign(&challenge().await)));
    device.flags |= 1;
    for (what, signed) in &unread {
        let reply = anonymous.send_assertion(signed).await;
        reply.assert_error(401, "passkey_refused", what);
    }

    // Rejected after the passkey was looked up.
    let unknown = json!("AP_u7u7u7u4");
    let mut wrong = vec![
        ("an unknown account", with(anns.clone(), "/response/userHandle", unknown)),
        ("an unknown database", with(anns.clone(), "/response/userHandle", json!("_-7u7u7u7u4"))),
        ("an unknown credential", with(anns.clone(), "/id", json!("AAAAAAAAAAA"))),
        (
            "another account",
            with(anns.clone(), "/response/userHandle", handle(&thief.sign(&challenge().await))),
        ),
        (
            "another key",
            with(thief.sign(&challenge().await), "/response/userHandle", handle(&anns)),
        ),
        ("a changed signature", with(anns.clone(), "/response/signature", json!("MAYCAQECAQE"))),
        ("no signature", with(anns.clone(), "/response/signature", json!(""))),
    ];
    let own = thief.sign(&challenge().await);
    let forged = with(with(own, "/id", anns["id"].clone()), "/response/userHandle", handle(&anns));
    wrong.push(("eve's signature for ann's passkey", forged));
    let mut answers = Vec::new();
    for (what, signed) in &wrong {
        edge.counts().await;
        let reply = anonymous.send_assertion(signed).await;
        reply.assert_error(401, "passkey_refused", what);
        // The failure is recorded after the response.
        let mut trips = 0;
        for _ in 0..100 {
            trips += edge.counts().await.d1_trips;
            if trips >= 3 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        answers.push((trips, reply.body.to_string()));
    }
    for (answer, (what, _)) in answers.iter().zip(&wrong) {
        assert_eq!(answer, &answers[0], "{what}");
    }
    // A copied device's counter is lower than the stored counter.
    let before = AtomicU32::new(device.counter.as_ref().unwrap().load(Relaxed));
    assert_eq!(anonymous.sign_in_with(&device).await.status, 200);
    device.counter = Some(before);
    anonymous.sign_in_with(&device).await.assert_error(401, "passkey_refused", "a copy");
    let mut failed = 0;
    for _ in 0..100 {
        let events = ann.get("/me/events").await.body;
        let events = events["events"].as_array().unwrap();
        let count = events.iter().find(|event| event["kind"] == "passkey_failed");
        failed = count.map_or(0, |event| event["count"].as_u64().unwrap());
        if failed >= 6 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(failed, 6, "the owner sees what was tried");
    let signed = device.sign(&challenge().await);
    edge.set(&eve.email, "state = 'deactivated'").await;
    anonymous.sign_in_with(&thief).await.assert_error(403, "deactivated", "by the operator");
    drop(signed);
}

#[tokio::test]
async fn a_passkey_that_is_none_is_not_added() {
    let account = edge().await.account().await;
    let origin = account.anonymous.origin();
    let fresh = async || account.passkey_options().await.body;
    let options = fresh().await;
    let (mut device, credential) = PasskeyDevice::create(&options, &origin);
    let with = |pointer: &str, value: &str| {
        let mut credential = credential.clone();
        *credential.pointer_mut(pointer).unwrap() = json!(value);
        credential
    };
    let mut wrong = vec![
        ("another id", with("/id", "AAAA")),
        ("no object", with("/response/attestationObject", "")),
        ("cut off", with("/response/attestationObject", "o2NmbXRkbm9uZQ")),
        ("not base64url", with("/response/clientDataJSON", "e30=")),
        ("no client data", with("/response/clientDataJSON", "e30")),
    ];
    device.verify_owner(false);
    wrong.push(("an owner who wasn't verified", device.attest(&options["challenge"])));
    device.verify_owner(true);
    device.origin = "https://evil.example".to_owned();
    wrong.push(("another origin", device.attest(&options["challenge"])));
    device.origin = origin;
    // Changes the last byte of the point, which then isn't on the curve any more.
    let object = credential["response"]["attestationObject"].as_str().unwrap();
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let mut object = base64::Engine::decode(&engine, object).unwrap();
    *object.last_mut().unwrap() ^= 1;
    let object = base64::Engine::encode(&engine, object);
    wrong.push(("a point that isn't on the curve", with("/response/attestationObject", &object)));
    for (what, credential) in wrong {
        let reply = account.add_credential("x", &credential).await;
        reply.assert_error(400, "invalid_passkey", what);
    }
    for name in ["", "  ", "a\nb", &"ψ".repeat(61)] {
        let reply = account.add_credential(name, &credential).await;
        reply.assert_error(400, "invalid_passkey", name);
    }
    assert_eq!(account.get("/auth/passkeys").await.body, json!({ "passkeys": [] }));
    assert_eq!(account.add_credential(&"ψ".repeat(60), &credential).await.status, 201);
}
