//! A code is consumed by the action that it authorises, and two-factor authentication turned on meanwhile is required
//! (docs/security.md, A4).

use std::time::Duration;

use rcpt_tests::{
    Edge,
    people::{PASSWORD, send},
    service::shim::Fault,
};
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

const NEW: &str = "copper-meadow-58-lattice";
const RESET: &str = "Set a new password";

/// Waits until the Worker has made this many round trips to D1 since the counts were last read.
pub(super) async fn wait_for_trips(edge: &Edge, trips: u64) {
    let mut trip_count = 0;
    for _ in 0..600 {
        trip_count += edge.counts().await.d1_trips;
        if trip_count >= trips {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
    panic!("{trip_count} of {trips} trips");
}

#[tokio::test]
async fn sign_ins_under_way_while_two_factor_is_turned_on_are_asked_for_a_code() {
    const SIGN_INS: u32 = 5;
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let owner = edge.account().await;
    let authenticator = owner.set_up_two_factor().await;
    let hold = Fault {
        part: "d1",
        statements: &[
            "insert sessions",
            "insert security_events",
            "insert security_events",
            "insert notices",
            "delete waiting",
            "delete sessions",
        ],
        times: SIGN_INS,
        delay_ms: 6_000,
        ..Fault::default()
    };
    edge.fail(&[hold]).await;
    edge.counts().await;
    let attacks: Vec<_> = (0..SIGN_INS)
        .map(|_| {
            let (anonymous, email) = (owner.anonymous.clone(), owner.email.clone());
            tokio::spawn(async move { anonymous.login(&email, PASSWORD).await })
        })
        .collect();
    // Each sign-in makes five trips: the count, two look-ups, the refund, and the trip that the fault delays.
    wait_for_trips(&edge, u64::from(SIGN_INS) * 5).await;
    assert_eq!(owner.enable_with(&authenticator.code()).await.status, 200);
    for attack in attacks {
        attack.await.unwrap().assert_error(401, "totp_required", "read before it was on");
    }
    assert_eq!(edge.count("sessions").await, 1, "the one that turned it on");
}

#[tokio::test]
async fn a_reset_under_way_while_a_second_factor_begins_to_count_is_asked_for_a_code() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let owner = edge.account().await;
    let authenticator = owner.set_up_two_factor().await;
    owner.anonymous.forgot_password(&owner.email).await;
    let mail = edge.mailbox().wait_for_titled(&owner.email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    let hold = Fault {
        part: "d1",
        statements: &[
            "update keys",
            "delete keys",
            "delete passkeys",
            "insert security_events",
            "insert notices",
            "insert changes",
            "update accounts",
            "insert changes",
            "update second_factors",
            "delete waiting",
            "update waiting",
            "update changes",
            "delete reset_links",
            "delete sessions",
            "insert sessions",
            "insert security_events",
            "insert security_events",
            "insert notices",
            "delete waiting",
        ],
        times: 1,
        delay_ms: 6_000,
        ..Fault::default()
    };
    edge.fail(&[hold]).await;
    edge.counts().await;
    let attack = {
        let (anonymous, token) = (owner.anonymous.clone(), mail.token().unwrap().to_owned());
        tokio::spawn(async move { anonymous.reset_password(&token, NEW).await })
    };
    wait_for_trips(&edge, 3).await;
    assert_eq!(owner.enable_with(&authenticator.code()).await.status, 200);
    super::resets::settled(&edge, &owner).await;
    edge.sql("UPDATE reset_links SET expires_at = unixepoch() + 3600", &[]).await;
    attack.await.unwrap().assert_error(401, "totp_required", "read before it was on");
    assert_eq!(owner.get("/me").await.status, 200, "the owner's session");
    let body = json!({ "token": mail.token().unwrap(), "password": NEW,
        "totp_code": edge.fresh_code(&owner, &authenticator).await });
    let reply = owner.anonymous.post("/auth/reset-password", &body).await;
    assert_eq!(reply.status, 200, "the link still works, with a code: {}", reply.body);
}

#[tokio::test]
async fn a_reset_that_gets_no_turn_uses_no_recovery_code() {
    let mut edge = Edge::builder().start().await.unwrap();
    let ann = edge.account().await;
    let (_, codes) = ann.enable_two_factor().await;
    let anonymous = edge.anonymous();
    anonymous.forgot_password(&ann.email).await;
    let mail = edge.mailbox().wait_for_titled(&ann.email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    edge.restart_with(|b| b.var("PASSWORD_HASHES_PER_MINUTE", "1")).await.unwrap();
    anonymous.login("nobody@rcpt-tests.net", NEW).await;
    let reset = |code: &str, from: usize| {
        let body = json!({ "token": mail.token().unwrap(), "password": NEW, "totp_code": code });
        let request = anonymous.request(Method::POST, "/auth/reset-password").json(&body);
        request.header("cf-connecting-ip", format!("198.51.100.{from}"))
    };
    for (n, code) in codes.iter().enumerate() {
        send(reset(code, n)).await.assert_error(503, "unavailable", "no turn");
    }
    assert_eq!(edge.count("recovery_codes").await, 10);
    edge.restart_with(|b| b.var("PASSWORD_HASHES_PER_MINUTE", "1000000")).await.unwrap();
    assert_eq!(send(reset(&codes[0], 1)).await.status, 200);
    assert_eq!(edge.count("recovery_codes").await, 9);
    let (mailbox, title) = (edge.mailbox(), "A recovery code has been used");
    mailbox.wait_for_titled(&ann.email, title, 1).await.unwrap();
}

#[tokio::test]
async fn a_deed_that_cannot_be_stored_uses_no_code() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let ann = edge.account().await;
    let (_, codes) = ann.enable_two_factor().await;
    let broken = Fault {
        part: "d1",
        statements: &[
            "insert security_events",
            "insert notices",
            "update keys",
            "select keys",
            "insert security_events",
            "insert notices",
            "delete recovery_codes",
        ],
        times: 1,
        error: "down",
        ..Fault::default()
    };
    edge.fail(&[broken]).await;
    ann.rotate_with(&codes[0]).await.assert_error(503, "unavailable", "the deed");
    assert_eq!(ann.rotate_with(&codes[0]).await.status, 200, "the same code, once more");
    ann.rotate_with(&codes[0]).await.assert_error(403, "totp_invalid", "used");
}

#[tokio::test]
async fn what_follows_a_reset_does_not_undo_it() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let ann = edge.account().await;
    let (_, codes) = ann.enable_two_factor().await;
    let anonymous = edge.anonymous();
    anonymous.forgot_password(&ann.email).await;
    let mail = edge.mailbox().wait_for_titled(&ann.email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    // The refund of the code's attempt fails.
    let fault = Fault {
        part: "d1",
        statements: &["update throttles"],
        times: 100,
        error: "down",
        ..Fault::default()
    };
    edge.fail(&[fault]).await;
    let body = json!({ "token": mail.token().unwrap(), "password": NEW, "totp_code": codes[0] });
    let reply = anonymous.post("/auth/reset-password", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    edge.fail(&[]).await;
    let reply = anonymous.login_with_code(&ann.email, NEW, &codes[1]).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn a_code_may_have_the_space_that_authenticators_show() {
    let edge = Edge::builder().start().await.unwrap();
    let ann = edge.account().await;
    let authenticator = ann.set_up_two_factor().await;
    let spaced = |code: String| format!("{} {}", &code[..3], &code[3..]);
    assert_eq!(ann.enable_with(&spaced(authenticator.code())).await.status, 200);
    let code = spaced(edge.fresh_code(&ann, &authenticator).await);
    let reply = ann.anonymous.login_with_code(&ann.email, PASSWORD, &code).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}
