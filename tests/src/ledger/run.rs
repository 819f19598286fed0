//! Runs a history against the Worker, and compares after every step.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_shared::Status;
use reqwest::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};

use super::{
    model::{Model, Source},
    step::{End, Step},
};
use crate::{Account, Conduct, Edge, FakeOrigin, actor::EmailChecks, clock, day};

/// Plans of a few checks, so that a short history meets every limit; and one without.
const PLANS: [(&str, Option<u64>); 4] =
    [("three", Some(3)), ("eight", Some(8)), ("none", Some(0)), ("unlimited", None)];
const UNLIMITED: i64 = 2_147_483_647;
/// Checks that one account has in flight at most: a history begins more than it ends.
const MOST_HELD: usize = 4;
/// A check that takes longer would take for ever.
const PATIENCE: Duration = Duration::from_secs(90);
const POPULAR: &str = "popular@histories.example";

/// An edge, and an origin that does what the local part of an address says.
pub struct World {
    pub edge: Edge,
    origin: FakeOrigin,
    client: Client,
}

impl World {
    /// # Errors
    /// The edge does not start.
    pub async fn start() -> Result<Self> {
        let origin = FakeOrigin::start(|address| match address.split('-').next() {
            Some("broken") => Conduct::Answer(500, r#"{"detail":"broken"}"#),
            Some("fatal") => Conduct::Verdict(Status::FatalException),
            Some("held") => Conduct::Hold,
            _ => Conduct::Verdict(Status::Accepted),
        });
        // Leases end when the history says so, however slow the machine is.
        let edge = Edge::builder()
            .origins(&[&origin.url])
            .var("LEASE_TTL_SECONDS", "300")
            .var("UPSTREAM_BUDGET_MS", "60000");
        let edge = edge.start().await?;
        for (name, daily) in PLANS {
            let sql =
                "INSERT OR IGNORE INTO plans (name, daily_checks, daily_scans, welcome_checks)
                       VALUES (?, ?, 0, 0)";
            edge.sql(sql, &[name.into(), daily.unwrap_or(0).into()]).await;
        }
        let warm = edge.account().await;
        ensure!(warm.check(POPULAR).await.status == 200, "the popular address is not cached");
        // workerd closes connections that are idle for longer.
        let client = Client::builder().timeout(PATIENCE).pool_idle_timeout(Duration::from_secs(2));
        let client = client.build()?;
        Ok(Self { edge, origin, client })
    }

    /// Plays a history with a new account; the error says what went wrong at which step.
    ///
    /// # Errors
    /// The first difference between the model and the Worker or its database.
    pub async fn play(&self, history: &[Step]) -> Result<()> {
        let mut player = Player::new(self).await?;
        let mut before = player.ledger().await?;
        for (index, step) in history.iter().enumerate() {
            let at = || format!("step {index} of {}: {step:?}", history.len());
            player.take(*step).await.with_context(at)?;
            before = player.compare(before).await.with_context(at)?;
        }
        Ok(())
    }
}

/// The account of one history.
struct Player<'a> {
    world: &'a World,
    account: Account,
    id: String,
    old_key: Option<String>,
    model: Model,
    /// The day on which the history's day 0 is now.
    first_day: i64,
    /// Answers that count, as they were received, and welcome checks ever granted.
    counted: u64,
    granted: u64,
    /// The most that was ever charged on a day, as the database said.
    seen: BTreeMap<i64, u64>,
    /// Checks in flight, with their addresses, and how many there have been.
    held: VecDeque<Held>,
    checks: u64,
}

type Answer = Result<(u16, Value)>;
/// The number of a check in flight, its address, and its answer to come.
type Held = (u64, String, JoinHandle<Answer>);

/// What the database says of the account.
#[derive(Debug, Clone, Deserialize)]
struct Ledger {
    day: i64,
    daily_charged: u64,
    previous_day: i64,
    previous_charged: u64,
    welcome_left: u64,
    daily_checks: u64,
    unlimited: u8,
    leases: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct LeaseRow(i64, String, u8);

impl Ledger {
    fn leases(&self) -> Result<Vec<LeaseRow>> {
        let mut leases: Vec<LeaseRow> = serde_json::from_str(&self.leases)?;
        leases.sort();
        Ok(leases)
    }

    fn charged_on(&self, day: i64) -> u64 {
        match day {
            day if day == self.day => self.daily_charged,
            day if day == self.previous_day => self.previous_charged,
            _ => 0,
        }
    }

    fn used(&self, today: i64) -> Result<u64> {
        let live = |lease: &&LeaseRow| lease.0 == today && lease.1 == "daily" && lease.2 == 1;
        Ok(self.charged_on(today) + self.leases()?.iter().filter(live).count() as u64)
    }

    fn welcome_leased(&self) -> Result<u64> {
        let live = |lease: &&LeaseRow| lease.1 == "welcome" && lease.2 == 1;
        Ok(self.leases()?.iter().filter(live).count() as u64)
    }
}

impl<'a> Player<'a> {
    async fn new(world: &'a World) -> Result<Self> {
        let first_day = i64::try_from(day::today().await)?;
        let account = world.edge.account().await;
        let id = world.edge.id(&account.email).await;
        world.edge.set(&account.email, "plan = 'eight', welcome_left = 2").await;
        Ok(Self {
            world,
            account,
            id,
            old_key: None,
            model: Model::new(Some(8), 2),
            first_day,
            counted: 0,
            granted: 2,
            seen: BTreeMap::new(),
            held: VecDeque::new(),
            checks: 0,
        })
    }

    async fn take(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Check => {
                let address = self.address("ok");
                let reply = self.check(&address).await?;
                self.expect_counted(reply, json!(true))
            }
            Step::Burst(count) => self.burst(count).await,
            Step::Cached { in_session } => {
                let reply = self.call(POPULAR, in_session).await?;
                self.expect_counted(reply, json!(true))
            }
            Step::InvalidFormat => {
                let reply = self.check("no address").await?;
                self.expect_counted(reply, json!("invalid_format"))
            }
            Step::OriginFailure => {
                let address = self.address("broken");
                let (status, body) = self.check(&address).await?;
                let expected = if self.model.next_source().is_some() { 502 } else { 429 };
                ensure!(status == expected, "{status} {body} instead of {expected}");
                Ok(())
            }
            Step::FatalException => {
                let address = self.address("fatal");
                let (status, body) = self.check(&address).await?;
                let expected = if self.model.next_source().is_some() { 200 } else { 429 };
                let fatal = body["status"] == "fatal_exception";
                ensure!(status == expected && fatal == (status == 200), "{status} {body}");
                Ok(())
            }
            Step::Begin => self.begin().await,
            Step::Finish(which, end) => self.finish(which, end).await,
            Step::LeasesExpire => {
                self.model.expire(|_| true);
                self.sql("UPDATE leases SET expires_at = 1 WHERE account_id = ?").await
            }
            Step::Midnight => self.midnight().await,
            Step::PlanChange(which) => {
                let (plan, allowance) = PLANS[usize::from(which) % PLANS.len()];
                self.model.allowance = allowance;
                self.sql(&format!("UPDATE accounts SET plan = '{plan}' WHERE id = ?")).await
            }
            Step::Grant(count) => {
                self.model.welcome_left += u64::from(count);
                self.granted += u64::from(count);
                let grant = format!("UPDATE accounts SET welcome_left = welcome_left + {count}");
                self.sql(&format!("{grant} WHERE id = ?")).await
            }
            Step::Rotate => self.rotate().await,
        }
    }

    async fn burst(&mut self, count: u8) -> Result<()> {
        let mut checks = JoinSet::new();
        for _ in 0..count {
            let address = self.address("ok");
            let request = self.request(&address, false);
            checks.spawn(async move { answer(request).await });
        }
        // Which of them gets the last unit is open; how many get one is not.
        let mut statuses = Vec::new();
        while let Some(reply) = checks.join_next().await {
            statuses.push(reply??.0);
        }
        let answered = statuses.iter().filter(|status| **status == 200).count();
        self.counted += answered as u64;
        let expected = (0..count).filter(|_| self.model.answer()).count();
        let others = statuses.iter().all(|status| matches!(status, 200 | 429));
        ensure!(answered == expected && others, "{statuses:?} instead of {expected} × 200");
        Ok(())
    }

    async fn begin(&mut self) -> Result<()> {
        if self.held.len() == MOST_HELD {
            self.finish(0, End::Verdict).await?;
        }
        let address = self.address("held");
        if !self.model.begin(self.checks) {
            let (status, body) = self.check(&address).await?;
            ensure!(status == 429, "{status} {body} instead of 429");
            return Ok(());
        }
        let request = self.request(&address, false);
        let check = tokio::spawn(async move { answer(request).await });
        self.world.origin.wait_for_probe(&address).await;
        self.held.push_back((self.checks, address, check));
        Ok(())
    }

    async fn finish(&mut self, which: u8, end: End) -> Result<()> {
        let index = usize::from(which) % self.held.len().max(1);
        let Some((number, address, check)) = self.held.remove(index) else { return Ok(()) };
        let conduct = match end {
            End::Verdict => Conduct::Verdict(Status::Accepted),
            End::Failure => Conduct::Answer(500, "{}"),
            End::Fatal => Conduct::Verdict(Status::FatalException),
            End::ClientGone => {
                // Its lease stays until it expires.
                check.abort();
                return Ok(());
            }
        };
        self.world.origin.release(&address, conduct);
        let (status, body) = check.await??;
        let expected = match end {
            End::Verdict if self.model.settle(number) => {
                self.counted += u64::from(status == 200);
                200
            }
            End::Verdict => 502,
            _ => {
                self.model.release(number);
                if end == End::Fatal { 200 } else { 502 }
            }
        };
        ensure!(status == expected, "{status} {body} instead of {expected}");
        Ok(())
    }

    async fn midnight(&mut self) -> Result<()> {
        let today = self.model.today;
        self.model.expire(|lease| lease.day < today);
        let end = "UPDATE leases SET expires_at = 1 WHERE day < ? AND account_id = ?";
        self.world.edge.sql(end, &[(self.first_day + today).into(), self.id_value()]).await;
        self.sql("UPDATE leases SET day = day - 1 WHERE account_id = ?").await?;
        let older = "UPDATE accounts SET day = max(day - 1, 0),
                     previous_day = max(previous_day - 1, 0) WHERE id = ?";
        self.sql(older).await?;
        self.model.today += 1;
        self.first_day -= 1;
        Ok(())
    }

    async fn rotate(&mut self) -> Result<()> {
        let reply = self.account.rotate_api_key().await;
        let key = reply.body["api_key"].as_str().context("no key")?.to_owned();
        self.old_key = Some(std::mem::replace(&mut self.account.api_key, key));
        let old = self.old_key.clone().unwrap_or_default();
        let request = self.post(POPULAR).header("x-api-key", old);
        let (status, body) = answer(request).await?;
        ensure!(status == 401, "the old key: {status} {body}");
        Ok(())
    }

    fn expect_counted(&mut self, (status, body): (u16, Value), verdict: Value) -> Result<()> {
        self.counted += u64::from(status == 200);
        let expected = if self.model.answer() { 200 } else { 429 };
        ensure!(status == expected, "{status} {body} instead of {expected}");
        ensure!(status != 200 || body["status"] == verdict, "{body} instead of {verdict}");
        Ok(())
    }

    /// The five invariants of trust.md, from the database and from the report.
    async fn compare(&mut self, before: Ledger) -> Result<Ledger> {
        let ledger = self.ledger().await?;
        let day_of = |offset: i64| self.first_day + offset;
        let (today, model) = (day_of(self.model.today), &self.model);

        // 1: never over. Only a smaller plan may leave more used than there is.
        let (used, welcome) = (ledger.used(today)?, ledger.welcome_leased()?);
        let allowed = if ledger.unlimited == 1 { u64::MAX } else { ledger.daily_checks };
        // A midnight has made the day before out of the day that `before` speaks of.
        let bound = allowed.max(before.used(today)?);
        ensure!(used <= bound && welcome <= ledger.welcome_left, "(1) {ledger:?}");

        // 2: a lease ends once: those in the database are exactly those that have not ended.
        let of_model = model.leases.iter().map(|lease| {
            let source = if lease.source == Source::Daily { "daily" } else { "welcome" };
            LeaseRow(day_of(lease.day), source.to_owned(), lease.is_live.into())
        });
        let mut expected: Vec<_> = of_model.collect();
        expected.sort();
        let leases = ledger.leases()?;
        ensure!(leases == expected, "(2) {leases:?} instead of {expected:?}");

        // 3 and 5: each answer that counted, and nothing else, was charged once, on its own day.
        for (day, charged) in
            [(ledger.day, ledger.daily_charged), (ledger.previous_day, ledger.previous_charged)]
        {
            if day >= day_of(0) {
                self.seen.insert(day - self.first_day, charged);
            }
        }
        let charged = self.seen.values().sum::<u64>() + self.granted - ledger.welcome_left;
        let counted = self.counted;
        ensure!(charged == counted, "(3, 5) {charged} charged for {counted}: {ledger:?}");
        for (day, charged) in
            [-1, 0].map(|back| (model.today + back, model.charged_on(model.today + back)))
        {
            let stored = ledger.charged_on(day_of(day));
            ensure!(stored == charged, "(3) {stored} instead of {charged} on day {day}");
        }
        ensure!(ledger.welcome_left == model.welcome_left, "(3) {ledger:?} for {model:?}");

        // 4: the report is the sum of the ledger.
        let report = self.report().await?;
        let of_plan = i64::try_from(ledger.daily_checks)?;
        let allowance = if ledger.unlimited == 1 { UNLIMITED } else { of_plan };
        let used_today = i64::try_from(used)?;
        let sum = EmailChecks {
            daily_allowance: allowance,
            used_today,
            left_today: (allowance - used_today).max(0),
            welcome_left: i64::try_from(ledger.welcome_left - welcome)?,
        };
        ensure!(report == sum, "(4) {report:?} instead of {sum:?}");
        Ok(ledger)
    }

    async fn ledger(&self) -> Result<Ledger> {
        let sql = "SELECT day, daily_charged, previous_day, previous_charged, welcome_left,
                     daily_checks, unlimited,
                     (SELECT json_group_array(json_array(l.day, l.source, l.expires_at > ?))
                      FROM leases l WHERE l.account_id = accounts.id) AS leases
                   FROM accounts JOIN plans ON plans.name = accounts.plan WHERE accounts.id = ?";
        let rows = self.world.edge.sql(sql, &[clock::now().into(), self.id_value()]).await;
        let row = rows.into_iter().next().context("no account")?;
        Ok(serde_json::from_value(row)?)
    }

    async fn report(&self) -> Result<EmailChecks> {
        let url = format!("{}/v1/me/quota", self.world.edge.direct);
        let request = self.world.client.get(url).header("x-api-key", &self.account.api_key);
        let (status, mut body) = answer(request).await?;
        ensure!(status == 200, "the report: {status} {body}");
        Ok(serde_json::from_value(body["email_checks"].take())?)
    }

    async fn sql(&self, sql: &str) -> Result<()> {
        self.world.edge.sql(sql, &[self.id_value()]).await;
        Ok(())
    }

    fn id_value(&self) -> Value {
        self.id.as_str().into()
    }

    /// One that nobody has asked for.
    fn address(&mut self, conduct: &str) -> String {
        self.checks += 1;
        format!("{conduct}-{}-{}@histories.example", self.id, self.checks)
    }

    async fn check(&self, address: &str) -> Result<(u16, Value)> {
        self.call(address, false).await
    }

    async fn call(&self, address: &str, in_session: bool) -> Result<(u16, Value)> {
        answer(self.request(address, in_session)).await
    }

    fn request(&self, address: &str, in_session: bool) -> reqwest::RequestBuilder {
        let request = self.post(address);
        if in_session {
            request.bearer_auth(&self.account.token)
        } else {
            request.header("x-api-key", &self.account.api_key)
        }
    }

    fn post(&self, address: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/validate_email", self.world.edge.direct);
        self.world.client.post(url).json(&json!({ "email": address }))
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    match serde_json::from_str(&text) {
        Ok(body) => Ok((status, body)),
        Err(_) => bail!("{status} with {text}"),
    }
}
