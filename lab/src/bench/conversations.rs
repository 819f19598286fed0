//! Measures 100 to 2,000 concurrent conversations on one core, with and without TLS, each with a
//! mail server that takes four seconds (docs/security.md, L3).
//!
//! - L3: all conversations get their verdict, and resident memory stays below 512 MB.

use std::{fs, process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rcpt_shared::Status;
use rcpt_tests::{Answer, Origin, SmtpServer, process::rss};
use serde::Serialize;
use tokio::{task::JoinSet, time::Instant};

use super::folder;
use crate::drive::{cpu_milliseconds, quantile};

/// Connections that are opened at the same moment.
const STRANGERS: usize = 1_000;
const AT_ONCE: [usize; 5] = [100, 250, 500, 1_000, 2_000];
/// Number of probes per conversation: the first builds up the load, and the others run under full load.
const PROBES_EACH: usize = 3;
/// The mail server's delay; for comparison, Exchange delays some replies by five seconds.
const DELAY: Duration = Duration::from_secs(4);
/// Memory limit of the systemd unit in bytes, which origin must not reach.
const MEMORY_BYTES_MAX: u64 = 512 << 20;

/// Figures measured with `at_once` concurrent conversations.
#[derive(Debug, Serialize)]
struct Point {
    in_tls: bool,
    at_once: usize,
    probes_per_s: f64,
    /// Median time of a probe in milliseconds, minus the mail server's four seconds.
    p50_ms: f64,
    p99_ms: f64,
    /// CPU time of origin per probe.
    cpu_ms: f64,
    resident_mb: f64,
    file_descriptors: usize,
}

/// Prints the curve and writes it to `target/bench/conversations.json`.
pub async fn run() -> Result<()> {
    println!(
        "          at once  probes/s  p50 +ms  p99 +ms  CPU ms/probe  resident MB  descriptors"
    );
    let mut curve = Vec::new();
    for (in_tls, at_once) in [false, true].into_iter().flat_map(|it| AT_ONCE.map(|n| (it, n))) {
        let way = if in_tls { "TLS" } else { "clear" };
        let point = measure(in_tls, at_once).await;
        let point = point.with_context(|| format!("{at_once} at once, {way}"))?;
        let Point { probes_per_s, p50_ms, p99_ms, cpu_ms, resident_mb, file_descriptors, .. } =
            point;
        println!(
            "{way:<8}  {at_once:>7}  {probes_per_s:>8.0}  {p50_ms:>7.0}  {p99_ms:>7.0}  {cpu_ms:>12.2}  \
             {resident_mb:>11.0}  {file_descriptors:>11}"
        );
        curve.push(point);
    }
    let target = folder::repository().join("target/bench");
    fs::create_dir_all(&target)?;
    fs::write(target.join("conversations.json"), serde_json::to_vec_pretty(&curve)?)?;
    Ok(())
}

async fn measure(in_tls: bool, at_once: usize) -> Result<Point> {
    let address = "127.0.0.1:0".parse()?;
    let rule = |_: &str| Answer::After(DELAY, "250 2.1.5 Ok".to_owned());
    let server = if in_tls {
        SmtpServer::start_with_tls(address, rule)?
    } else {
        SmtpServer::start(address, rule)?
    };
    let origin = Origin::builder()
        .routes(&format!("slow.test={}", server.address()))
        .env("RCPT_MAX_PROBES", at_once.to_string())
        .env("RCPT_STARTTLS", if in_tls { "always" } else { "on_demand" }.to_owned())
        .env("RCPT_TENANT_SHARE_PERCENT", "100");
    let origin = Arc::new(origin.start().await?);
    let process = origin.pid().context("no origin")?;
    let pin = ["--all-tasks", "--cpu-list", "--pid", "0", &process.to_string()].map(str::to_owned);
    let pinned = Command::new("taskset").args(pin).output()?;
    ensure!(pinned.status.success(), "taskset: {}", String::from_utf8_lossy(&pinned.stderr));
    let before = cpu_milliseconds(process)?;
    let start = Instant::now();
    let mut conversations = JoinSet::new();
    for number in 0..at_once {
        // An origin keeps 1,024 connections of one network that haven't shown a ticket yet.
        if number % STRANGERS == STRANGERS - 1 {
            tokio::time::sleep(DELAY / 20).await;
        }
        let origin = Arc::clone(&origin);
        conversations.spawn(async move {
            let mut times = Vec::new();
            for probe in 0..PROBES_EACH {
                let start = Instant::now();
                let verdict = origin.try_probe(&format!("p{probe}@d{number}.slow.test")).await?;
                ensure!(verdict.status == Status::Accepted, "{verdict:?}");
                times.push(start.elapsed().saturating_sub(DELAY).as_secs_f64() * 1000.0);
            }
            Ok(times)
        });
    }
    // At this moment all first probes have started and none has ended.
    tokio::time::sleep(DELAY / 2).await;
    let file_descriptors = fs::read_dir(format!("/proc/{process}/fd"))?.count();
    let mut times: Vec<f64> = Vec::new();
    while let Some(done) = conversations.join_next().await {
        times.extend(done??);
    }
    let took = start.elapsed().as_secs_f64();
    let cpu = cpu_milliseconds(process)? - before;
    let resident = rss::peak(process).context("no resident memory")?;
    ensure!(resident < MEMORY_BYTES_MAX, "{resident} bytes are resident");
    let sessions = server.sessions();
    ensure!(sessions.len() >= at_once, "{} sessions", sessions.len());
    let is_encrypted = |session: &Vec<String>| session.iter().any(|line| line == "STARTTLS");
    ensure!(
        sessions.iter().all(|it| is_encrypted(it) == in_tls),
        "a session has the wrong kind of transport"
    );
    times.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let (probes, megabytes) = (times.len() as f64, resident as f64 / 1e6);
    Ok(Point {
        in_tls,
        at_once,
        probes_per_s: probes / took,
        p50_ms: quantile(&times, 0.5),
        p99_ms: quantile(&times, 0.99),
        cpu_ms: cpu / probes,
        resident_mb: megabytes,
        file_descriptors,
    })
}
