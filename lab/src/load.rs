//! An open-model load test of edge and origin. The time of each check is chosen before the run, so
//! that a slow service doesn't slow down its callers. Response times include the wait before a
//! check is sent.

mod report;

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, ensure};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use rcpt_tests::{Account, Stack, process::rss, service::wasm_bytes};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, interval, sleep_until},
};

use report::{Answer, Sample};
pub use report::{Percentiles, Report};

use crate::drive::Subject;

/// Duration, rate and kinds of checks of a load run.
#[derive(Debug, Clone, Copy)]
pub struct LoadPlan {
    /// Cached checks before the measurement, in rounds of [`ROUND`]: V8 optimises wasm only after
    /// some thousand calls of a function.
    pub warm_up: usize,
    /// Seconds of fresh checks at the run's rate before the measurement, which fill origin's table of hosts.
    pub settle: u64,
    pub seconds: u64,
    /// Average checks per second of a Poisson process.
    pub rate: f64,
    /// Number of popular, cached addresses among ten checks.
    pub cached_of_ten: u32,
    pub seed: u64,
}

impl Default for LoadPlan {
    fn default() -> Self {
        // Two cores can carry this rate with some reserve: workerd, origin, mail server and senders
        // together.
        let (seconds, rate, seed) = (600, 40.0, 1);
        Self { warm_up: 4_000, settle: 60, seconds, rate, cached_of_ten: 8, seed }
    }
}

const ROUND: usize = 1_000;
const POPULAR: u32 = 50;
/// Local parts of fresh addresses, by the mail server's reply: half of the mailboxes are accepted.
const MAILBOXES: [&str; 10] = [
    "accepts",
    "accepts",
    "accepts",
    "accepts",
    "accepts",
    "rejects",
    "rejects",
    "full",
    "blocked",
    "greylisted",
];

struct Arrival {
    after: Duration,
    address: String,
    is_fresh: bool,
}

impl LoadPlan {
    fn arrivals(&self) -> Vec<Arrival> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let end = self.seconds as f64;
        let mut at = 0.0;
        let mut arrivals = Vec::new();
        loop {
            // Gaps are exponentially distributed; 1 - r is never 0.
            at -= (1.0 - random.random::<f64>()).ln() / self.rate;
            if at >= end {
                return arrivals;
            }
            let is_fresh = random.random_range(0..10) >= self.cached_of_ten;
            let mailbox = MAILBOXES[random.random_range(0..MAILBOXES.len())];
            let address = if is_fresh {
                format!("{mailbox}+load-{}-{}@sandbox.test", self.seed, arrivals.len())
            } else {
                popular(random.random_range(0..POPULAR))
            };
            arrivals.push(Arrival { after: Duration::from_secs_f64(at), address, is_fresh });
        }
    }
}

fn popular(n: u32) -> String {
    format!("accepts+popular-{n}@sandbox.test")
}

/// Runs the plan against a separate stack, and writes the report to `file`.
///
/// # Errors
/// If the stack doesn't start, or the file can't be written. Failures of the service are part
/// of the report.
pub async fn run(plan: &LoadPlan, file: &Path) -> Result<Report> {
    let stack = Stack::builder().origin_env("RCPT_MAX_PROBES", "2000");
    let stack = stack.try_start().await?;
    let account = Arc::new(stack.edge.account().await);
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    for n in 0..POPULAR {
        let reply = account.check(&popular(n)).await;
        ensure!(reply.status == 200, "{}", reply.body);
    }
    warm_up(plan, &stack, &account).await?;
    if plan.settle > 0 {
        println!("load: {} s of fresh checks at the rate of the run, to settle", plan.settle);
        let seed = plan.seed.wrapping_add(1);
        let settling = LoadPlan { seconds: plan.settle, cached_of_ten: 0, seed, ..*plan };
        measure(&settling, &stack, &account).await?;
    }
    let used_before = account.email_checks().await.used_today;

    let (all, samples) = measure(plan, &stack, &account).await?;
    let charged = account.email_checks().await.used_today - used_before;
    let report = Report::new(plan, &all, &samples, charged);
    let folder = file.parent().context("a file in a folder")?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    Ok(report)
}

async fn measure(
    plan: &LoadPlan,
    stack: &Stack,
    account: &Arc<Account>,
) -> Result<(Vec<Answer>, Vec<Sample>)> {
    let (answers, mut answered) = mpsc::unbounded_channel();
    // workerd closes idle connections; a request on a connection that is just being closed would
    // fail unsent.
    let client = Client::builder().timeout(Duration::from_secs(30));
    let client = client.pool_idle_timeout(Duration::from_secs(2)).build()?;
    let arrivals = plan.arrivals();
    let url = format!("{}/v1/validate_email", stack.edge.url);
    let start = Instant::now();
    let sender = tokio::spawn(send(arrivals, start, url, client, Arc::clone(account), answers));
    let mut samples = Vec::new();
    let mut seconds = interval(Duration::from_secs(1));
    while !sender.is_finished() {
        seconds.tick().await;
        samples.push(Sample {
            second: start.elapsed().as_secs_f64(),
            origin: stack.origin.pid().and_then(rss::bytes).context("no origin")?,
            wasm: wasm_bytes(&stack.edge)?,
        });
    }
    sender.await?;
    let mut all = Vec::new();
    while let Some(answer) = answered.recv().await {
        all.push(answer);
    }
    Ok((all, samples))
}

async fn warm_up(plan: &LoadPlan, stack: &Stack, account: &Account) -> Result<()> {
    let workerd = stack.edge.process.pid();
    let request = account.anonymous.check_request(&account.api_key, &popular(0)).build()?;
    let mut subject = Subject::new(request, workerd)?;
    for round in 1..=plan.warm_up / ROUND {
        subject.drive(ROUND, 16).await?;
        println!("load: warmed up with {} checks", round * ROUND);
    }
    Ok(())
}

/// Each check is sent at its scheduled time.
async fn send(
    arrivals: Vec<Arrival>,
    start: Instant,
    url: String,
    client: Client,
    account: Arc<Account>,
    answers: mpsc::UnboundedSender<Answer>,
) {
    let mut checks = JoinSet::new();
    for arrival in arrivals {
        let due = start + arrival.after;
        sleep_until(due).await;
        let request = client.post(&url).header("x-api-key", &account.api_key);
        let request = request.json(&json!({ "email": arrival.address }));
        let answers = answers.clone();
        checks.spawn(async move {
            let status = match request.send().await {
                Ok(reply) => {
                    let status = reply.status().as_u16();
                    // An interrupted response counts as none.
                    reply.json::<Value>().await.map_or(0, |_| status)
                }
                Err(_) => 0,
            };
            let _ = answers.send(Answer {
                second: arrival.after.as_secs(),
                is_fresh: arrival.is_fresh,
                status,
                // The time is measured from when the check was due, even if it was sent later.
                ms: due.elapsed().as_secs_f64() * 1000.0,
            });
        });
        while checks.try_join_next().is_some() {}
    }
    checks.join_all().await;
}

#[cfg(test)]
mod tests {
    use super::LoadPlan;

    #[test]
    fn arrivals_come_at_the_rate_and_are_the_same_for_the_same_seed() {
        let plan = LoadPlan { seconds: 100, ..LoadPlan::default() };
        let arrivals = plan.arrivals();
        // The expected number is 4,000, with a standard deviation of 63.
        assert!((3_700..4_300).contains(&arrivals.len()), "{}", arrivals.len());
        assert!(arrivals.is_sorted_by_key(|arrival| arrival.after));
        let again = plan.arrivals();
        assert!(arrivals.iter().zip(&again).all(|(a, b)| a.address == b.address));
    }
}
