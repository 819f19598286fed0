//! The quota ledger end to end: leases, charges and reports, under concurrency, at midnight, and when storage fails.

mod cost;
mod deadlines;
mod faults;
mod histories;
mod idempotency;
mod key_day;
mod key_limits;
mod leases;
mod lists;
mod operations;
mod partial;
mod quota;
mod rate_limit;
mod repeats;

use rcpt_tests::{Edge, FakeOrigin};
use tokio::sync::OnceCell;

/// The edge shared by most of these tests, with an origin whose behaviour depends on an address's first word.
struct World {
    edge: Edge,
    origin: FakeOrigin,
}

async fn world() -> &'static World {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    let start = async || {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
        World { edge, origin }
    };
    WORLD.get_or_init(start).await
}
