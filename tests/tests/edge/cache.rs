//! Tests how long a verdict is cached, and from which sources it is returned (docs/architecture.md).

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// An origin that answers with the status named in the local part.
fn origin() -> FakeOrigin {
    FakeOrigin::start(|address| {
        let local = address.split('@').next().unwrap_or_default();
        let status_in_name = Status::ALL.into_iter().find(|status| status.as_str() == local);
        Conduct::Verdict(status_in_name.unwrap_or(Status::Accepted))
    })
}

async fn is_cached(account: &Account, address: &str) -> bool {
    let reply = account.check(address).await;
    let cached = reply.body["cached"].as_bool().unwrap_or_else(|| panic!("{}", reply.body));
    let (verdict, status) = (&reply.body["verdict"], &reply.body["status"]);
    let expected =
        json!({ "email": address, "verdict": verdict, "status": status, "cached": cached });
    assert_eq!(reply.parts(), (200, &expected));
    cached
}

#[tokio::test]
async fn a_verdict_is_served_again_for_the_time_of_its_kind() {
    const KINDS: [(&str, &[Status]); 3] = [
        ("CACHE_DECIDED_SECONDS", &[Status::Accepted, Status::Refused]),
        ("CACHE_NO_MAIL_SECONDS", &[Status::DomainNotFound, Status::NoMxRecords]),
        (
            "CACHE_UNDECIDED_SECONDS",
            &[Status::SmtpConnectError, Status::SmtpTimeout, Status::BlockedByProvider],
        ),
    ];
    let origin = origin();
    // In each round, one kind is cached and the two others aren't.
    for (kept, _) in KINDS {
        let mut edge = Edge::builder().origins(&[&origin.url]);
        for (var, _) in KINDS {
            edge = edge.var(var, if var == kept { "600" } else { "0" });
        }
        let edge = edge.start().await.unwrap();
        let account = edge.account().await;
        for (var, statuses) in KINDS {
            for status in statuses {
                let address = format!(
                    "{}@{}.example",
                    status.as_str(),
                    kept.to_lowercase().replace('_', "-")
                );
                assert!(!is_cached(&account, &address).await, "{address}");
                assert_eq!(is_cached(&account, &address).await, var == kept, "{address}");
            }
        }
    }
}

#[tokio::test]
async fn a_verdict_whose_time_is_over_is_asked_for_again() {
    const LIFETIME: Duration = Duration::from_secs(2);
    let origin = origin();
    let edge = Edge::builder().origins(&[&origin.url]);
    let edge =
        edge.var("CACHE_DECIDED_SECONDS", LIFETIME.as_secs().to_string()).start().await.unwrap();
    let account = edge.account().await;
    let address = "old@example.org";
    let started = Instant::now();
    assert!(!is_cached(&account, address).await);
    while is_cached(&account, address).await {
        assert!(started.elapsed() < LIFETIME * 5, "still cached");
        sleep(Duration::from_millis(50)).await;
    }
    // The verdict was cached for its lifetime, which ends at a whole second of the clock.
    assert!(started.elapsed() > LIFETIME - Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(origin.probes_of(address), 2);
}

#[tokio::test]
async fn a_verdict_is_found_in_kv_by_a_data_centre_that_has_not_seen_it_and_in_its_own_cache_first()
{
    // The origin reports its second verdict as remembered.
    let request_count = AtomicUsize::new(0);
    let origin = FakeOrigin::start(move |_| match request_count.fetch_add(1, Relaxed) {
        1 => Conduct::Seen(Status::Accepted),
        _ => Conduct::Verdict(Status::Accepted),
    });
    let mut edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let address = "everywhere@example.org";
    assert!(!is_cached(&account, address).await);
    let cache = edge.state().join("v3/cache");
    edge.process.kill();
    fs::remove_dir_all(&cache).unwrap();
    edge.restart().await.unwrap();
    assert!(is_cached(&account, address).await, "the origin was asked again, and knew");
    assert_eq!(origin.probes_of(address), 2);
    let state = edge.state().join("v3");
    // Waits for both copies, since the KV copy is written after the response, and tests each copy alone.
    let blobs = |kind: &str| {
        let folder = state.join(kind);
        let files = walk(&folder);
        // The index, a SQLite file, contains the hash a moment after the file itself exists.
        let is_hash = |text: &[u8]| text.iter().all(u8::is_ascii_hexdigit);
        let is_indexed = files.iter().any(|bytes| bytes.windows(64).any(is_hash));
        let blobs = files.iter().filter(|bytes| bytes.starts_with(b"{\"expires_at\":")).count();
        if is_indexed { blobs } else { 0 }
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while blobs("kv") == 0 || blobs("cache") == 0 {
        assert!(Instant::now() < deadline, "kv {}, cache {}", blobs("kv"), blobs("cache"));
        sleep(Duration::from_millis(50)).await;
    }
    edge.process.kill();
    fs::rename(state.join("cache"), state.join("cache-away")).unwrap();
    edge.restart().await.unwrap();
    assert!(is_cached(&account, address).await, "kv alone");

    edge.process.kill();
    let _ = fs::remove_dir_all(state.join("cache"));
    fs::rename(state.join("cache-away"), state.join("cache")).unwrap();
    fs::remove_dir_all(state.join("kv")).unwrap();
    edge.restart().await.unwrap();
    assert!(is_cached(&account, address).await, "cache alone");

    edge.process.kill();
    fs::remove_dir_all(state.join("cache")).unwrap();
    edge.restart().await.unwrap();
    assert!(!is_cached(&account, address).await, "neither");
    assert_eq!(origin.probes_of(address), 3);
}

fn walk(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(
            |path| {
                if path.is_dir() { walk(&path) } else { fs::read(&path).into_iter().collect() }
            },
        )
        .collect()
}
