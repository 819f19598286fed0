//! The calls that are recorded, in an order in which one leads to the next.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_tests::{
    Account, Authenticator,
    people::{PasskeyDevice, send},
    service::clock::today,
};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::time::{Duration, Instant, sleep};

use super::{By, Recorder};

const GET: Method = Method::GET;
const POST: Method = Method::POST;
const PUT: Method = Method::PUT;
const DELETE: Method = Method::DELETE;

const EMAIL: &str = "ann@example.org";
const PASSWORD: &str = "three unrelated words";
const NEW_PASSWORD: &str = "four quite unrelated words";
const API_KEY: &str = "rcpt_live_ExampleExampleExampleExampleExampleExampleExampleExampleExample";
const NEW_API_KEY: &str =
    "rcpt_live_AnotherAnotherAnotherAnotherAnotherAnotherAnotherAnotherAnother";
const NAMED_KEY: &str = "rcpt_live_ShopShopShopShopShopShopShopShopShopShopShopShopShopShopShopSho";
const NEW_NAMED_KEY: &str =
    "rcpt_live_NextNextNextNextNextNextNextNextNextNextNextNextNextNextNextNex";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleGFtcGxlIjp0cnVlfQ.c2lnbmF0dXJl";
const SECRET: &str = "whsec_bm90IGEgc2VjcmV0LCBvbmx5IGFuIGV4YW1wbGUgISE=";
const MESSAGE: &str = "msg_0000000000000000000000000000cafe";
const SCAN: &str = "scan_01a2b3c4d5e6f708192a3b4c5d6e";
const HOST: &str = "hooks.example.com";
/// Time limit of a request; no response should take that long.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(100);

impl Recorder {
    fn signed_in(&mut self, password: &str, reply: &rcpt_tests::Reply) -> Account {
        let account = Account::from_credentials(&self.anonymous(), password, reply);
        self.fixed.replace(&account.token, TOKEN);
        account
    }
}

/// Records registration, confirmation and sign-in; returns the account for the other plays.
pub async fn signing_up(recorder: &mut Recorder) -> Account {
    let email = EMAIL;
    let register = |recorder: &Recorder| recorder.request(By::Nobody, POST, "/auth/register");
    let body = |password: &str| Some(json!({ "email": email, "password": password }));
    let request = register(recorder);
    recorder.play("register", "A new account", request, body(PASSWORD), 201).await;
    let request = register(recorder);
    recorder.play("register", "A common password", request, body("password123"), 400).await;
    let mail = recorder.stack.edge.mailbox().wait_for_mail(email).await.unwrap();
    let token = mail.token().unwrap();
    recorder.fixed.replace(token, "TOKEN_OF_THE_EMAILED_LINK");
    let verify = |recorder: &Recorder| recorder.request(By::Nobody, POST, "/auth/verify-email");
    let (request, body) = (verify(recorder), Some(json!({ "token": token })));
    let reply = recorder.play("verifyEmail", "The emailed link", request, body.clone(), 200).await;
    let account = recorder.signed_in(PASSWORD, &reply);
    recorder.fixed.replace(&account.api_key, API_KEY);
    let request = verify(recorder);
    recorder.play("verifyEmail", "A link that was used", request, body, 400).await;
    let login = |recorder: &Recorder| recorder.request(By::Nobody, POST, "/auth/login");
    let (request, body) = (login(recorder), json!({ "email": email, "password": PASSWORD }));
    let reply = recorder.play("login", "Email and password", request, Some(body), 200).await;
    let account = recorder.signed_in(PASSWORD, &reply);
    let (request, body) = (login(recorder), json!({ "email": email, "password": NEW_PASSWORD }));
    recorder.play("login", "A wrong password", request, Some(body), 401).await;
    account
}

/// Records the operations about the service itself.
pub async fn service(recorder: &mut Recorder) {
    for (operation, title, path) in [
        ("showSite", "Contact and plans", "/site"),
        ("checkHealth", "The service runs", "/health"),
        ("checkReadiness", "Everything is up", "/health/ready"),
    ] {
        let request = recorder.request(By::Nobody, GET, path);
        recorder.play(operation, title, request, None, 200).await;
    }
}

/// Records checks, and their effect on the allowances.
pub async fn checks(recorder: &mut Recorder, account: &Account) {
    let (operation, path) = ("validateEmail", "/validate_email");
    // 127.0.0.1 is the sandbox's mail server.
    recorder.fixed.replace("127.0.0.1", "mx.sandbox.test");
    for (title, body) in [
        ("Rejected, in short", json!({ "email": "no_such_mailbox@sandbox.test" })),
        // Waits for the invented name, so the answers below know what the server makes of it.
        ("Accepted", json!({ "email": "accepts@sandbox.test", "details": true })),
        ("A mailbox that isn't there", json!({ "email": "rejects@sandbox.test", "details": true })),
        (
            "Accepted, by a server that accepts everything",
            json!({ "email": "anyone@catchall.sandbox.test", "details": true }),
        ),
        (
            "Not known: the server asks to come back later",
            json!({ "email": "greylisted@sandbox.test", "details": true }),
        ),
        ("Not an address", json!({ "email": "ann@sandbox,test", "details": true })),
        (
            "Pending: no verdict by the deadline",
            json!({ "email": "timeout@sandbox.test", "details": true, "deadline_ms": 600 }),
        ),
    ] {
        let request = recorder.request(By::Key(account), POST, path);
        recorder.play(operation, title, request, Some(body), 200).await;
    }
    let request = recorder.request(By::Key(account), POST, path);
    recorder.play(operation, "No email", request, Some(json!({})), 400).await;
    let body = json!({ "email": "accepts@sandbox.test" });
    let request = recorder.request(By::Nobody, POST, path).header("x-api-key", "rcpt_live_wrong");
    recorder.play(operation, "A wrong key", request, Some(body.clone()), 401).await;
    let key = "00000000-0000-4000-8000-000000000001";
    let under_key = |recorder: &Recorder| {
        recorder.request(By::Key(account), POST, path).header("idempotency-key", key)
    };
    assert_eq!(send(under_key(recorder).json(&body)).await.status, 200);
    let (request, other) = (under_key(recorder), json!({ "email": "rejects@sandbox.test" }));
    let title = "The key of another request";
    recorder.play(operation, title, request, Some(other), 422).await;

    let (lists, path_of_lists) = ("validateEmails", "/validate_emails");
    let list = ["accepts@sandbox.test", "rejects@sandbox.test", "ann@sandbox,test"];
    for (title, body, status) in [
        ("Three addresses", json!({ "emails": list }), 200),
        (
            "One result is pending at the deadline",
            json!({ "emails": ["accepts@sandbox.test", "timeout@sandbox.test"], "deadline_ms": 600 }),
            200,
        ),
        ("No list", json!({ "emails": "accepts@sandbox.test" }), 400),
    ] {
        let request = recorder.request(By::Key(account), POST, path_of_lists);
        recorder.play(lists, title, request, Some(body), status).await;
    }

    let (domains, path_of_domains) = ("checkDomain", "/domains");
    for (title, domain) in [
        ("A forwarding service", "relay.sandbox.test"),
        ("Throw-away mailboxes", "disposable.sandbox.test"),
        ("Suspected, by its mail server", "suspected.sandbox.test"),
        ("A misspelt domain", "snadbox.test"),
    ] {
        let request = recorder.request(By::Key(account), POST, path_of_domains);
        recorder.play(domains, title, request, Some(json!({ "domain": domain })), 200).await;
    }
    let request = recorder.request(By::Key(account), POST, path_of_domains);
    let no_domain = Some(json!({ "domain": "ann@sandbox.test" }));
    recorder.play(domains, "An address", request, no_domain, 400).await;

    guard(recorder, account).await;
    let request = recorder.request(By::Key(account), GET, "/me/quota");
    let reply = recorder.play("showQuota", "The free plan", request, None, 200).await;
    // Messages also contain this time.
    recorder.fixed.replace(reply.text("resets_at"), "2026-02-01T00:00:00Z");
    for (operation, title, path) in [
        ("me", "The account", "/me"),
        ("plan", "The free plan, with a way to the next", "/me/plan"),
        ("showUsage", "30 days, of which two are shown", "/me/usage"),
    ] {
        let request = recorder.request(By::Session(account), GET, path);
        let reply = recorder.play(operation, title, request, None, 200).await;
        if operation == "plan" {
            recorder.fixed.replace(reply.text("reference"), "acct_0a1b2c3d4e5f60718293");
        }
    }
    let usage = recorder.recorded.get_mut("showUsage").unwrap();
    let days = usage[0]["body"]["days"].as_array_mut().unwrap();
    assert_eq!(days.len(), 30);
    days.drain(..28);
    for (day, shown) in days.clone().iter().zip(["2026-01-30", "2026-01-31"]) {
        recorder.fixed.replace(day["date"].as_str().unwrap(), shown);
    }

    let edge = &recorder.stack.edge;
    edge.set(&account.email, "daily_charged = 100, welcome_left = 0").await;
    let request = recorder.request(By::Key(account), POST, path);
    recorder.play(operation, "Today's checks are used up", request, Some(body), 429).await;
}

/// Records the guard's policy, its decisions, and a call as Supabase sends it.
async fn guard(recorder: &mut Recorder, account: &Account) {
    let request = recorder.request(By::Session(account), PUT, "/guard");
    let body = json!({
        "refuse": ["invalid", "undeliverable", "disposable"], "block_domains": ["competitor.example"],
        "deadline_ms": 2_000
    });
    let reply = recorder.play("updateGuard", "A policy", request, Some(body), 200).await;
    let hook = reply.body["supabase"]["path"].as_str().unwrap().to_owned();
    let secret = reply.body["supabase"]["secret"].as_str().unwrap().to_owned();
    recorder.fixed.replace(&hook, "/v1/guard/hooks/supabase/0000000000000000000000000000000000000");
    recorder.fixed.replace(&secret, "v1,whsec_bm90IGEgc2VjcmV0LCBvbmx5IGFuIGV4YW1wbGUgISE=");
    let request = recorder.request(By::Session(account), PUT, "/guard");
    let body = json!({ "refuse": ["catch_all"] });
    recorder.play("updateGuard", "An unknown kind", request, Some(body), 400).await;
    for (title, email) in [
        ("Allowed", "accepts@sandbox.test"),
        ("A throw-away mailbox", "accepts@disposable.sandbox.test"),
        ("A misspelt domain", "accepts@snadbox.test"),
    ] {
        let request = recorder.request(By::Key(account), POST, "/guard/decide");
        let body = Some(json!({ "email": email }));
        recorder.play("decideSignUp", title, request, body, 200).await;
    }
    let now = rcpt_tests::service::clock::now();
    for (title, id, email) in [
        ("The sign-up goes on", "msg_1", "accepts@sandbox.test"),
        ("The sign-up is refused", "msg_2", "accepts@disposable.sandbox.test"),
    ] {
        let body = json!({ "user": { "email": email } });
        let signature = signature(&secret, (id, now), &body.to_string());
        let request = recorder.request(By::Nobody, POST, hook.strip_prefix("/v1").unwrap());
        let request = request.header("webhook-id", id).header("webhook-timestamp", now.to_string());
        let request = request.header("webhook-signature", signature);
        recorder.play("supabaseHook", title, request, Some(body), 200).await;
    }
    let request = recorder.request(By::Session(account), POST, "/guard/secret");
    let title = "Another path and secret";
    let reply = recorder.play("rotateGuardSecret", title, request, None, 200).await;
    let text = |name: &str| reply.body["supabase"][name].as_str().unwrap();
    recorder
        .fixed
        .replace(text("path"), "/v1/guard/hooks/supabase/AnotherAnotherAnotherAnotherAnotherAnot");
    recorder
        .fixed
        .replace(text("secret"), "v1,whsec_YW5vdGhlciBleGFtcGxlLCBhbmQgbm90IGEgc2VjcmV0ISE=");
    for member in ["updateGuard", "rotateGuardSecret"] {
        // The number of rejections counted so far differs between runs.
        for call in recorder.recorded.get_mut(member).unwrap() {
            if let Some(refusals) = call["body"].get_mut("refusals") {
                *refusals = json!([]);
            }
        }
    }
    let request = recorder.request(By::Session(account), GET, "/guard");
    recorder.play("showGuard", "A policy", request, None, 200).await;
    recorder.recorded.get_mut("showGuard").unwrap()[0]["body"]["refusals"] =
        json!([{ "date": "2026-01-31", "reason": "disposable", "count": 2 }]);
}

/// A signature as Supabase makes it.
fn signature(secret: &str, (id, at): (&str, u64), body: &str) -> String {
    let key = STANDARD.decode(secret.strip_prefix("v1,whsec_").unwrap()).unwrap();
    let mut mac = <Hmac<Sha256>>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{at}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

async fn ended(recorder: &Recorder, account: &Account, id: &str) {
    let deadline = Instant::now() + LIMIT;
    while account.get(&format!("/scans/{id}")).await.body["completed_at"].is_null() {
        assert!(Instant::now() < deadline, "{}", recorder.stack.edge.url);
        sleep(LOOK).await;
    }
}

/// Records a scan from its list to its results, and a cancelled scan.
pub async fn scans(recorder: &mut Recorder, account: &Account) {
    let by = By::Key(account);
    let list = json!(["accepts@sandbox.test", "rejects@sandbox.test"]);
    let create = |recorder: &Recorder| recorder.request(by, POST, "/scans");
    let (request, body) = (create(recorder), json!({ "addresses": list, "name": "customers.csv" }));
    let reply = recorder.play("createScan", "A list", request, Some(body), 201).await;
    let id = reply.text("id").to_owned();
    recorder.fixed.replace(&id, SCAN);
    // The scan's progress at the time of the response differs between runs.
    ended(recorder, account, &id).await;
    let (request, body) = (create(recorder), json!({ "addresses": list }));
    let title = "Today's scans are used up";
    recorder.play("createScan", title, request, Some(body), 429).await;
    let (request, body) = (create(recorder), json!({ "addresses": "ann@example.org" }));
    recorder.play("createScan", "Not a list", request, Some(body), 400).await;
    for (operation, title, path) in [
        ("listScans", "One scan", "/scans".to_owned()),
        ("showScan", "A scan that has completed", format!("/scans/{id}")),
        ("scanResults", "Both results", format!("/scans/{id}/results")),
        ("listEvents", "A scan that has completed", "/events".to_owned()),
    ] {
        let request = recorder.request(by, GET, &path);
        let mut reply = recorder.play(operation, title, request, None, 200).await;
        // The end of a scan is listed once the second of the end has passed.
        while operation == "listEvents" && reply.body["events"] == json!([]) {
            sleep(LOOK).await;
            recorder.recorded.remove(operation);
            let request = recorder.request(by, GET, &path);
            reply = recorder.play(operation, title, request, None, 200).await;
        }
        if operation == "listEvents" {
            let (next, event) = (reply.text("next").to_owned(), &reply.body["events"][0]["id"]);
            recorder.fixed.replace(event.as_str().unwrap(), MESSAGE);
            let ended_at = next.split_once('.').unwrap().0;
            recorder.fixed.replace(ended_at, "1769851804");
        }
    }
    for kind in ["text/csv", "application/x-ndjson"] {
        let request = recorder.request(by, GET, &format!("/scans/{id}/results"));
        let request = request.header("accept", kind);
        recorder.play("scanResults", "Both results", request, None, 200).await;
    }
    let request = recorder.request(by, GET, &format!("/scans/scan_{}", "0".repeat(28)));
    recorder.play("showScan", "No such scan", request, None, 404).await;
    let path = format!("/scans/{id}/parts/0/match");
    let request = recorder.request(by, POST, &path);
    let body = Some(json!({ "addresses": list }));
    recorder.play("matchScanPart", "The same addresses", request, body, 200).await;
    in_parts(recorder, account, by, &list).await;
    let request = recorder.request(by, DELETE, &format!("/scans/{id}"));
    recorder.play("deleteScan", "Deleted", request, None, 204).await;
}

async fn in_parts(recorder: &mut Recorder, account: &Account, by: By<'_>, list: &Value) {
    recorder.stack.edge.set(&account.email, "plan = 'pro'").await;
    let request = recorder.request(by, POST, "/scans");
    let body = Some(json!({ "total": 1_002 }));
    let reply = recorder.play("createScan", "A list in parts", request, body, 201).await;
    let id = reply.text("id").to_owned();
    recorder.fixed.replace(&id, "scan_12b3c4d5e6f708192a3b4c5d6e7f");
    let request = recorder.request(by, PUT, &format!("/scans/{id}/parts/1"));
    let body = Some(json!({ "addresses": list }));
    recorder.play("putScanPart", "The second part", request, body, 200).await;
    let deadline = Instant::now() + LIMIT;
    while account.get(&format!("/scans/{id}")).await.body["answered"] != 2 {
        assert!(Instant::now() < deadline);
        sleep(LOOK).await;
    }
    let request = recorder.request(by, POST, &format!("/scans/{id}/cancel"));
    recorder.play("cancelScan", "A scan that was stopped", request, None, 200).await;
}

/// Records the webhook and its deliveries.
pub async fn webhooks(recorder: &mut Recorder, account: &Account) {
    let by = By::Session(account);
    let request = recorder.request(by, PUT, "/notifications");
    let body = Some(json!({ "scan_email": false, "webhook_url": format!("https://{HOST}/rcpt") }));
    let reply = recorder.play("updateNotifications", "A webhook", request, body, 200).await;
    recorder.fixed.replace(reply.text("webhook_secret"), SECRET);
    let request = recorder.request(by, POST, "/notifications/test");
    recorder.play("testWebhook", "It has arrived", request, None, 200).await;
    let list = json!(["accepts@sandbox.test", "rejects@sandbox.test"]);
    let completed = account.post("/scans", &json!({ "addresses": list })).await;
    recorder.webhooks.wait_for(HOST, 2).await;
    let expired = account.post("/scans", &json!({ "total": 2 })).await;
    let age = "UPDATE scans SET created_at = created_at - 86400 WHERE id = ?";
    recorder.stack.edge.sql(age, &[json!(expired.text("id"))]).await;
    recorder.stack.edge.run_scheduled().await;
    let events = recorder.webhooks.wait_for(HOST, 3).await;
    recorder.fixed.replace(completed.text("id"), SCAN);
    recorder.fixed.replace(expired.text("id"), SCAN);
    for (event, age) in events.iter().zip([30, 20, 10]) {
        // Deliveries of the same second would be listed in random order.
        let older = "UPDATE webhook_deliveries SET created_at = created_at - ? WHERE id = ?";
        recorder.stack.edge.sql(older, &[json!(age), json!(event.id)]).await;
        recorder.fixed.replace(&event.id, MESSAGE);
        let body = event.body();
        let kind = body["type"].as_str().unwrap().to_owned();
        let example = json!({ "title": "Sent to the webhook", "request": body, "status": 204 });
        recorder.recorded.insert(kind, vec![example]);
    }
    let request = recorder.request(by, GET, "/notifications");
    recorder.play("showNotifications", "A webhook and its deliveries", request, None, 200).await;
    let request = recorder.request(by, POST, "/notifications/secret");
    let reply = recorder.play("rotateWebhookSecret", "The next secret", request, None, 200).await;
    let shown = "whsec_dGhlIG5leHQgc2VjcmV0LCBhbmQgbm8gc2VjcmV0ICE=";
    recorder.fixed.replace(reply.text("webhook_secret"), shown);
    used_allowances(recorder, account).await;
}

/// Records the events about an allowance that is nearly or all used, and leaves the allowance as it was.
async fn used_allowances(recorder: &mut Recorder, account: &Account) {
    let columns = "day, daily_charged, welcome_left";
    let (day, before) = (today().await, recorder.stack.edge.row(&account.email, columns).await);
    let quota = account.quota().await.body;
    let allowance = quota["email_checks"]["daily_allowance"].as_i64().unwrap();
    for (used, nth) in [(allowance * 4 / 5, 4), (allowance, 5)] {
        let change = format!("day = {day}, daily_charged = {}, welcome_left = 0", used - 1);
        recorder.stack.edge.set(&account.email, &change).await;
        // A check of an earlier play may still hold a unit, and the key is remembered as used up.
        recorder.stack.edge.sql("DELETE FROM leases", &[]).await;
        let reply = account.check_in_session("accepts@sandbox.test").await;
        assert_eq!(reply.status, 200, "{} {change}", reply.body);
        let event = recorder.webhooks.wait_for(HOST, nth).await.remove(nth - 1);
        recorder.fixed.replace(&event.id, MESSAGE);
        let body = event.body();
        let kind = body["type"].as_str().unwrap().to_owned();
        let example = json!({ "title": "Sent to the webhook", "request": body, "status": 204 });
        recorder.recorded.insert(kind, vec![example]);
    }
    let [day, charged, left] = ["day", "daily_charged", "welcome_left"].map(|name| &before[name]);
    let change = format!("day = {day}, daily_charged = {charged}, welcome_left = {left}");
    recorder.stack.edge.set(&account.email, &change).await;
}

/// Records the operations of the account: sessions, key, password, second factor and deletion.
pub async fn account(recorder: &mut Recorder, account: Account) {
    let account = sessions_and_key(recorder, account).await;
    let (account, authenticator) = second_factor(recorder, account).await;
    let code = recorder.stack.edge.fresh_code(&account, &authenticator).await;
    recorder.fixed.replace(&code, "123456");
    let request = recorder.request(By::Session(&account), POST, "/auth/totp/disable");
    let body = json!({ "password": NEW_PASSWORD, "totp_code": code });
    recorder.play("disableTotp", "Off", request, Some(body), 204).await;
    let email = account.email.clone();
    let request = recorder.request(By::Nobody, POST, "/auth/forgot-password");
    let body = json!({ "email": email });
    recorder.play("forgotPassword", "A reset link", request, Some(body), 200).await;
    let mailbox = recorder.stack.edge.mailbox();
    let mail = mailbox.wait_for_titled(&email, "Set a new password", 1).await.unwrap();
    let token = mail.token().unwrap();
    recorder.fixed.replace(token, "TOKEN_OF_THE_EMAILED_LINK");
    let request = recorder.request(By::Nobody, POST, "/auth/reset-password/show");
    let body = json!({ "token": token });
    recorder.play("showReset", "What it does", request, Some(body), 200).await;
    let request = recorder.request(By::Nobody, POST, "/auth/reset-password");
    let body = json!({ "token": token, "password": PASSWORD });
    let reply = recorder.play("resetPassword", "The emailed link", request, Some(body), 200).await;
    recorder.fixed.replace(reply.text("api_key"), NEW_API_KEY);
    let account = recorder.signed_in(PASSWORD, &reply);
    let request = recorder.request(By::Session(&account), POST, "/auth/sign-out");
    recorder.play("signOut", "Signed out", request, None, 204).await;
    let reply = account.anonymous.login(&email, PASSWORD).await;
    let account = recorder.signed_in(PASSWORD, &reply);
    let request = recorder.request(By::Session(&account), POST, "/me/stop-changes");
    recorder.play("stopOwnChanges", "Stopped", request, None, 204).await;
    let request = recorder.request(By::Session(&account), POST, "/auth/sign-out-everywhere");
    recorder.play("signOutEverywhere", "Signed out everywhere", request, None, 204).await;
    let reply = account.anonymous.login(&email, PASSWORD).await;
    let account = recorder.signed_in(PASSWORD, &reply);
    // A password younger than three days deletes no account.
    let edge = &recorder.stack.edge;
    edge.pass(&edge.id(&email).await, 3 * 86_400).await;
    let request = recorder.request(By::Session(&account), DELETE, "/me");
    let body = json!({ "password": PASSWORD });
    recorder.play("deleteAccount", "Deleted", request, Some(body), 204).await;
    assert_eq!(account.anonymous.forgot_password(&email).await.status, 200);
    let title = "There is no account with this address";
    let mail = recorder.stack.edge.mailbox().wait_for_titled(&email, title, 1).await.unwrap();
    let (_, token) = mail.text.split_once("/stop-emails?token=").unwrap();
    let token = token.split_whitespace().next().unwrap();
    recorder.fixed.replace(token, "TOKEN_OF_THE_EMAILED_LINK");
    let stop = |recorder: &Recorder| recorder.request(By::Nobody, POST, "/auth/stop-emails");
    let request = stop(recorder);
    recorder
        .play("stopEmails", "The emailed link", request, Some(json!({ "token": token })), 204)
        .await;
    let request = stop(recorder);
    recorder
        .play("stopEmails", "Half a link", request, Some(json!({ "token": "dev1.0178" })), 400)
        .await;
}

/// Sorts events, because the order of two events within a second differs between runs.
fn in_order(events: &mut Value) {
    let events = events.as_array_mut().unwrap();
    events.sort_by_key(|event| (event["kind"].to_string(), event["count"].as_u64()));
}

async fn sessions_and_key(recorder: &mut Recorder, account: Account) -> Account {
    let by = By::Session(&account);
    let request = recorder.request(by, GET, "/auth/sessions");
    let reply = recorder.play("listSessions", "Two sessions", request, None, 200).await;
    let sessions = reply.body["sessions"].as_array().unwrap();
    let ids: Vec<_> = sessions.iter().map(|session| session["id"].as_str().unwrap()).collect();
    for (n, id) in ids.iter().enumerate() {
        recorder.fixed.replace(id, &format!("0f3c5b6a1d2e4f708192a3b4c5d6e7f{n}"));
    }
    let request = recorder.request(by, GET, "/me/events");
    let title = "Sign-ins, one that failed, and a change";
    recorder.play("securityEvents", title, request, None, 200).await;
    in_order(&mut recorder.recorded.get_mut("securityEvents").unwrap()[0]["body"]["events"]);
    let request = recorder.request(by, GET, "/me/export");
    recorder.play("exportData", "All data, cut short here", request, None, 200).await;
    let export = &mut recorder.recorded.get_mut("exportData").unwrap()[0]["body"];
    export["guard"]["refusals"] = json!([]);
    in_order(&mut export["security_events"]["events"]);
    // The number of checks that have ended after pending responses differs between runs.
    export["usage"]["days"].as_array_mut().unwrap().last_mut().unwrap()["email_checks"] =
        json!(153);
    export["usage"]["days"].as_array_mut().unwrap().drain(..28);
    export["scans"].as_array_mut().unwrap().truncate(1);
    export["notifications"]["deliveries"].as_array_mut().unwrap().clear();
    let request = recorder.request(by, DELETE, &format!("/auth/sessions/{}", ids[1]));
    recorder.play("endSession", "The other session", request, None, 204).await;
    let request = recorder.request(by, POST, "/auth/change-email");
    let body = json!({ "email": "ann@example.net", "password": PASSWORD });
    recorder.play("changeEmail", "Another address", request, Some(body), 202).await;
    let title = "Confirm your new email address";
    let mailbox = recorder.stack.edge.mailbox();
    let mail = mailbox.wait_for_titled("ann@example.net", title, 1).await.unwrap();
    let token = mail.token().unwrap().to_owned();
    recorder.fixed.replace(&token, "TOKEN_OF_THE_EMAILED_LINK");
    let request = recorder.request(By::Nobody, POST, "/auth/confirm-email");
    let body = json!({ "token": token, "password": PASSWORD });
    recorder.play("confirmEmail", "The emailed link", request, Some(body), 200).await;
    let title = "A new email address was asked for";
    let mail = mailbox.wait_for_titled(EMAIL, title, 1).await.unwrap();
    let token = mail.token().unwrap().to_owned();
    recorder.fixed.replace(&token, "TOKEN_OF_THE_EMAILED_LINK");
    let request = recorder.request(By::Nobody, POST, "/auth/stop-changes");
    let body = json!({ "token": token });
    recorder.play("stopChanges", "The emailed link", request, Some(body), 204).await;
    let reply = account.anonymous.login(EMAIL, PASSWORD).await;
    let account = recorder.signed_in(PASSWORD, &reply);
    let by = By::Session(&account);
    let request = recorder.request(by, PUT, "/auth/settings");
    let body = json!({ "display_name": "Ann" });
    recorder.play("updateSettings", "A name", request, Some(body), 200).await;
    let request = recorder.request(by, POST, "/auth/show-api-key");
    let body = json!({ "password": PASSWORD });
    recorder.play("showApiKey", "The password", request, Some(body), 200).await;
    keys(recorder, by).await;
    passkeys(recorder, &account).await;
    let request = recorder.request(by, POST, "/auth/rotate-api-key");
    let reply = recorder.play("rotateApiKey", "A new key", request, Some(json!({})), 200).await;
    recorder.fixed.replace(reply.text("api_key"), NEW_API_KEY);
    let request = recorder.request(by, PUT, "/auth/password");
    let body = json!({ "current_password": PASSWORD, "new_password": NEW_PASSWORD });
    let reply = recorder.play("changePassword", "A new password", request, Some(body), 200).await;
    recorder.signed_in(NEW_PASSWORD, &reply)
}

/// Records the operations of keys.
async fn keys(recorder: &mut Recorder, by: By<'_>) {
    let request = recorder.request(by, POST, "/keys");
    let body = json!({
        "name": "shop", "rights": ["checks", "quota"], "daily_limit": 500, "expires_at": "2090-01-01T00:00:00Z",
        "password": PASSWORD,
    });
    let title = "A key for one program";
    let reply = recorder.play("makeKey", title, request, Some(body), 201).await;
    recorder.fixed.replace(reply.text("api_key"), NAMED_KEY);
    let id = reply.body["key"]["id"].as_str().unwrap().to_owned();
    recorder.fixed.replace(&id, "key_0123456789abcdef");
    let request = recorder.request(by, POST, "/keys");
    let body = json!({ "name": "shop", "rights": [], "password": PASSWORD });
    recorder.play("makeKey", "A key without rights", request, Some(body), 400).await;
    let request = recorder.request(by, GET, "/keys");
    recorder.play("listKeys", "The account's own key and another", request, None, 200).await;
    let request = recorder.request(by, POST, "/keys/own/replace");
    let body = json!({ "password": PASSWORD });
    let reply =
        recorder.play("replaceKey", "The account's own key", request, Some(body), 200).await;
    recorder.fixed.replace(reply.text("api_key"), NEW_API_KEY);
    let request = recorder.request(by, POST, "/keys/replace-all");
    let body = json!({ "password": PASSWORD });
    let reply = recorder.play("replaceAllKeys", "All keys", request, Some(body), 200).await;
    recorder.fixed.replace(reply.text("api_key"), NEW_API_KEY);
    recorder.fixed.replace(reply.body["keys"][0]["api_key"].as_str().unwrap(), NEW_NAMED_KEY);
    let request = recorder.request(by, DELETE, &format!("/keys/{id}"));
    recorder.play("endKey", "The key", request, None, 204).await;
    let request = recorder.request(By::Nobody, POST, "/keys/self-revoke");
    let request = request.header("x-api-key", "rcpt_live_x");
    recorder.play("selfRevokeKey", "Whatever was sent", request, None, 204).await;
}

/// The members of a browser's credential that the OpenAPI document lists. The service ignores others, but the
/// example must fit its schema.
fn listed(credential: &Value) -> Value {
    let mut response = credential["response"].clone();
    response.as_object_mut().unwrap().remove("transports");
    json!({ "id": credential["id"], "response": response })
}

/// Records a passkey, from its creation options to its removal.
async fn passkeys(recorder: &mut Recorder, account: &Account) {
    let by = By::Session(account);
    let request = recorder.request(by, POST, "/auth/passkeys/options");
    let body = json!({ "password": PASSWORD });
    let reply = recorder.play("passkeyOptions", "The password", request, Some(body), 200).await;
    recorder.fixed.replace(reply.text("challenge"), "CHALLENGE");
    let user = reply.body["user"]["id"].as_str().unwrap();
    recorder.fixed.replace(user, "AAECAwQFBgc");
    let origin = account.anonymous.origin();
    let (device, credential) = PasskeyDevice::create(&reply.body, &origin);
    recorder.fixed.replace(credential["id"].as_str().unwrap(), "CREDENTIAL_ID");
    let response = &credential["response"];
    recorder.fixed.replace(response["clientDataJSON"].as_str().unwrap(), "CLIENT_DATA");
    recorder.fixed.replace(response["attestationObject"].as_str().unwrap(), "ATTESTATION_OBJECT");
    let request = recorder.request(by, POST, "/auth/passkeys");
    let body = json!({ "name": "laptop", "credential": listed(&credential) });
    let reply = recorder.play("addPasskey", "A laptop", request, Some(body), 201).await;
    let id = reply.text("id").to_owned();
    recorder.fixed.replace(&id, "pk_0123456789abcdef0123456789abcdef");
    let request = recorder.request(by, GET, "/auth/passkeys");
    recorder.play("listPasskeys", "One passkey", request, None, 200).await;
    let request = recorder.request(By::Nobody, POST, "/auth/passkeys/sign-in/options");
    let title = "For everybody";
    let reply = recorder.play("passkeySignInOptions", title, request, None, 200).await;
    recorder.fixed.replace(reply.text("challenge"), "CHALLENGE");
    let signed = device.sign(&reply.body);
    let response = &signed["response"];
    recorder.fixed.replace(response["clientDataJSON"].as_str().unwrap(), "CLIENT_DATA");
    recorder.fixed.replace(response["authenticatorData"].as_str().unwrap(), "AUTHENTICATOR_DATA");
    recorder.fixed.replace(response["signature"].as_str().unwrap(), "SIGNATURE");
    let login = |recorder: &Recorder| recorder.request(By::Nobody, POST, "/auth/passkeys/sign-in");
    let body = json!({ "credential": listed(&signed) });
    let request = login(recorder);
    let title = "A passkey";
    let reply = recorder.play("passkeySignIn", title, request, Some(body.clone()), 200).await;
    recorder.fixed.replace(reply.text("token"), TOKEN);
    let request = login(recorder);
    recorder.play("passkeySignIn", "A signature that was used", request, Some(body), 401).await;
    let request = recorder.request(by, DELETE, &format!("/auth/passkeys/{id}"));
    recorder.play("removePasskey", "The passkey", request, None, 204).await;
}

async fn second_factor(recorder: &mut Recorder, account: Account) -> (Account, Authenticator) {
    let by = By::Session(&account);
    let request = recorder.request(by, POST, "/auth/totp/setup");
    let body = json!({ "password": NEW_PASSWORD });
    let reply = recorder.play("setUpTotp", "A secret", request, Some(body), 200).await;
    recorder.fixed.replace(reply.text("secret"), "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP");
    let authenticator = Authenticator::new(reply.text("secret"));
    let code = authenticator.code();
    recorder.fixed.replace(&code, "123456");
    let request = recorder.request(by, POST, "/auth/totp/enable");
    let body = json!({ "totp_code": code });
    let reply = recorder.play("enableTotp", "On", request, Some(body), 200).await;
    show_codes(recorder, &reply.body["recovery_codes"]);
    let code = recorder.stack.edge.fresh_code(&account, &authenticator).await;
    recorder.fixed.replace(&code, "123456");
    let request = recorder.request(by, POST, "/auth/totp/recovery-codes");
    let body = json!({ "password": NEW_PASSWORD, "totp_code": code });
    let reply =
        recorder.play("replaceRecoveryCodes", "Ten new codes", request, Some(body), 200).await;
    show_codes(recorder, &reply.body["recovery_codes"]);
    (account, authenticator)
}

/// Replaces the ten recovery codes by different fixed codes with allowed letters.
fn show_codes(recorder: &mut Recorder, codes: &Value) {
    for (code, letter) in codes.as_array().unwrap().iter().zip("abcdefghij".chars()) {
        let shown = ["exam", "ple2", "only", "here", "once", "aaa"].join("-");
        recorder.fixed.replace(code.as_str().unwrap(), &format!("{shown}{letter}"));
    }
}
