//! A change of address requires the new mailbox. The old mailbox alone can only freeze the account:
//! undoing the change requires the previous password (docs/security.md, A13).

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, send},
    service::shim::Fault,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::edge;

pub(super) const NEW: &str = "copper-meadow-58-lattice";
pub(super) const THIEF: &str = "another-quarry-66-anchor";
pub(super) const ASKED: &str = "Confirm your new email address";
pub(super) const AWAY: &str = "Your account has a new email address";

pub(super) async fn ask(account: &Account, email: &str, password: &str) -> Reply {
    account.post("/auth/change-email", &json!({ "email": email, "password": password })).await
}

pub(super) async fn link(edge: &Edge, email: &str, subject: &str, nth: usize) -> String {
    let mail = edge.mailbox().wait_for_titled(email, subject, nth).await.unwrap();
    mail.token().unwrap().to_owned()
}

pub(super) async fn by_link(edge: &Edge, path: &str, token: &str) -> Reply {
    edge.anonymous().post(path, &json!({ "token": token })).await
}

pub(super) async fn confirm(edge: &Edge, token: &str) -> Reply {
    let body = json!({ "token": token, "password": PASSWORD });
    edge.anonymous().post("/auth/confirm-email", &body).await
}

pub(super) async fn undo(edge: &Edge, token: &str, password: &str, code: &str) -> Reply {
    let body =
        json!({ "token": token, "password": password, "new_password": NEW, "totp_code": code });
    edge.anonymous().post("/auth/undo-change-email", &body).await
}

pub(super) async fn sign_in(edge: &Edge, email: &str, password: &str) -> u16 {
    edge.anonymous().login(email, password).await.status
}

/// Changes the address; returns the new address, and the token of the link sent to the old address.
pub(super) async fn changed(edge: &Edge, account: &Account) -> (String, String) {
    let new = edge.new_email();
    assert_eq!(ask(account, &new, PASSWORD).await.status, 202);
    let token = link(edge, &new, ASKED, 1).await;
    let reply = confirm(edge, &token).await;
    assert_eq!(reply.parts(), (200, &json!({ "email": new })));
    (new, link(edge, &account.email, AWAY, 1).await)
}

/// Registers with an address that is free again; `nth` is the number of its confirmation email.
async fn sign_up(edge: &Edge, email: &str, nth: usize) -> Account {
    edge.sql("DELETE FROM throttles", &[]).await;
    assert_eq!(edge.anonymous().register(email, PASSWORD).await.status, 201);
    let token = link(edge, email, "Confirm your email address", nth).await;
    let reply = edge.anonymous().verify_email(&token).await;
    Account::from_credentials(&edge.anonymous(), PASSWORD, &reply)
}

#[tokio::test]
async fn the_link_at_the_new_address_makes_it_the_account_s_and_everything_else_goes_on() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let reset = link(&edge, &account.email, "Set a new password", 1).await;
    let new = edge.new_email();
    assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
    edge.mailbox()
        .wait_for_titled(&account.email, "A new email address was asked for", 1)
        .await
        .unwrap();
    assert_eq!(account.get("/me").await.body["email"], account.email, "nothing has changed yet");
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 401);

    let token = link(&edge, &new, ASKED, 1).await;
    let body = json!({ "token": token, "password": NEW });
    let reply = edge.anonymous().post("/auth/confirm-email", &body).await;
    reply.assert_error(403, "wrong_password", "who reads a mailbox that was mistyped");
    assert_eq!(confirm(&edge, &token).await.parts(), (200, &json!({ "email": new })));
    assert_eq!(account.get("/me").await.body["email"], new, "the session goes on");
    assert_eq!(account.quota().await.status, 200, "the key goes on");
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
    assert_eq!(sign_in(&edge, &account.email, PASSWORD).await, 401);
    edge.mailbox().wait_for_titled(&new, "Your email address has been changed", 1).await.unwrap();
    let away = edge.mailbox().wait_for_titled(&account.email, AWAY, 1).await.unwrap();
    assert!(away.text.contains(&new), "{}", away.text);
    let reply = account.anonymous.reset_password(&reset, NEW).await;
    reply.assert_error(400, "invalid_token", "a reset link of the old address");

    // For a week nobody can register the old address, and the response doesn't reveal this rule.
    let registered = account.anonymous.register(&account.email, NEW).await;
    assert_eq!(registered.status, 201);
    edge.mailbox()
        .wait_for_titled(&account.email, "This address can't be used yet", 1)
        .await
        .unwrap();
    assert_eq!(sign_in(&edge, &account.email, NEW).await, 401);
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let none = "There is no account with this address";
    edge.mailbox().wait_for_titled(&account.email, none, 1).await.unwrap();
    edge.sql("UPDATE addresses SET reserved_until = 1 WHERE reserved_until > 1", &[]).await;
    edge.run_scheduled().await;
    let fresh = sign_up(&edge, &account.email, 2).await;
    assert_eq!(sign_in(&edge, &account.email, PASSWORD).await, 200);
    assert_ne!(edge.id(&fresh.email).await, edge.id(&new).await);
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
}

#[tokio::test]
async fn what_was_used_stays_used_at_the_old_address() {
    let edge = edge().await;
    let account = edge.account().await;
    edge.set(&account.email, "welcome_left = 7").await;
    changed(edge, &account).await;
    edge.sql("UPDATE addresses SET reserved_until = 1 WHERE reserved_until > 1", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(sign_up(edge, &account.email, 2).await.email_checks().await.welcome_left, 7);
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
        let titled = "A new email address was asked for";
        edge.mailbox().wait_for_titled(&account.email, titled, 1).await.unwrap();
    }
    assert_eq!(answers[0], answers[1]);
    let mails = edge.mailbox().mails_to(&member);
    assert!(mails.iter().all(|mail| mail.subject != ASKED), "who has an account gets no link");
}

#[tokio::test]
async fn a_link_works_for_one_change_and_an_address_goes_to_one_account() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let [one, other] = [edge.account().await, edge.account().await];
    let new = edge.new_email();
    // The reader of the mailbox replaces a stranger's registration of the address.
    assert_eq!(edge.anonymous().register(&new, THIEF).await.status, 201);
    assert_eq!(ask(&one, &new, PASSWORD).await.status, 202);
    let first = link(&edge, &new, ASKED, 1).await;
    edge.sql("DELETE FROM throttles", &[]).await;
    assert_eq!(ask(&other, &new, PASSWORD).await.status, 202);
    let second = link(&edge, &new, ASKED, 2).await;
    assert_eq!(ask(&one, &edge.new_email(), PASSWORD).await.status, 202);
    confirm(&edge, &first).await.assert_error(400, "invalid_token", "replaced by a newer one");
    assert_eq!(confirm(&edge, &second).await.status, 200);
    assert_eq!(confirm(&edge, &second).await.status, 200, "once more, with nothing to do");
    assert_eq!(sign_in(&edge, &new, THIEF).await, 401, "the stranger's");
    assert_eq!(
        edge.id(&new).await,
        edge.id(other.get("/me").await.body["email"].as_str().unwrap()).await
    );

    // Two accounts each have a link for the same address: the first use wins, and the other account is unchanged.
    let [one, other] = [edge.account().await, edge.account().await];
    let new = edge.new_email();
    let mut links = Vec::new();
    for (nth, account) in [(1, &one), (2, &other)] {
        assert_eq!(ask(account, &new, PASSWORD).await.status, 202);
        links.push(link(&edge, &new, ASKED, nth).await);
    }
    let (a, b) = tokio::join!(confirm(&edge, &links[0]), confirm(&edge, &links[1]));
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400]);
    assert_eq!(sign_in(&edge, &new, PASSWORD).await, 200);
    let loser = if a.status == 400 { &one } else { &other };
    assert_eq!(sign_in(&edge, &loser.email, PASSWORD).await, 200);
    edge.run_scheduled().await;
    assert_eq!(sign_in(&edge, &loser.email, PASSWORD).await, 200);
}

#[tokio::test]
async fn the_old_mailbox_alone_freezes_for_a_day_and_once() {
    let edge = edge().await;
    let account = edge.account().await;
    let (new, token) = changed(edge, &account).await;
    undo(edge, &token, THIEF, "").await.assert_error(403, "wrong_password", "without the password");
    assert_eq!(by_link(edge, "/auth/freeze", &token).await.status, 204);
    edge.mailbox()
        .wait_for_titled(&new, "Your account has been frozen for a day", 1)
        .await
        .unwrap();
    let proof = json!({ "password": PASSWORD });
    let change = json!({ "current_password": PASSWORD, "new_password": NEW });
    let address = json!({ "email": edge.new_email(), "password": PASSWORD });
    for (method, path, body) in [
        (Method::POST, "/auth/rotate-api-key", &json!({})),
        (
            Method::POST,
            "/keys",
            &json!({ "name": "a", "rights": ["checks"], "password": PASSWORD }),
        ),
        (Method::POST, "/auth/totp/setup", &proof),
        (Method::POST, "/auth/change-email", &address),
        (Method::PUT, "/auth/password", &change),
        (Method::DELETE, "/me", &proof),
    ] {
        let reply = send(account.request(method, path).json(body)).await;
        reply.assert_error(403, "account_frozen", path);
    }
    assert_eq!(account.anonymous.forgot_password(&new).await.status, 200);
    let reset = link(edge, &new, "Set a new password", 1).await;
    let reply = account.anonymous.reset_password(&reset, NEW).await;
    reply.assert_error(403, "account_frozen", "a reset by mail");
    // Everything else continues to work.
    assert_eq!(account.get("/me").await.body["email"], json!(new));
    assert_eq!(account.quota().await.status, 200);
    assert_eq!(sign_in(edge, &new, PASSWORD).await, 200);

    let frozen_until = edge.row(&new, "frozen_until").await;
    edge.set(&new, "frozen_until = 1").await;
    assert_eq!(by_link(edge, "/auth/freeze", &token).await.status, 204);
    assert_ne!(edge.row(&new, "frozen_until").await, frozen_until, "it is used up");
    assert_eq!(account.rotate_api_key().await.status, 200);
}

#[tokio::test]
async fn a_takeover_by_session_and_password_is_undone_with_the_password_of_before() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    // With session and password, the thief moves the account twice, turns two-factor on and changes the password.
    let (first, token) = changed(&edge, &account).await;
    let thief = Account { email: first.clone(), ..account.clone() };
    let (second, thieves_token) = changed(&edge, &thief).await;
    let named_key = json!({ "name": "thief", "rights": ["quota"], "password": PASSWORD });
    let named_key = account.post("/keys", &named_key).await.text("api_key").to_owned();
    let (authenticator, _) = account.enable_two_factor().await;
    let change = json!({ "current_password": PASSWORD, "new_password": THIEF });
    let reply = account.put("/auth/password", &change).await;
    let thief = Account::from_credentials(&account.anonymous, THIEF, &reply);

    // The owner's mailbox and password suffice.
    let reply = undo(&edge, &token, PASSWORD, "").await;
    assert_eq!(reply.status, 204, "{}", reply.body);
    assert_eq!(sign_in(&edge, &account.email, NEW).await, 200, "without a code");
    for (email, password) in
        [(&first, THIEF), (&second, THIEF), (&account.email, THIEF), (&second, NEW)]
    {
        assert_eq!(sign_in(&edge, email, password).await, 401, "{email} {password}");
    }
    thief.get("/me").await.assert_error(401, "invalid_session", "the thief's session");
    let quota = edge.anonymous().request(Method::GET, "/me/quota").header("x-api-key", &named_key);
    send(quota).await.assert_error(401, "key_suspended", "the thief's key waits for the owner");
    for reply in [
        undo(&edge, &thieves_token, PASSWORD, &authenticator.code()).await,
        by_link(&edge, "/auth/freeze", &thieves_token).await,
        undo(&edge, &token, PASSWORD, "").await,
    ] {
        reply.assert_error(400, "invalid_token", "no link is left");
    }
    edge.run_scheduled().await;
    for email in [&first, &second] {
        sign_up(&edge, email, 1).await;
    }
    assert_eq!(sign_in(&edge, &account.email, NEW).await, 200);
}

#[tokio::test]
async fn an_undo_asks_for_the_authenticator_that_was_on_before() {
    let edge = edge().await;
    let account = edge.account().await;
    let (authenticator, codes) = account.enable_two_factor().await;
    // As if two-factor had been turned on more than a week ago: within a week, the state before is also accepted.
    edge.sql("DELETE FROM former_credentials", &[]).await;
    let new = edge.new_email();
    let body = json!({ "email": new, "password": PASSWORD, "totp_code": codes[0] });
    assert_eq!(account.post("/auth/change-email", &body).await.status, 202);
    assert_eq!(confirm(edge, &link(edge, &new, ASKED, 1).await).await.status, 200);
    let token = link(edge, &account.email, AWAY, 1).await;
    // The thief turns two-factor off, and on again with another authenticator.
    let off = json!({ "password": PASSWORD, "totp_code": codes[1] });
    assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
    undo(edge, &token, PASSWORD, "").await.assert_error(403, "totp_required", "no code");
    undo(edge, &token, PASSWORD, "000000").await.assert_error(403, "totp_invalid", "a wrong code");
    let moved = Account { email: new, ..account.clone() };
    let code = edge.fresh_code(&moved, &authenticator).await;
    assert_eq!(undo(edge, &token, PASSWORD, &code).await.status, 204);
    let login = edge.anonymous().login(&account.email, NEW).await;
    login.assert_error(401, "totp_required", "on, as it was");
}

#[tokio::test]
async fn a_change_and_an_undo_that_are_cut_off_anywhere_end_in_one_address() {
    let edge = Edge::builder().var("HOMES", "EU:1 NA:2 *:0").shimmed().start().await.unwrap();
    let prepare = async || {
        let email = edge.new_email();
        let body = json!({ "email": email, "password": PASSWORD });
        let request = edge.anonymous().request(Method::POST, "/auth/register").json(&body);
        assert_eq!(send(request.header("continent", "EU")).await.status, 201);
        let mail = edge.mailbox().wait_for_mail(&email).await.unwrap();
        let reply = edge.anonymous().verify_email(mail.token().unwrap()).await;
        let account = Account::from_credentials(&edge.anonymous(), PASSWORD, &reply);
        let new = edge.new_email();
        edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(ask(&account, &new, PASSWORD).await.status, 202);
        let token = link(&edge, &new, ASKED, 1).await;
        (account, new, token)
    };
    // Counts the round trips of a complete run.
    let (account, _, token) = prepare().await;
    edge.counts().await;
    assert_eq!(confirm(&edge, &token).await.status, 200);
    let trips = edge.counts().await.d1_trips;
    let undo_token = link(&edge, &account.email, AWAY, 1).await;
    edge.counts().await;
    assert_eq!(undo(&edge, &undo_token, PASSWORD, "").await.status, 204);
    let undo_trips = edge.counts().await.d1_trips;
    assert!(trips >= 6 && undo_trips >= 6, "{trips} {undo_trips}");

    let mut moved = 0;
    for (is_undo, trips) in [(false, trips), (true, undo_trips)] {
        for cut in 0..u32::try_from(trips).unwrap() {
            for late in [false, true] {
                let what = format!("undo {is_undo}, cut off at {cut} of {trips}, {late}");
                let (account, new, token) = prepare().await;
                let mut undo_token = String::new();
                if is_undo {
                    assert_eq!(confirm(&edge, &token).await.status, 200, "{what}");
                    undo_token = link(&edge, &account.email, AWAY, 1).await;
                    edge.counts().await;
                }
                let down =
                    Fault { part: "d1", times: 1_000_000, error: "away", ..Fault::default() };
                let faults = if late {
                    vec![Fault { skip: cut, times: 1, late, ..down.clone() }, down]
                } else {
                    vec![Fault { skip: cut, ..down }]
                };
                edge.fail(&faults).await;
                if is_undo {
                    undo(&edge, &undo_token, PASSWORD, "").await;
                } else {
                    confirm(&edge, &token).await;
                }
                edge.counts().await;
                edge.fail(&[]).await;
                edge.run_scheduled().await;
                let password = if is_undo { NEW } else { PASSWORD };
                edge.sql("DELETE FROM throttles", &[]).await;
                let mut open = Vec::new();
                for email in [&account.email, &new] {
                    for password in [PASSWORD, password] {
                        if sign_in(&edge, email, password).await == 200 && !open.contains(&email) {
                            open.push(email);
                        }
                    }
                }
                assert_eq!(open.len(), 1, "{what}: {open:?}");
                // The account has this address, and the directory has no other address for the account.
                let id = "SELECT id FROM accounts WHERE email = ?1 AND state = 'confirmed'";
                let rows: Vec<Value> = edge.sql(id, &[json!(open[0])]).await;
                assert_eq!(rows.len(), 1, "{what}");
                let addresses = format!(
                    "addresses WHERE account_id = '{}' AND confirmed = 1 AND reserved_until IS NULL",
                    rows[0]["id"].as_str().unwrap()
                );
                assert_eq!(edge.count(&addresses).await, 1, "{what}");
                assert_eq!(edge.count("email_changes WHERE settled = 0").await, 0, "{what}");
                if !is_undo && open[0] == &new {
                    // The first link works although the run may have emailed it a second time.
                    let token = link(&edge, &account.email, AWAY, 1).await;
                    assert_eq!(by_link(&edge, "/auth/freeze", &token).await.status, 204, "{what}");
                    let reply = undo(&edge, &token, PASSWORD, "").await;
                    assert_eq!(reply.status, 204, "{what}: {}", reply.body);
                    moved += 1;
                }
            }
        }
    }
    // Counts the cuts at the start, at the directory, at the move and after the response: a change that has begun is
    // completed.
    assert!(moved >= 8, "{moved}");
}

/// A thief with a session and the password changes the credentials that an undo requires, and then the address.
#[tokio::test]
async fn an_undo_takes_the_owner_s_credentials_though_a_thief_changed_them_before_the_address() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    for has_new_password in [true, false] {
        let account = edge.account().await;
        let mut thief = account.clone();
        if has_new_password {
            let body = json!({ "current_password": PASSWORD, "new_password": THIEF });
            let reply = thief.put("/auth/password", &body).await;
            thief = Account::from_credentials(&account.anonymous, THIEF, &reply);
        }
        let (authenticator, codes) = thief.enable_two_factor().await;
        let new = edge.new_email();
        let body = json!({ "email": new, "password": thief.password, "totp_code": codes[0] });
        assert_eq!(thief.post("/auth/change-email", &body).await.status, 202);
        let token = link(&edge, &new, ASKED, 1).await;
        let body = json!({ "token": token, "password": thief.password });
        let reply = edge.anonymous().post("/auth/confirm-email", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);

        let token = link(&edge, &account.email, AWAY, 1).await;
        let reply = undo(&edge, &token, "not-the-password", "").await;
        reply.assert_error(403, "wrong_password", "neither password");
        let reply = undo(&edge, &token, PASSWORD, "").await;
        assert_eq!(reply.status, 204, "{has_new_password}: {}", reply.body);
        thief.get("/me").await.assert_error(401, "invalid_session", "the thief's session");
        assert_eq!(sign_in(&edge, &account.email, NEW).await, 200, "no code is asked for");
        for email in [&account.email, &new] {
            for password in [PASSWORD, THIEF] {
                let code = authenticator.code();
                let reply = edge.anonymous().login_with_code(email, password, &code).await;
                reply.assert_error(401, "invalid_credentials", "what the thief knows");
            }
        }
        assert_eq!(edge.count("former_credentials").await, 0);
    }
}

#[tokio::test]
async fn a_password_from_before_a_reset_or_of_more_than_a_week_ago_undoes_nothing() {
    let edge = Edge::builder().start().await.unwrap();
    for is_reset in [true, false] {
        let account = edge.account().await;
        let mut owner = account.clone();
        if is_reset {
            assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
            let token = link(&edge, &account.email, "Set a new password", 1).await;
            let reply = account.anonymous.reset_password(&token, THIEF).await;
            owner = Account::from_credentials(&account.anonymous, THIEF, &reply);
        } else {
            let body = json!({ "current_password": PASSWORD, "new_password": THIEF });
            let reply = owner.put("/auth/password", &body).await;
            owner = Account::from_credentials(&account.anonymous, THIEF, &reply);
            edge.sql("UPDATE former_credentials SET expires_at = unixepoch()", &[]).await;
        }
        let new = edge.new_email();
        assert_eq!(ask(&owner, &new, THIEF).await.status, 202);
        let token = link(&edge, &new, ASKED, 1).await;
        let body = json!({ "token": token, "password": THIEF });
        assert_eq!(edge.anonymous().post("/auth/confirm-email", &body).await.status, 200);
        let token = link(&edge, &account.email, AWAY, 1).await;
        let reply = undo(&edge, &token, PASSWORD, "").await;
        reply.assert_error(403, "wrong_password", "a password that is too old");
        assert_eq!(undo(&edge, &token, THIEF, "").await.status, 204);
    }
    edge.sql("UPDATE former_credentials SET expires_at = 1", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("former_credentials").await, 0);
}
