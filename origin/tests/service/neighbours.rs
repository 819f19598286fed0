//! Trouble with one domain, customer or machine doesn't spread to others (docs/security.md, N1–N5). Our own DNS assigns
//! the domains to well-known operators.

use std::{sync::atomic::Ordering, time::Duration};

use crate::harness::{
    batch, send, verdict_for,
    world::{Settings, World},
};
use axum::Router;
use rcpt_shared::{BatchLine, Reason, Status, Verdict};
use serde_json::Value;
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

const EVIL: [&str; 3] = [
    "421 4.7.0 IP not in whitelist for RCPT domain, closing connection.",
    "550 5.7.51 TenantInboundAttribution; There is a partner connector configured",
    "421 4.7.0 try again in 1 hour",
];

/// Probes others' domains 20 times a second for the duration of the attack.
async fn neighbours(origin: Router, attack: JoinHandle<()>) -> Vec<Verdict> {
    let mut all = JoinSet::new();
    let mut n = 0;
    while !attack.is_finished() || n < 100 {
        let origin = origin.clone();
        let domain =
            if n % 10 == 0 { "gmail.com".to_owned() } else { format!("good{}.org", n % 50) };
        all.spawn(
            async move { verdict_for(&origin, "neighbour", &format!("known{n}@{domain}")).await },
        );
        n += 1;
        sleep(Duration::from_millis(50)).await;
    }
    attack.await.unwrap();
    all.join_all().await
}

/// Duration of an attack.
const ATTACK_DURATION: Duration = Duration::from_secs(6);

/// Probes each of `domains` for its tenant, `times` times, eight in parallel.
fn attack(origin: &Router, domains: Vec<(String, String)>, times: usize) -> JoinHandle<()> {
    let origin = origin.clone();
    let attacking = async move {
        let mut all = JoinSet::new();
        for n in 0..times {
            for (tenant, domain) in domains.clone() {
                let origin = origin.clone();
                all.spawn(async move {
                    verdict_for(&origin, &tenant, &format!("u{n}@{domain}")).await;
                });
                if all.len() >= 8 {
                    all.join_next().await;
                }
            }
        }
        all.join_all().await;
    };
    tokio::spawn(async move { drop(timeout(ATTACK_DURATION, attacking).await) })
}

fn assert_untouched(verdicts: &[Verdict], attack: &str) {
    for verdict in verdicts {
        assert_eq!(verdict.status, Status::Accepted, "{attack}: {verdict:?}");
    }
    assert!(verdicts.len() >= 100);
}

/// Attacks N1 by a sequence of checks of one domain.
#[tokio::test(flavor = "multi_thread")]
async fn one_domain_shuts_nothing_for_its_neighbours() {
    for refusal in EVIL {
        for own_hosts in [false, true] {
            let settings =
                Settings { own_hosts, delay: Duration::from_millis(2), ..Settings::default() };
            let (world, origin) = World::start(settings, &[]).await;
            world.refuse("evil.org", refusal);
            let domains = vec![("attacker".to_owned(), "evil.org".to_owned())];
            let attack = attack(&origin, domains, 200);
            assert_untouched(&neighbours(origin, attack).await, refusal);
        }
    }
}

/// Attacks N1 by many domains of one tenant, and by one domain each of many tenants.
#[tokio::test(flavor = "multi_thread")]
async fn many_domains_and_many_tenants_shut_nothing_either() {
    let of_one = |n: usize| ("attacker".to_owned(), format!("evil{n}.org"));
    let of_many = |n: usize| (format!("attacker{n}"), format!("evil{n}.org"));
    for refusal in EVIL {
        for domains in [(0..20).map(of_one).collect::<Vec<_>>(), (0..5).map(of_many).collect()] {
            let settings = Settings { delay: Duration::from_millis(2), ..Settings::default() };
            let (world, origin) = World::start(settings, &[]).await;
            for (_, domain) in &domains {
                world.refuse(domain, refusal);
            }
            let attack = attack(&origin, domains, 2);
            assert_untouched(&neighbours(origin, attack).await, refusal);
        }
    }
}

async fn operators(origin: &Router) -> Value {
    let request = axum::http::Request::get("/operators").body(axum::body::Body::empty()).unwrap();
    crate::harness::json_of(send(origin, request).await).await
}

/// Tests docs/security.md, N2.
#[tokio::test(flavor = "multi_thread")]
async fn a_ban_of_our_address_is_noticed_shown_and_made_good() {
    const BAN: &str = "550 5.7.1 Service unavailable; client host blocked using zen.spamhaus.org";
    let (world, origin) = World::start(Settings::default(), &[]).await;
    for n in 0..16 {
        let domain = format!("d{n}.org");
        world.refuse(&domain, BAN);
        let verdict =
            verdict_for(&origin, &format!("t{}", n % 4), &format!("known@{domain}")).await;
        assert_eq!(verdict.status, Status::BlockedByProvider, "{n}: {verdict:?}");
    }
    let shown = operators(&origin).await;
    let google = &shown["operators"][0];
    assert_eq!(
        (&google["operator"], &google["source"]),
        (&"google".into(), &"probe.example.com".into())
    );
    assert_eq!(google["interval_ms"], 5_000, "{google}");
    assert!(google["lowered_since"].is_u64());
    let words = google["words"].as_str().unwrap();
    assert_eq!(words, "550 5.7.1, rule 5yz.our-address: blocked using");
    // A server may spell the recipient as it likes, and nothing of it is shown or logged.
    const SPELT: &str = "550 5.7.1 Your IP address is blocked, annasmith cannot get mail; annasmith (at) d16 dot org; \
        a n n a; boobtnjui; YW5uYXNtaXRoQGQxNi5vcmc=";
    world.refuse("d16.org", SPELT);
    let verdict = verdict_for(&origin, "t0", "annasmith@d16.org").await;
    assert_eq!(verdict.status, Status::BlockedByProvider, "{verdict:?}");
    let shown = operators(&origin).await;
    let words = shown["operators"][0]["words"].as_str().unwrap();
    assert_eq!(words, "550 5.7.1, rule 5yz.our-address: ip address");
    let shown = shown.to_string();
    for part in ["annasmith", "d16", "a n n a", "boobtnjui", "YW5uYX"] {
        assert!(!shown.contains(part), "{part} in {shown}");
    }
    world.refusals.lock().clear();
    let good_since = Instant::now();
    for n in 0..8 {
        let verdict = verdict_for(&origin, "t", &format!("known@good{n}.org")).await;
        assert_eq!(verdict.status, Status::Accepted, "{n}");
    }
    let shown = operators(&origin).await;
    assert_eq!(shown["operators"][0]["interval_ms"], 100);
    assert_eq!(shown["operators"][0]["lowered_since"], Value::Null);
    // Uses the real clock.
    let took = good_since.elapsed();
    println!("the rate is back {:.1} s after the ban", took.as_secs_f64());
    assert!(took < Duration::from_secs(60), "{took:?}");
}

/// Tests docs/security.md, N3.
#[tokio::test(flavor = "multi_thread")]
async fn one_machine_with_five_hundred_names_sees_two_sessions() {
    let (delay, watches_open) = (Duration::from_millis(5), true);
    let settings = Settings { delay, watches_open, ..Settings::default() };
    // Four tenants each need room for a quarter of the checks; on a busy machine, 480 that begin at once need longer.
    let environment = [("RCPT_MAX_PROBES", "1024"), ("RCPT_BUDGET_MS", "60000")];
    let (world, origin) = World::start(settings, &environment).await;
    let addresses: Vec<_> = (0..500).map(|n| format!("known@d{n}.named.org")).collect();
    let lines = batch(&origin, &addresses[..20], None).await;
    assert_eq!(lines.len(), 21);
    let mut all = JoinSet::new();
    for address in addresses.into_iter().skip(20) {
        let origin = origin.clone();
        let tenant = format!("t{}", all.len() % 4);
        all.spawn(async move { verdict_for(&origin, &tenant, &address).await.status });
    }
    let statuses = all.join_all().await;
    assert!(statuses.contains(&Status::Accepted));
    let most = world.most_open.load(Ordering::Relaxed);
    assert!(most <= 2, "{most} at once");
    assert!(world.open() <= 2, "idle ones included");
}

/// Tests docs/security.md, N4.
#[tokio::test(flavor = "multi_thread")]
async fn every_address_of_a_batch_has_its_line_and_single_checks_do_not_wait_for_it() {
    let delay = Duration::from_millis(100);
    let settings = Settings { own_hosts: true, delay, ..Settings::default() };
    let environment = [("RCPT_BUDGET_MS", "10000")];
    let (_world, origin) = World::start(settings, &environment).await;
    let single = async |n: usize| {
        let started = tokio::time::Instant::now();
        let verdict = verdict_for(&origin, "single", &format!("known@single{n}.org")).await;
        assert_eq!(verdict.status, Status::Accepted, "{verdict:?}");
        started.elapsed()
    };
    let mut alone = Vec::new();
    for n in 0..5 {
        alone.push(single(100 + n).await);
    }
    alone.sort_unstable();
    let alone = alone[2];
    let addresses: Vec<_> = (0..500).map(|n| format!("known@d{n}.org")).collect();
    let (asked, others) = (origin.clone(), addresses.clone());
    let running = tokio::spawn(async move {
        let started = tokio::time::Instant::now();
        (batch(&asked, &others, Some("lister")).await, started.elapsed())
    });
    sleep(Duration::from_secs(3)).await;
    let mut beside = Vec::new();
    for n in 1..12 {
        beside.push(single(n).await);
        sleep(Duration::from_millis(500)).await;
    }
    beside.sort_unstable();
    let (lines, took) = running.await.unwrap();
    assert!(took <= Duration::from_secs(61), "{took:?}");
    assert_eq!(lines.len(), 501);
    let (mut verdicts, mut missed) = (0, 0);
    for line in &lines {
        match line {
            BatchLine::Answer(answer) => {
                assert_eq!(answer.verdict.status, Status::Accepted, "{answer:?}");
                verdicts += 1;
            }
            BatchLine::NotAsked(address) => {
                assert!(address.not_asked_retry_after > 0);
                missed += 1;
            }
            BatchLine::End(end) => assert_eq!((end.answered, end.not_asked), (verdicts, missed)),
        }
    }
    assert!(verdicts >= 100, "{verdicts} answered, {missed} not asked");
    println!(
        "{verdicts} answered, {missed} not asked in {took:?}; alone {alone:?}, beside {beside:?}"
    );
}

/// Tests docs/security.md, N5.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_dead_addresses_is_no_dictionary_attack() {
    let dir = std::env::temp_dir().join(format!("rcpt-neighbours-{}.toml", std::process::id()));
    std::fs::write(&dir, "[[operator]]\nname = \"google\"\nrefused_per_hour = 60\n").unwrap();
    let environment = [("RCPT_OPERATORS_FILE", dir.to_str().unwrap())];
    let (world, origin) = World::start(Settings::default(), &environment).await;
    std::fs::remove_file(&dir).unwrap();
    let mut refused = 0;
    for part in 0..2 {
        let addresses: Vec<_> = (0..500).map(|n| format!("dead{part}-{n}@dead.org")).collect();
        let lines = batch(&origin, &addresses, Some("harvester")).await;
        assert_eq!(lines.len(), 501);
        for line in lines {
            match line {
                BatchLine::Answer(answer) => {
                    assert_eq!(answer.verdict.reason, Reason::NoSuchMailbox, "{answer:?}");
                    refused += 1;
                }
                BatchLine::NotAsked(missed) => assert!(missed.not_asked_retry_after > 0),
                BatchLine::End(_) => {}
            }
        }
    }
    // The tenant's share is half of sixty; the rest are probes in progress when it was used up.
    assert!((30..=38).contains(&refused), "{refused}");
    let other = verdict_for(&origin, "other", "known@alive.org").await;
    assert_eq!(other.status, Status::Accepted, "{other:?}");
    let most = world.refused.lock().iter().copied().max();
    assert!(most.is_some_and(|most| most <= 3), "{most:?} in one session");
}
