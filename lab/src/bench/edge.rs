//! Measures the Worker's cost beyond the platform's, by alternating with an empty Worker in the
//! same runtime: `target/bench/edge.json`.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use rand::{SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};
use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin, Stack,
    process::{folder, port},
};
use reqwest::{Client, Request};
use serde_json::json;
use tokio::time::Instant;

use super::{Figure, wasm_size};
use crate::{
    drive::{Subject, quantile},
    load::{self, LoadPlan},
};

/// Concurrent callers, requests per round and subject, and rounds. With one caller, each subject
/// gets one request per round: other load on the machine affects all alike, and the ratio is
/// reproducible within 1 %.
const LEVELS: [(usize, usize, usize); 3] = [(1, 1, 1_500), (8, 400, 6), (32, 640, 6)];
/// Requests to each subject before the measurement: V8 optimises wasm only after some thousand
/// calls of a function.
const WARM_UP: usize = 4_000;
const STARTS: usize = 5;
const FRESH: usize = 150;
const ADDRESS: &str = "accepts@sandbox.test";

/// Measures the Worker alone and against an empty Worker, and writes the figures to
/// `target/bench/edge.json`.
pub async fn run() -> Result<Vec<Figure>> {
    let mut figures = comparison().await?;
    figures.push(fresh_overhead().await?);
    figures.extend(round_trips().await?);
    figures.extend(super::costs().await?);
    figures.push(super::scaling().await?);
    figures.push(Figure { name: "wasm_gzip_bytes", ..wasm_size()? });
    figures.push(isolate_start().await?);
    figures.extend(load_figures().await?);
    let folder = folder::target().join("bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("edge.json"), serde_json::to_string_pretty(&figures)? + "\n")?;
    Ok(figures)
}

/// Runs alternating rounds of each subject, at each level.
pub async fn comparison() -> Result<Vec<Figure>> {
    let port = port::free();
    let origin = FakeOrigin::start(|_| Conduct::Seen(Status::Accepted));
    let empty = Path::new(env!("CARGO_MANIFEST_DIR")).join("empty.mjs");
    let edge = Edge::builder().origins(&[&origin.url]).beside(empty, port, &[]).start().await?;
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    ensure!(account.check(ADDRESS).await.status == 200, "the address cannot be checked");
    let workerd = edge.process.pid();
    let [mut p50, mut rate, mut cpu] = [const { Vec::new() }; 3];
    let mut n = 0;
    // Both subjects bypass miniflare's own Workers.
    let mut subjects = [
        Subject::new(check(&account, &edge.direct)?, workerd)?,
        Subject::new(check(&account, &format!("http://127.0.0.1:{port}"))?, workerd)?,
    ];
    println!("bench: {WARM_UP} cached checks to each Worker first, about 10 s");
    for subject in &mut subjects {
        subject.drive(WARM_UP, 8).await?;
    }
    // The order is random, because the subject measured before affects caches and garbage
    // collection.
    let mut random = StdRng::seed_from_u64(1);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    for (at_once, count, rounds) in LEVELS {
        subjects.iter_mut().for_each(Subject::reset);
        for _ in 0..rounds {
            order.shuffle(&mut random);
            for &index in &order {
                subjects[index].drive(count, at_once).await?;
            }
        }
        let [ours, empty] = &subjects;
        for (name, subject) in [("ours", ours), ("empty", empty)] {
            let (p50, rate, cpu) = (subject.p50(), subject.rate(), subject.cpu());
            println!(
                "{at_once:>3} at a time, {name}: p50 {p50:.3} ms, {rate:.0}/s, CPU {cpu:.2} ms"
            );
        }
        p50.push(ours.p50() / empty.p50());
        rate.push(ours.rate() / empty.rate());
        cpu.push(ours.cpu() / empty.cpu());
        n += ours.count();
    }
    // Each figure is the median of the three levels' ratios.
    let figure = |name, mut ratios: Vec<f64>| {
        ratios.sort_by(f64::total_cmp);
        Figure { name, value: quantile(&ratios, 0.5), unit: "ratio", n }
    };
    Ok(vec![
        figure("cached_p50_ratio_to_empty_worker", p50),
        figure("cached_rps_ratio_to_empty_worker", rate),
        figure("cached_cpu_ratio_to_empty_worker", cpu),
    ])
}

fn check(account: &Account, url: &str) -> Result<Request> {
    let request = Client::new().post(format!("{url}/v1/validate_email"));
    let request = request.header("x-api-key", &account.api_key).json(&json!({ "email": ADDRESS }));
    Ok(request.build()?)
}

/// The median time of a fresh check through the edge, minus that of a similar probe sent directly to the origin,
/// measured alternately.
async fn fresh_overhead() -> Result<Figure> {
    let stack = Stack::builder().try_start().await?;
    let account = stack.edge.account().await;
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    let (mut over, mut direct) = (Vec::new(), Vec::new());
    for n in 0..FRESH {
        let started = Instant::now();
        let reply = account.check(&format!("accepts+e{n}@sandbox.test")).await;
        over.push(started.elapsed().as_secs_f64() * 1000.0);
        ensure!(reply.status == 200, "{}", reply.body);
        let started = Instant::now();
        stack.origin.try_probe(&format!("accepts+o{n}@sandbox.test")).await?;
        direct.push(started.elapsed().as_secs_f64() * 1000.0);
    }
    for times in [&mut over, &mut direct] {
        times.sort_by(f64::total_cmp);
    }
    let value = quantile(&over, 0.5) - quantile(&direct, 0.5);
    Ok(Figure { name: "fresh_overhead_ms_over_origin", value, unit: "ms", n: FRESH })
}

async fn round_trips() -> Result<[Figure; 2]> {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).shimmed().start().await?;
    let account = edge.account().await;
    edge.counts().await;
    account.check(ADDRESS).await;
    let fresh = edge.counts().await;
    account.check(ADDRESS).await;
    let cached = edge.counts().await;
    let figure = |name, value: u64| Figure { name, value: value as f64, unit: "count", n: 1 };
    Ok([
        figure("d1_statements_cached", cached.d1_statements),
        figure("d1_round_trips_fresh", fresh.d1_trips),
    ])
}

/// The time of a new runtime's first response minus the second: compiling and starting the wasm, and building the
/// router and the configuration.
async fn isolate_start() -> Result<Figure> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let edge = Edge::builder().start().await?;
        let anonymous = edge.anonymous();
        let mut pair = [0.0; 2];
        for time in &mut pair {
            let started = Instant::now();
            let reply = anonymous.get("/health").await;
            *time = started.elapsed().as_secs_f64() * 1000.0;
            ensure!(reply.status == 200, "{}", reply.body);
        }
        let [first, second] = pair;
        times.push(first - second);
    }
    times.sort_by(f64::total_cmp);
    Ok(Figure { name: "isolate_start_ms", value: quantile(&times, 0.5), unit: "ms", n: STARTS })
}

/// Two minutes of load are enough to find errors and fast memory leaks. `make lab ONLY=load` takes longer.
async fn load_figures() -> Result<[Figure; 3]> {
    let plan = LoadPlan { seconds: 120, ..LoadPlan::default() };
    let report = load::run(&plan, &folder::target().join("bench/load.json")).await?;
    Ok([
        Figure {
            name: "load_error_rate",
            value: report.error_rate,
            unit: "ratio",
            n: report.requests,
        },
        Figure {
            name: "origin_rss_slope_percent",
            value: report.origin_slope_percent,
            unit: "% per 10 min",
            n: report.memory.len(),
        },
        Figure {
            name: "wasm_bytes_grown",
            value: report.wasm_bytes_grown as f64,
            unit: "bytes",
            n: report.memory.len(),
        },
    ])
}
