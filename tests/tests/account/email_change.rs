//! An account's address changes three days after the old mailbox was told of this request, and the new mailbox has
//! agreed with the password. Until then a reset, a new password or a stop drops it (docs/security.md, A13).
//!
//! - A13: a due change is cut before and after the effect of each trip: exactly one address opens the account.

use std::time::Duration;

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, send},
    service::shim::{Fault, Release},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

pub(super) const NEW: &str = "copper-meadow-58-lattice";
pub(super) const THIEF: &str = "another-quarry-66-anchor";
pub(super) const ASKED: &str = "Confirm your new email address";
pub(super) const TOLD: &str = "A new email address was asked for";
pub(super) const AWAY: &str = "Your account has a new email address";
pub(super) const DAY_S: u64 = 24 * 60 * 60;

pub(super) async fn ask(account: &Account, email: &str, password: &str) -> Reply {
    account.post("/auth/change-email", &json!({ "email": email, "password": password })).await
}

pub(super) async fn link(edge: &Edge, email: &str, subject: &str, nth: usize) -> String {
    let mail = edge.mailbox().wait_for_titled(email, subject, nth).await.unwrap();
    mail.token().unwrap().to_owned()
}

pub(super) async fn confirm(edge: &Edge, token: &str) -> Reply {
    let body = json!({ "token": token, "password": PASSWORD });
    edge.anonymous().post("/auth/confirm-email", &body).await
}

pub(super) async fn stop(edge: &Edge, token: &str) -> Reply {
    edge.anonymous().post("/auth/stop-changes", &json!({ "token": token })).await
}

pub(super) async fn sign_in(edge: &Edge, email: &str, password: &str) -> u16 {
    edge.anonymous().login(email, password).await.status
}

/// Asks for a new address and agrees to it there; returns the new address, and the token that stops the change.
pub(super) async fn agreed(edge: &Edge, account: &Account) -> (String, String) {
    let new = edge.new_email();
    let before = told(edge, &account.email);
    assert_eq!(ask(account, &new, PASSWORD).await.status, 202);
    let token = link(edge, &new, ASKED, 1).await;
    let reply = confirm(edge, &token).await;
    assert_eq!((reply.status, &reply.body["email"]), (200, &json!(new)), "{}", reply.body);
    let stopping = link(edge, &account.email, TOLD, before + 1).await;
    edge.wait_until_told(&edge.id(&account.email).await).await;
    (new, stopping)
}

fn told(edge: &Edge, email: &str) -> usize {
    edge.mailbox().mails_to(email).iter().filter(|mail| mail.subject == TOLD).count()
}

/// Lets three days pass, and carries out what is due.
pub(super) async fn three_days(edge: &Edge, id: &str) {
    edge.pass(id, 3 * DAY_S).await;
    edge.run_scheduled().await;
}

/// Registers with an address that is free again; `nth` is the number of its confirmation email.
async fn sign_up(edge: &Edge, email: &str, nth: usize) -> Account {
    edge.sql("DELETE FROM throttles WHERE key NOT LIKE 'former:%'", &[]).await;
    assert_eq!(edge.anonymous().register(email, PASSWORD).await.status, 201);
    let token = link(edge, email, "Confirm your email address", nth).await;
    let reply = edge.anonymous().verify_email(&token).await;
    Account::from_credentials(&edge.anonymous(), PASSWORD, &reply)
}

#[tokio::test]
async fn three_days_after_the_old_mailbox_was_told_the_address_changes_and_everything_else_goes_on()
{
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let new = edge.new_email();
    assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
    let mail = edge.mailbox().wait_for_titled(&account.email, TOLD, 1).await.unwrap();
    assert!(!mail.text.contains(&new), "no email names the other address: {}", mail.text);
    let token = link(&edge, &new, ASKED, 1).await;
    let body = json!({ "token": token, "password": NEW });
    let reply = edge.anonymous().post("/auth/confirm-email", &body).await;
    reply.assert_error(403, "wrong_password", "who reads a mailbox that was mistyped");
    for _ in 0..2 {
        let reply = confirm(&edge, &token).await;
        assert_eq!((reply.status, &reply.body["email"]), (200, &json!(new)), "{}", reply.body);
        assert!(reply.body["changes_at"].is_string(), "{}", reply.body);
    }
    let changes = account.get("/me").await.body["open_changes"].clone();
    assert_eq!(changes[0]["kind"], "email_change_asked", "{changes}");

    edge.pass(&id, 3 * DAY_S - 60).await;
    edge.run_scheduled().await;
    assert_eq!(account.get("/me").await.body["email"], account.email, "nothing has changed yet");
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 401);
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let reset = link(&edge, &account.email, "Set a new password", 1).await;
    edge.pass(&id, 60).await;
    edge.run_scheduled().await;
    assert_eq!(account.get("/me").await.body["email"], new, "the session goes on");
    assert_eq!(account.quota().await.status, 200, "the key goes on");
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
    assert_eq!(sign_in(&edge, &account.email, PASSWORD).await, 401);
    edge.mailbox().wait_for_titled(&new, "Your email address has been changed", 1).await.unwrap();
    let away = edge.mailbox().wait_for_titled(&account.email, AWAY, 1).await.unwrap();
    assert!(!away.text.contains(&new) && away.token().is_none(), "{}", away.text);
    let reply = account.anonymous.reset_password(&reset, NEW).await;
    reply.assert_error(400, "invalid_token", "a reset link of the old address");
    let stopping = mail.token().unwrap();
    stop(&edge, stopping).await.assert_error(400, "invalid_token", "the move ends its links");

    // The old address is free for anybody.
    let fresh = sign_up(&edge, &account.email, 2).await;
    assert_ne!(edge.id(&fresh.email).await, id);
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
    // A day later the directory is made equal once more, and the change goes.
    edge.pass(&id, DAY_S).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("waiting").await, 0);
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
}

#[tokio::test]
async fn the_old_address_begins_with_the_days_allowance_used_and_no_welcome_checks() {
    let edge = &Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    agreed(edge, &account).await;
    three_days(edge, &id).await;
    let checks = sign_up(edge, &account.email, 2).await.email_checks().await;
    assert_eq!((checks.left_today, checks.welcome_left), (0, 0));
}

#[tokio::test]
async fn a_change_asks_for_password_and_code_and_refuses_the_own_mailbox() {
    let edge = edge().await;
    let account = edge.account().await;
    let new = edge.new_email();
    ask(&account, &new, NEW).await.assert_error(403, "wrong_password", "another password");
    ask(&account, &account.email, PASSWORD).await.assert_error(400, "invalid_email", "the same");
    let upper = account.email.to_uppercase();
    ask(&account, &upper, PASSWORD).await.assert_error(400, "invalid_email", "the same mailbox");
    let (_, codes) = account.enable_two_factor().await;
    ask(&account, &new, PASSWORD).await.assert_error(403, "totp_required", "no code");
    let body = json!({ "email": new, "password": PASSWORD, "totp_code": codes[0] });
    assert_eq!(account.post("/auth/change-email", &body).await.status, 202);
    let again = account.post("/auth/change-email", &body).await;
    again.assert_error(403, "totp_invalid", "a code that was used");
    let by_key = account.anonymous.request(Method::POST, "/auth/change-email");
    let reply = send(by_key.header("x-api-key", &account.api_key).json(&body)).await;
    reply.assert_error(401, "missing_credentials", "a stolen key");
}

#[tokio::test]
async fn no_answer_tells_whether_the_new_address_has_an_account() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let mut answers = Vec::new();
    let member = edge.account().await.email;
    for target in [edge.new_email(), member.clone()] {
        let account = edge.account().await;
        edge.counts().await;
        let reply = ask(&account, &target, PASSWORD).await;
        let counts = edge.counts().await;
        answers.push((reply.status, reply.body, counts.d1_trips, counts.d1_statements));
        edge.mailbox().wait_for_titled(&account.email, TOLD, 1).await.unwrap();
    }
    assert_eq!(answers[0], answers[1]);
    let mails = edge.mailbox().mails_to(&member);
    assert!(mails.iter().all(|mail| mail.subject != ASKED), "who has an account gets no link");
}

#[tokio::test]
async fn a_newer_request_begins_anew_and_an_address_goes_to_one_account() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let [one, other] = [edge.account().await, edge.account().await];
    let one_id = edge.id(&one.email).await;
    let (first, _) = agreed(&edge, &one).await;
    edge.pass(&one_id, 3 * DAY_S - 60).await;
    let (second, _) = agreed(&edge, &one).await;
    edge.pass(&one_id, 2 * DAY_S).await;
    edge.run_scheduled().await;
    assert_eq!(sign_in(&edge, &one.email, PASSWORD).await, 200, "the second's days count");
    edge.pass(&one_id, DAY_S).await;
    edge.run_scheduled().await;
    assert_eq!(sign_in(&edge, &second, PASSWORD).await, 200);
    assert_eq!(sign_in(&edge, &first, PASSWORD).await, 401);

    // Somebody else confirms the address meanwhile: the change is dropped.
    let other_id = edge.id(&other.email).await;
    let (taken, _) = agreed(&edge, &other).await;
    sign_up(&edge, &taken, 1).await;
    three_days(&edge, &other_id).await;
    assert_eq!(sign_in(&edge, &other.email, PASSWORD).await, 200);
    assert_ne!(edge.id(&taken).await, other_id);
}

#[tokio::test]
async fn a_stop_a_reset_or_a_new_password_drops_a_change_and_the_link_gives_nothing_more() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for way in ["stop", "stop in a session", "reset", "new password"] {
        let account = edge.account().await;
        let id = edge.id(&account.email).await;
        let (new, stopping) = agreed(&edge, &account).await;
        let mut password = NEW;
        match way {
            "stop" => {
                for _ in 0..2 {
                    let reply = stop(&edge, &stopping).await;
                    assert_eq!(
                        reply.parts(),
                        (204, &Value::String(String::new())),
                        "as often as wanted"
                    );
                }
                account.get("/me").await.assert_error(401, "invalid_session", "every session ends");
                password = PASSWORD;
            }
            "stop in a session" => {
                assert_eq!(account.post("/me/stop-changes", &json!({})).await.status, 204);
                assert_eq!(account.get("/me").await.status, 200, "this session stays");
                password = PASSWORD;
            }
            "reset" => {
                assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
                let token = link(&edge, &account.email, "Set a new password", 1).await;
                assert_eq!(account.anonymous.reset_password(&token, NEW).await.status, 200);
                let reply = stop(&edge, &stopping).await;
                reply.assert_error(400, "invalid_token", "the reset ends its links");
            }
            _ => {
                let body = json!({ "current_password": PASSWORD, "new_password": NEW });
                assert_eq!(account.put("/auth/password", &body).await.status, 200);
            }
        }
        three_days(&edge, &id).await;
        assert_eq!(sign_in(&edge, &account.email, password).await, 200, "{way}");
        assert_eq!(sign_in(&edge, &new, password).await, 401, "{way}");
        assert_eq!(edge.count("waiting").await, 0, "{way}");
    }
}

#[tokio::test]
async fn while_no_email_can_be_handed_over_nothing_moves_for_fourteen_days_and_three() {
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let new = edge.new_email();
    assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
    let token = link(&edge, &new, ASKED, 1).await;
    assert_eq!(confirm(&edge, &token).await.status, 200);
    // As if the old mailbox refused: its email counts as not handed over.
    edge.wait_until_told(&id).await;
    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    let untold = "UPDATE changes SET since = at + 14 * 86400, deed = 9 WHERE account_id = ?1";
    edge.sql_of(&id, untold, &[json!(id)]).await;
    edge.pass(&id, 17 * DAY_S - 60).await;
    edge.run_scheduled().await;
    assert_eq!(sign_in(&edge, &account.email, PASSWORD).await, 200);
    edge.pass(&id, 60).await;
    edge.run_scheduled().await;
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200, "a dead mailbox holds nobody for ever");
}

/// An interleaving of a change that is due with another party, cut off or delayed at each round trip.
#[tokio::test]
async fn a_due_change_that_is_cut_off_or_overtaken_anywhere_ends_in_one_address() {
    let edge = Edge::builder().databases(3).shimmed().start().await.unwrap();
    let prepare = async || {
        let account = edge.account().await;
        edge.sql("DELETE FROM throttles", &[]).await;
        let id = edge.id(&account.email).await;
        let (new, _) = agreed(&edge, &account).await;
        assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
        let reset = link(&edge, &account.email, "Set a new password", 1).await;
        edge.wait_for_reset_mails().await;
        edge.pass(&id, 3 * DAY_S).await;
        // The reset link stays usable.
        let keep = "UPDATE reset_links SET expires_at = unixepoch() + 3600 WHERE account_id = ?1";
        edge.sql_of(&id, keep, &[json!(id)]).await;
        (account, id, new, reset)
    };
    let statements: [&'static [&'static str]; 6] = [
        &["update waiting", "select waiting"],
        &["insert directory", "delete allowed_addresses", "select directory"],
        &[
            "insert security_events",
            "insert notices",
            "update waiting",
            "update accounts",
            "delete reset_links",
            "update changes",
            "update waiting",
            "select waiting",
        ],
        &["select directory"],
        &["insert throttles", "delete directory", "delete registrations", "delete throttles"],
        &["update waiting", "delete waiting"],
    ];
    for (step, statements) in statements.into_iter().enumerate() {
        for late in [false, true] {
            for way in ["nobody", "reset", "deletion", "reset in between"] {
                let is_beside = way == "reset in between";
                // A delayed trip isn't cut off, so it is neither late nor early.
                if is_beside && late {
                    continue;
                }
                let what = format!("cut at step {step}, late {late}, {way}");
                let (account, id, new, reset) = prepare().await;
                let fault = Fault { part: "d1", statements, times: 1, late, ..Fault::default() };
                let fault = if is_beside {
                    Fault { delay_ms: 1_500, ..fault }
                } else {
                    Fault { error: "away", ..fault }
                };
                edge.fail(&[fault]).await;
                let other = async {
                    match way {
                        "reset" | "reset in between" => {
                            account.anonymous.reset_password(&reset, NEW).await;
                        }
                        "deletion" => {
                            account.delete("/me", &json!({ "password": PASSWORD })).await;
                        }
                        _ => {}
                    }
                };
                if is_beside {
                    let later = async {
                        tokio::time::sleep(Duration::from_millis(700)).await;
                        other.await;
                    };
                    tokio::join!(edge.run_scheduled(), later);
                } else {
                    edge.run_scheduled().await;
                    edge.fail(&[]).await;
                    other.await;
                }
                edge.fail(&[]).await;
                for _ in 0..2 {
                    edge.run_scheduled().await;
                    edge.pass(&id, DAY_S).await;
                }
                edge.run_scheduled().await;
                let rows = format!("directory WHERE account_id = '{id}'");
                let accounts = format!("accounts WHERE id = '{id}' AND deleted_at IS NULL");
                assert_eq!(edge.count(&rows).await, edge.count(&accounts).await, "{what}");
                edge.sql("DELETE FROM throttles", &[]).await;
                let mut open = Vec::new();
                for email in [&account.email, &new] {
                    for password in [PASSWORD, NEW] {
                        if sign_in(&edge, email, password).await == 200 {
                            open.push(email.clone());
                        }
                    }
                }
                assert_eq!(open.len() as u64, edge.count(&accounts).await, "{what}: {open:?}");
                if open.is_empty() {
                    for email in [&account.email, &new] {
                        let nth = 1 + usize::from(email == &account.email);
                        sign_up(&edge, email, nth).await;
                    }
                }
            }
        }
    }
}

/// A run is held before the directory gets the new address. Meanwhile a reset drops the change, and another run follows.
#[tokio::test]
async fn a_step_that_comes_after_a_reset_and_another_run_leaves_no_second_address() {
    let edge = Edge::builder().databases(2).var("HOMES", "*:1").shimmed().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (new, _) = agreed(&edge, &account).await;
    edge.pass(&id, 3 * DAY_S).await;
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let reset = link(&edge, &account.email, "Set a new password", 1).await;
    edge.wait_for_reset_mails().await;
    edge.park(&["insert directory"]).await;
    let held = tokio::spawn(edge.scheduled());
    let trip = edge.parked_by(&held).await;
    assert_eq!(account.anonymous.reset_password(&reset, NEW).await.status, 200);
    edge.run_scheduled().await;
    edge.release(trip, Release::Go).await;
    held.await.unwrap();
    edge.park(&[]).await;
    edge.pass(&id, DAY_S).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("waiting").await, 0);
    assert_eq!(edge.count("directory").await, 1, "it names the account once");
    sign_up(&edge, &new, 1).await;
    assert_eq!(sign_in(&edge, &account.email, NEW).await, 200);
}

/// In the first run after days without one, the last step of a change is due, and so is the next change.
#[tokio::test]
async fn after_days_without_a_run_a_second_change_ends_in_one_address() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (first, _) = agreed(&edge, &account).await;
    three_days(&edge, &id).await;
    let moved = Account { email: first, ..account.clone() };
    let (second, _) = agreed(&edge, &moved).await;
    edge.pass(&id, 3 * DAY_S).await;
    for _ in 0..3 {
        edge.run_scheduled().await;
    }
    let rows = format!("directory WHERE account_id = '{id}'");
    assert_eq!(edge.count(&rows).await, 1, "the account can be reached");
    assert_eq!(sign_in(&edge, &second, PASSWORD).await, 200);
    sign_up(&edge, &moved.email, 1).await;
}
