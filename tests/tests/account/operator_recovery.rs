//! Recovery by the operator, for an owner who has lost the second factor (docs/security.md, A17).
//!
//! - A17: three days from the first delivered email, one a day, none within 14 days of a new password or address. A
//!   sign-in with a code, a recovery code or a passkey, a reset, a new password, a stop in a session, the second factor
//!   turned off and the operator end it; a password alone, a key and a requested link don't.

use rcpt_tests::{
    Account, Edge,
    people::{Authenticator, PASSWORD, send},
};
use reqwest::Method;
use serde_json::json;

const NEW: &str = "copper-meadow-58-lattice";
const PENDING: &str = "Your account is being recovered";
const STOPPED: &str = "The recovery of your account has ended";

/// Starts a recovery, as an operator does; the owner is mailed by the next scheduled run at the latest.
pub(super) async fn start(edge: &Edge, email: &str) {
    let after = edge.operator().on("recover", email).await;
    assert!(after["recovery_due"].is_string(), "{after}");
}

async fn pass_hours(edge: &Edge, email: &str, hours: u64) {
    edge.pass(&edge.id(email).await, hours * 3600).await;
}

async fn pass(edge: &Edge, email: &str, days: u64) {
    pass_hours(edge, email, days * 24).await;
}

/// Makes the three days of a recovery pass, with an email each day. The next run puts the recovery into effect.
pub(super) async fn pass_three_days(edge: &Edge, email: &str) {
    for _ in 0..3 {
        edge.run_scheduled().await;
        pass(edge, email, 1).await;
    }
}

pub(super) async fn has_two_factor(edge: &Edge, email: &str) -> bool {
    let id = edge.id(email).await;
    edge.count(&format!("second_factors WHERE account_id = '{id}' AND off_at IS NULL")).await == 1
}

fn pending_mails(edge: &Edge, email: &str) -> usize {
    edge.mailbox().mails_to(email).iter().filter(|mail| mail.subject == PENDING).count()
}

async fn pending(edge: &Edge, email: &str) -> u64 {
    let id = edge.id(email).await;
    edge.count(&format!("waiting WHERE kind = 'recovery' AND account_id = '{id}'")).await
}

async fn with_two_factor(edge: &Edge) -> (Account, Authenticator) {
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    (account, authenticator)
}

#[tokio::test]
async fn an_owner_who_has_lost_phone_and_codes_is_let_in_after_three_days() {
    let edge = super::edge().await;
    let operator = edge.operator();
    let account = edge.account().await;
    let email = account.email.as_str();
    let (old_passkey, id) = account.add_passkey("old").await;
    let older = "UPDATE passkeys SET created_at = created_at - 8 * 86400 WHERE id = ?1";
    edge.sql_of(&edge.id(email).await, older, &[json!(id.strip_prefix("pk_").unwrap())]).await;
    let (young_passkey, _) = account.add_passkey("young").await;
    account.enable_two_factor().await;

    let mut body = operator.body(&json!({ "recover": { "account": email } }));
    body["reason"] = json!(" ");
    let reply = operator.send(&body).await;
    reply.assert_error(400, "invalid_body", "recover needs a reason");
    start(edge, email).await;
    edge.run_scheduled().await;
    let mail = edge.mailbox().wait_for_titled(email, PENDING, 1).await.unwrap();
    assert!(
        mail.text.contains(" UTC two-factor authentication will be turned off"),
        "{}",
        mail.text
    );
    assert!(mail.text.contains("/sign-in"), "{}", mail.text);
    let me = account.get("/me").await;
    assert!(me.body["recovery_at"].is_string(), "each session shows it: {}", me.body);
    let before = operator.on("show", email).await["recovery_due"].clone();
    let again = operator.call(&json!({ "recover": { "account": email } })).await;
    again.assert_error(409, "not_possible", "no second one puts it off");
    assert_eq!(operator.on("show", email).await["recovery_due"], before);

    for day in 2..=3 {
        pass(edge, email, 1).await;
        for _ in 0..2 {
            edge.run_scheduled().await;
        }
        edge.mailbox().wait_for_titled(email, PENDING, day).await.unwrap();
        assert_eq!(account.get("/me").await.body["two_factor"], true, "day {day}");
    }
    pass(edge, email, 1).await;
    edge.run_scheduled().await;

    let title = "Set a new password for your recovered account";
    edge.mailbox().wait_for_titled(email, title, 1).await.unwrap();
    assert_eq!(pending_mails(edge, email), 3);
    account.get("/me").await.assert_error(401, "invalid_session", "every session has ended");
    let anonymous = edge.anonymous();
    let reply = anonymous.login(email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "the password is void");
    let reply = anonymous.sign_in_with(&young_passkey).await;
    assert_eq!(reply.status, 200, "a passkey goes on until the reset: {}", reply.body);
    assert_eq!(anonymous.check_with_key(&account.api_key, "no address").await.status, 200);
    assert_eq!(anonymous.forgot_password(email).await.status, 200);
    let link = edge.mailbox().wait_for_titled(email, "Set a new password", 1).await.unwrap();
    let reply = anonymous.reset_password(link.token().unwrap(), NEW).await;
    assert_eq!(reply.status, 200, "no code is asked for: {}", reply.body);
    let owner = Account::from_credentials(&anonymous, NEW, &reply);
    let me = owner.get("/me").await.body;
    assert_eq!((&me["two_factor"], &me["recovery_codes_left"]), (&json!(false), &json!(0)));
    assert!(me.get("recovery_at").is_none(), "{me}");
    assert_eq!(anonymous.sign_in_with(&old_passkey).await.status, 200, "an older passkey goes on");
    let reply = anonymous.sign_in_with(&young_passkey).await;
    reply.assert_error(401, "passkey_refused", "a young one went with the reset");
    assert_ne!(owner.api_key, account.api_key, "the recovery is an open change");
    let events = owner.get("/me/events").await.body["events"].clone();
    let kinds: Vec<_> = events.as_array().unwrap().iter().map(|event| &event["kind"]).collect();
    for kind in ["recovery_pending", "account_recovered"] {
        assert!(kinds.contains(&&json!(kind)), "{kind}: {kinds:?}");
    }
    let audit = operator.on("audit", email).await;
    assert_eq!(
        audit["records"].as_array().map(Vec::len),
        Some(1),
        "what was refused isn't there: {audit}"
    );
    let record = &audit["records"][0];
    let told = ["operator", "action", "account", "reason"].map(|member| &record[member]);
    assert_eq!(told, ["dev", "recover", email, "a test"]);
}

/// A way to end a recovery.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Code,
    RecoveryCode,
    Passkey,
    Reset,
    NewPassword,
    Session,
    TwoFactorOff,
}

const ENDS: [End; 7] = [
    End::Code,
    End::RecoveryCode,
    End::Passkey,
    End::Reset,
    End::NewPassword,
    End::Session,
    End::TwoFactorOff,
];

#[tokio::test]
async fn whoever_has_a_second_factor_or_a_session_ends_a_recovery_and_nothing_less_does() {
    let edge = &Edge::builder().databases(3).start().await.unwrap();
    for end in ENDS {
        let account = edge.account().await;
        let (passkey, _) = account.add_passkey("laptop").await;
        let (authenticator, codes) = account.enable_two_factor().await;
        let (email, anonymous) = (account.email.as_str(), &account.anonymous);
        start(edge, email).await;
        // Programs keep using the key while a phone is lost, and strangers guess.
        assert_eq!(anonymous.check_with_key(&account.api_key, "no address").await.status, 200);
        anonymous.login(email, PASSWORD).await.assert_error(
            401,
            "totp_required",
            "a password alone",
        );
        anonymous.login(email, "not-the-password").await.assert_error(
            401,
            "invalid_credentials",
            "",
        );
        assert_eq!(anonymous.forgot_password(email).await.status, 200);
        assert_eq!(pending(edge, email).await, 1, "{end:?}");

        let code = edge.fresh_code(&account, &authenticator).await;
        let reply = match end {
            End::Code => anonymous.login_with_code(email, PASSWORD, &code).await,
            End::RecoveryCode => anonymous.login_with_code(email, PASSWORD, &codes[0]).await,
            End::Passkey => anonymous.sign_in_with(&passkey).await,
            End::Reset => {
                let mail =
                    edge.mailbox().wait_for_titled(email, "Set a new password", 1).await.unwrap();
                let body = json!({ "token": mail.token(), "password": NEW, "totp_code": code });
                anonymous.post("/auth/reset-password", &body).await
            }
            End::NewPassword => {
                let body = json!({ "current_password": PASSWORD, "new_password": NEW });
                account.put("/auth/password", &body).await
            }
            End::Session => account.post("/me/stop-changes", &json!({})).await,
            End::TwoFactorOff => {
                let body = json!({ "password": PASSWORD, "totp_code": code });
                account.post("/auth/totp/disable", &body).await
            }
        };
        assert!([200, 204].contains(&reply.status), "{end:?}: {}", reply.body);
        pass_three_days(edge, email).await;
        edge.run_scheduled().await;
        assert_eq!(pending(edge, email).await, 0, "{end:?}");
        assert_eq!(has_two_factor(edge, email).await, end != End::TwoFactorOff, "{end:?}");
        if !matches!(end, End::TwoFactorOff | End::Session | End::Reset | End::NewPassword) {
            edge.mailbox().wait_for_titled(email, STOPPED, 1).await.unwrap();
        }
        let title = "Set a new password for your recovered account";
        assert!(edge.mailbox().mails_to(email).iter().all(|mail| mail.subject != title), "{end:?}");
    }
    let (account, ..) = with_two_factor(edge).await;
    assert_eq!(account.post("/me/stop-changes", &json!({})).await.status, 204, "none is pending");
    assert!(edge.mailbox().mails_to(&account.email).iter().all(|mail| mail.subject != STOPPED));
}

#[tokio::test]
async fn an_account_that_may_have_been_taken_over_is_not_recovered() {
    let edge = super::edge().await;
    let operator = edge.operator();
    let refused = async |email: &str, why: &str| {
        let reply = operator.call(&json!({ "recover": { "account": edge.id(email).await } })).await;
        reply.assert_error(409, "not_possible", why);
        assert!(reply.text("detail").ends_with(why), "{}", reply.body);
        assert_eq!(pending(edge, email).await, 0);
        assert!(edge.mailbox().mails_to(email).iter().all(|mail| mail.subject != PENDING));
    };
    let plain = edge.account().await;
    refused(&plain.email, "two-factor authentication is off.").await;
    let changed = "a recovery is under way, or its password or address has changed within 14 days.";
    let (account, ..) = with_two_factor(edge).await;
    let body = json!({ "current_password": PASSWORD, "new_password": NEW });
    assert_eq!(account.put("/auth/password", &body).await.status, 200);
    // A thief's other deeds may have pushed its event out of the list.
    let id = edge.id(&account.email).await;
    let pushed_out = "DELETE FROM security_events WHERE account_id = ?1";
    edge.sql_of(&id, pushed_out, &[json!(id)]).await;
    refused(&account.email, changed).await;
    let older = "UPDATE notices SET happened_at = happened_at - 14 * 86400 WHERE account_id = ?1";
    edge.sql_of(&id, older, &[json!(id)]).await;
    start(edge, &account.email).await;
    let after = operator.on("stop-recovery", &account.email).await;
    assert_eq!(after["recovery_due"], json!(null));
    edge.run_scheduled().await;
    edge.mailbox().wait_for_titled(&account.email, STOPPED, 1).await.unwrap();

    // If a thief has turned on two-factor, deactivating the account keeps the thief from ending the recovery.
    let stolen_account = with_two_factor(edge).await.0;
    operator.on("deactivate", &stolen_account.email).await;
    start(edge, &stolen_account.email).await;
    pass_three_days(edge, &stolen_account.email).await;
    edge.run_scheduled().await;
    assert_eq!(operator.on("reactivate", &stolen_account.email).await["two_factor"], 0);
    let reply = stolen_account.anonymous.login(&stolen_account.email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "the password is void");
}

/// The seven days end when the recovery starts, not three days later when it takes effect.
#[tokio::test]
async fn what_was_made_in_the_week_before_a_recovery_was_started_goes_with_the_reset_after_it() {
    let edge = &Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let email = account.email.as_str();
    let id = edge.id(email).await;
    let [(old, _), (young, _)] =
        [account.add_passkey("old").await, account.add_passkey("young").await];
    for (name, days) in [("old", 8), ("young", 5)] {
        let older =
            format!("UPDATE passkeys SET created_at = created_at - {days} * 86400 WHERE name = ?1");
        edge.sql_of(&id, &older, &[json!(name)]).await;
    }
    account.enable_two_factor().await;
    start(edge, email).await;
    pass_three_days(edge, email).await;
    edge.run_scheduled().await;
    assert_eq!(pending(edge, email).await, 0);
    let anonymous = edge.anonymous();
    let token = super::resets::reset_link(edge, email).await;
    assert_eq!(super::resets::reset(edge, &token, NEW, "").await.status, 200);
    let reply = anonymous.sign_in_with(&young).await;
    reply.assert_error(401, "passkey_refused", "made five days before the start");
    assert_eq!(anonymous.sign_in_with(&old).await.status, 200, "made eight days before it");
}

#[tokio::test]
async fn a_recovery_waits_until_its_owner_has_been_mailed_for_three_days() {
    let mut edge = Edge::builder().start().await.unwrap();
    let (account, unreachable) = (edge.account().await, with_two_factor(&edge).await.0);
    let email = account.email.as_str();
    let (young, _) = account.add_passkey("young").await;
    pass(&edge, email, 5).await;
    account.enable_two_factor().await;
    // Emails about an earlier recovery don't count.
    start(&edge, email).await;
    edge.run_scheduled().await;
    edge.mailbox().wait_for_titled(email, PENDING, 1).await.unwrap();
    assert_eq!(account.post("/me/stop-changes", &json!({})).await.status, 204);

    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    for email in [email, &unreachable.email] {
        start(&edge, email).await;
        for _ in 0..2 {
            pass(&edge, email, 3).await;
            edge.run_scheduled().await;
            assert_eq!(pending(&edge, email).await, 1, "no email has left");
            assert!(has_two_factor(&edge, email).await);
        }
    }
    // No email reaches this owner, so the link for signing in to a recovered account wouldn't arrive.
    pass(&edge, &unreachable.email, 25).await;
    edge.run_scheduled().await;
    assert_eq!(pending(&edge, &unreachable.email).await, 0, "given up");
    assert!(has_two_factor(&edge, &unreachable.email).await);

    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    pass(&edge, email, 1).await;
    edge.run_scheduled().await;
    edge.mailbox().wait_for_titled(email, PENDING, 1).await.unwrap();
    let id = edge.id(email).await;
    let left = "about = 'recovery' AND abs(since - unixepoch()) < 60";
    let begun = format!("changes WHERE account_id = '{id}' AND {left}");
    assert_eq!(edge.count(&begun).await, 1, "it begins now");
    pass(&edge, email, 2).await;
    edge.run_scheduled().await;
    assert!(has_two_factor(&edge, email).await, "after two days");
    edge.mailbox().wait_for_titled(email, PENDING, 2).await.unwrap();
    pass(&edge, email, 1).await;
    edge.run_scheduled().await;
    assert!(!has_two_factor(&edge, email).await);
    let token = super::resets::reset_link(&edge, email).await;
    assert_eq!(super::resets::reset(&edge, &token, NEW, "").await.status, 200);
    let reply = edge.anonymous().sign_in_with(&young).await;
    reply.assert_error(401, "passkey_refused", "made five days before the start, not the email");
}

#[tokio::test]
async fn a_late_email_of_a_recovery_leaves_half_a_day() {
    let mut edge = Edge::builder().start().await.unwrap();
    let [cut_off, forgotten] = [with_two_factor(&edge).await.0, with_two_factor(&edge).await.0];
    for account in [&cut_off, &forgotten] {
        start(&edge, &account.email).await;
    }
    edge.run_scheduled().await;
    edge.mailbox().wait_for_titled(&forgotten.email, PENDING, 1).await.unwrap();
    // No email is sent to `cut_off` after the first email, and no scheduled run handles `forgotten`.
    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    for _ in 0..4 {
        pass(&edge, &cut_off.email, 1).await;
        edge.run_scheduled().await;
    }
    pass(&edge, &forgotten.email, 4).await;
    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    pass(&edge, &cut_off.email, 1).await;
    for _ in 0..2 {
        edge.run_scheduled().await;
    }
    for account in [&cut_off, &forgotten] {
        edge.mailbox().wait_for_titled(&account.email, PENDING, 1).await.unwrap();
        assert_eq!(pending_mails(&edge, &account.email), 1);
        pass_hours(&edge, &account.email, 11).await;
    }
    edge.run_scheduled().await;
    for account in [&cut_off, &forgotten] {
        assert!(has_two_factor(&edge, &account.email).await, "eleven hours later");
        pass_hours(&edge, &account.email, 1).await;
    }
    edge.run_scheduled().await;
    for account in [&cut_off, &forgotten] {
        assert!(!has_two_factor(&edge, &account.email).await);
    }
}

/// If the sign-in is first, the recovery changes nothing; if the recovery is first, the session doesn't start.
#[tokio::test]
async fn a_sign_in_beside_the_end_of_a_recovery_wins_or_loses_whole() {
    let edge = &Edge::builder().start().await.unwrap();
    let mut stopped = 0;
    for round in 0..8 {
        let (account, authenticator) = with_two_factor(edge).await;
        let email = account.email.as_str();
        start(edge, email).await;
        pass_three_days(edge, email).await;
        let code = edge.fresh_code(&account, &authenticator).await;
        let body = json!({ "email": email, "password": PASSWORD, "totp_code": code });
        let login = account.anonymous.request(Method::POST, "/auth/login").json(&body);
        let (reply, ()) = if round % 2 == 0 {
            tokio::join!(send(login), edge.run_scheduled())
        } else {
            let ((), reply) = tokio::join!(edge.run_scheduled(), send(login));
            (reply, ())
        };
        let is_on = has_two_factor(edge, email).await;
        assert_eq!(reply.status == 200, is_on, "{round}: {}", reply.body);
        stopped += u32::from(is_on);
        if reply.status == 200 {
            let session = Account::from_credentials(&account.anonymous, PASSWORD, &reply);
            assert_eq!(session.get("/me").await.status, 200);
        }
        assert_eq!(pending(edge, email).await, 0);
    }
    println!("{stopped} of 8 sign-ins were before the end of the recovery");
}
