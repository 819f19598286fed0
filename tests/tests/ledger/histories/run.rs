//! Executes the steps of a history, and compares each with the model's result.

use std::collections::{BTreeMap, VecDeque};

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, service::clock};
use serde_json::{Value, json};
use tokio::{
    task::{JoinHandle, JoinSet},
    time::{Duration, Instant},
};

use super::{
    model::Model,
    operations::LastRequest,
    step::{End, Step},
    world::{PLANS, POPULAR, World},
};

/// Maximum number of checks in flight per account, because a history starts more checks than it ends.
pub(super) const MOST_HELD: usize = 4;
/// Time after which a check is ended, in case a slow machine has delayed the history. The Worker itself waits twice as
/// long for a list, and six times as long for a check.
const LONGEST_HELD: Duration = Duration::from_secs(10);
/// Prefix of the ids of dead Workers' leases.
const LOST_PREFIX: &str = "lost-";

/// Plays one history with an account, and keeps the expected state.
pub struct Player<'a> {
    pub world: &'a World,
    pub account: Account,
    id: String,
    pub model: Model,
    /// The real day of the history's day 0.
    pub first_day: i64,
    /// Chargeable responses received, and welcome checks ever granted.
    pub counted: u64,
    pub granted: u64,
    /// Number of charges that the database has last reported for each day.
    pub highest_charges: BTreeMap<i64, u64>,
    /// Checks in flight, oldest first.
    pub(super) checks_in_flight: VecDeque<CheckInFlight>,
    /// Number of checks so far.
    pub(super) checks: u64,
    /// True if these credentials were rejected, which the Worker remembers for ten seconds.
    pub(super) refused: bool,
    /// Id of the named key in use.
    pub(super) named_key: Option<String>,
    /// Number of named keys so far.
    pub(super) named_keys: u64,
    /// The last request under each shared `Idempotency-Key`, by the path of its operation.
    pub(super) keys: BTreeMap<(&'static str, String), LastRequest>,
}

pub type Answer = Result<(u16, Value)>;

/// A check or a list in flight.
pub(super) struct CheckInFlight {
    pub number: u64,
    pub address: String,
    /// Number of addresses.
    pub units: u64,
    /// Id of the lease.
    pub lease: String,
    pub since: Instant,
    pub client: Waiting,
}

/// The caller that waits for a check in flight.
pub(super) enum Waiting {
    ForItsAnswer(JoinHandle<Answer>),
    /// The response was pending; the same request with its `Idempotency-Key` will get the verdict.
    Under(KeyedRequest),
}

/// A request with an `Idempotency-Key`, to be sent with the account's current API key.
#[derive(Clone)]
pub(super) struct KeyedRequest {
    pub path: &'static str,
    pub key: String,
    pub body: Value,
}

impl<'a> Player<'a> {
    pub async fn new(world: &'a World) -> Result<Self> {
        let first_day = i64::try_from(clock::today().await)?;
        let account = world.edge.account().await;
        let id = world.edge.id(&account.email).await;
        world.edge.set(&account.email, "plan = 'eight', welcome_left = 2").await;
        Ok(Self {
            world,
            account,
            id,
            model: Model::new(Some(8), 2),
            first_day,
            counted: 0,
            granted: 2,
            highest_charges: BTreeMap::new(),
            checks_in_flight: VecDeque::new(),
            checks: 0,
            refused: false,
            named_key: None,
            named_keys: 0,
            keys: BTreeMap::new(),
        })
    }

    /// Executes one step and checks its response.
    pub async fn take(&mut self, step: Step) -> Result<()> {
        while self
            .checks_in_flight
            .front()
            .is_some_and(|checks_in_flight| checks_in_flight.since.elapsed() > LONGEST_HELD)
        {
            self.finish(0, End::Verdict).await?;
        }
        match step {
            Step::Check => self.fresh().await,
            Step::Burst(count) => self.burst(count).await,
            Step::Cached { in_session } => self.cached(in_session).await,
            Step::InvalidFormat => self.invalid_format().await,
            Step::List { fresh, broken } => self.list(fresh, broken).await,
            Step::BeginList { units, is_pending } => self.begin_list(units, is_pending).await,
            Step::OriginFailure => self.origin_failure().await,
            Step::FatalException => self.fatal_exception().await,
            Step::Begin => self.begin().await,
            Step::BeginPending => self.begin_pending().await,
            Step::Finish(which, end) => self.finish(which, end).await,
            Step::LeasesExpire => self.leases_expire().await,
            Step::Midnight => self.midnight().await,
            Step::PlanChange(which) => self.plan_change(which).await,
            Step::Grant(count) => self.grant(count).await,
            Step::Rotate => self.rotate().await,
            Step::UnderKey { operation, key, is_repeat, is_held } => {
                self.under_key(operation, key, is_repeat, is_held).await
            }
            Step::NamedKey(limit) => self.go_on_with_a_named_key(limit.into()).await,
        }
    }

    async fn fresh(&mut self) -> Result<()> {
        let address = self.address("ok");
        let reply = self.check(&address).await?;
        self.expect_counted(reply, json!(true))
    }

    async fn cached(&mut self, in_session: bool) -> Result<()> {
        let reply = answer(self.request(POPULAR, in_session)).await?;
        // A session itself has no limit.
        let key = self.model.key.take_if(|_| in_session);
        let checked = self.expect_counted(reply, json!(true));
        self.model.key = self.model.key.take().or(key);
        checked
    }

    async fn invalid_format(&mut self) -> Result<()> {
        let reply = self.check("no address").await?;
        self.expect_counted(reply, json!("invalid_format"))
    }

    async fn origin_failure(&mut self) -> Result<()> {
        let address = self.address("broken");
        let reply = self.check(&address).await?;
        self.expect_uncounted(&reply, 502)
    }

    async fn fatal_exception(&mut self) -> Result<()> {
        let address = self.address("fatal");
        let reply = self.check(&address).await?;
        self.expect_uncounted(&reply, 200)?;
        let is_fatal = reply.1["status"] == "fatal_exception";
        ensure!(is_fatal == (reply.0 == 200), "{reply:?}");
        Ok(())
    }

    async fn leases_expire(&mut self) -> Result<()> {
        self.model.expire(|_| true);
        self.sql("UPDATE leases SET expires_at = 1 WHERE account_id = ?").await
    }

    async fn plan_change(&mut self, which: u8) -> Result<()> {
        let (plan, allowance) = PLANS[usize::from(which) % PLANS.len()];
        self.model.allowance = allowance;
        self.sql(&format!("UPDATE accounts SET plan = '{plan}' WHERE id = ?")).await?;
        self.renew_credentials().await
    }

    async fn grant(&mut self, count: u8) -> Result<()> {
        self.model.welcome_left += u64::from(count);
        self.granted += u64::from(count);
        let grant = format!("UPDATE accounts SET welcome_left = welcome_left + {count}");
        self.sql(&format!("{grant} WHERE id = ?")).await?;
        self.renew_credentials().await
    }

    /// Continues with other credentials once the cause of a rejection may have passed: the Worker remembers rejected
    /// keys and sessions.
    async fn renew_credentials(&mut self) -> Result<()> {
        if self.refused {
            let Account { anonymous, email, password, .. } = &self.account;
            let reply = self.account.rotate_api_key().await;
            ensure!(reply.status == 200, "no new key: {}", reply.body);
            let reply = anonymous.login(email, password).await;
            self.account = Account::from_credentials(anonymous, password, &reply);
            self.end_named_key().await?;
            self.refused = false;
        }
        Ok(())
    }

    async fn burst(&mut self, count: u8) -> Result<()> {
        let mut checks = JoinSet::new();
        for _ in 0..count {
            let address = self.address("ok");
            let request = self.request(&address, false);
            checks.spawn(async move { answer(request).await });
        }
        // Which request gets the last unit is open, but the number of successes is certain.
        let mut statuses = Vec::new();
        while let Some(reply) = checks.join_next().await {
            statuses.push(reply??.0);
        }
        self.refused |= statuses.contains(&429);
        let answered = statuses.iter().filter(|status| **status == 200).count();
        self.counted += answered as u64;
        let expected = (0..count).filter(|_| self.model.answer()).count();
        let others = statuses.iter().all(|status| matches!(status, 200 | 429));
        ensure!(answered == expected && others, "{statuses:?} instead of {expected} × 200");
        Ok(())
    }

    async fn begin(&mut self) -> Result<()> {
        if self.checks_in_flight.len() == MOST_HELD {
            self.finish(0, End::Verdict).await?;
        }
        let address = self.address("held");
        if !self.model.begin(self.checks, 1) {
            let (status, body) = self.check(&address).await?;
            ensure!(status == 429, "{status} {body} instead of 429");
            self.refused = true;
            return Ok(());
        }
        let request = self.request(&address, false);
        let mut check = tokio::spawn(async move { answer(request).await });
        tokio::select! {
            () = self.world.origin.wait_for_probe(&address) => {}
            answer = &mut check => bail!("{:?} before the origin was asked", answer??),
        }
        self.add_in_flight(self.checks, address, 1, Waiting::ForItsAnswer(check)).await
    }

    async fn begin_pending(&mut self) -> Result<()> {
        if self.checks_in_flight.len() == MOST_HELD {
            self.finish(0, End::Verdict).await?;
        }
        let address = self.address("held");
        let key = format!("pending-{}-{}", self.id, self.checks);
        let body = json!({ "email": address, "deadline_ms": 300 });
        let request = KeyedRequest { path: "/validate_email", key, body };
        let reply = answer(self.keyed(&request)).await?;
        if !self.model.begin(self.checks, 1) {
            ensure!(reply.0 == 429, "{reply:?} instead of 429");
            self.refused = true;
            return Ok(());
        }
        let is_pending = reply.0 == 200 && reply.1["pending"] == true;
        ensure!(is_pending, "{reply:?} instead of a pending answer");
        self.world.origin.wait_for_probe(&address).await;
        self.add_in_flight(self.checks, address, 1, Waiting::Under(request)).await
    }

    /// Adds a check whose probe has begun, under the account's newest lease.
    pub(super) async fn add_in_flight(
        &mut self,
        number: u64,
        address: String,
        units: u64,
        client: Waiting,
    ) -> Result<()> {
        let (lease, since) = (self.new_lease().await?, Instant::now());
        let check = CheckInFlight { number, address, units, lease, since, client };
        self.checks_in_flight.push_back(check);
        Ok(())
    }

    pub(super) fn keyed(&self, request: &KeyedRequest) -> reqwest::RequestBuilder {
        let url = format!("{}/v1{}", self.world.edge.direct, request.path);
        let post = self.world.client.post(url).json(&request.body);
        let post = post.header("idempotency-key", &request.key);
        post.header("x-api-key", &self.account.api_key)
    }

    /// Ends the probe of a pending response. If the lease is alive, the verdicts are charged, and a repeat gets
    /// them.
    async fn finish_pending(
        &mut self,
        number: u64,
        (units, lease): (u64, &str),
        again: &KeyedRequest,
        end: End,
    ) -> Result<()> {
        let sql = "SELECT id FROM leases WHERE account_id = ? AND id = ?";
        let params = [self.id_value(), lease.into()];
        let limit = Instant::now() + 2 * LONGEST_HELD;
        while !self.world.edge.sql_of(&self.id, sql, &params).await.is_empty() {
            ensure!(Instant::now() < limit, "the lease of a pending check stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let counted = units - u64::from(end != End::Verdict);
        let paid = self.model.paid(number);
        let is_answered = counted > 0 && self.model.is_in_flight(number);
        self.end_under_key(number, is_answered);
        if counted == 0 {
            self.model.release(number);
        } else if self.model.settle(number, counted) {
            self.counted += counted - paid;
            let reply = answer(self.keyed(again)).await?;
            let is_whole = match units {
                1 => reply.1["status"] == true,
                _ => reply.1["counted"] == counted && reply.1["pending"].is_null(),
            };
            ensure!(reply.0 == 200 && is_whole, "{reply:?} under its key");
        }
        Ok(())
    }

    /// The id of the new lease: the lease that no earlier check holds.
    async fn new_lease(&self) -> Result<String> {
        let sql = "SELECT id FROM leases WHERE account_id = ?";
        let rows = self.world.edge.sql_of(&self.id, sql, &[self.id_value()]).await;
        let mut ids = rows.iter().filter_map(|row| row["id"].as_str());
        let is_known = |id: &str| {
            self.checks_in_flight.iter().any(|checks_in_flight| checks_in_flight.lease == id)
        };
        let new = ids.find(|id| !id.starts_with(LOST_PREFIX) && !is_known(id));
        new.map(str::to_owned).with_context(|| format!("no new lease: {rows:?}"))
    }

    pub(super) async fn finish(&mut self, which: u8, end: End) -> Result<()> {
        let index = usize::from(which) % self.checks_in_flight.len().max(1);
        let Some(checks_in_flight) = self.checks_in_flight.remove(index) else { return Ok(()) };
        let CheckInFlight { number, address, units, lease, client, .. } = checks_in_flight;
        let conduct = match end {
            End::Verdict => Conduct::Verdict(Status::Accepted),
            End::Failure => Conduct::Answer(500, "{}"),
            End::Fatal => Conduct::Verdict(Status::FatalException),
            End::Died => {
                if let Waiting::ForItsAnswer(answer) = client {
                    answer.abort();
                }
                // The Worker still runs, and would end the lease after its time limit, so the lease is renamed.
                let lost = "UPDATE leases SET id = ? || id WHERE account_id = ? AND id = ?";
                let params = [LOST_PREFIX.into(), self.id_value(), lease.into()];
                self.world.edge.sql_of(&self.id, lost, &params).await;
                return Ok(());
            }
        };
        self.world.origin.release(&address, conduct);
        let answer = match client {
            Waiting::ForItsAnswer(answer) => answer,
            Waiting::Under(again) => {
                return self.finish_pending(number, (units, &lease), &again, end).await;
            }
        };
        let (status, body) = answer.await??;
        let counted = units - u64::from(end != End::Verdict);
        let expected = if counted == 0 {
            self.model.release(number);
            if end == End::Fatal { 200 } else { 502 }
        } else if self.model.settle(number, counted) {
            self.counted += if status == 200 { counted } else { 0 };
            200
        } else {
            502
        };
        ensure!(status == expected, "{status} {body} instead of {expected}");
        let says_so = units == 1 || status != 200 || body["counted"] == counted;
        ensure!(says_so, "{body} instead of {counted} counted");
        Ok(())
    }

    async fn midnight(&mut self) -> Result<()> {
        let today = self.model.today;
        self.model.expire(|lease| lease.day < today);
        let end = "UPDATE leases SET expires_at = 1 WHERE day < ? AND account_id = ?";
        self.world
            .edge
            .sql_of(&self.id, end, &[(self.first_day + today).into(), self.id_value()])
            .await;
        self.sql("UPDATE leases SET day = day - 1 WHERE account_id = ?").await?;
        let older = "UPDATE accounts SET day = max(day - 1, 0),
                     previous_day = max(previous_day - 1, 0) WHERE id = ?";
        self.sql(older).await?;
        self.world.edge.age_key_use(&self.account.email, 1).await;
        self.model.today += 1;
        self.first_day -= 1;
        self.renew_credentials().await
    }

    async fn rotate(&mut self) -> Result<()> {
        let reply = self.account.rotate_api_key().await;
        let key = reply.body["api_key"].as_str().context("no key")?.to_owned();
        self.end_named_key().await?;
        let old = std::mem::replace(&mut self.account.api_key, key);
        let request = self.post(POPULAR).header("x-api-key", old);
        let (status, body) = answer(request).await?;
        // A key that was rejected before it was replaced may still be rejected from memory.
        let is_dead = status == 401 || (status == 429 && self.refused);
        ensure!(is_dead, "the old key: {status} {body}");
        Ok(())
    }

    /// Expects a response that isn't charged, or 429 if no unit is left.
    fn expect_uncounted(&mut self, (status, body): &(u16, Value), expected: u16) -> Result<()> {
        self.refused |= *status == 429;
        let expected = if self.model.next_source().is_some() { expected } else { 429 };
        ensure!(*status == expected, "{status} {body} instead of {expected}");
        Ok(())
    }

    fn expect_counted(&mut self, (status, body): (u16, Value), verdict: Value) -> Result<()> {
        self.counted += u64::from(status == 200);
        self.refused |= status == 429;
        let expected = if self.model.answer() { 200 } else { 429 };
        ensure!(status == expected, "{status} {body} instead of {expected}");
        ensure!(status != 200 || body["status"] == verdict, "{body} instead of {verdict}");
        Ok(())
    }

    async fn sql(&self, sql: &str) -> Result<()> {
        self.world.edge.sql_of(&self.id, sql, &[self.id_value()]).await;
        Ok(())
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn id_value(&self) -> Value {
        self.id.as_str().into()
    }

    /// A new address; `conduct`, its first word, determines the origin's behaviour.
    pub(super) fn address(&mut self, conduct: &str) -> String {
        self.checks += 1;
        format!("{conduct}-{}-{}@histories.example", self.id, self.checks)
    }

    async fn check(&self, address: &str) -> Answer {
        answer(self.request(address, false)).await
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

/// Number of attempts per request: workerd closes connections unread if a busy machine keeps them waiting.
const TRIES: usize = 5;

/// Sends a request; returns status and body. If workerd has read the first request after all, the repeat is charged
/// too, and the comparison fails.
pub async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let mut tries = 1;
    let response = loop {
        let sent_request = request.try_clone().context("a body of bytes")?.send().await;
        match sent_request {
            Err(error) if error.is_request() && !error.is_timeout() && tries < TRIES => tries += 1,
            sent_request => break sent_request?,
        }
    };
    let status = response.status().as_u16();
    let text = response.text().await?;
    match serde_json::from_str(&text) {
        Ok(body) => Ok((status, body)),
        Err(_) => bail!("{status} with {text}"),
    }
}
