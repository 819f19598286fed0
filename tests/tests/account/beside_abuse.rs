//! While one abuser sends requests, another account makes twenty checks a second. None of these checks fails, and D1
//! gets few statements (docs/security.md, B2). In `make proof`, which has the machine to itself, the abuser sends
//! `ABUSE_PER_SECOND` requests a second (500). Alternating rounds compare the checks' times with those during as many
//! requests with junk keys. `ABUSE=rotations` measures only kinds of abuse whose names contain `rotations`.
//!
//! - B2: nobody else's request fails; their 99th percentile is at most 1.5 times that beside junk keys; at most 50
//!   statements a second.

use std::{env, sync::Arc, time::Duration};

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin,
    people::{PASSWORD, send, send_all},
    process::turn,
    proof,
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::{
    sync::Semaphore,
    task::{JoinHandle, JoinSet},
    time::{Instant, interval},
};

const CHECKS: Duration = Duration::from_millis(50);
/// Rounds with each kind of abuse, and with junk keys. The rounds' medians are compared.
const ROUNDS: usize = 3;

/// The time between two requests of the abuser.
fn pause() -> Duration {
    let per_second = env::var("ABUSE_PER_SECOND");
    Duration::from_secs(1)
        / per_second.map_or(500, |value| value.parse().expect("ABUSE_PER_SECOND"))
}

/// The maximum number of the abuser's concurrent requests: more would overload a busy machine.
fn at_once() -> usize {
    proof::count(8, 200)
}

/// Greatest number of statements a second, averaged over a minute because a shield lets a minute's
/// requests through at once.
const STATEMENTS: f64 = 50.0;

type Abuse = Arc<dyn Fn(usize) -> RequestBuilder + Send + Sync>;

struct World {
    edge: Edge,
    _origin: FakeOrigin,
    other: Account,
}

/// Measurements during one abuse: the 99th percentile of the other account's checks in milliseconds, and the number of
/// D1 statements.
struct Met {
    p99: f64,
    statements: u64,
}

impl World {
    async fn start() -> Self {
        let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
        let edge = Edge::builder().origins(&[&origin.url]).throttled().shimmed();
        let edge = edge.start().await.unwrap();
        let other = edge.account().await;
        edge.set(&other.email, "plan = 'unlimited'").await;
        Self { edge, _origin: origin, other }
    }

    /// Requests from one network or, with `is_site`, each from another network of one site.
    fn anonymous(
        &self,
        path: &'static str,
        body: impl Fn(usize) -> Option<serde_json::Value> + Send + Sync + 'static,
        is_site: bool,
    ) -> Abuse {
        let anonymous = self.edge.anonymous();
        Arc::new(move |n| {
            let network = if is_site { n % 65_536 } else { 0 };
            let request = match body(n) {
                Some(body) => anonymous.request(Method::POST, path).json(&body),
                None => anonymous.request(Method::GET, path),
            };
            request.header("cf-connecting-ip", format!("2001:db8:7:{network:x}::1"))
        })
    }

    fn keyed(&self, api_key: String) -> Abuse {
        let anonymous = self.edge.anonymous();
        Arc::new(move |_| anonymous.check_request(&api_key, "no address"))
    }

    async fn abuses(&self) -> Vec<(String, Abuse)> {
        let mut all: Vec<(String, Abuse)> = Vec::new();
        for (is_site, from) in [(true, "a site"), (false, "a network")] {
            let token =
                self.anonymous("/auth/verify-email", |_| Some(json!({ "token": "junk" })), is_site);
            let register =
                |n| Some(json!({ "email": format!("a{n}@abuse.example"), "password": PASSWORD }));
            let sign_in =
                |n| Some(json!({ "email": format!("b{n}@abuse.example"), "password": PASSWORD }));
            all.push((format!("junk tokens from {from}"), token));
            all.push((
                format!("readiness from {from}"),
                self.anonymous("/health/ready", |_| None, is_site),
            ));
            all.push((
                format!("registrations from {from}"),
                self.anonymous("/auth/register", register, is_site),
            ));
            all.push((
                format!("sign-ins from {from}"),
                self.anonymous("/auth/login", sign_in, is_site),
            ));
        }
        let used_up = self.edge.account().await;
        let today = "day = unixepoch() / 86400, daily_charged = 100, welcome_left = 0";
        self.edge.set(&used_up.email, today).await;
        all.push(("a used-up key".to_owned(), self.keyed(used_up.api_key)));
        let replaced = self.edge.account().await;
        assert_eq!(replaced.rotate_api_key().await.status, 200);
        all.push(("a replaced key".to_owned(), self.keyed(replaced.api_key)));
        let (rotates, looks) = (self.edge.account().await, self.edge.account().await);
        let rotate =
            move |_| rotates.request(Method::POST, "/auth/rotate-api-key").json(&json!({}));
        all.push(("rotations".to_owned(), Arc::new(rotate)));
        all.push(("/me".to_owned(), Arc::new(move |_| looks.request(Method::GET, "/me"))));
        all
    }

    /// Runs the other account's checks during the abuse, half of them uncached.
    async fn beside(&self, name: &str, abuse: &Abuse, seconds: usize) -> Met {
        self.edge.counts().await;
        let abuser = start(Arc::clone(abuse));
        let mut pace = interval(CHECKS);
        let mut checks = JoinSet::new();
        for n in 0..seconds * 20 {
            pace.tick().await;
            let (account, fresh) = (self.other.clone(), n % 2 == 0);
            let address = if fresh { format!("{name}-{n}") } else { "known".to_owned() };
            let address = format!("{}@other.example", address.replace([' ', '/'], "-"));
            checks.spawn(async move {
                let started = Instant::now();
                let reply = account.check(&address).await;
                assert_eq!(reply.status, 200, "{}", reply.body);
                started.elapsed().as_secs_f64() * 1000.0
            });
        }
        let mut times = checks.join_all().await;
        abuser.abort();
        times.sort_by(f64::total_cmp);
        let statements = self.edge.counts().await.d1_statements;
        Met { p99: times[times.len() * 99 / 100], statements }
    }
}

/// Sends the abuse at its rate until it is aborted.
fn start(abuse: Abuse) -> JoinHandle<()> {
    tokio::spawn(async move {
        let (mut pace, at_once) = (interval(pause()), Arc::new(Semaphore::new(at_once())));
        let mut requests = JoinSet::new();
        for n in 0.. {
            pace.tick().await;
            let Ok(permit) = Arc::clone(&at_once).acquire_owned().await else { return };
            let request = abuse(n);
            requests.spawn(async move {
                send(request).await;
                drop(permit);
            });
            while requests.try_join_next().is_some() {}
        }
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::test]
async fn beside_an_abuser_the_others_fail_in_nothing_and_d1_hears_little() {
    let _turn = turn().await;
    let world = World::start().await;
    let seconds = proof::count(2, 10);
    let junk = world.keyed("rcpt_live_junk".to_owned());
    let mut slow = Vec::new();
    let wanted = env::var("ABUSE").unwrap_or_default();
    let mut abuses = world.abuses().await;
    abuses.retain(|(name, _)| name.contains(&wanted));
    for (name, abuse) in abuses.iter().take(proof::count(2, 12)) {
        let (mut alone, mut beside, mut caused) = (Vec::new(), Vec::new(), 0);
        for round in 0..proof::count(1, ROUNDS) {
            let junk = world.beside(&format!("junk before {name} {round}"), &junk, seconds).await;
            let met = world.beside(&format!("{name} {round}"), abuse, seconds).await;
            // Both runs have equally many checks, so the difference is the abuser's.
            caused += met.statements.saturating_sub(junk.statements);
            alone.push(junk.p99);
            beside.push(met.p99);
        }
        let (alone, beside) = (median(alone), median(beside));
        // A shield lets a minute's requests through at once.
        let a_second = caused as f64 / (seconds * ROUNDS).max(60) as f64;
        let ratio = beside / alone;
        println!(
            "{name}: p99 {beside:.0} ms, beside junk keys {alone:.0} ms, ratio {ratio:.2}; {a_second:.1} statements/s"
        );
        assert!(a_second <= STATEMENTS, "{name}: {a_second} statements a second");
        if ratio > 1.5 {
            slow.push(format!("{name}: {ratio:.2}"));
        }
    }
    // Without `PROOF`, the machine is also used for other things.
    assert!(proof::count(0, 1) == 0 || slow.is_empty(), "{slow:?}");
}

/// A hash takes as long as many checks: a hundred hashes in sequence would block the Worker for seconds.
#[tokio::test]
async fn checks_go_on_between_the_passwords_of_a_site_and_its_neighbours_sign_in() {
    let _turn = turn().await;
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    // If a hash took longer than the pause between two, the common queue would refuse too.
    let edge = Edge::builder().origins(&[&origin.url]).var("PASSWORD_HASHES_PER_MINUTE", "150");
    let edge = edge.shimmed().start().await.unwrap();
    let other = edge.account().await;
    edge.set(&other.email, "plan = 'unlimited'").await;
    assert_eq!(other.check("known@other.example").await.status, 200);
    edge.counts().await;
    let sign_in = |email: &str, network: String| {
        let body = json!({ "email": email, "password": PASSWORD });
        let request = other.anonymous.request(Method::POST, "/auth/login").json(&body);
        request.header("cf-connecting-ip", network)
    };
    // Each sign-in comes from a separate network, so that neither a shield nor a network's wait applies.
    let from_a_site = |n: usize| sign_in("nobody@abuse.example", format!("2001:db8:8:{n:x}::1"));
    let burst: Vec<_> = (0..100).map(from_a_site).collect();
    let abuse = tokio::spawn(send_all(burst, 100));
    // Several at a time, because a check takes longest on its way.
    let beside = async || {
        let mut checks = 0;
        while !abuse.is_finished() {
            let reply = other.check("known@other.example").await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            checks += 1;
        }
        checks
    };
    let neighbour = async {
        assert_eq!(other.check("known@other.example").await.status, 200);
        send(sign_in(&other.email, "2001:db8:9::1".to_owned())).await
    };
    let (one, two, three, neighbour) = tokio::join!(beside(), beside(), beside(), neighbour);
    let checks = one + two + three;
    let replies = abuse.await.unwrap();
    let (hashed, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|it| it.status == 401);
    for reply in &refused {
        reply.assert_error(429, "throttled", "more passwords than a site's share");
        assert_eq!(reply.header("retry-after"), "5");
    }
    assert_eq!(neighbour.status, 200, "another site has its turn");
    println!("{} hashed, {} refused, {checks} checks beside", hashed.len(), refused.len());
    assert!(hashed.len() >= 10 && refused.len() >= 50, "{} hashed", hashed.len());
    // Half as many checks suffice: a hash may take longer than the pause between two hashes.
    assert!(checks * 2 >= hashed.len(), "{checks} checks beside {} hashes", hashed.len());
}
