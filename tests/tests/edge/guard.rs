//! The sign-up guard: an account's policy, its decisions, and Supabase's hook as documented (docs/security.md, G1 to
//! G5).
//!
//! - G1: origins fail or are silent, a database fails or hangs, caches hang, the allowance is used up, the key is
//!   deactivated: the hook answers 200 `{}` within Supabase's five seconds; `/guard/decide` allows, except 401 for a
//!   deactivated key.
//! - G2: a genuine call gets 200 even if its body is empty, too large or not JSON, or without user or address. A
//!   changed body, id or time, no signature, or more than five minutes' difference get 401, and an unknown hook 404,
//!   without a trip.
//! - G3: a replaced hook and its successor work for a day, each with its own secret.
//! - G4: refusals are counted by reason and day; neither D1 nor the log has a part of a call's body.
//! - G5: with no allowance, at the deadline and above the shield, both doors refuse what isn't an address, every
//!   spelling of a blocked domain, roles, and listed throw-away domains: uncounted, the list 120 times a minute an
//!   account.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Reply, Stack,
    people::{send, send_at_once},
    service::{clock, edge::EdgeBuilder, shim::Fault},
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::time::{Instant, sleep};

async fn decide(account: &Account, email: &str) -> Reply {
    let request = account.anonymous.request(Method::POST, "/guard/decide");
    send(request.header("x-api-key", &account.api_key).json(&json!({ "email": email }))).await
}

async fn set(account: &Account, body: &Value) -> Reply {
    account.put("/guard", body).await
}

/// URL and secret of the hook, as configured in Supabase.
struct Hook {
    path: String,
    key: Vec<u8>,
}

impl Hook {
    async fn of(account: &Account) -> Self {
        Self::from(&account.get("/guard").await)
    }

    fn from(reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.body);
        let text = |name: &str| reply.body["supabase"][name].as_str().unwrap().to_owned();
        let secret = text("secret");
        let key = STANDARD.decode(secret.strip_prefix("v1,whsec_").unwrap()).unwrap();
        Self { path: text("path").strip_prefix("/v1").unwrap().to_owned(), key }
    }

    fn signature(&self, id: &str, at: u64, text: &str) -> String {
        let mut mac = <Hmac<Sha256>>::new_from_slice(&self.key).unwrap();
        mac.update(format!("{id}.{at}.{text}").as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    async fn call_at(&self, edge: &Edge, at: u64, id: &str, text: String) -> Reply {
        let signature = self.signature(id, at, &text);
        self.send(edge, (id, at, &signature), text).await
    }

    async fn send(
        &self,
        edge: &Edge,
        (id, at, signature): (&str, u64, &str),
        text: String,
    ) -> Reply {
        let request = edge.anonymous().request(Method::POST, &self.path);
        let request = request.header("webhook-id", id).header("webhook-timestamp", at.to_string());
        send(request.header("webhook-signature", signature).body(text)).await
    }

    async fn call(&self, edge: &Edge, id: &str, email: &str) -> Reply {
        self.call_at(edge, clock::now(), id, supabase_call(email)).await
    }
}

/// The body that Supabase documents for *Before User Created*.
fn supabase_call(email: &str) -> String {
    json!({
        "metadata": {
            "uuid": "8b34dcdd-9df1-4c10-850a-b3277c653040", "time": "2025-04-29T13:13:24.755552-07:00",
            "name": "before-user-created", "ip_address": "127.0.0.1"
        },
        "user": {
            "id": "ff7fc9ae-3b1b-4642-9241-64adb9848a03", "aud": "authenticated", "role": "", "email": email,
            "phone": "", "app_metadata": { "provider": "email", "providers": ["email"] },
            "user_metadata": {}, "identities": [], "created_at": "0001-01-01T00:00:00Z",
            "updated_at": "0001-01-01T00:00:00Z", "is_anonymous": false
        }
    })
    .to_string()
}

#[tokio::test]
async fn a_policy_is_read_changed_and_kept_where_a_change_is_wrong() {
    let edge = Edge::builder().start().await.unwrap();
    let ann = edge.account().await;
    let reply = ann.get("/guard").await;
    let first = json!({
        "refuse": ["invalid", "undeliverable", "disposable"], "allow_domains": [], "block_domains": [],
        "deadline_ms": 2_000, "refusals": []
    });
    let without_hook = |reply: &Reply| {
        let mut body = reply.body.clone();
        body.as_object_mut().unwrap().remove("supabase");
        body
    };
    assert_eq!((reply.status, without_hook(&reply)), (200, first.clone()));
    let body = json!({ "refuse": ["relay"], "allow_domains": ["Example.ORG"], "deadline_ms": 900 });
    let changed = set(&ann, &body).await;
    let second = json!({
        "refuse": ["relay"], "allow_domains": ["example.org"], "block_domains": [], "deadline_ms": 900,
        "refusals": []
    });
    assert_eq!((changed.status, without_hook(&changed)), (200, second.clone()));
    let sent_back = set(&ann, &changed.body).await;
    assert_eq!((sent_back.status, without_hook(&sent_back)), (200, second.clone()));
    for bad in [
        json!({ "refuse": ["relay", "catch_all"], "deadline_ms": 400 }),
        json!({ "block_domains": ["ann@example.org"], "deadline_ms": 400 }),
        json!({ "deadline_ms": 100 }),
        json!({ "block_domain": ["evil.example"], "deadline_ms": 400 }),
    ] {
        let reply = set(&ann, &bad).await;
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_body")), "{bad}");
    }
    assert_eq!(without_hook(&ann.get("/guard").await), second, "what was there stays in force");
    let other = edge.account().await;
    assert_eq!(without_hook(&other.get("/guard").await), first, "nobody else's");
    assert_eq!(ann.post("/guard/secret", &json!({})).await.status, 200);
    let events = ann.get("/me/events").await.body["events"].as_array().unwrap().clone();
    let of_kind = |kind: &str| {
        events
            .iter()
            .filter(|event| event["kind"] == kind)
            .map(|event| event["count"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of_kind("guard_changed"), [2], "a change that is refused is none");
    assert_eq!(of_kind("guard_secret_replaced"), [1]);
}

#[tokio::test]
async fn decisions_follow_the_policy_and_refusals_are_counted_without_addresses() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let all = ["invalid", "undeliverable", "disposable", "suspected", "relay", "role", "parked"];
    let body = json!({
        "refuse": all, "deadline_ms": 4_000, "allow_domains": ["nomx.sandbox.test"],
        "block_domains": ["provider.sandbox.test"]
    });
    assert_eq!(set(&ann, &body).await.status, 200);
    let (yes, no, risky, unknown) = ("deliverable", "undeliverable", "risky", "unknown");
    let mut counted = 0;
    for (email, decision, reason, verdict, is_counted) in [
        ("accepts@sandbox.test", "allow", "accepted", yes, true),
        (" Ann <accepts@sandbox.test>\n", "allow", "accepted", yes, true),
        ("no address", "refuse", "invalid", no, false),
        ("", "refuse", "invalid", no, false),
        ("rejects@sandbox.test", "refuse", "undeliverable", no, true),
        ("full@sandbox.test", "refuse", "undeliverable", no, true),
        ("accepts@disposable.sandbox.test", "refuse", "disposable", yes, true),
        ("accepts@suspected.sandbox.test", "refuse", "suspected", yes, true),
        ("accepts@relay.sandbox.test", "refuse", "relay", yes, true),
        ("info@sandbox.test", "refuse", "role", unknown, false),
        ("accepts@parked.sandbox.test", "refuse", "parked", yes, true),
        ("x@nomx.sandbox.test", "allow", "allowed_domain", unknown, false),
        ("x@deep.nomx.sandbox.test", "allow", "allowed_domain", unknown, false),
        ("accepts@provider.sandbox.test", "refuse", "blocked_domain", unknown, false),
        ("accepts@provider.sandbox.test.", "refuse", "blocked_domain", no, false),
        ("anyone@catchall.sandbox.test", "allow", "accepted_catch_all", risky, true),
        ("greylisted@sandbox.test", "allow", "greylisted", unknown, true),
        ("blocked@sandbox.test", "allow", "blocked", unknown, true),
        ("dns_failure@sandbox.test", "allow", "dns_failure", unknown, false),
        ("http_502@sandbox.test", "allow", "upstream", unknown, false),
    ] {
        let reply = decide(&ann, email).await;
        let actual = (reply.status, &reply.body["decision"], &reply.body["reason"]);
        assert_eq!(actual, (200, &json!(decision), &json!(reason)), "{email}: {}", reply.body);
        assert_eq!(reply.body["verdict"], verdict, "{email}: {}", reply.body);
        assert_eq!(reply.body["message"].is_string(), decision == "refuse", "{email}");
        counted += i64::from(is_counted);
        assert_eq!(ann.email_checks().await.used_today, counted, "{email}");
        // Our failures aren't counted, but have taken a unit in the meantime.
        if reason != "dns_failure" {
            assert_eq!(reply.headers.contains_key("ratelimit"), is_counted, "{email}");
        }
        let typed = email.trim();
        let stored = typed.strip_prefix("Ann <").map_or(typed, |rest| rest.trim_end_matches('>'));
        assert_eq!(reply.body["email"], stored, "the address to store");
        let is_full = email == "full@sandbox.test";
        let message = reply.body["message"].as_str().unwrap_or_default();
        assert_eq!(message.contains("full"), is_full, "{message}");
    }
    let misspelt = decide(&ann, "accepts@snadbox.test").await;
    assert_eq!(misspelt.body["suggestion"], "accepts@sandbox.test", "{}", misspelt.body);

    // By default, forwarding services, roles and suspected domains aren't refused.
    let bob = stack.edge.account().await;
    for email in
        ["accepts@relay.sandbox.test", "info@sandbox.test", "accepts@suspected.sandbox.test"]
    {
        assert_eq!(decide(&bob, email).await.body["decision"], "allow", "{email}");
    }
    wait_for_refusals(&ann, 12).await;
    let counts = ann.get("/guard").await.body["refusals"].clone();
    let of = |reason: &str| {
        let all = counts.as_array().unwrap();
        all.iter().find(|it| it["reason"] == reason).map(|it| it["count"].clone())
    };
    assert_eq!(
        (of("invalid"), of("undeliverable"), of("relay")),
        (Some(json!(2)), Some(json!(3)), Some(json!(1)))
    );
    let dump = format!("{:?}", stack.edge.dump(&[]).await);
    assert!(!dump.contains("accepts@") && !dump.contains("rejects@"), "an address is stored");
    assert_eq!(bob.get("/guard").await.body["refusals"], json!([]));
}

/// A service whose bindings and origin fail on command, and an account with a hook.
struct World {
    edge: Edge,
    origin: FakeOrigin,
    ann: Account,
    hook: Hook,
}

impl World {
    async fn start() -> Self {
        Self::start_with(|builder| builder).await
    }

    async fn start_with(change: impl FnOnce(EdgeBuilder) -> EdgeBuilder) -> Self {
        let origin = FakeOrigin::start(|address| match address.split(['-', '@']).next() {
            Some("silent") => Conduct::Silence,
            Some("broken") => Conduct::Answer(500, "{}"),
            Some("bad") => Conduct::Verdict(Status::Refused),
            _ => Conduct::Verdict(Status::Accepted),
        });
        let edge = Edge::builder().origins(&[&origin.url]).shimmed();
        let edge = change(edge).start().await.unwrap();
        let ann = edge.account().await;
        let reply =
            set(&ann, &json!({ "block_domains": ["blocked.example"], "deadline_ms": 1_500 })).await;
        let hook = Hook::from(&reply);
        Self { edge, origin, ann, hook }
    }
}

fn refused(reply: &Reply) -> bool {
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body != json!({})
}

/// Time after which Supabase aborts a hook.
const SUPABASES_PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn whatever_fails_of_ours_the_hook_answers_200_in_time_and_nobody_is_turned_away() {
    let mut world = World::start().await;
    let World { edge, hook, .. } = &world;
    let blocked = hook.call(edge, "msg_refused_before", "x@blocked.example").await;
    let error = json!({ "error": {
        "message": "Addresses of this domain can't be used here. Use another one.", "http_code": 400
    } });
    assert_eq!(blocked.parts(), (200, &error), "the policy works");
    let d1 = Fault { part: "d1", times: u32::MAX, ..Fault::default() };
    let slow = |part, delay_ms| Fault { part, times: u32::MAX, delay_ms, ..Fault::default() };
    for (what, faults, email) in [
        ("no origin answers", vec![], "broken-1@guard.example"),
        ("an origin is silent", vec![], "silent-1@guard.example"),
        (
            "the database fails",
            vec![Fault { error: "D1_ERROR: injected", ..d1.clone() }],
            "x@blocked.example",
        ),
        ("the database hangs", vec![slow("d1", 20_000)], "x@blocked.example"),
        ("the caches hang", vec![slow("cache", 20_000), slow("kv", 20_000)], "ok-2@guard.example"),
    ] {
        // A new isolate, which has no policy at hand.
        world.edge.restart().await.unwrap();
        let World { edge, ann, hook, .. } = &world;
        edge.fail(&faults).await;
        let began = Instant::now();
        let id = format!("msg_{}", what.replace(' ', "_"));
        let reply = hook.call(edge, &id, email).await;
        assert!(!refused(&reply), "{what}: {}", reply.body);
        assert!(began.elapsed() < SUPABASES_PATIENCE, "{what}: {:?}", began.elapsed());
        let began = Instant::now();
        let reply = decide_at(edge, ann, email).await;
        assert_eq!(
            (reply.status, &reply.body["decision"]),
            (200, &json!("allow")),
            "{what}: {}",
            reply.body
        );
        assert!(began.elapsed() < SUPABASES_PATIENCE, "{what}: {:?}", began.elapsed());
        // A text that isn't an address is refused with no policy at hand, too.
        assert!(refused(&hook.call(edge, &format!("{id}_form"), "nonsense").await), "{what}");
        assert_eq!(decide_at(edge, ann, "nonsense").await.body["reason"], "invalid", "{what}");
        edge.fail(&[]).await;
    }
    let World { edge, ann, hook, .. } = &world;
    assert!(!refused(&hook.call(edge, "msg_before_the_key_is_off", "ok-3@guard.example").await));
    edge.set(&ann.email, "key_active = 0").await;
    assert!(!refused(&hook.call(edge, "msg_key_is_off", "bad-1@guard.example").await));
    let reply = decide_at(edge, ann, "bad-1@guard.example").await;
    assert_eq!(reply.status, 401, "a caller's own key is named: {}", reply.body);
}

/// Asks for a decision, of an edge that has been restarted on another port.
async fn decide_at(edge: &Edge, account: &Account, email: &str) -> Reply {
    let request = edge.anonymous().request(Method::POST, "/guard/decide");
    send(request.header("x-api-key", &account.api_key).json(&json!({ "email": email }))).await
}

#[tokio::test]
async fn the_last_known_policy_decides_while_the_database_fails() {
    let world = World::start().await;
    let World { edge, ann, hook, .. } = &world;
    assert!(refused(&hook.call(edge, "msg_known", "x@blocked.example").await));
    assert_eq!(decide(ann, "x@blocked.example").await.body["reason"], "blocked_domain");
    // Until the policies are no longer fresh.
    sleep(Duration::from_secs(11)).await;
    let error = "D1_ERROR: injected";
    edge.fail(&[Fault { part: "d1", times: u32::MAX, error, ..Fault::default() }]).await;
    assert!(refused(&hook.call(edge, "msg_last_known", "x@blocked.example").await));
    assert_eq!(decide(ann, "x@blocked.example").await.body["reason"], "blocked_domain");
    let reply = decide(ann, "ok-1@guard.example").await;
    assert_eq!(
        (&reply.body["decision"], &reply.body["reason"]),
        (&json!("allow"), &json!("unavailable")),
        "{}",
        reply.body
    );
}

#[tokio::test]
async fn without_a_check_form_own_lists_and_listed_throw_aways_are_refused_by_both_doors() {
    let world = World::start().await;
    let World { edge, origin, ann, hook } = &world;
    let texts = [
        ("nonsense", "invalid"),
        ("", "invalid"),
        ("x@blocked.example", "blocked_domain"),
        ("x@BLOCKED.example.", "blocked_domain"),
        ("silent-1@mailinator.com", "disposable"),
        ("silent-1@sub.mailinator.com", "disposable"),
    ];
    let body = json!({ "deadline_ms": 300 });
    assert_eq!(set(ann, &body).await.status, 200);
    for when in ["at the deadline", "with an empty allowance"] {
        if when == "with an empty allowance" {
            edge.set(&ann.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
        }
        let probes = origin.probes().len();
        for (index, (email, reason)) in texts.into_iter().enumerate() {
            let reply = decide(ann, email).await;
            assert_eq!(
                (reply.status, &reply.body["decision"], &reply.body["reason"]),
                (200, &json!("refuse"), &json!(reason)),
                "{when}: {email}: {}",
                reply.body
            );
            // To Supabase, no address means that somebody signs up by phone.
            let id = format!("msg_{}_{index}", when.replace(' ', "_"));
            let is_refused = refused(&hook.call(edge, &id, email).await);
            assert_eq!(is_refused, !email.is_empty(), "{when}: {email}");
        }
        let (email, reason) = match when {
            "at the deadline" => ("silent-2@guard.example", "not_in_time"),
            _ => ("bad-1@guard.example", "used_up"),
        };
        let reply = decide(ann, email).await;
        assert_eq!(
            (&reply.body["decision"], &reply.body["reason"], &reply.body["verdict"]),
            (&json!("allow"), &json!(reason), &json!("unknown")),
            "{when}: {}",
            reply.body
        );
        assert!(!refused(&hook.call(edge, &format!("{reason}_other"), email).await), "{when}");
        if when == "with an empty allowance" {
            assert_eq!(origin.probes().len(), probes, "no mail server is asked about");
        }
    }
}

#[tokio::test]
async fn the_list_answers_so_often_a_minute_and_no_other_call_of_the_account_pays_for_it() {
    let world = World::start_with(|builder| builder.shield("SHIELD_ACCOUNT", 5)).await;
    let World { edge, ann, hook, .. } = &world;
    edge.set(&ann.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
    let mut reasons = Vec::new();
    for n in 0..4 {
        let reply = decide(ann, "x@mailinator.com").await;
        reasons.push(reply.body["reason"].as_str().unwrap().to_owned());
        reasons.push(
            refused(&hook.call(edge, &format!("msg_{n}"), "x@mailinator.com").await).to_string(),
        );
    }
    let [yes, no] = ["true", "false"];
    assert_eq!(reasons, ["disposable", yes, "disposable", yes, "disposable", no, "used_up", no]);
    let request = ann.anonymous.request(Method::GET, "/me/quota");
    let reply = send(request.header("x-api-key", &ann.api_key)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

#[tokio::test]
async fn a_repeat_gets_its_answer_though_the_allowance_is_used_up() {
    let world = World::start().await;
    let World { edge, ann, hook, .. } = &world;
    assert!(refused(&hook.call(edge, "msg_last", "bad-1@guard.example").await));
    edge.set(&ann.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
    assert_eq!(decide(ann, "ok-1@guard.example").await.body["reason"], "used_up");
    assert!(refused(&hook.call(edge, "msg_last", "bad-1@guard.example").await));
    assert!(!refused(&hook.call(edge, "msg_new", "bad-1@guard.example").await));
}

/// Sends `count` requests, eight at a time, and returns the statuses that came, and the round trips to D1.
async fn flood(
    edge: &Edge,
    count: usize,
    request: impl Fn(usize) -> RequestBuilder,
) -> (BTreeSet<u16>, u64) {
    edge.counts().await;
    let mut statuses = BTreeSet::new();
    for first in (0..count).step_by(8) {
        let requests = (first..first + 8).map(&request);
        statuses.extend(send_at_once(requests).await.iter().map(|reply| reply.status));
    }
    (statuses, edge.counts().await.d1_trips)
}

#[tokio::test]
async fn a_flood_of_decisions_costs_the_database_next_to_nothing() {
    let mut world = World::start().await;
    let lists = json!({ "allow_domains": ["allowed.example"] });
    assert_eq!(set(&world.ann, &lists).await.status, 200);
    let by_key = |world: &World, key: &str, email: &str| {
        let request = world.edge.anonymous().request(Method::POST, "/guard/decide");
        request.header("x-api-key", key).json(&json!({ "email": email }))
    };
    let by_session = |world: &World, token: &str| {
        let request = world.edge.anonymous().request(Method::POST, "/guard/decide");
        request.bearer_auth(token).json(&json!({ "email": "x@allowed.example" }))
    };
    // Each reads the policy once in ten seconds, unless calls overlap, and writes its refusals once.
    let began = Instant::now();
    let key = world.ann.api_key.clone();
    let (statuses, trips) =
        flood(&world.edge, 320, |_| by_key(&world, &key, "x@blocked.example")).await;
    let windows = began.elapsed().as_secs() / 10 + 1;
    assert_eq!(statuses, BTreeSet::from([200]));
    assert!(trips <= windows * 10, "{trips} trips of a live key in {:?}", began.elapsed());

    let began = Instant::now();
    let hook_call = |n: usize| {
        let (id, text) = (format!("msg_{n}"), supabase_call("x@blocked.example"));
        let now = clock::now();
        let request = world.edge.anonymous().request(Method::POST, &world.hook.path);
        let request =
            request.header("webhook-id", &id).header("webhook-timestamp", now.to_string());
        request.header("webhook-signature", world.hook.signature(&id, now, &text)).body(text)
    };
    let (statuses, trips) = flood(&world.edge, 320, hook_call).await;
    let windows = began.elapsed().as_secs() / 10 + 1;
    assert_eq!(statuses, BTreeSet::from([200]));
    assert!(trips <= windows * 10, "{trips} trips of a hook in {:?}", began.elapsed());

    // The last refusals are written up to ten seconds later; what follows refuses nobody.
    wait_for_refusals(&world.ann, 640).await;
    world.ann.api_key = world.ann.rotate_api_key().await.text("api_key").to_owned();
    // The first call with a dead key asks why it's refused.
    let dead = wait_until_dead(&world, || by_key(&world, &key, "x@allowed.example")).await;
    assert_eq!(dead, (BTreeSet::from([401]), 0), "a replaced key");
    let token = world.ann.token.clone();
    assert_eq!(world.ann.post("/auth/sign-out", &json!({})).await.status, 204);
    let dead = wait_until_dead(&world, || by_session(&world, &token)).await;
    assert_eq!(dead, (BTreeSet::from([401]), 0), "an ended session");
}

/// Waits until this number of refusals is written. The first are written at once, the others within ten seconds.
async fn wait_for_refusals(account: &Account, expected: u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let body = account.get("/guard").await.body;
        let refusals = body["refusals"].as_array().unwrap();
        let written: u64 = refusals.iter().map(|it| it["count"].as_u64().unwrap()).sum();
        if written == expected {
            return;
        }
        assert!(written < expected && Instant::now() < deadline, "{body}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// Calls until the isolate knows that the credential is dead, and then 80 times.
async fn wait_until_dead(
    world: &World,
    request: impl Fn() -> RequestBuilder,
) -> (BTreeSet<u16>, u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    // A policy that the credential has read may still decide for ten seconds.
    while send(request()).await.status != 401 {
        assert!(Instant::now() < deadline, "the credential still works");
        sleep(Duration::from_millis(200)).await;
    }
    flood(&world.edge, 80, |_| request()).await
}

#[tokio::test]
async fn above_the_shield_policy_and_form_decide_without_the_database() {
    let world = World::start_with(|builder| builder.shield("SHIELD_CHECKS", 2)).await;
    let World { edge, ann, hook, .. } = &world;
    for n in 0..2 {
        assert_eq!(decide(ann, "x@blocked.example").await.body["reason"], "blocked_domain");
        assert!(refused(&hook.call(edge, &format!("msg_{n}"), "x@blocked.example").await));
    }
    let bob = edge.account().await;
    // Refusals are written within ten seconds, whatever is asked meanwhile.
    let operations = async || {
        let mut operations = edge.operations().await;
        operations.remove("insert guard_refusals");
        operations
    };
    let before = operations().await;
    for (email, decision, reason) in [
        ("x@blocked.example", "refuse", "blocked_domain"),
        ("nonsense", "refuse", "invalid"),
        ("x@mailinator.com", "refuse", "disposable"),
        ("bad-1@guard.example", "allow", "throttled"),
    ] {
        let reply = decide(ann, email).await;
        let actual = (reply.status, &reply.body["decision"], &reply.body["reason"]);
        assert_eq!(actual, (200, &json!(decision), &json!(reason)), "{email}: {}", reply.body);
        let id = format!("msg_{decision}_{reason}");
        let is_refused = refused(&hook.call(edge, &id, email).await);
        assert_eq!(is_refused, decision == "refuse", "{email}");
    }
    assert_eq!(operations().await, before);
    // Another account's calls are counted apart.
    assert_eq!(decide(&bob, "bad-1@guard.example").await.body["reason"], "undeliverable");
}

#[tokio::test]
async fn a_test_key_decides_about_the_sandbox_and_nothing_is_counted() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    assert_eq!(set(&ann, &json!({ "block_domains": ["relay.sandbox.test"] })).await.status, 200);
    edge_is_empty(&stack.edge, &ann).await;
    let terms = json!({ "name": "test", "rights": ["sandbox"] });
    let (key, _) = ann.named_key(&terms).await;
    let ask = async |email: &str, once: &str| {
        let request = ann.anonymous.request(Method::POST, "/guard/decide");
        let request = request.header("x-api-key", &key).header("idempotency-key", once);
        send(request.json(&json!({ "email": email }))).await
    };
    for (email, decision, reason, verdict) in [
        ("accepts@sandbox.test", "allow", "accepted", "deliverable"),
        ("rejects@sandbox.test", "refuse", "undeliverable", "undeliverable"),
        ("accepts@disposable.sandbox.test", "refuse", "disposable", "deliverable"),
        ("x@relay.sandbox.test", "refuse", "blocked_domain", "unknown"),
        ("timeout@sandbox.test", "allow", "not_in_time", "unknown"),
        ("http_429@sandbox.test", "allow", "used_up", "unknown"),
        ("nonsense", "refuse", "invalid", "undeliverable"),
    ] {
        let reply = ask(email, "the-same-for-all-of-them").await;
        let actual = (&reply.body["decision"], &reply.body["reason"], &reply.body["verdict"]);
        let expected = (&json!(decision), &json!(reason), &json!(verdict));
        assert_eq!((reply.status, actual), (200, expected), "{email}: {}", reply.body);
        assert!(!reply.headers.contains_key("ratelimit"), "{email}");
    }
    let outside = ask("ann@example.org", "the-same-for-all-of-them").await;
    outside.assert_error(403, "test_key", "outside the sandbox");
    let short = ask("accepts@sandbox.test", "short").await;
    assert_eq!(
        (short.status, &short.body["code"]),
        (400, &json!("invalid_idempotency_key")),
        "as with any key"
    );
    assert_eq!(ann.get("/guard").await.body["refusals"], json!([]), "a test refuses nobody");
    assert_eq!(ann.email_checks().await.used_today, 100);
}

async fn edge_is_empty(edge: &Edge, account: &Account) {
    let used_up = "day = unixepoch() / 86400, daily_charged = 100, welcome_left = 0";
    edge.set(&account.email, used_up).await;
}

#[tokio::test]
async fn a_genuine_call_is_200_whatever_it_holds_and_a_false_one_is_401_without_storage() {
    let world = World::start().await;
    let World { edge, hook, .. } = &world;
    let now = clock::now();
    // Before any refusal: some are written up to ten seconds later.
    edge.counts().await;
    let text = supabase_call("bad-1@guard.example");
    let good = hook.signature("msg_false", now, &text);
    for (what, id, at, signature, text) in [
        ("another body", "msg_false", now, good.as_str(), supabase_call("ok-1@guard.example")),
        ("another id", "msg_other", now, &good, text.clone()),
        ("another time", "msg_false", now - 1, &good, text.clone()),
        ("no signature", "msg_false", now, "", text.clone()),
        (
            "six minutes ago",
            "msg_false",
            now - 360,
            &hook.signature("msg_false", now - 360, &text),
            text.clone(),
        ),
        (
            "in six minutes",
            "msg_false",
            now + 360,
            &hook.signature("msg_false", now + 360, &text),
            text.clone(),
        ),
    ] {
        let reply = hook.send(edge, (id, at, signature), text).await;
        assert_eq!(
            (reply.status, &reply.body["code"]),
            (401, &json!("invalid_hook_signature")),
            "{what}"
        );
    }
    let junk = Hook { path: "/guard/hooks/supabase/junk".to_owned(), key: hook.key.clone() };
    assert_eq!(junk.call(edge, "msg_junk", "ok-1@guard.example").await.status, 404);
    assert_eq!(edge.counts().await.d1_trips, 0, "junk costs nothing");
    assert!(refused(&hook.call(edge, "msg_bad", "bad-1@guard.example").await));
    for (what, text) in [
        ("no address", supabase_call("")),
        ("a phone alone", json!({ "user": { "phone": "15551234567" } }).to_string()),
        ("no user", "{}".to_owned()),
        ("no JSON", "hello".to_owned()),
        ("nothing", String::new()),
        (
            "more than we hold",
            format!("{}{}", supabase_call("bad-1@guard.example"), " ".repeat(300_000)),
        ),
    ] {
        let reply = hook.call_at(edge, now, "msg_odd", text).await;
        assert_eq!(reply.parts(), (200, &json!({})), "{what}");
    }
    // Metadata that is larger than the limit for other bodies.
    let mut large: Value = serde_json::from_str(&supabase_call("bad-1@guard.example")).unwrap();
    large["user"]["user_metadata"] = json!({ "picture": "x".repeat(100_000) });
    assert!(refused(&hook.call_at(edge, now, "msg_large", large.to_string()).await));
    let log = edge.process.log();
    assert!(!log.contains("guard.example") && !log.contains("8b34dcdd"), "the call is in the log");
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_counted_once_and_no_number_of_calls_turns_the_hook_off() {
    let world = World::start().await;
    let World { edge, origin, ann, hook } = &world;
    for _ in 0..3 {
        assert!(refused(&hook.call(edge, "msg_again", "bad-1@guard.example").await));
    }
    assert_eq!(ann.email_checks().await.used_today, 1);
    assert_eq!(origin.probes_of("bad-1@guard.example"), 1);
    for n in 0..20 {
        assert!(refused(&hook.call(edge, &format!("msg_spam_{n}"), "x@blocked.example").await));
    }
    assert_eq!(ann.email_checks().await.used_today, 1, "a domain of one's own list costs nothing");
    assert!(refused(&hook.call(edge, "msg_after_the_spam", "bad-2@guard.example").await));
}

#[tokio::test]
async fn a_replaced_hook_works_for_a_day_beside_its_successor_and_then_no_more() {
    let world = World::start().await;
    let World { edge, ann, hook: first, .. } = &world;
    let reply = ann.post("/guard/secret", &json!({})).await;
    let second = Hook::from(&reply);
    assert!(reply.body["supabase"]["previous_until"].is_string(), "{}", reply.body);
    assert!(second.path != first.path && second.key != first.key);
    for (index, hook) in [first, &second].into_iter().enumerate() {
        assert!(refused(
            &hook.call(edge, &format!("msg_both_{index}"), "bad-1@guard.example").await
        ));
    }
    let mixed = Hook { path: second.path.clone(), key: first.key.clone() };
    assert_eq!(mixed.call(edge, "msg_mixed", "bad-1@guard.example").await.status, 401);
    let id = edge.id(&ann.email).await;
    let a_day_later = "UPDATE guard_policies SET previous_until = 1 WHERE account_id = ?";
    edge.sql_of(&id, a_day_later, &[id.as_str().into()]).await;
    // The policy is read again within ten seconds.
    let deadline = Instant::now() + Duration::from_secs(60);
    while first.call(edge, "msg_late", "bad-1@guard.example").await.status != 401 {
        assert!(Instant::now() < deadline, "the replaced hook still works");
        sleep(Duration::from_millis(200)).await;
    }
    assert!(refused(&second.call(edge, "msg_now", "bad-1@guard.example").await));
    // The hook of a deleted account rejects nobody.
    let deleted = ann.delete("/me", &json!({ "password": ann.password })).await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    assert!(!refused(&second.call(edge, "msg_deleted", "bad-1@guard.example").await));
    let count_policies = "SELECT count(*) AS n FROM guard_policies WHERE account_id = ?";
    edge.run_scheduled().await;
    assert_eq!(edge.sql_of(&id, count_policies, &[id.as_str().into()]).await[0]["n"], 0);
}

#[tokio::test]
async fn the_hook_goes_on_when_the_account_s_key_is_replaced_and_the_old_key_asks_for_no_check() {
    let world = World::start().await;
    let World { edge, ann, hook, origin } = &world;
    assert!(refused(&hook.call(edge, "msg_before", "bad-1@guard.example").await));
    assert_eq!(decide(ann, "bad-1@guard.example").await.body["reason"], "undeliverable");
    assert_eq!(ann.rotate_api_key().await.status, 200);
    assert!(refused(&hook.call(edge, "msg_after", "bad-2@guard.example").await));
    let reply = decide(ann, "bad-3@guard.example").await;
    assert_eq!((reply.status, &reply.body["code"]), (401, &json!("invalid_api_key")));
    assert_eq!(origin.probes_of("bad-3@guard.example"), 0);
    // From then on the old key decides nothing, not even what needs no check.
    assert_eq!(decide(ann, "x@blocked.example").await.status, 401);
}

#[tokio::test]
async fn each_refusal_is_counted_once_however_many_come_at_once() {
    let world = World::start().await;
    let World { edge, ann, .. } = &world;
    let request = |_| {
        let request = ann.anonymous.request(Method::POST, "/guard/decide");
        request.header("x-api-key", &ann.api_key).json(&json!({ "email": "x@blocked.example" }))
    };
    let (statuses, _) = flood(edge, 32, request).await;
    assert_eq!(statuses, BTreeSet::from([200]));
    wait_for_refusals(ann, 32).await;
}

#[tokio::test]
async fn the_hook_of_an_account_that_never_set_a_policy_works_by_the_default() {
    let world = World::start().await;
    let bob = world.edge.account().await;
    let hook = Hook::of(&bob).await;
    assert!(refused(&hook.call(&world.edge, "msg_default", "bad-1@guard.example").await));
    assert!(!refused(&hook.call(&world.edge, "msg_default_2", "ok-1@guard.example").await));
}
