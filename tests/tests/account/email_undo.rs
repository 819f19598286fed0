//! The link sent to the old mailbox accepts the owner's password, however a thief has timed the change of address. An
//! undo suspends the thief's keys and passkeys (docs/security.md, A13, A15).

use std::time::Duration;

use rcpt_tests::{Account, Edge, people::PASSWORD, service::shim::Fault};
use serde_json::json;

use super::email_change::{
    ASKED, AWAY, NEW, THIEF, ask, by_link, changed, confirm, link, sign_in, undo,
};

/// Changes the password, and returns the account with its new session.
async fn with_password(account: &Account, password: &str) -> Account {
    let body = json!({ "current_password": account.password, "new_password": password });
    let reply = account.put("/auth/password", &body).await;
    Account::from_credentials(&account.anonymous, password, &reply)
}

/// Moves the account to a new address; returns the address, and the token of the link sent to the old address.
async fn moved(edge: &Edge, account: &Account) -> (String, String) {
    let new = edge.new_email();
    assert_eq!(ask(account, &new, &account.password).await.status, 202);
    let token = link(edge, &new, ASKED, 1).await;
    let body = json!({ "token": token, "password": account.password });
    let reply = edge.anonymous().post("/auth/confirm-email", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    (new, link(edge, &account.email, AWAY, 1).await)
}

async fn older(edge: &Edge, id: &str, sql: &str) {
    let sql = format!("UPDATE {sql} WHERE account_id = ?1 RETURNING account_id");
    assert!(!edge.sql_of(id, &sql, &[json!(id)]).await.is_empty(), "{sql}");
}

#[tokio::test]
async fn a_link_whose_first_email_fails_late_is_mailed_by_the_run_meanwhile() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let new = edge.new_email();
    assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
    let token = link(&edge, &new, ASKED, 1).await;
    edge.counts().await;
    let slow = Fault { part: "mail", times: 1, delay_ms: 4_000, error: "away", ..Fault::default() };
    edge.fail(&[slow]).await;
    assert_eq!(confirm(&edge, &token).await.status, 200);
    edge.wait_for_count("email_changes WHERE undo_hash IS NOT NULL", 1).await;
    edge.run_scheduled().await;
    let line = "the link at an old address";
    edge.process.wait_for_line(line, Duration::from_secs(30)).await.unwrap();
    let token = link(&edge, &account.email, AWAY, 1).await;
    assert_eq!(by_link(&edge, "/auth/freeze", &token).await.status, 204);
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
}

#[tokio::test]
async fn a_link_that_cannot_be_mailed_is_tried_until_it_ends_and_holds_up_no_other_change() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let (new, token) = changed(&edge, &account).await;
    let id = edge.id(&new).await;
    edge.wait_for_count("email_changes WHERE settled = 0", 0).await;
    // More changes than one scheduled run handles, with ids that sort before the undone change.
    let stuck = "INSERT INTO email_changes
          (id, account_id, state, new_email, token_hash, asked_at, expires_at, old_email, settled)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
        SELECT '!' || i, ?1, 'moved', 'new@example.org', 'hash' || i, 1, unixepoch() + 600,
          'old@example.org', 0 FROM n";
    edge.sql_of(&id, stuck, &[json!(id)]).await;
    let mails = Fault { part: "mail", times: 1_000_000, error: "away", ..Fault::default() };
    edge.fail(&[mails]).await;
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
    edge.sql("UPDATE email_changes SET settled = 0 WHERE state = 'undone'", &[]).await;
    edge.run_scheduled().await;
    let waiting = "email_changes WHERE settled = 0 AND state";
    assert_eq!(edge.count(&format!("{waiting} = 'undone'")).await, 0, "held up");
    assert!(edge.count(&format!("{waiting} <> 'undone'")).await > 0);
    edge.sql("UPDATE email_changes SET expires_at = 1", &[]).await;
    for _ in 0..4 {
        edge.run_scheduled().await;
    }
    assert_eq!(edge.count("email_changes").await, 0, "their time is over");
}

#[tokio::test]
async fn an_email_that_hangs_is_given_up_before_the_runtime_ends_its_work() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let hang = Fault { part: "mail", times: 1, delay_ms: 300_000, ..Fault::default() };
    edge.fail(&[hang]).await;
    let reply = edge.anonymous().register(&edge.new_email(), PASSWORD).await;
    assert_eq!((reply.status, &reply.body["code"]), (503, &json!("unavailable")));
}

/// The owner's earlier password change becomes a week old after the thief has changed the password, and before the
/// thief changes the address.
#[tokio::test]
async fn an_undo_accepts_each_password_of_the_week_before_though_an_older_one_ends() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let owner = with_password(&account, "hollow-timber-31-quiver").await;
    let id = edge.id(&owner.email).await;
    let owners = "former_credentials SET expires_at = unixepoch() + 1000";
    older(&edge, &id, owners).await;
    let thief = with_password(&owner, THIEF).await;
    let over = "UPDATE former_credentials SET expires_at = unixepoch() WHERE expires_at < unixepoch() + 2000";
    edge.sql_of(&id, over, &[]).await;
    let (_, token) = moved(&edge, &thief).await;
    let reply = undo(&edge, &token, PASSWORD, "").await;
    reply.assert_error(403, "wrong_password", "more than a week old");
    let reply = undo(&edge, &token, &owner.password, "").await;
    assert_eq!(reply.status, 204, "{}", reply.body);
    assert_eq!(sign_in(&edge, &owner.email, NEW).await, 200);
}

/// The thief changes the password repeatedly to the same text, and waits until those former passwords expire.
#[tokio::test]
async fn a_thief_s_many_changes_push_out_no_password_of_the_owner_s() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for is_owners_change_last in [false, true] {
        let mut account = edge.account().await;
        for _ in 0..9 {
            account = with_password(&account, PASSWORD).await;
        }
        let id = edge.id(&account.email).await;
        let rows = format!("former_credentials WHERE account_id = '{id}'");
        assert!(edge.count(&rows).await <= 5, "each costs a comparison");
        older(&edge, &id, "former_credentials SET expires_at = unixepoch() + 1000").await;
        let mut thief = account;
        if is_owners_change_last {
            thief = with_password(&thief, "hollow-timber-31-quiver").await;
        }
        for password in [THIEF, "marble-candle-77-otter"] {
            thief = with_password(&thief, password).await;
        }
        let over = "UPDATE former_credentials SET expires_at = unixepoch() WHERE expires_at < unixepoch() + 2000";
        edge.sql_of(&id, over, &[]).await;
        let (_, token) = moved(&edge, &thief).await;
        let reply = undo(&edge, &token, PASSWORD, "").await;
        assert_eq!(reply.status, 204, "{is_owners_change_last}: {}", reply.body);
    }
}

#[tokio::test]
async fn an_undo_with_a_code_keeps_the_authenticator_that_the_owner_has_turned_on_this_week() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let (authenticator, codes) = account.enable_two_factor().await;
    let new = edge.new_email();
    let body = json!({ "email": new, "password": PASSWORD, "totp_code": codes[0] });
    assert_eq!(account.post("/auth/change-email", &body).await.status, 202);
    assert_eq!(confirm(&edge, &link(&edge, &new, ASKED, 1).await).await.status, 200);
    let token = link(&edge, &account.email, AWAY, 1).await;
    let moved = Account { email: new, ..account.clone() };
    let code = edge.fresh_code(&moved, &authenticator).await;
    assert_eq!(undo(&edge, &token, PASSWORD, &code).await.status, 204);
    let login = edge.anonymous().login(&account.email, NEW).await;
    login.assert_error(401, "totp_required", "still on");
}

/// A thief adds a passkey an hour before moving the account. The owner undoes the move half an hour before the link
/// expires.
#[tokio::test]
async fn an_undo_suspends_what_was_made_in_the_week_before_the_change_was_asked_for() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let (old, _) = account.add_passkey("owner's").await;
    older(&edge, &id, "passkeys SET created_at = created_at - 8 * 86400").await;
    let (passkey, _) = account.add_passkey("thief's").await;
    let (_, token) = changed(&edge, &account).await;
    older(&edge, &id, "passkeys SET created_at = created_at - 7 * 86400 - 1800").await;
    older(&edge, &id, "email_changes SET asked_at = asked_at - 7 * 86400 + 1800").await;
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
    let anonymous = edge.anonymous();
    let reply = anonymous.sign_in_with(&passkey).await;
    reply.assert_error(401, "passkey_suspended", "made an hour before the change");
    assert_eq!(anonymous.sign_in_with(&old).await.status, 200, "made eight days before it");
    let title = "Passkeys wait for your confirmation";
    edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap();
}

/// The thief's request reads the account before the owner's reset, and would move the address after the reset.
#[tokio::test]
async fn a_confirmation_in_flight_loses_against_a_reset() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    // The trips: account, attempt, its refund, start of the change, directory, move.
    for trip in 1..=5 {
        let account = edge.account().await;
        let email = account.email.as_str();
        let new = edge.new_email();
        edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
        let token = link(&edge, &new, ASKED, 1).await;
        assert_eq!(edge.anonymous().forgot_password(email).await.status, 200);
        let reset = link(&edge, email, "Set a new password", 1).await;
        edge.wait_for_reset_mails().await;
        edge.counts().await;
        let hold = Fault { part: "d1", skip: trip, times: 1, delay_ms: 8_000, ..Fault::default() };
        edge.fail(&[hold]).await;
        let attack = {
            let (anonymous, token) = (edge.anonymous(), token.clone());
            let body = json!({ "token": token, "password": PASSWORD });
            tokio::spawn(async move { anonymous.post("/auth/confirm-email", &body).await })
        };
        super::codes::wait_for_trips(&edge, u64::from(trip) + 1).await;
        let reply = edge.anonymous().reset_password(&reset, NEW).await;
        assert_eq!(reply.status, 200, "{trip}: {}", reply.body);
        attack.await.unwrap().assert_error(400, "invalid_token", &format!("trip {trip}"));
        edge.run_scheduled().await;
        assert_eq!(sign_in(&edge, email, NEW).await, 200, "{trip}");
        assert_eq!(sign_in(&edge, &new, NEW).await, 401, "{trip}");
    }
}

/// The directory has one row for all spellings of an address.
#[tokio::test]
async fn an_undo_keeps_the_address_though_the_owner_has_moved_back_to_another_spelling_of_it() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for _ in 0..8 {
        let name = edge.new_email();
        let [upper, lower] = ["A", "a"].map(|letter| format!("{letter}{name}"));
        let account = edge.account_of(&upper).await;
        let (away, token) = changed(&edge, &account).await;
        edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(ask(&account, &lower, PASSWORD).await.status, 202);
        let back = link(&edge, &lower, ASKED, 1).await;
        assert_eq!(confirm(&edge, &back).await.status, 200);
        link(&edge, &away, AWAY, 1).await;
        let reply = undo(&edge, &token, PASSWORD, "").await;
        assert_eq!(reply.status, 204, "{}", reply.body);
        edge.run_scheduled().await;
        edge.sql("DELETE FROM throttles", &[]).await;
        for email in [&upper, &lower] {
            assert_eq!(sign_in(&edge, email, NEW).await, 200, "{email}");
        }
        assert_eq!(sign_in(&edge, &away, NEW).await, 401);
    }
}

#[tokio::test]
async fn an_undone_change_is_finished_though_its_time_is_over() {
    let edge = Edge::builder().var("HOMES", "*:1").databases(3).shimmed().start().await.unwrap();
    let account = edge.account().await;
    let (new, token) = changed(&edge, &account).await;
    assert!(edge.id(&new).await.starts_with("01"));
    let unsettled = "email_changes WHERE state = 'undone' AND settled = 0";
    let down = Fault {
        part: "d1",
        database: Some(0),
        statements: &["delete addresses"],
        times: 1_000,
        error: "away",
        ..Fault::default()
    };
    edge.fail(&[down]).await;
    assert_eq!(undo(&edge, &token, PASSWORD, "").await.status, 204);
    assert_eq!(edge.count(unsettled).await, 1, "the directory has failed");
    edge.sql_in(1, "UPDATE email_changes SET expires_at = 1", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count(unsettled).await, 1, "deleted before it was finished");
    edge.fail(&[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("email_changes").await, 0);
    let id = edge.id(&account.email).await;
    assert_eq!(edge.count(&format!("addresses WHERE account_id = '{id}'")).await, 1);
    assert_eq!(sign_in(&edge, &account.email, NEW).await, 200);
}

#[tokio::test]
async fn a_request_beyond_the_emails_of_an_address_changes_nothing() {
    let edge = Edge::builder().throttled().start().await.unwrap();
    let account = edge.account().await;
    let new = edge.new_email();
    let (mut replies, mut token) = (Vec::new(), String::new());
    for nth in 1..=3 {
        let reply = ask(&account, &new, PASSWORD).await;
        replies.push((reply.status, reply.body));
        if nth < 3 {
            token = link(&edge, &new, ASKED, nth).await;
        }
    }
    assert_eq!(replies[0].0, 202);
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert_eq!(confirm(&edge, &token).await.status, 200, "the last link works");
    link(&edge, &account.email, AWAY, 1).await;
    let mails = edge.mailbox().mails_to(&new);
    assert_eq!(mails.iter().filter(|mail| mail.subject == ASKED).count(), 2);
}

/// A thief replaces the owner's keys and knows the new keys' texts.
#[tokio::test]
async fn keys_that_were_replaced_in_the_week_before_a_recovery_wait_for_their_owner() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let terms = json!({ "name": "shop", "rights": ["checks"] });
    account.named_key(&terms).await;
    older(&edge, &id, "keys SET created_at = created_at - 8 * 86400").await;
    let body = json!({ "password": PASSWORD });
    let reply = account.post("/keys/replace-all", &body).await;
    let key = reply.body["keys"][0]["api_key"].as_str().unwrap().to_owned();
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.check_with_key(&key, "no address").await.status, 200);
    assert_eq!(anonymous.forgot_password(&account.email).await.status, 200);
    let token = link(&edge, &account.email, "Set a new password", 1).await;
    assert_eq!(anonymous.reset_password(&token, NEW).await.status, 200);
    let reply = anonymous.check_with_key(&key, "no address").await;
    assert_eq!((reply.status, &reply.body["code"]), (401, &json!("key_suspended")));
    let title = "API keys wait for your confirmation";
    let mail = edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap();
    assert!(mail.text.contains("Key: replaced "), "{}", mail.text);
}
