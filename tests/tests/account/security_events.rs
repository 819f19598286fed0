//! The owner sees all actions and attempts on the account (docs/security.md, A12), and nobody can push
//! them out of the list.
//!
//! - A12: the last 50 sign-ins, 30 changes and 20 failures, each with its day's count; none pushes another class out. A
//!   failed attempt with an unknown address runs the same statements and leaves no row.

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::{edge, email_change};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const NEW: &str = "copper-meadow-58-lattice";

async fn events(account: &Account) -> Vec<Value> {
    let reply = account.get("/me/events").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body["events"].as_array().unwrap().clone()
}

/// The kind and count of each event.
fn kinds(events: &[Value]) -> Vec<(String, u64)> {
    let kind = |event: &Value| {
        (event["kind"].as_str().unwrap().to_owned(), event["count"].as_u64().unwrap())
    };
    let mut kinds: Vec<_> = events.iter().map(kind).collect();
    kinds.sort();
    kinds
}

async fn with_firefox(account: &Account, password: &str) -> Reply {
    let login = account.anonymous.request(Method::POST, "/auth/login");
    let body = json!({ "email": account.email, "password": password });
    send(login.header("user-agent", FIREFOX).header("cf-ipcountry", "DE").json(&body)).await
}

/// Waits for an event that is recorded after a response.
async fn wait_for(account: &Account, kind: &str, is_there: impl Fn(&Value) -> bool) -> Vec<Value> {
    for _ in 0..100 {
        let events = events(account).await;
        if events.iter().any(|event| event["kind"] == kind && is_there(event)) {
            return events;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("no {kind}: {:?}", events(account).await);
}

#[tokio::test]
async fn the_list_has_each_sign_in_and_each_step_that_takes_an_account_over() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(kinds(&events(&account).await), [("signed_in".to_owned(), 1)]);

    for _ in 0..2 {
        assert_eq!(with_firefox(&account, "a-wrong-password-9").await.status, 401);
    }
    wait_for(&account, "sign_in_failed", |event| event["count"] == 2).await;
    let other = Account::from_credentials(
        &account.anonymous,
        PASSWORD,
        &with_firefox(&account, PASSWORD).await,
    );
    assert_eq!(account.rotate_api_key().await.status, 200);
    assert_eq!(account.rotate_api_key().await.status, 200);
    let shown = account.post("/auth/show-api-key", &json!({ "password": PASSWORD })).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    let wrong = account.post("/auth/show-api-key", &json!({ "password": NEW })).await;
    wrong.assert_error(403, "wrong_password", "within the session");
    let id = other.get("/auth/sessions").await.body["sessions"][0]["id"].clone();
    let end = format!("/auth/sessions/{}", id.as_str().unwrap());
    assert_eq!(account.delete(&end, &json!({})).await.status, 204);
    assert_eq!(account.delete(&end, &json!({})).await.status, 404, "no event");
    let (_, codes) = account.enable_two_factor().await;
    let wrong = account.rotate_with("000000").await;
    wrong.assert_error(403, "totp_invalid", "a wrong code");
    assert_eq!(account.rotate_with(&codes[0]).await.status, 200);
    let off = json!({ "password": PASSWORD, "totp_code": codes[1] });
    assert_eq!(account.post("/auth/totp/disable", &off).await.status, 204);
    let change = json!({ "current_password": PASSWORD, "new_password": NEW });
    let account = Account::from_credentials(
        &account.anonymous,
        NEW,
        &account.put("/auth/password", &change).await,
    );
    assert_eq!(account.get("/me/export").await.status, 200);

    let all = events(&account).await;
    let expected = [
        ("data_exported", 1),
        ("key_replaced", 3),
        ("key_shown", 1),
        ("password_changed", 1),
        ("recovery_code_used", 2),
        ("session_ended", 1),
        ("sign_in_failed", 2),
        ("signed_in", 1),
        ("signed_in", 1),
        ("signed_in", 1),
        ("two_factor_off", 1),
        ("two_factor_on", 1),
        ("wrong_code", 1),
        ("wrong_password", 1),
    ];
    assert_eq!(kinds(&all), expected.map(|(kind, count)| (kind.to_owned(), count)));
    let times: Vec<_> = all.iter().map(|event| event["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "the newest first: {times:?}");
    let from_firefox =
        |event: &&Value| event["browser"] == "Firefox on Linux" && event["country"] == "DE";
    assert_eq!(kinds(&all.iter().filter(from_firefox).cloned().collect::<Vec<_>>()).len(), 2);

    // Browser and country of an action are recorded after its response.
    let changed =
        wait_for(&account, "password_changed", |event| event["browser"] != json!(null)).await;
    assert!(changed.iter().all(|event| event["browser"] != json!(null)), "{changed:?}");

    assert_eq!(account.post("/auth/sign-out-everywhere", &json!({})).await.status, 204);
    account.get("/me/events").await.assert_error(401, "invalid_session", "the session is over");
    let again = account.anonymous.login(&account.email, NEW).await;
    let account = Account::from_credentials(&account.anonymous, NEW, &again);
    assert!(kinds(&events(&account).await).contains(&("signed_out_everywhere".to_owned(), 1)));
}

#[tokio::test]
async fn a_reset_by_mail_is_a_change_of_password_and_a_sign_in() {
    let edge = edge().await;
    let account = edge.account().await;
    assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
    let mail = edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    let reply = account.anonymous.reset_password(mail.token().unwrap(), NEW).await;
    let account = Account::from_credentials(&account.anonymous, NEW, &reply);
    let expected = [("password_changed", 1), ("signed_in", 1), ("signed_in", 1)];
    let expected = expected.map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(kinds(&events(&account).await), expected);
}

/// Inserts the rows that floods of every class leave in an account.
#[tokio::test]
async fn a_flood_of_one_class_pushes_out_nothing_of_another() {
    let edge = edge().await;
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    // The thief's sign-in and actions, months of guesses by strangers, and a session with many actions.
    let row = "INSERT INTO security_events (account_id, class, kind, name, at) VALUES (?1, ?2, ?3, ?4, unixepoch() - ?5)";
    let insert = async |class: &str, kind: &str, name: String, age: u64| {
        edge.sql_of(&id, row, &[json!(id), json!(class), json!(kind), json!(name), json!(age)])
            .await;
    };
    insert("sign_in", "signed_in", "the thief".to_owned(), 80 * 86_400).await;
    insert("deed", "two_factor_off", "long ago".to_owned(), 80 * 86_400).await;
    for day in 0..85 {
        insert("failure", "sign_in_failed", format!("day {day}"), day * 86_400).await;
        insert("failure", "wrong_code", format!("day {day}"), day * 86_400).await;
    }
    let listed = events(&account).await;
    assert!(listed.iter().any(|event| event["kind"] == "two_factor_off"), "{listed:?}");
    assert_eq!(listed.iter().filter(|event| event["kind"] == "signed_in").count(), 2);
    for day in 0..40 {
        insert("deed", "key_replaced", format!("day {day}"), day * 60).await;
    }
    for sign_in in 0..60 {
        insert("sign_in", "signed_in", format!("{sign_in}"), sign_in).await;
    }
    let listed = events(&account).await;
    assert_eq!(listed.len(), 100, "as many as are kept");
    let count = async |class: &str| {
        let rows = format!("security_events WHERE account_id = '{id}' AND class = '{class}'");
        edge.count(&rows).await
    };
    assert_eq!([count("sign_in").await, count("deed").await, count("failure").await], [50, 30, 20]);
}

#[tokio::test]
async fn events_are_gone_after_ninety_days_and_with_their_account() {
    let edge = Edge::builder().databases(3).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let old = "INSERT INTO security_events (account_id, class, kind, name, at)
        VALUES (?1, 'deed', 'key_replaced', 'old', unixepoch() - ?2)";
    edge.sql_of(&id, old, &[json!(id), json!(90 * 86_400)]).await;
    assert_eq!(kinds(&events(&account).await), [("signed_in".to_owned(), 1)], "not listed");
    let rows = format!("security_events WHERE account_id = '{id}'");
    assert_eq!(edge.count(&rows).await, 2);
    edge.run_scheduled().await;
    assert_eq!(edge.count(&rows).await, 1);
    assert_eq!(account.delete("/me", &json!({ "password": PASSWORD })).await.status, 204);
    assert_eq!(edge.count(&rows).await, 0);
}

#[tokio::test]
async fn a_stranger_s_failure_leaves_no_row() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let (unconfirmed, _) = edge.registered().await;
    for email in [edge.new_email(), unconfirmed, "no address".to_owned()] {
        edge.anonymous().login(&email, NEW).await.assert_error(401, "invalid_credentials", &email);
    }
    edge.counts().await;
    assert_eq!(edge.count("security_events").await, 0);
    let member = edge.account().await.email;
    edge.counts().await;
    edge.anonymous().login(&member, NEW).await.assert_error(401, "invalid_credentials", "a member");
    edge.counts().await;
    assert_eq!(edge.count("security_events WHERE kind = 'sign_in_failed'").await, 1);
}

/// Wrong passwords with a mailed link are attempts, too; with the link to a new address they have the session's budget.
#[tokio::test]
async fn wrong_passwords_with_the_links_of_a_change_of_address_are_events() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let account = edge.account().await;
    let new = edge.new_email();
    assert_eq!(email_change::ask(&account, &new, PASSWORD).await.status, 202);
    let token = email_change::link(&edge, &new, email_change::ASKED, 1).await;
    let confirm = async |password: &str| {
        let body = json!({ "token": token, "password": password });
        account.anonymous.post("/auth/confirm-email", &body).await
    };
    let shown = async || account.post("/auth/show-api-key", &json!({ "password": NEW })).await;
    for n in 0..10 {
        confirm(&format!("wrong-guess-{n}")).await.assert_error(
            403,
            "wrong_password",
            "by the link",
        );
        shown().await.assert_error(403, "wrong_password", "in the session");
    }
    confirm("wrong-guess").await.assert_error(429, "throttled", "the twenty-first");
    shown().await.assert_error(429, "throttled", "in the session, too");
    let count = async |account: &Account, kind: &str| {
        let all = kinds(&events(account).await);
        all.iter().find(|(of, _)| of == kind).map(|(_, count)| *count)
    };
    assert_eq!(count(&account, "wrong_password").await, Some(20));
    edge.sql("DELETE FROM throttles", &[]).await;
    assert_eq!(confirm(PASSWORD).await.status, 200);
}
