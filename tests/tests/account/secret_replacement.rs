//! `tools/admin secret`: an operator replaces all secrets from a machine without the old values, and every run is cut.
//! The account of before lives on (docs/operating/incidents.md, Replace a secret).

use std::{collections::HashSet, fs};

use rcpt_shared::{KeyRing, Status, Ticket};
use rcpt_tests::{
    Account, Authenticator, Conduct, Edge, FakeOrigin, FakeWebhook, Origin, Platform,
    people::PASSWORD,
    service::{clock, edge::EdgeBuilder, secret},
};
use serde_json::{Value, json};

const DAY_S: i64 = 24 * 60 * 60;

/// Returns names and values of the secrets that the platform's Worker has.
pub async fn secrets(platform: &Platform) -> Vec<(String, String)> {
    let worker = platform.state().await.unwrap()["workers"]["rcpt"].clone();
    let bindings = worker["bindings"].as_array().unwrap().iter();
    let names = bindings.filter(|each| each["type"] == "secret_text").map(|each| &each["name"]);
    let value = |name: &str| worker["secrets"][name].as_array()?.last()?.as_str();
    let all = names.filter_map(Value::as_str).filter_map(|name| Some((name, value(name)?)));
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub fn of_ring<'a>(secrets: &'a [(String, String)], ring: &str) -> Vec<&'a str> {
    let of = secrets.iter().filter(|(name, _)| name.starts_with(&format!("{ring}_")));
    of.map(|(name, _)| name.as_str()).collect()
}

pub fn with_secrets(mut edge: EdgeBuilder, secrets: &[(String, String)]) -> EdgeBuilder {
    for ring in secret::RINGS {
        edge = edge.without_ring(ring);
    }
    secrets.iter().fold(edge, |edge, (name, value)| edge.var(name, value))
}

struct Life {
    edge: Edge,
    origin: FakeOrigin,
    webhook: FakeWebhook,
    webhook_secret: String,
    /// The names of the ring with which the webhook was tested last.
    tested: String,
    tenant: String,
    authenticator: Authenticator,
    account: Account,
}

impl Life {
    async fn begin(secrets: &[(String, String)]) -> Self {
        let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
        let webhook = FakeWebhook::start();
        let edge = Edge::builder().origins(&[&origin.url]).webhooks(webhook.port);
        let edge = with_secrets(edge, secrets).start().await.unwrap();
        let account = edge.account().await;
        edge.set(&account.email, "plan = 'pro'").await;
        let (authenticator, _) = account.enable_two_factor().await;
        let body = json!({ "scan_email": false, "webhook_url": "https://hooks.example.com/" });
        let reply = account.put("/notifications", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let webhook_secret = reply.text("webhook_secret").to_owned();
        let shown = edge.operator().on("show", &account.email).await;
        let tenant = shown["tenant"].as_str().unwrap().to_owned();
        let tested = String::new();
        Self { edge, origin, webhook, webhook_secret, tested, tenant, authenticator, account }
    }

    /// Starts the Worker with these secrets, runs the schedule, and asserts that what was made under an old value works
    /// as long as that is there, and that its owner can always sign in.
    async fn goes_on(&mut self, secrets: &[(String, String)], first: &[(String, String)]) {
        self.edge.restart_with(|edge| with_secrets(edge, secrets)).await.unwrap();
        self.edge.run_scheduled().await;
        let has_old = |ring: &str| {
            of_ring(first, ring).iter().all(|old| secrets.iter().any(|(name, _)| name == old))
        };
        let shape = secrets.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ");
        let Account { email, .. } = &self.account;
        let code = self.edge.fresh_code(&self.account, &self.authenticator).await;
        let reply = self.edge.anonymous().login_with_code(email, PASSWORD, &code).await;
        assert_eq!(reply.status, 200, "{shape}: {}", reply.body);
        let now = Account::from_credentials(&self.edge.anonymous(), PASSWORD, &reply);
        assert_eq!(now.quota().await.status, 200, "{shape}");
        assert_eq!(now.check("ann@example.org").await.status, 200, "{shape}");
        let of_before = |works| if works { 200 } else { 401 };
        let session = self.account.get("/me").await.status;
        assert_eq!(session, of_before(has_old("SESSION_SECRET")), "{shape}");
        let key = self.account.quota().await.status;
        assert_eq!(key, of_before(has_old("API_KEY_SECRET")), "{shape}");
        // Tests of a webhook are few: one for each state of its ring.
        let keys = of_ring(secrets, "API_KEY_SECRET").join(" ");
        if keys != self.tested {
            self.tested = keys;
            let sent = self.webhook.events("hooks.example.com").len();
            let reply = now.post("/notifications/test", &json!({})).await;
            assert_eq!(reply.status, 200, "{shape}: {}", reply.body);
            let event = self.webhook.wait_for("hooks.example.com", sent + 1).await.remove(sent);
            let is_signed = event.is_signed_by(&self.webhook_secret);
            assert_eq!(is_signed, has_old("API_KEY_SECRET"), "{shape}");
        }
        let found = self.edge.operator().call(&json!({ "tenant": { "name": self.tenant } })).await;
        let expected = if has_old("ADDRESS_SECRET") { 200 } else { 404 };
        assert_eq!(found.status, expected, "{shape}: {}", found.body);
        assert!(!self.origin.probes().is_empty());
    }
}

/// The value that is to be appended to the origins' `ticket_secrets`.
fn to_append(output: &str) -> &str {
    output.split_once("s/\"$/,").and_then(|(_, rest)| rest.split_once('"')).unwrap_or_default().0
}

/// The value that is to be left alone in the origins' `ticket_secrets`.
fn to_leave(output: &str) -> &str {
    output.split_once("s/\".*\"/\"").and_then(|(_, it)| it.split_once('"')).unwrap_or_default().0
}

async fn refuses(origin: &Origin, secrets: &str) -> bool {
    let keys = KeyRing::parse(secrets).unwrap();
    let ticket = Ticket::issue(&keys, "thief", b"{}", clock::now()).unwrap();
    origin.post("{}", &ticket).await.unwrap().status() == 401
}

/// The platform's clock begins a year ago, so that all values have ripened for the Worker.
#[tokio::test]
async fn all_secrets_are_replaced_on_a_machine_without_them_however_often_it_is_cut() {
    let platform = Platform::small().await.unwrap();
    let mut later = -300 * DAY_S;
    platform.order(&json!({ "state": { "later": later } })).await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    fs::remove_file(platform.secrets_file()).unwrap();
    let first = secrets(&platform).await;
    later += DAY_S;
    platform.order(&json!({ "state": { "later": later } })).await.unwrap();
    let state = platform.state().await.unwrap();
    let database = state["databases"][0]["uuid"].as_str().unwrap().to_owned();
    let mut life = Life::begin(&first).await;

    let tickets = |secrets: &[(String, String)]| {
        let of = secrets.iter().filter(|(name, _)| name.starts_with("TICKET_SECRET_"));
        of.map(|(_, value)| value.clone()).collect::<Vec<_>>().join(",")
    };
    let rings = ["secret", "--yes", "SESSION", "API_KEY", "ADDRESS", "TOTP", "SCAN", "TICKET"];
    let origin = Origin::builder().ticket_secrets(&tickets(&first)).start().await.unwrap();
    let words = [&rings[..], &[&origin.url]].concat();

    // The origins come first: nothing changes before they accept the new value.
    let changes = platform.changes().await.unwrap();
    let run = platform.admin(&words).await.unwrap();
    assert!(!run.succeeded && run.output.contains("Nothing was changed"), "{}", run.output);
    assert_eq!(platform.changes().await.unwrap(), changes);
    let kept = fs::read_to_string(platform.secrets_file()).unwrap();
    let (name, fresh) = kept.lines().find_map(|line| line.split_once('=')).unwrap();
    assert!(name.starts_with("TICKET_SECRET_") && to_append(&run.output) == fresh);
    let both = format!("{},{fresh}", tickets(&first));
    let mut origin = Origin::builder().ticket_secrets(&both).start().await.unwrap();

    let (mut seen, mut said, mut has_waited) = (Vec::new(), String::new(), false);
    let mut has_told = false;
    let is_done = |now: &[(String, String)]| {
        secret::RINGS.iter().all(|ring| {
            let values = of_ring(now, ring);
            values.len() == 1 && values != of_ring(&first, ring)
        })
    };
    for turn in 0.. {
        assert!(turn < 80, "no end: {said}");
        let before = turn % 2 == 0;
        platform.order(&json!({ "cut": { "after": 1, "before": before } })).await.unwrap();
        let run = platform.admin(&[&rings[..], &[&origin.url]].concat()).await.unwrap();
        platform.order(&json!({ "state": { "later": later } })).await.unwrap();
        said = run.output;
        let now = secrets(&platform).await;
        for ring in secret::RINGS {
            let values = of_ring(&now, ring).len();
            assert!((1..=2).contains(&values), "{ring}: {now:?}");
        }
        let values: HashSet<_> = now.iter().map(|(_, value)| value).collect();
        assert_eq!(values.len(), now.len(), "no two rings share a value");
        if seen.last() != Some(&now) {
            life.goes_on(&now, &first).await;
            seen.push(now.clone());
        }
        if is_done(&now) {
            break;
        }
        // The owners have thirty days from when they were told.
        if has_waited && !has_told && said.contains(" API_KEY_SECRET_") {
            has_told = said.contains("can be deleted from");
            later += i64::from(has_told) * 31 * DAY_S;
            platform.order(&json!({ "state": { "later": later } })).await.unwrap();
        }
        // All are added: nothing can be deleted yet, and nothing more is added.
        let is_added = secret::RINGS.iter().all(|ring| of_ring(&now, ring).len() == 2);
        if is_added && !has_waited {
            has_waited = true;
            let words = [&rings[..], &[&origin.url]].concat();
            let run = platform.admin(&words).await.unwrap();
            assert!(run.succeeded, "{}", run.output);
            assert_eq!(run.output.matches("can be deleted from").count(), 5, "{}", run.output);
            assert!(run.output.contains("its owners can be told from"), "{}", run.output);
            assert_eq!(secrets(&platform).await, now);
            // A second factor is still under the old value.
            let id = of_ring(&first, "TOTP_SECRET")[0].split('_').next_back().unwrap().to_owned();
            platform.insert_account(&database).await.unwrap();
            let seal = format!(
                "INSERT INTO second_factors (account_id, id, secret, on_at) VALUES ('0123456789abcdef', 'f', '{id}.x', 0)"
            );
            platform.sql(&database, &seal).await.unwrap();
            later += 40 * DAY_S;
            platform.order(&json!({ "state": { "later": later } })).await.unwrap();
            let run = platform.admin(&["secret"]).await.unwrap();
            assert!(run.output.contains("1 second factors"), "{}", run.output);
            let run = platform.admin(&["secret", "--yes", "totp"]).await.unwrap();
            assert!(run.output.contains("1 second factors are under TOTP_"), "{}", run.output);
            assert_eq!(secrets(&platform).await, now);
            platform.sql(&database, "DELETE FROM second_factors").await.unwrap();
            // An origin verifies all values that it lists: nothing ends before it lists the new one alone.
            let run = platform.admin(&words).await.unwrap();
            assert!(!run.succeeded && to_leave(&run.output) == fresh, "{}", run.output);
            assert_eq!(secrets(&platform).await, now);
            origin = Origin::builder().ticket_secrets(fresh).start().await.unwrap();
        }
    }
    assert_eq!(seen.len(), 1 + 12, "each call of the platform was the last one once");
    assert!(refuses(&origin, &tickets(&first)).await, "a thief's ticket");
    // Each value that was made is in the operator's copy, and no value that was deleted.
    let kept = fs::read_to_string(platform.secrets_file()).unwrap();
    for (name, value) in seen.last().unwrap() {
        let is_kept = kept.contains(&format!("{name}={value}\n"));
        assert_eq!(is_kept, !name.starts_with("ADMIN_"), "{name}");
    }
    assert_eq!(kept.lines().count(), 6, "{}", kept.replace('=', " "));
}

/// The review's night: a leaked secret, replaced as the page says, shuts nobody out.
#[tokio::test]
async fn a_leaked_value_is_ended_at_once_where_that_harms_nobody_and_by_no_run_where_it_would() {
    let platform = Platform::small().await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let first = secrets(&platform).await;
    for ring in ["address", "totp", "scan"] {
        let run = platform.admin(&["secret", "--now", "--yes", ring]).await.unwrap();
        assert!(!run.succeeded && run.output.contains("has no --now"), "{}", run.output);
    }
    assert_eq!(secrets(&platform).await, first);
    // An hour later, cut between the two calls.
    platform.order(&json!({ "state": { "later": 3_600 }, "cut": { "after": 1 } })).await.unwrap();
    platform.admin(&["secret", "--now", "--yes", "SESSION"]).await.unwrap();
    platform.order(&json!({ "state": { "later": 3_600 } })).await.unwrap();
    let cut = secrets(&platform).await;
    assert_eq!(of_ring(&cut, "SESSION_SECRET").len(), 2);
    let run = platform.admin(&["secret", "--now", "--yes", "SESSION"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let now = secrets(&platform).await;
    let (old, new) = (of_ring(&first, "SESSION_SECRET"), of_ring(&now, "SESSION_SECRET"));
    assert!(new.len() == 1 && new != old && of_ring(&cut, "SESSION_SECRET").contains(&new[0]));
    let again = platform.admin(&["secret", "--now", "--yes", "SESSION"]).await.unwrap();
    assert!(again.output.contains("is new, and alone"), "{}", again.output);
    assert_eq!(secrets(&platform).await, now);

    // The Worker has the new value alone, and the run says that a thief's still works until no origin accepts it.
    let old = now.iter().find(|(name, _)| name.starts_with("TICKET_SECRET_")).unwrap().1.clone();
    let end = async |origin: &Origin| {
        platform.admin(&["secret", "--now", "--yes", "TICKET", &origin.url]).await.unwrap()
    };
    let origin = Origin::builder().ticket_secrets(&old).start().await.unwrap();
    let run = end(&origin).await;
    let fresh = to_append(&run.output).to_owned();
    assert!(!run.succeeded && fresh.len() == 43, "{}", run.output);
    assert_eq!(secrets(&platform).await, now);
    let both = format!("{old},{fresh}");
    let origin = Origin::builder().ticket_secrets(&both).start().await.unwrap();
    // Cut before the first of its two calls, and between them.
    for (before, values) in [(true, 1), (false, 2)] {
        let cut = json!({ "state": { "later": 3_600 }, "cut": { "after": 1, "before": before } });
        platform.order(&cut).await.unwrap();
        let run = end(&origin).await;
        platform.order(&json!({ "state": { "later": 3_600 } })).await.unwrap();
        assert!(!run.succeeded, "{}", run.output);
        let now = secrets(&platform).await;
        let tickets = of_ring(&now, "TICKET_SECRET");
        let has = |value: &String| now.iter().any(|(_, each)| each == value);
        assert_eq!((tickets.len(), has(&old), has(&fresh)), (values, true, !before));
    }
    let run = end(&origin).await;
    assert!(!run.succeeded && to_leave(&run.output) == fresh, "{}", run.output);
    let now = secrets(&platform).await;
    assert!(!refuses(&origin, &old).await && !now.iter().any(|(_, value)| *value == old));
    let origin = Origin::builder().ticket_secrets(&fresh).start().await.unwrap();
    let run = end(&origin).await;
    assert!(run.succeeded && run.output.contains("the new value alone"), "{}", run.output);
    assert!(refuses(&origin, &old).await);
    assert_eq!(secrets(&platform).await, now);

    // The laptop is lost: its operator's value goes, and no other one.
    let run = platform.admin(&["secret", "--yes", "ADMIN_BOB"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let run = platform.admin(&["secret", "--yes", "--now", "ADMIN_BOB"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert_eq!(secrets(&platform).await, now);
    // Nothing changes unasked.
    let run = platform.admin(&["secret", "SCAN"]).await.unwrap();
    assert!(!run.succeeded && run.output.contains("nothing was changed"), "{}", run.output);
    assert_eq!(secrets(&platform).await, now);
}
