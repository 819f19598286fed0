//! Cost of a probe while its server is silent.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rcpt_origin::State;
use rcpt_shared::Address;
use tokio::{io::AsyncReadExt as _, runtime::Runtime, time::sleep};

use crate::{
    delayed::Delayed,
    figure::{Figure, quantile},
    memory,
    nameserver::Nameserver,
    origin,
    twin::{self, Twin},
};

/// The argument that makes this program a silent mail server.
pub const TARPIT: &str = "--be-tarpit";
const HELD: usize = 10_000;
const TARPITS: usize = 500;
const GOOD: usize = 500;
/// Interval of good checks: 50 a second.
const BETWEEN_GOOD: Duration = Duration::from_millis(20);

pub fn measure() -> Result<Vec<Figure>> {
    let runtime = Runtime::new()?;
    runtime.block_on(async { Ok(vec![rss_held().await?, beside_tarpits().await?]) })
}

/// Resident memory of this process per probe whose server is silent after accepting.
async fn rss_held() -> Result<Figure> {
    let (tarpit, nameserver) = (Twin::start(TARPIT)?, Nameserver::start()?);
    let settings = [("RCPT_BUDGET_MS", "600000"), ("RCPT_CONNECT_TIMEOUT_MS", "60000")];
    let state = origin::start(tarpit.address, &nameserver, &settings).await?;
    let first = tokio::spawn(silence(state.clone(), 0));
    wait_for_connections(1).await?;
    let (before, sockets) = (memory::resident()?, open_files()?);
    let mut sessions = vec![first];
    for n in 1..=HELD {
        sessions.push(tokio::spawn(silence(state.clone(), n)));
        if n % 500 == 0 {
            // Waits for these connections, because the listener's queue is limited.
            wait_for_connections(sockets + n).await?;
        }
    }
    let spent = memory::resident()?.saturating_sub(before);
    sessions.iter().for_each(tokio::task::JoinHandle::abort);
    let bytes = spent as f64 / HELD as f64;
    Ok(Figure::new("rss_bytes_per_held_probe", bytes, "bytes", HELD).at_most(8_192.0))
}

/// The 99th percentile of good checks' times while 500 servers are silent, divided by the percentile without silent
/// servers.
async fn beside_tarpits() -> Result<Figure> {
    let (good, tarpit) = (Delayed::start()?, Twin::start(TARPIT)?);
    let nameserver = Nameserver::start()?;
    let settings = [("RCPT_BUDGET_MS", "600000")];
    let fast = origin::start(good.address, &nameserver, &[]).await?;
    let alone = p99(&fast).await?;
    let slow = origin::start(tarpit.address, &nameserver, &settings).await?;
    let sockets = open_files()?;
    let tarpits: Vec<_> = (0..TARPITS).map(|n| tokio::spawn(silence(slow.clone(), n))).collect();
    wait_for_connections(sockets + TARPITS - 1).await?;
    let beside = p99(&fast).await?;
    tarpits.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(Figure::new("p99_ratio_beside_500_tarpits", beside / alone, "ratio", GOOD))
}

async fn p99(state: &State) -> Result<f64> {
    let mut times = Vec::with_capacity(GOOD);
    for n in 0..GOOD {
        let started = Instant::now();
        origin::expect_accepted(state, n, "example.org").await?;
        times.push(started.elapsed().as_secs_f64());
        sleep(BETWEEN_GOOD.saturating_sub(started.elapsed())).await;
    }
    Ok(quantile(&mut times, 0.99))
}

async fn silence(state: std::sync::Arc<State>, n: usize) {
    if let Ok(address) = Address::parse(&format!("user{n}@example.org")) {
        state.prober.probe(&state.prober.question(address), None).await;
    }
}

async fn wait_for_connections(files: usize) -> Result<()> {
    let started = Instant::now();
    while open_files()? < files {
        ensure!(started.elapsed() < Duration::from_secs(60), "connections are not made");
        sleep(Duration::from_millis(10)).await;
    }
    // Gives this process time to read the bytes in the kernel's queue.
    sleep(Duration::from_millis(50)).await;
    Ok(())
}

fn open_files() -> Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}

pub fn be_tarpit() -> Result<()> {
    twin::be(|mut stream, _| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
}
