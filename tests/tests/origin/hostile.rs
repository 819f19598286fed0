//! Hostile mail servers get their verdict within the time limit and the memory limit.
//!
//! - P2: servers that send one byte a second, nothing, a banner of 10 MB, an endless `250-`, early replies, wrong codes
//!   or a reset, each at a different stage. Each check has its verdict in 10.5 s; 500 at once add at most 40 MB.

use std::{sync::Arc, time::Duration};

use rcpt_shared::{
    Reason::{self, ConnectionFailed, ProtocolError, Timeout},
    Status::{SmtpConnectError, SmtpTimeout},
};
use rcpt_tests::{
    Origin,
    process::{rss, turn},
    servers::hostile::{HostileServer, Hostility},
};
use tokio::{task::JoinSet, time::Instant};

/// Time limit of a verdict: the budget of 10 s, half a second for everything else (docs/security.md, P2), and a reserve
/// for a busy machine.
const IN_TIME: Duration = Duration::from_secs(13);
const AT_ONCE: usize = 500;
/// Maximum additional memory in bytes (docs/security.md, P2).
const MAY_ADD: u64 = 40 * 1024 * 1024;

/// A server of each kind, and an origin for which `n.test` resolves to the nth server.
struct World {
    origin: Arc<Origin>,
    _servers: Vec<HostileServer>,
}

impl World {
    async fn start(kinds: &[Hostility]) -> Self {
        let start = |kind: &Hostility| HostileServer::start(*kind).expect("a server");
        let servers: Vec<_> = kinds.iter().map(start).collect();
        let routes = servers.iter().enumerate();
        let routes: Vec<_> =
            routes.map(|(n, server)| format!("{n}.test={}", server.address())).collect();
        let origin = Origin::builder().routes(&routes.join(",")).start().await.expect("origin");
        Self { origin: Arc::new(origin), _servers: servers }
    }
}

fn expected(kind: Hostility) -> Reason {
    match kind {
        Hostility::Silent | Hostility::Dripping | Hostility::Hoarding => Timeout,
        Hostility::Reset(_) => ConnectionFailed,
        Hostility::HugeLine
        | Hostility::HugeBanner
        | Hostility::Endless
        | Hostility::Hasty
        | Hostility::Confused => ProtocolError,
    }
}

#[tokio::test]
async fn each_gets_its_verdict_in_time() {
    let _turn = turn().await;
    let world = World::start(&Hostility::ALL).await;
    let mut probes = JoinSet::new();
    for (n, kind) in Hostility::ALL.into_iter().enumerate() {
        let origin = world.origin.clone();
        probes.spawn(async move {
            let started = Instant::now();
            let verdict = origin.probe(&format!("someone@{n}.test")).await;
            let status = if expected(kind) == Timeout { SmtpTimeout } else { SmtpConnectError };
            let members = (verdict.status, verdict.reason);
            assert_eq!(members, (status, expected(kind)), "{kind:?}: {verdict:?}");
            assert!(started.elapsed() < IN_TIME, "{kind:?}: {:?}", started.elapsed());
        });
    }
    probes.join_all().await;
}

/// The bytes that concurrent probes of these kinds of servers add to origin's memory.
async fn added_by(kinds: &[Hostility]) -> u64 {
    let world = World::start(kinds).await;
    let pid = world.origin.pid().expect("a running origin");
    let before = rss::bytes(pid).expect("a resident size");
    let mut probes = JoinSet::new();
    for n in 0..AT_ONCE {
        let (origin, domain) = (world.origin.clone(), n % kinds.len());
        probes.spawn(async move { origin.probe(&format!("someone-{n}@{domain}.test")).await });
    }
    for verdict in probes.join_all().await {
        assert!([SmtpTimeout, SmtpConnectError].contains(&verdict.status), "{verdict:?}");
    }
    let peak = rss::peak(pid).expect("a peak");
    let added = peak.saturating_sub(before);
    println!("{AT_ONCE} of {} kinds: {:.1} MiB", kinds.len(), added as f64 / 1024.0 / 1024.0);
    added
}

#[tokio::test]
async fn five_hundred_of_all_kinds_at_once_add_at_most_40_megabytes() {
    let _turn = turn().await;
    assert!(added_by(&Hostility::ALL).await <= MAY_ADD);
}

#[tokio::test]
async fn five_hundred_that_send_all_they_may_at_once_add_at_most_40_megabytes() {
    let _turn = turn().await;
    assert!(added_by(&[Hostility::Hoarding]).await <= MAY_ADD);
}
