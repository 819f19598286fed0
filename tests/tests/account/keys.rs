//! Keys: created with a password, replaced with an overlap, ended with a session or by themselves, and limited by rights
//! and expiry. No database stores the keys' texts (docs/security.md, A14).
//!
//! - A14: also `key_limits.rs` in ledger (300 checks at once with a limit of 30) and `test_keys.rs` in edge. At most 20
//!   keys besides the own one, whatever runs at once.

use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, Reply, send, send_at_once},
    service::forgery,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::edge;

const CHECKS: [&str; 1] = ["checks"];

fn checks(name: &str) -> Value {
    json!({ "name": name, "rights": CHECKS })
}

/// Runs a check that needs no origin.
async fn check(account: &Account, key: &str) -> Reply {
    account.anonymous.check_with_key(key, "no address").await
}

async fn with_key(account: &Account, method: Method, path: &str, key: &str) -> Reply {
    send(account.anonymous.request(method, path).header("x-api-key", key)).await
}

/// The keys beside the account's own, which is listed first.
async fn listed(account: &Account) -> Vec<Value> {
    let reply = account.get("/keys").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let (own, others) = reply.body["keys"].as_array().unwrap().split_first().unwrap();
    assert_eq!((&own["id"], &own["name"]), (&json!("own"), &json!("")), "{own}");
    others.to_vec()
}

async fn signed_in(account: &Account, password: &str) -> Account {
    let reply = account.anonymous.login(&account.email, password).await;
    Account::from_credentials(&account.anonymous, password, &reply)
}

#[tokio::test]
async fn a_key_is_shown_once_works_until_it_ends_and_is_in_no_database() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let terms = json!({
        "name": "shop", "rights": ["checks", "quota", "checks"], "daily_limit": 500,
        "expires_at": "2090-01-02T03:04:05Z",
    });
    let reply = account.make_key(&terms).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    let (key, id) = (reply.text("api_key").to_owned(), reply.body["key"]["id"].clone());
    assert!(key.starts_with("rcpt_live_") && key.len() == 73, "{key}");
    let expected = json!({
        "id": id, "name": "shop", "rights": ["checks", "quota"], "daily_limit": 500,
        "used_today": 0, "last_used_on": null, "expires_at": "2090-01-02T03:04:05Z",
        "created_at": reply.body["key"]["created_at"], "previous_until": null,
    });
    assert_eq!(reply.body["key"], expected);
    assert_eq!(listed(&account).await, [expected]);

    // Two overlapping keys allow a replacement without an outage.
    let (next, _) = account.named_key(&checks("shop, next")).await;
    for text in [&key, &next] {
        let request = account.anonymous.check_request(text, "no address");
        let reply = send(request.header("cf-connecting-ip", "192.0.2.1")).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let dump = format!("{:?}", edge.dump(&[]).await);
    for text in [&key, &next] {
        let (_, secret) = text.split_at(45);
        assert!(!dump.contains(secret), "the key's MAC is in the database");
    }
    let path = format!("/keys/{}", id.as_str().unwrap());
    assert_eq!(account.delete(&path, &json!({})).await.status, 204);
    let reply = check(&account, &key).await;
    let detail = json!({ "error": "Invalid API key." });
    assert_eq!((reply.status, &reply.body["detail"]), (401, &detail), "the next request");
    assert_eq!(check(&account, &next).await.status, 200);
    account.delete(&path, &json!({})).await.assert_error(404, "no_such_key", "ended twice");
    assert_eq!(check(&account, &account.api_key).await.status, 200, "the first key");
    let mails = edge.mailbox();
    mails.wait_for_titled(&account.email, "A new API key has been made", 1).await.unwrap();
}

#[tokio::test]
async fn a_stolen_session_makes_no_key_and_neither_does_a_password_without_its_code() {
    let edge = edge().await;
    let account = edge.account().await;
    let make = async |members: Value| {
        let mut body = checks("thief");
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        account.post("/keys", &body).await
    };
    make(json!({})).await.assert_error(400, "invalid_body", "no password");
    let wrong = json!({ "password": "not-the-password" });
    make(wrong.clone()).await.assert_error(403, "wrong_password", "a wrong password");
    let (authenticator, codes) = account.enable_two_factor().await;
    let reply = make(json!({ "password": PASSWORD })).await;
    reply.assert_error(403, "totp_required", "no code");
    let wrong = json!({ "password": PASSWORD, "totp_code": authenticator.wrong_code() });
    make(wrong).await.assert_error(403, "totp_invalid", "a wrong code");
    let right = json!({ "password": PASSWORD, "totp_code": codes[0] });
    assert_eq!(make(right.clone()).await.status, 201);
    make(right).await.assert_error(403, "totp_invalid", "a used code");
    assert_eq!(listed(&account).await.len(), 1);
    for path in ["/keys/replace-all", "/keys/own/replace"] {
        let body = json!({ "password": "not-the-password" });
        account.post(path, &body).await.assert_error(403, "wrong_password", path);
        let body = json!({ "password": PASSWORD });
        account.post(path, &body).await.assert_error(403, "totp_required", path);
    }
    edge.set(&account.email, "key_active = 0").await;
    let body = json!({ "password": PASSWORD, "totp_code": codes[1] });
    make(body).await.assert_error(403, "key_deactivated", "the operator has closed its keys");
}

#[tokio::test]
async fn an_account_has_at_most_twenty_keys_however_many_are_asked_for_at_once() {
    let account = edge().await.account().await;
    for n in 0..15 {
        account.named_key(&checks(&format!("key {n}"))).await;
    }
    let mut body = checks("one of many");
    body["password"] = json!(PASSWORD);
    let requests = (0..12).map(|_| account.request(Method::POST, "/keys").json(&body));
    let replies = send_at_once(requests).await;
    let made = replies.iter().filter(|reply| reply.status == 201).count();
    for reply in replies.iter().filter(|reply| reply.status != 201) {
        reply.assert_error(409, "too_many_keys", "the account has twenty");
    }
    assert_eq!((made, listed(&account).await.len()), (5, 20));
}

#[tokio::test]
async fn terms_that_make_no_sense_are_refused_with_a_text_of_their_own() {
    let account = edge().await.account().await;
    for (members, text) in [
        (json!({ "name": "" }), "1 to 60 characters"),
        (json!({ "name": "  " }), "1 to 60 characters"),
        (json!({ "name": "ψ".repeat(61) }), "1 to 60 characters"),
        (json!({ "name": "a\nb" }), "no control characters"),
        (json!({ "rights": [] }), "at least one of: checks, scans, scans:read"),
        (json!({ "rights": ["checks", "scan"] }), "at least one of"),
        (json!({ "daily_limit": 0 }), "from 1 to 1000000000"),
        (json!({ "daily_limit": 1, "rights": ["scans"] }), "can't have the right scans"),
        (json!({ "rights": ["sandbox", "checks"] }), "the right sandbox alone"),
        (json!({ "rights": ["sandbox"], "daily_limit": 5 }), "no daily limit"),
        (json!({ "expires_at": "2020-01-01T00:00:00Z" }), "in the future"),
        (json!({ "expires_at": "2100-01-02T00:00:00Z" }), "before the year 2100"),
        (json!({ "expires_at": "soon" }), "must be a time, such as 2027-01-31T00:00:00Z"),
    ] {
        let mut terms = checks("x");
        terms.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let reply = account.make_key(&terms).await;
        reply.assert_error(400, "invalid_key", &members.to_string());
        assert!(reply.text("detail").contains(text), "{members}: {}", reply.body);
    }
    for (members, text) in [
        (json!({ "daily_limit": "5" }), "must be a whole number"),
        (json!({ "rights": "checks" }), "must be a list"),
        (
            json!({ "daily_limits": 5 }),
            "There is no 'daily_limits' field. Did you mean 'daily_limit'?",
        ),
        (json!({ "mode": "test" }), "There is no 'mode' field."),
    ] {
        let mut terms = checks("x");
        terms.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let reply = account.make_key(&terms).await;
        reply.assert_error(400, "invalid_body", &members.to_string());
        assert!(reply.text("detail").contains(text), "{members}: {}", reply.body);
    }
    assert_eq!(listed(&account).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_key_is_over_with_its_end_and_terms_that_were_not_issued_are_no_key() {
    let edge = edge().await;
    let account = edge.account().await;
    let (key, id) = account.named_key(&checks("x")).await;
    let (account_id, id) =
        (edge.id(&account.email).await, id.strip_prefix("key_").unwrap().to_owned());
    let ring = edge.key_ring("API_KEY_SECRET");
    let forged = |terms| forgery::key(&ring, (&account_id, &id), terms);
    assert_eq!(forged((1, 0, 1)), key, "as docs/decisions/0002-derived-keys.md says");
    let expired = forged((9, 1_700_000_000, 1));
    let reply = check(&account, &expired).await;
    assert_eq!((reply.status, reply.text("code")), (401, "key_expired"));
    assert_eq!(reply.body["detail"], json!({ "error": "This API key has expired." }));
    let reply = with_key(&account, Method::GET, "/me/quota", &expired).await;
    reply.assert_error(401, "key_expired", "in the shape of other operations");
    let reply = check(&account, &forgery::with_another_mac(&key)).await;
    assert_eq!((reply.status, reply.text("code")), (401, "invalid_api_key"));
    assert_eq!(check(&account, &forged((1, 0, 2))).await.status, 401, "a version to come");
}

#[tokio::test]
async fn a_key_ends_itself_and_its_owner_is_told_without_a_word_of_the_finder() {
    let edge = edge().await;
    let account = edge.account().await;
    let (leaked, _) = account.named_key(&checks("zanzibar")).await;
    let (other, _) = account.named_key(&checks("other")).await;
    let revoke = async |key: &str| {
        let request = account.anonymous.request(Method::POST, "/keys/self-revoke");
        let request =
            request.header("x-api-key", key).header("user-agent", "Ha ha https://evil.example");
        send(request.json(&json!({ "note": "https://evil.example" }))).await.status
    };
    let nobody = account.anonymous.post("/keys/self-revoke", &json!({})).await;
    assert_eq!(nobody.status, 204, "{}", nobody.body);
    for junk in ["junk", &forgery::with_another_mac(&other), &leaked, &leaked] {
        assert_eq!(revoke(junk).await, 204, "{junk}");
    }
    let names: Vec<_> = listed(&account).await.iter().map(|key| key["name"].clone()).collect();
    assert_eq!(names, ["other"]);
    assert_eq!(check(&account, &other).await.status, 200);
    let mailbox = edge.mailbox();
    let title = "An API key of yours has been ended";
    let mail = mailbox.wait_for_titled(&account.email, title, 1).await.unwrap();
    assert!(!mail.text.contains("evil") && !mail.text.contains("zanzibar"), "{}", mail.text);

    // The own key gets its next version, which sign-in returns.
    assert_eq!(revoke(&account.api_key).await, 204);
    assert_eq!(check(&account, &account.api_key).await.status, 401);
    let again = signed_in(&account, PASSWORD).await;
    assert_ne!(again.api_key, account.api_key);
    assert_eq!(revoke(&account.api_key).await, 204, "the old one ends nothing any more");
    assert_eq!(check(&account, &again.api_key).await.status, 200);
}

#[tokio::test]
async fn all_keys_are_replaced_at_once_and_keep_their_terms() {
    let edge = edge().await;
    let account = edge.account().await;
    let (one, _) = account.named_key(&checks("one")).await;
    let limited = json!({ "name": "two", "rights": ["checks", "quota"], "daily_limit": 9 });
    let (two, _) = account.named_key(&limited).await;
    assert_eq!(check(&account, &two).await.status, 200);
    // The limited key was last used yesterday. Its new text wasn't yet.
    edge.age_key_use(&account.email, 1).await;
    let mut before = listed(&account).await;
    let limited = before.iter_mut().find(|key| key["name"] == "two").unwrap();
    assert!(limited["last_used_on"].take().is_string(), "{limited}");
    let stranger = edge.account().await;
    let (strangers_key, _) = stranger.named_key(&checks("of somebody else")).await;
    let body = json!({ "password": PASSWORD });
    let reply = account.post("/keys/replace-all", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    for old in [&one, &two, &account.api_key] {
        assert_eq!(check(&account, old).await.status, 401);
    }
    let keys = reply.body["keys"].as_array().unwrap();
    assert_eq!(keys.iter().map(|key| key["key"].clone()).collect::<Vec<_>>(), before);
    let new = keys.iter().map(|key| key["api_key"].as_str().unwrap());
    for key in new.chain([reply.text("api_key"), &strangers_key]) {
        assert_eq!(check(&account, key).await.status, 200);
    }
    assert_eq!(signed_in(&account, PASSWORD).await.api_key, reply.text("api_key"));
}

#[tokio::test]
async fn nobody_sees_or_ends_the_keys_of_another_account() {
    let edge = edge().await;
    let (ann, eve) = (edge.account().await, edge.account().await);
    let (key, id) = ann.named_key(&checks("ann's")).await;
    assert_eq!(listed(&eve).await, Vec::<Value>::new());
    let path = format!("/keys/{id}");
    eve.delete(&path, &json!({})).await.assert_error(404, "no_such_key", "another's key");
    let body = json!({ "password": PASSWORD });
    let replace = eve.post(&format!("{path}/replace"), &body).await;
    replace.assert_error(404, "no_such_key", "another's key");
    let reply = with_key(&ann, Method::DELETE, &path, &key).await;
    reply.assert_error(401, "missing_credentials", "a key ends no key by its id");
    assert_eq!(check(&ann, &key).await.status, 200);
    let body = json!({ "password": PASSWORD });
    assert_eq!(ann.delete("/me", &body).await.status, 204);
    assert_eq!(check(&ann, &key).await.status, 401, "its account is gone");
}

async fn replaced(account: &Account, id: &str) -> String {
    let reply =
        account.post(&format!("/keys/{id}/replace"), &json!({ "password": PASSWORD })).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.body["key"]["id"], json!(id));
    assert!(reply.body["key"]["previous_until"].is_string(), "{}", reply.body);
    reply.text("api_key").to_owned()
}

async fn statuses<const N: usize>(account: &Account, keys: [&String; N]) -> [u16; N] {
    let mut statuses = [0; N];
    for (status, key) in statuses.iter_mut().zip(keys) {
        *status = check(account, key).await.status;
    }
    statuses
}

async fn revoke(account: &Account, key: &str) {
    let request = account.anonymous.request(Method::POST, "/keys/self-revoke");
    assert_eq!(send(request.header("x-api-key", key)).await.status, 204);
}

#[tokio::test]
async fn after_a_replacement_the_last_text_before_works_for_a_day_and_no_other() {
    let edge = edge().await;
    let account = edge.account().await;
    let (named, named_id) = account.named_key(&checks("shop")).await;
    for (first, id) in [(&account.api_key, "own"), (&named, &named_id)] {
        let second = replaced(&account, id).await;
        assert_eq!(statuses(&account, [first, &second]).await, [200, 200], "{id}: both");
        let third = replaced(&account, id).await;
        assert_eq!(statuses(&account, [first, &second, &third]).await, [401, 200, 200], "{id}");
        let account_id = edge.id(&account.email).await;
        let over = "UPDATE keys SET previous_until = unixepoch() WHERE account_id = ?";
        edge.sql_of(&account_id, over, &[json!(account_id)]).await;
        assert_eq!(statuses(&account, [&second, &third]).await, [401, 200], "{id}: a day later");
    }
    let own = account.get("/keys").await.body["keys"][0].take();
    let all = ["checks", "scans", "scans:read", "quota", "guard", "webhooks"];
    assert_eq!((&own["rights"], &own["previous_until"]), (&json!(all), &Value::Null));
}

#[tokio::test]
async fn a_rotation_has_no_overlap_and_ends_one_that_runs() {
    let account = edge().await.account().await;
    let first = account.api_key.clone();
    let second = replaced(&account, "own").await;
    let third = account.rotate_api_key().await.text("api_key").to_owned();
    assert_eq!(statuses(&account, [&first, &second, &third]).await, [401, 401, 200]);
    let fourth = replaced(&account, "own").await;
    let all = account.post("/keys/replace-all", &json!({ "password": PASSWORD })).await;
    let fifth = all.text("api_key").to_owned();
    assert_eq!(statuses(&account, [&third, &fourth, &fifth]).await, [401, 401, 200]);
}

#[tokio::test]
async fn a_replacement_needs_password_and_code_and_the_own_key_has_no_end() {
    let account = edge().await.account().await;
    let (key, id) = account.named_key(&checks("shop")).await;
    let (_, codes) = account.enable_two_factor().await;
    let missing = "/keys/key_0123456789abcdef/replace".to_owned();
    for path in [format!("/keys/{id}/replace"), "/keys/own/replace".to_owned(), missing.clone()] {
        let body = json!({ "password": "not-the-password" });
        account.post(&path, &body).await.assert_error(403, "wrong_password", &path);
        let body = json!({ "password": PASSWORD });
        account.post(&path, &body).await.assert_error(403, "totp_required", &path);
    }
    let body = json!({ "password": PASSWORD, "totp_code": codes[0] });
    account.post(&missing, &body).await.assert_error(404, "no_such_key", "a key of nobody");
    let end = account.delete("/keys/own", &json!({})).await;
    end.assert_error(400, "invalid_key", "the own key is replaced, not ended");
    assert_eq!(statuses(&account, [&key, &account.api_key]).await, [200, 200], "nothing happened");
}

#[tokio::test]
async fn the_text_before_ends_itself_alone_and_the_present_one_ends_both() {
    let account = edge().await.account().await;
    let (named, id) = account.named_key(&checks("shop")).await;
    for (first, id) in [(&account.api_key, "own"), (&named, &id)] {
        let second = replaced(&account, id).await;
        revoke(&account, first).await;
        assert_eq!(statuses(&account, [first, &second]).await, [401, 200], "{id}: the text before");
        let third = replaced(&account, id).await;
        revoke(&account, &third).await;
        assert_eq!(
            statuses(&account, [&second, &third]).await,
            [401, 401],
            "{id}: the present one"
        );
    }
    assert_eq!(listed(&account).await, Vec::<Value>::new(), "the other key has ended");
    let again = signed_in(&account, PASSWORD).await;
    assert_eq!(check(&account, &again.api_key).await.status, 200, "sign-in returns the own key");
}

#[tokio::test]
async fn of_two_replacements_at_once_both_new_texts_work_and_the_older_one_is_the_text_before() {
    let account = edge().await.account().await;
    for _ in 0..3 {
        let (key, id) = account.named_key(&checks("shop")).await;
        let path = format!("/keys/{id}/replace");
        let body = json!({ "password": PASSWORD });
        let requests = (0..2).map(|_| account.request(Method::POST, &path).json(&body));
        let replies = send_at_once(requests).await;
        let texts: Vec<String> = replies.iter().map(|r| r.text("api_key").to_owned()).collect();
        assert_ne!(texts[0], texts[1]);
        assert_eq!(statuses(&account, [&key, &texts[0], &texts[1]]).await, [401, 200, 200]);
    }
}
