//! Every secret can be replaced without losing anything (docs/security.md, B6). During a deployment, two versions of the
//! configuration serve the same accounts. The tests run each pair of successive versions at the same time, with all
//! secrets replaced together and with one secret replaced alone.
//!
//! - Each secret alone and all together, under 50 requests a second: nothing fails, nobody is signed out, and what was
//!   made under the old ones is found after they are gone.

use std::time::Duration;

use rcpt_shared::{KeyRing, Status, Ticket};
use rcpt_tests::{
    Account, Anonymous, Conduct, Edge, FakeOrigin, Reply,
    people::{PASSWORD, send},
    proof,
    service::{clock, secret},
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::time::interval;

/// Time between two requests: 50 a second.
const PACE: Duration = Duration::from_millis(20);
/// The number of requests per step: two seconds of load, and six in `make proof`.
fn requests() -> usize {
    proof::count(100, 300)
}

/// The stages of a replacement: the old value alone, the new one added, the new one ten minutes later, the old one
/// deleted.
const STAGES: usize = 4;

struct World {
    edge: Edge,
    origin: FakeOrigin,
    /// Ticket secrets of the origin during the replacement, the old and the new one.
    tickets: KeyRing,
    /// The rings whose value is replaced.
    replaced: &'static [&'static str],
    /// Ids of the authenticators' secrets, before and after.
    seals: [String; 2],
}

impl World {
    async fn start(replaced: &'static [&'static str]) -> Self {
        let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
        let values = secret::RINGS.map(|ring| {
            let [old, new] = [(); 2].map(|()| secret::value().unwrap());
            (ring, old, new)
        });
        let mut edge = Edge::builder().origins(&[&origin.url]);
        let mut stages: [Vec<(String, String)>; STAGES] = Default::default();
        for (ring, old, new) in &values {
            let named = |age, value: &String| {
                (secret::name(ring, clock::now() - age, value), value.to_owned())
            };
            let (name, _) = named(3_600, old);
            edge = edge.without_ring(ring).var(&name, old);
            if replaced.contains(ring) {
                stages[1].push(named(0, new));
                stages[2].push(named(1_200, new));
                stages[3].extend([named(1_200, new), (name, String::new())]);
            }
        }
        for vars in stages.into_iter().skip(1) {
            let vars = vars.iter().map(|(name, value)| (name.as_str(), value.clone()));
            edge = edge.variant(&vars.collect::<Vec<_>>());
        }
        let of = |ring| values.iter().find(|(name, ..)| *name == ring).unwrap();
        let (_, old, new) = of("TICKET_SECRET");
        let tickets = KeyRing::parse(&format!("{old},{new}")).unwrap();
        let (_, old, new) = of("TOTP_SECRET");
        let seals = [old, new].map(|value| KeyRing::parse(value).unwrap().signing().0.to_owned());
        Self { edge: edge.start().await.unwrap(), origin, tickets, replaced, seals }
    }

    /// A caller of a stage's Worker.
    fn at(&self, stage: usize) -> Anonymous {
        let variant = |index: usize| Anonymous::new(&self.edge.variants[index]);
        stage.checked_sub(1).map_or_else(|| self.edge.anonymous(), variant)
    }

    /// Marks all sessions as used: a sign-in beyond the limit first ends unused sessions, such as the load's own.
    async fn use_sessions(&self) {
        self.edge.sql("UPDATE sessions SET is_used = 1", &[]).await;
    }

    async fn sign_in(&self, stage: usize, email: &str) -> Account {
        let anonymous = self.at(stage);
        let reply = anonymous.login(email, PASSWORD).await;
        Account::from_credentials(&anonymous, PASSWORD, &reply)
    }

    /// Sends 50 requests a second, alternately to the two stages, with the credentials of `people`. Asserts that no
    /// request fails.
    async fn load(&self, stages: [usize; 2], people: &[Account]) {
        let mut pace = interval(PACE);
        let mut tasks = Vec::new();
        for n in 0..requests() {
            pace.tick().await;
            let person = &people[n / 2 % people.len()];
            let stage = stages[n % 2];
            let request = self.request(n, &format!("stage-{stage}"), &self.at(stage), person);
            tasks.push((n, tokio::spawn(send(request))));
        }
        let mut failures = Vec::new();
        for (n, task) in tasks {
            let Reply { status, body, .. } = task.await.unwrap();
            if status != 200 {
                failures.push(format!("request {n}: {status} {body}"));
            }
        }
        let (replaced, requests, failed) = (self.replaced, requests(), failures.len());
        println!("{replaced:?}, stages {stages:?}: {requests} requests, {failed} failures");
        assert!(failures.is_empty(), "{failures:#?}");
    }

    fn request(&self, n: usize, at: &str, to: &Anonymous, person: &Account) -> RequestBuilder {
        match n % 20 / 2 {
            0 => {
                let body = json!({ "email": person.email, "password": PASSWORD });
                to.request(Method::POST, "/auth/login").json(&body)
            }
            1..=3 => to.request(Method::GET, "/me").bearer_auth(&person.token),
            4..=6 => to.request(Method::GET, "/me/quota").header("x-api-key", &person.api_key),
            _ => to.check_request(&person.api_key, &format!("x-{n}@{at}.example")),
        }
    }

    /// Returns the id of the secret under which an authenticator is sealed after its next use.
    fn newest(&self) -> &str {
        &self.seals[usize::from(self.replaced.contains(&"TOTP_SECRET"))]
    }

    async fn seal(&self, email: &str) -> String {
        const SEAL: &str = "(SELECT substr(secret, 1, instr(secret, '.') - 1) FROM second_factors f
            WHERE f.account_id = accounts.id) AS seal";
        self.edge.row(email, SEAL).await["seal"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the number of authenticators that the old secret has sealed.
    async fn sealed_by_the_old(&self) -> u64 {
        self.edge.count(&format!("second_factors WHERE secret LIKE '{}.%'", self.seals[0])).await
    }
}

#[tokio::test]
async fn every_secret_is_replaced_under_load_and_nothing_is_lost() {
    replace_under_load(&secret::RINGS).await;
}

/// Replaces one secret, in `make proof` each of the six.
#[tokio::test]
async fn a_secret_is_replaced_alone_under_load_and_nothing_is_lost() {
    let each: [&'static [&'static str]; 6] = [
        &["ADDRESS_SECRET"],
        &["SESSION_SECRET"],
        &["API_KEY_SECRET"],
        &["TICKET_SECRET"],
        &["TOTP_SECRET"],
        &["SCAN_SECRET"],
    ];
    assert!(secret::RINGS.iter().all(|name| each.iter().any(|one| **one == [*name])));
    for replaced in &each[..proof::count(1, each.len())] {
        replace_under_load(replaced).await;
    }
}

async fn replace_under_load(replaced: &'static [&'static str]) {
    let world = World::start(replaced).await;
    let edge = &world.edge;
    let mut old = Vec::new();
    for _ in 0..2 {
        old.push(edge.account().await);
    }
    edge.sql("UPDATE accounts SET plan = 'unlimited'", &[]).await;
    let [with_totp, dormant] = [edge.account().await, edge.account().await];
    let (authenticator, _) = with_totp.enable_two_factor().await;
    let (dormant_authenticator, _) = dormant.enable_two_factor().await;
    let (unconfirmed, confirmation) = edge.registered().await;

    world.use_sessions().await;
    world.load([0, 1], &old).await;

    let mut both = old.clone();
    for account in &old {
        both.push(world.sign_in(2, &account.email).await);
    }
    world.use_sessions().await;
    world.load([1, 2], &both).await;

    // Signing in renews the account's values under the new secret.
    let code = edge.fresh_code(&with_totp, &authenticator).await;
    let reply = world.at(2).login_with_code(&with_totp.email, PASSWORD, &code).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(world.seal(&with_totp.email).await, world.newest());
    assert_eq!(world.seal(&dormant.email).await, world.seals[0]);
    // The scheduled run renews all other values.
    edge.run_scheduled_of(1).await;
    let query = format!("second_factors WHERE secret NOT LIKE '{}.%'", world.newest());
    assert_eq!(edge.count(&query).await, 0);

    let new = both.split_off(old.len());
    world.load([2, 3], &new).await;
    for (account, authenticator) in
        [(&with_totp, &authenticator), (&dormant, &dormant_authenticator)]
    {
        let code = edge.fresh_code(account, authenticator).await;
        let reply = world.at(3).login_with_code(&account.email, PASSWORD, &code).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    let reply = world.at(3).verify_email(confirmation.token().unwrap()).await;
    assert_eq!((reply.status, reply.text("email")), (200, unconfirmed.as_str()));
    // The address has an account now: registering it again creates no second account.
    assert_eq!(world.at(3).register(&unconfirmed, PASSWORD).await.status, 201);
    assert_eq!(edge.count(&format!("accounts WHERE email = '{unconfirmed}'")).await, 1);

    let probes = world.origin.probes();
    assert!(probes.len() > requests() / 2, "{}", probes.len());
    for probe in probes {
        Ticket::check(&world.tickets, &probe.ticket, probe.body.as_bytes(), clock::now()).unwrap();
    }
}

#[tokio::test]
async fn a_registration_finds_the_account_and_the_mark_of_a_deleted_one_under_either_secret() {
    let world = World::start(&secret::RINGS).await;
    let account = world.edge.account().await;
    for stage in [2, 1, 2] {
        let anonymous = world.at(stage);
        assert_eq!(anonymous.register(&account.email, PASSWORD).await.status, 201);
        assert_eq!(anonymous.forgot_password(&account.email).await.status, 200);
    }
    for rows in ["accounts", "directory", "reset_links"] {
        assert_eq!(world.edge.count(rows).await, 1, "{rows}");
    }
    let body = json!({ "password": PASSWORD });
    assert_eq!(account.delete("/me", &body).await.status, 204);
    assert_eq!(world.at(2).register(&account.email, PASSWORD).await.status, 201);
    let title = "Confirm your email address";
    let mail = world.edge.mailbox().wait_for_titled(&account.email, title, 2).await.unwrap();
    let reply = world.at(2).verify_email(mail.token().unwrap()).await;
    let fresh = Account::from_credentials(&world.at(2), PASSWORD, &reply);
    assert_eq!(fresh.email_checks().await.left_today, 0);
}

#[tokio::test]
async fn an_authenticator_that_is_off_still_resets_after_both_secrets_were_replaced() {
    let world = World::start(&secret::RINGS).await;
    let edge = &world.edge;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    super::resets::settled(edge, &account).await;
    let code = edge.fresh_code(&account, &authenticator).await;
    let body = json!({ "password": PASSWORD, "totp_code": code });
    assert_eq!(account.post("/auth/totp/disable", &body).await.status, 204);
    assert_eq!(world.sealed_by_the_old().await, 1);
    for _ in 0..2 {
        edge.run_scheduled_of(1).await;
    }
    assert_eq!(world.sealed_by_the_old().await, 0, "the old secret can go");
    assert_eq!(world.at(3).forgot_password(&account.email).await.status, 200);
    let mail =
        edge.mailbox().wait_for_titled(&account.email, "Set a new password", 1).await.unwrap();
    let reset = |code: String| json!({ "token": mail.token(), "password": "copper-meadow-58-lattice", "totp_code": code });
    let reply = world.at(3).post("/auth/reset-password", &reset(String::new())).await;
    reply.assert_error(401, "totp_required", "it counts");
    let reply = world.at(3).post("/auth/reset-password", &reset(authenticator.code())).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}
