//! Measures the cost of a restart, a crash, a hang and a blocked port of an origin. Several
//! origins run behind a real edge under load.
//!
//! - O6: restarts, kills, hangs and a blocked port 25 under load: charged exactly for the answers, and restarts fail at
//!   most 0.1 % of checks.

use std::{collections::BTreeMap, fmt::Write as _, process::Command, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_tests::{
    Account, Edge, Origin, Sandbox,
    service::{clock::today, secret},
};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, interval, sleep},
};

/// Number of domains. The edge distributes domains over origins by name: of 120, each of three origins gets about a
/// third.
const DOMAINS: usize = 120;
const MAILBOXES: [&str; 4] = ["accepts", "accepts", "rejects", "full"];
/// Time limit from SIGTERM to exit: the grace period, and some reserve.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a response, longer than the edge's own limit.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Duration of each row, and checks sent per second.
#[derive(Debug, Clone, Copy)]
pub struct DrillPlan {
    pub seconds: u64,
    pub rate: u32,
}

/// Measurements of checks during one event.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// True if operators cause such an event on purpose.
    pub is_orderly: bool,
    /// Number of responses by status; 0 means no response.
    pub statuses: BTreeMap<u16, u64>,
    /// Number of verdicts that must be charged according to docs/api.md, and the account's charges.
    pub counted: i64,
    pub charged: i64,
    /// Response times in milliseconds, sorted.
    milliseconds: Vec<u128>,
}

impl Row {
    /// Share of checks with another status than 200.
    pub fn failed_share(&self) -> f64 {
        let all: u64 = self.statuses.values().sum();
        let fine = self.statuses.get(&200).copied().unwrap_or_default();
        (all - fine) as f64 / all.max(1) as f64
    }

    fn percentile(&self, percent: usize) -> u128 {
        let last = self.milliseconds.len().saturating_sub(1);
        self.milliseconds.get(last * percent / 100).copied().unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
enum Event {
    Nothing,
    Restart,
    Kill,
    Hang,
    ShutPort,
    /// The first of two origins is restarted, the second is killed and started, and then the first hangs.
    Mixed,
}

const ROWS: [(&str, bool, Event); 5] = [
    ("nothing", true, Event::Nothing),
    ("each restarted (SIGTERM)", true, Event::Restart),
    ("each killed (SIGKILL)", false, Event::Kill),
    ("one hung (SIGSTOP)", false, Event::Hang),
    ("one with port 25 shut", false, Event::ShutPort),
];

/// Runs all rows one after the other, with three origins.
pub async fn run(plan: DrillPlan) -> Result<Vec<Row>> {
    let mut service = Service::start(3).await?;
    let mut rows = Vec::new();
    for (number, (name, is_orderly, event)) in ROWS.into_iter().enumerate() {
        println!("drill: {name}");
        let row = service.row(plan, number, event).await?;
        rows.push(Row { name, is_orderly, ..row });
        // Waits until the edge no longer avoids the failed origin, before the next row.
        sleep(Duration::from_secs(5)).await;
    }
    Ok(rows)
}

/// Runs a row with two origins, of which one is always up while the other is restarted, killed or
/// hung.
pub async fn in_short(plan: DrillPlan) -> Result<Row> {
    let row = Service::start(2).await?.row(plan, 0, Event::Mixed).await?;
    Ok(Row { name: "restarted, killed, hung", ..row })
}

struct Service {
    /// Mail server of the origins; it runs until it is dropped.
    _sandbox: Sandbox,
    tickets: String,
    origins: Vec<Origin>,
    edge: Edge,
    account: Arc<Account>,
}

impl Service {
    async fn start(count: usize) -> Result<Self> {
        let sandbox = Sandbox::start()?;
        let tickets = secret::value()?;
        let mut origins = Vec::new();
        for _ in 0..count {
            let builder = Origin::builder().routes(&sandbox.routes()).ticket_secrets(&tickets);
            origins.push(builder.start().await?);
        }
        let urls: Vec<_> = origins.iter().map(|origin| origin.url.as_str()).collect();
        let edge = Edge::builder().origins(&urls).ring("TICKET_SECRET", &tickets);
        let edge = edge.start().await?;
        let account = Arc::new(edge.account().await);
        edge.set(&account.email, "plan = 'unlimited'").await;
        Ok(Self { _sandbox: sandbox, tickets, origins, edge, account })
    }

    async fn row(&mut self, plan: DrillPlan, number: usize, event: Event) -> Result<Row> {
        // Waits if midnight is near, when the day's count is reset.
        today().await;
        let before = self.account.email_checks().await.used_today;
        let url = format!("{}/v1/validate_email", self.edge.url);
        let load = tokio::spawn(load(plan, number, url, self.account.clone()));
        disturb(event, &mut self.origins, plan, &self.tickets).await?;
        let mut row = load.await??;
        row.charged = charged(&self.account, before, row.counted).await;
        Ok(row)
    }
}

/// The units charged since `before`, once they equal `due` or a deadline has passed: settling may run in the
/// background.
async fn charged(account: &Account, before: i64, due: i64) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let charged = account.email_checks().await.used_today - before;
        if charged == due || Instant::now() > deadline {
            // An extra charge would be wrong too, so this waits a second longer.
            sleep(Duration::from_secs(1)).await;
            return account.email_checks().await.used_today - before;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

async fn disturb(
    event: Event,
    origins: &mut [Origin],
    plan: DrillPlan,
    tickets: &str,
) -> Result<()> {
    let all = Duration::from_secs(plan.seconds);
    match event {
        Event::Nothing => {}
        Event::Restart => {
            for origin in origins {
                sleep(all / 5).await;
                restart(origin).await?;
            }
        }
        Event::Kill => {
            for origin in origins {
                sleep(all / 5).await;
                origin.restart().await?;
            }
        }
        Event::Hang => {
            let origin = origins.first().context("no origin")?;
            sleep(all / 5).await;
            hang(origin, all / 2).await?;
        }
        Event::Mixed => {
            let [one, other] = origins else { bail!("two origins are needed") };
            sleep(all / 8).await;
            restart(one).await?;
            sleep(all / 8).await;
            other.restart().await?;
            sleep(all / 8).await;
            hang(one, all / 2).await?;
        }
        Event::ShutPort => {
            // Simulates a network that rejects every SYN to port 25, to the servers of port_check
            // and to all others.
            let origin = origins.first_mut().context("no origin")?;
            let port = origin.url.rsplit_once(':').context("no port")?.1.parse()?;
            origin.kill();
            *origin = Origin::builder()
                .port(port)
                .ticket_secrets(tickets)
                .routes("sandbox.test=127.0.0.1:1")
                .env("RCPT_PORT_CHECK", "127.0.0.1:1")
                .start()
                .await?;
        }
    }
    Ok(())
}

/// Restarts an origin as a service manager does.
async fn restart(origin: &mut Origin) -> Result<()> {
    origin.process.terminate();
    origin.process.wait_for_end(EXIT_TIMEOUT).await?;
    origin.restart().await
}

async fn hang(origin: &Origin, time: Duration) -> Result<()> {
    signal(origin, "-STOP")?;
    sleep(time).await;
    signal(origin, "-CONT")
}

fn signal(origin: &Origin, signal: &str) -> Result<()> {
    let id = origin.pid().context("no process called origin")?;
    let status = Command::new("kill").args([signal, &id.to_string()]).status()?;
    ensure!(status.success(), "kill {signal} {id}");
    Ok(())
}

/// The rate is even, regardless of earlier checks.
async fn load(plan: DrillPlan, number: usize, url: String, account: Arc<Account>) -> Result<Row> {
    // workerd closes idle connections.
    let client = Client::builder()
        .timeout(RESPONSE_TIMEOUT)
        .pool_idle_timeout(Duration::from_secs(2))
        .build()?;
    let mut ticks = interval(Duration::from_secs(1) / plan.rate);
    let mut checks = JoinSet::new();
    for n in 0..plan.seconds * u64::from(plan.rate) {
        ticks.tick().await;
        let mailbox = MAILBOXES[n as usize % MAILBOXES.len()];
        let email = format!("{mailbox}+drill-{number}-{n}@d{}.sandbox.test", n as usize % DOMAINS);
        let request = client.post(&url).header("x-api-key", &account.api_key);
        let request = request.json(&json!({ "email": email }));
        checks.spawn(async move {
            let started = Instant::now();
            let answer = match request.send().await {
                Ok(reply) => {
                    let status = reply.status().as_u16();
                    // An interrupted response counts as none.
                    reply.json::<Value>().await.map(|body| (status, body)).ok()
                }
                Err(_) => None,
            };
            (answer, started.elapsed().as_millis())
        });
    }
    let mut row = Row {
        name: "",
        is_orderly: false,
        statuses: BTreeMap::new(),
        counted: 0,
        charged: 0,
        milliseconds: Vec::new(),
    };
    for (answer, took) in checks.join_all().await {
        let status = answer.as_ref().map_or(0, |(status, _)| *status);
        *row.statuses.entry(status).or_default() += 1;
        row.milliseconds.push(took);
        let counts = answer
            .is_some_and(|(status, body)| status == 200 && body["status"] != "fatal_exception");
        row.counted += i64::from(counts);
    }
    row.milliseconds.sort_unstable();
    Ok(row)
}

/// Formats the rows as Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| what happened | checks | not 200 | share | p50 ms | p99 ms | longest ms | counted | charged | wrong |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let all: u64 = row.statuses.values().sum();
        let other =
            |(status, count): (&u16, &u64)| (*status != 200).then(|| format!("{count} × {status}"));
        let failed: Vec<_> = row.statuses.iter().filter_map(other).collect();
        let failed = if failed.is_empty() { "–".to_owned() } else { failed.join(", ") };
        // Writing to a String can't fail.
        let _ = writeln!(
            text,
            "| {} | {all} | {failed} | {:.2} % | {} | {} | {} | {} | {} | {} |",
            row.name,
            row.failed_share() * 100.0,
            row.percentile(50),
            row.percentile(99),
            row.percentile(100),
            row.counted,
            row.charged,
            (row.charged - row.counted).abs(),
        );
    }
    text
}
