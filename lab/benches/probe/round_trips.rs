//! Round trips, connections and DNS queries per probe, and probes a second.

use std::{sync::atomic::Ordering, time::Instant};

use anyhow::Result;
use tokio::runtime::Runtime;

use crate::{
    delayed::{DELAY, Delayed},
    figure::{Figure, quantile},
    nameserver::Nameserver,
    origin,
};

const COLD: &[(&str, &str)] = &[("RCPT_SESSION_RECIPIENTS", "1")];
const IN_FLIGHT: usize = 50;

pub fn measure() -> Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let cold = sequence(COLD, 50).await?;
        let warm = sequence(&[], 50).await?;
        let (connections, questions) = hundred_of_one_domain().await?;
        Ok(vec![
            Figure::new("cold_rtt", cold, "round trips", 50).at_most(2.55),
            Figure::new("warm_rtt", warm, "round trips", 50).at_most(1.02),
            Figure::new("connections_per_100_same_domain", connections, "connections", 100)
                .at_most(2.0),
            Figure::new("dns_queries_per_100_same_domain", questions, "queries", 100),
            throughput("probes_per_s_cold_50_in_flight", COLD, 3_000).await?,
            throughput("probes_per_s_warm_50_in_flight", &[], 10_000).await?,
        ])
    })
}

/// The median time of sequential probes, in round trips of the line.
async fn sequence(settings: &[(&str, &str)], count: usize) -> Result<f64> {
    let (server, nameserver) = (Delayed::start()?, Nameserver::start()?);
    let state = origin::start(server.address, &nameserver, settings).await?;
    // The first probe fills the DNS cache, and opens the session if sessions are pooled.
    origin::expect_accepted(&state, 0, "example.org").await?;
    let mut times = Vec::with_capacity(count);
    for n in 1..=count {
        let started = Instant::now();
        origin::expect_accepted(&state, n, "example.org").await?;
        times.push(started.elapsed().as_secs_f64() / (2 * DELAY).as_secs_f64());
    }
    Ok(quantile(&mut times, 0.5))
}

/// The numbers of connections and DNS queries, with default limits and cold caches.
async fn hundred_of_one_domain() -> Result<(f64, f64)> {
    let (server, nameserver) = (Delayed::start()?, Nameserver::start()?);
    let settings = [("RCPT_MACHINE_SESSIONS", "2"), ("RCPT_SESSION_INTERVAL_MS", "500")];
    let state = origin::start(server.address, &nameserver, &settings).await?;
    origin::expect_all_accepted(&state, 100, 100).await?;
    let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::Relaxed) as f64;
    Ok((count(&server.connections), count(&nameserver.questions)))
}

/// A cold probe takes two and a half round trips of 40 ms, and a warm probe takes one. 50 probes in flight reach at
/// most 500 a second (cold) or 1,250 (warm).
async fn throughput(name: &'static str, settings: &[(&str, &str)], count: usize) -> Result<Figure> {
    let (server, nameserver) = (Delayed::start()?, Nameserver::start()?);
    let state = origin::start(server.address, &nameserver, settings).await?;
    origin::expect_all_accepted(&state, IN_FLIGHT, IN_FLIGHT).await?;
    let started = Instant::now();
    origin::expect_all_accepted(&state, count, IN_FLIGHT).await?;
    Ok(Figure::new(name, count as f64 / started.elapsed().as_secs_f64(), "probes/s", count))
}
