//! The sign-up guard: an account's policy, its decisions, and Supabase's hook as documented (docs/trust.md, G1 to G4).

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Reply, Stack,
    people::send,
    service::{clock, shim::Fault},
};
use reqwest::Method;
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

/// Returns the body that Supabase documents for *Before User Created*.
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
        "deadline_ms": 2_000, "daily": 1_000, "refusals": []
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
        "daily": 1_000, "refusals": []
    });
    assert_eq!((changed.status, without_hook(&changed)), (200, second.clone()));
    for bad in [
        json!({ "refuse": ["relay", "catch_all"], "deadline_ms": 400 }),
        json!({ "block_domains": ["ann@example.org"], "deadline_ms": 400 }),
        json!({ "deadline_ms": 100 }),
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
    assert_eq!(of_kind("guard_changed"), [1], "a change that is refused is none");
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
    for (email, decision, reason) in [
        ("accepts@sandbox.test", "allow", "accepted"),
        ("Ann <accepts@sandbox.test>", "allow", "accepted"),
        ("no address", "refuse", "invalid"),
        ("", "refuse", "invalid"),
        ("rejects@sandbox.test", "refuse", "undeliverable"),
        ("accepts@disposable.sandbox.test", "refuse", "disposable"),
        ("accepts@suspected.sandbox.test", "refuse", "suspected"),
        ("accepts@relay.sandbox.test", "refuse", "relay"),
        ("info@sandbox.test", "refuse", "role"),
        ("accepts@parked.sandbox.test", "refuse", "parked"),
        ("x@nomx.sandbox.test", "allow", "allowed_domain"),
        ("x@deep.nomx.sandbox.test", "allow", "allowed_domain"),
        ("accepts@provider.sandbox.test", "refuse", "blocked_domain"),
        ("greylisted@sandbox.test", "allow", "accepted"),
        ("blocked@sandbox.test", "allow", "accepted"),
        ("fatal_exception@sandbox.test", "allow", "accepted"),
        ("http_502@sandbox.test", "allow", "upstream"),
    ] {
        let reply = decide(&ann, email).await;
        let actual = (reply.status, &reply.body["decision"], &reply.body["reason"]);
        assert_eq!(actual, (200, &json!(decision), &json!(reason)), "{email}: {}", reply.body);
        assert_eq!(reply.body["message"].is_string(), decision == "refuse", "{email}");
    }
    let misspelt = decide(&ann, "accepts@snadbox.test").await;
    assert_eq!(misspelt.body["suggestion"], "accepts@sandbox.test", "{}", misspelt.body);
    let used = ann.email_checks().await.used_today;
    assert_eq!(used, 13, "own lists cost no check, and what couldn't be found out isn't counted");

    // By default, forwarding services, roles and suspected domains aren't refused.
    let bob = stack.edge.account().await;
    for email in
        ["accepts@relay.sandbox.test", "info@sandbox.test", "accepts@suspected.sandbox.test"]
    {
        assert_eq!(decide(&bob, email).await.body["decision"], "allow", "{email}");
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    let counts = loop {
        let body = ann.get("/guard").await.body;
        let sum: u64 = body["refusals"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["count"].as_u64().unwrap())
            .sum();
        if sum == 10 {
            break body["refusals"].clone();
        }
        assert!(Instant::now() < deadline, "{body}");
        sleep(Duration::from_millis(50)).await;
    };
    let of = |reason: &str| {
        let all = counts.as_array().unwrap();
        all.iter().find(|it| it["reason"] == reason).map(|it| it["count"].clone())
    };
    assert_eq!(
        (of("invalid"), of("undeliverable"), of("relay")),
        (Some(json!(2)), Some(json!(2)), Some(json!(1)))
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
        let origin = FakeOrigin::start(|address| match address.split(['-', '@']).next() {
            Some("silent") => Conduct::Silence,
            Some("broken") => Conduct::Answer(500, "{}"),
            Some("bad") => Conduct::Verdict(Status::Refused),
            _ => Conduct::Verdict(Status::Accepted),
        });
        let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await.unwrap();
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
    let world = World::start().await;
    let World { edge, ann, hook, .. } = &world;
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
        edge.fail(&faults).await;
        let began = Instant::now();
        let id = format!("msg_{}", what.replace(' ', "_"));
        let reply = hook.call(edge, &id, email).await;
        assert!(!refused(&reply), "{what}: {}", reply.body);
        assert!(began.elapsed() < SUPABASES_PATIENCE, "{what}: {:?}", began.elapsed());
        let began = Instant::now();
        let reply = decide(ann, email).await;
        assert_eq!(
            (reply.status, &reply.body["decision"]),
            (200, &json!("allow")),
            "{what}: {}",
            reply.body
        );
        assert!(began.elapsed() < SUPABASES_PATIENCE, "{what}: {:?}", began.elapsed());
        edge.fail(&[]).await;
    }
    edge.set(&ann.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
    assert!(!refused(&hook.call(edge, "msg_nothing_is_left", "bad-1@guard.example").await));
    let reply = decide(ann, "bad-1@guard.example").await;
    assert_eq!(reply.body["reason"], "used_up", "{}", reply.body);
    edge.set(&ann.email, "key_active = 0").await;
    assert!(!refused(&hook.call(edge, "msg_key_is_off", "bad-1@guard.example").await));
    assert_eq!(decide(ann, "bad-1@guard.example").await.status, 401, "a caller's own key is named");
}

#[tokio::test]
async fn a_genuine_call_is_200_whatever_it_holds_and_a_false_one_is_401_without_storage() {
    let world = World::start().await;
    let World { edge, hook, .. } = &world;
    let now = clock::now();
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
    let log = edge.process.log();
    assert!(!log.contains("guard.example") && !log.contains("8b34dcdd"), "the call is in the log");
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_counted_once_and_so_many_calls_a_day_are_looked_at() {
    let world = World::start().await;
    let World { edge, origin, ann, hook } = &world;
    for _ in 0..3 {
        assert!(refused(&hook.call(edge, "msg_again", "bad-1@guard.example").await));
    }
    assert_eq!(ann.email_checks().await.used_today, 1);
    assert_eq!(origin.probes_of("bad-1@guard.example"), 1);
    // Three calls of today count already, so the fourth is the last that is checked.
    assert_eq!(set(ann, &json!({ "daily": 4 })).await.status, 200);
    assert!(refused(&hook.call(edge, "msg_fourth", "bad-2@guard.example").await));
    assert!(!refused(&hook.call(edge, "msg_fifth", "bad-3@guard.example").await));
    assert_eq!(origin.probes_of("bad-3@guard.example"), 0);
    let id = edge.id(&ann.email).await;
    let yesterday = "UPDATE guard_policies SET hook_day = hook_day - 1 WHERE account_id = ?";
    edge.sql_of(&id, yesterday, &[id.as_str().into()]).await;
    assert!(refused(&hook.call(edge, "msg_next_day", "bad-3@guard.example").await));
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
    assert_eq!(first.call(edge, "msg_late", "bad-1@guard.example").await.status, 401);
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
async fn the_hook_of_an_account_that_never_set_a_policy_works_by_the_default() {
    let world = World::start().await;
    let bob = world.edge.account().await;
    let hook = Hook::of(&bob).await;
    assert!(refused(&hook.call(&world.edge, "msg_default", "bad-1@guard.example").await));
    assert!(!refused(&hook.call(&world.edge, "msg_default_2", "ok-1@guard.example").await));
}
