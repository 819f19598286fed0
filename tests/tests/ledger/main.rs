//! The quota ledger end to end: what is leased, charged and reported, at once, at midnight, and when
//! storage fails.

mod cost;
mod deadlines;
mod faults;
mod histories;
mod idempotency;
mod key_day;
mod leases;
mod lists;
mod quota;
mod rate_limit;
mod repeats;

use rcpt_tests::{Edge, FakeOrigin};
use tokio::sync::OnceCell;

/// The edge that most of these tests share, with an origin that does what an address begins with.
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
