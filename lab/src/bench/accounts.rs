//! Measures the cost of account operations, such as the CPU time of argon2 in workerd, and differences in their
//! response times (docs/security.md, A1).

use std::time::Duration;

use anyhow::{Context as _, Result};
use rcpt_tests::{Account, Edge, people::PASSWORD, process::rss, service::wasm_bytes};
use tokio::time::Instant;

use super::{Figure, expect, time};
use crate::drive::{cpu_milliseconds, quantile};

/// Number of interleaved calls of each kind (docs/security.md, A1), and of sign-ins.
const CALLS: usize = 200;

/// Measures all account operations on a separate edge.
///
/// # Errors
/// If the edge doesn't start, a response isn't the documented one, or there is no `/proc`.
pub async fn run() -> Result<Vec<Figure>> {
    let edge = Edge::builder().start().await?;
    // Sign-ins end an account's least recently used session, so they use a separate account.
    let (account, signing_in) = (edge.account().await, edge.account().await);
    let mut figures = sign_ins(&edge, &signing_in).await?;
    figures.extend(beside_sign_ins(&account, signing_in).await?);
    figures.extend(enumeration(&account).await?);
    Ok(figures)
}

async fn sign_ins(edge: &Edge, account: &Account) -> Result<Vec<Figure>> {
    let workerd = edge.process.pid();
    let (memory, wasm) = (resident(edge)?, wasm_bytes(edge)?);
    let (mut cpu, mut times) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let (before, started) = (cpu_milliseconds(workerd)?, Instant::now());
        let status = account.anonymous.login(&account.email, PASSWORD).await.status;
        times.push((status, started.elapsed()));
        cpu.push(cpu_milliseconds(workerd)? - before);
    }
    cpu.sort_by(f64::total_cmp);
    let times = expect(200, times)?;
    let mebibytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    let grown = resident(edge)?.saturating_sub(memory);
    let figure = |name, value, unit| Figure { name, value, unit, n: CALLS };
    Ok(vec![
        figure("sign_in_cpu_p50", quantile(&cpu, 0.5), "ms"),
        figure("sign_in_cpu_p99", quantile(&cpu, 0.99), "ms"),
        figure("sign_in_p50", quantile(&times, 0.5), "ms"),
        figure("sign_in_p99", quantile(&times, 0.99), "ms"),
        figure("wasm_memory_before", mebibytes(wasm), "MiB"),
        figure("wasm_memory_after", mebibytes(wasm_bytes(edge)?), "MiB"),
        figure("workerd_rss_growth", mebibytes(grown), "MiB"),
    ])
}

async fn beside_sign_ins(account: &Account, busy: Account) -> Result<Vec<Figure>> {
    let quota = async |_| account.quota().await.status;
    let settings = async |n| {
        let body = serde_json::json!({ "display_name": format!("Ann {n}") });
        account.put("/auth/settings", &body).await.status
    };
    let mut figures = Vec::new();
    let mut add = |name, times: Vec<(u16, Duration)>| -> Result<()> {
        let times = expect(200, times)?;
        figures.push(Figure { name, value: quantile(&times, 0.99), unit: "ms", n: times.len() });
        Ok(())
    };
    add("quota_p99", time(CALLS, quota).await)?;
    add("settings_p99", time(CALLS, settings).await)?;
    let load = tokio::spawn(async move {
        loop {
            busy.anonymous.login(&busy.email, PASSWORD).await;
        }
    });
    add("quota_beside_sign_in_p99", time(CALLS, quota).await)?;
    add("settings_beside_sign_in_p99", time(CALLS, settings).await)?;
    load.abort();
    Ok(figures)
}

/// Median times for addresses with and without an account, and their ratio: docs/security.md, A1 allows a difference of
/// 10 %.
async fn enumeration(account: &Account) -> Result<Vec<Figure>> {
    let anonymous = &account.anonymous;
    let unknown = |n: usize| format!("unknown-{n}@rcpt-tests.net");
    let mut figures = Vec::new();
    let names = [
        ["register_known_p50", "register_unknown_p50", "register_known_to_unknown"],
        ["login_known_p50", "login_unknown_p50", "login_known_to_unknown"],
        ["forgot_known_p50", "forgot_unknown_p50", "forgot_known_to_unknown"],
    ];
    for (route, [known_name, unknown_name, ratio]) in names.into_iter().enumerate() {
        let mut of = [Vec::new(), Vec::new()];
        for n in 0..CALLS {
            let emails = [account.email.clone(), unknown(n)];
            // Alternates which of the two calls is first.
            for which in [n % 2, 1 - n % 2] {
                let (Some(email), Some(times)) = (emails.get(which), of.get_mut(which)) else {
                    continue;
                };
                let started = Instant::now();
                let status = match route {
                    0 => anonymous.register(email, PASSWORD).await.status - 1,
                    1 => anonymous.login(email, "not-the-password").await.status - 201,
                    _ => anonymous.forgot_password(email).await.status,
                };
                times.push((status, started.elapsed()));
            }
        }
        let [known, unknown] =
            of.map(|times| expect(200, times).map(|sorted| quantile(&sorted, 0.5)));
        let (known, unknown) = (known?, unknown?);
        figures.push(Figure { name: known_name, value: known, unit: "ms", n: CALLS });
        figures.push(Figure { name: unknown_name, value: unknown, unit: "ms", n: CALLS });
        figures.push(Figure { name: ratio, value: known / unknown, unit: "", n: 2 * CALLS });
    }
    Ok(figures)
}

fn resident(edge: &Edge) -> Result<u64> {
    rss::bytes(edge.process.pid()).context("no workerd")
}
