//! Measures whether servers that never reply slow down others (docs/security.md, P3).
//!
//! - 500 checks wait for tarpits while 50 good ones a second are made.

use std::{sync::Arc, time::Duration};

use anyhow::{Result, ensure};
use rcpt_shared::Status;
use rcpt_tests::{Origin, Sandbox};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, sleep_until},
};

use super::Figure;
use crate::drive::quantile;

const TARPITS: usize = 500;
/// Probes per second, each sent at its scheduled time regardless of earlier probes.
const GOOD: u32 = 50;
/// Duration in seconds: shorter than the ten seconds for which a tarpit holds a session.
const SECONDS: u32 = 7;

/// Number of rounds: a single one would depend too much on the machine's other load.
const ROUNDS: usize = 3;

/// The ratio of good probes' 99th percentile with 500 held probes and without held ones: the median of three rounds.
pub async fn run() -> Result<Figure> {
    let sandbox = Sandbox::start()?;
    let origin = Origin::builder().routes(&sandbox.routes()).env("RCPT_MAX_PROBES", "2000");
    let origin = Arc::new(origin.start().await?);
    // Warms up the connections.
    good(&origin, "warm", 1).await?;
    let mut ratios = Vec::new();
    for round in 0..ROUNDS {
        ratios.push(ratio(round, &sandbox, &origin).await?);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(Figure {
        name: "p99_ratio_beside_500_tarpits",
        value: quantile(&ratios, 0.5),
        unit: "ratio",
        n: (GOOD * SECONDS) as usize * ROUNDS,
    })
}

async fn ratio(round: usize, sandbox: &Sandbox, origin: &Arc<Origin>) -> Result<f64> {
    let alone = good(origin, &format!("alone-{round}"), SECONDS).await?;
    let mut tasks = JoinSet::new();
    for n in 0..TARPITS {
        let origin = Arc::clone(origin);
        let address = format!("timeout+{round}-{n}@sandbox.test");
        tasks.spawn(async move { origin.try_probe(&address).await });
    }
    let recipient = format!("RCPT TO:<timeout+{round}-");
    let rcpt_count = |sessions: &[Vec<String>]| {
        sessions.iter().flatten().filter(|line| line.starts_with(&recipient)).count()
    };
    let deadline = Instant::now() + Duration::from_secs(10);
    while rcpt_count(&sandbox.server().sessions()) < TARPITS {
        ensure!(Instant::now() < deadline, "not all tarpits are held: nothing to compare with");
        sleep(Duration::from_millis(50)).await;
    }
    let beside = good(origin, &format!("beside-{round}"), SECONDS).await?;
    println!("good probes: p99 {alone:.1} ms alone, {beside:.1} ms beside {TARPITS} tarpits");
    // Waits until the held probes have ended, for the next round.
    while tasks.join_next().await.is_some() {}
    Ok(beside / alone)
}

/// The 99th percentile of response times in milliseconds, counted from when each probe was due.
async fn good(origin: &Arc<Origin>, name: &str, seconds: u32) -> Result<f64> {
    let start = Instant::now();
    let mut probes = JoinSet::new();
    for n in 0..GOOD * seconds {
        let due = start + Duration::from_secs(1) / GOOD * n;
        sleep_until(due).await;
        let (origin, address) = (Arc::clone(origin), format!("accepts+{name}-{n}@sandbox.test"));
        probes.spawn(async move {
            let verdict = origin.try_probe(&address).await?;
            ensure!(verdict.status == Status::Accepted, "{:?}", verdict.status);
            Ok(due.elapsed().as_secs_f64() * 1000.0)
        });
    }
    let mut times = Vec::new();
    while let Some(time) = probes.join_next().await {
        times.push(time??);
    }
    times.sort_by(f64::total_cmp);
    Ok(quantile(&times, 0.99))
}
