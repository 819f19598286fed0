//! The edge for the histories, and an origin whose behaviour depends on the address.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rcpt_tests::{
    Edge, FakeOrigin,
    service::{edge, shim::Fault},
};
use reqwest::Client;
use tokio::time::timeout;

use super::{run::Player, step::Step};

/// Plans with few checks, so that a short history reaches every limit, and a plan without a limit.
pub const PLANS: [(&str, Option<u64>); 4] =
    [("three", Some(3)), ("eight", Some(8)), ("none", Some(0)), ("unlimited", None)];
/// Time limit of a request: longer than any check.
const PATIENCE: Duration = Duration::from_secs(90);
/// Time limit of a step, which sends a few requests: a step that never ends mustn't block the search.
const PATIENCE_WITH_A_STEP: Duration = Duration::from_secs(120);
pub const POPULAR: &str = "popular@histories.example";

/// An edge, and an origin whose behaviour depends on an address's first word.
pub struct World {
    pub edge: Edge,
    pub origin: FakeOrigin,
    pub client: Client,
}

impl World {
    /// Starts the edge and its origin.
    pub async fn start() -> Result<Self> {
        Self::start_with(|edge| edge).await
    }

    /// Starts a world whose third database always fails, and has no accounts.
    pub async fn with_a_failing_database() -> Result<Self> {
        let world = Self::start_with(|edge| edge.var("HOMES", "*:0,1").shimmed()).await?;
        let error = "D1_ERROR: injected";
        let times = u32::MAX;
        let away = Fault { part: "d1", database: Some(2), times, error, ..Fault::default() };
        world.edge.fail(&[away]).await;
        Ok(world)
    }

    async fn start_with(
        change: impl FnOnce(edge::EdgeBuilder) -> edge::EdgeBuilder,
    ) -> Result<Self> {
        let origin = FakeOrigin::by_name();
        // Leases only end when the history says so, even on a slow machine.
        let edge = Edge::builder()
            .origins(&[&origin.url])
            .var("LEASE_TTL_SECONDS", "300")
            .var("UPSTREAM_BUDGET_MS", "60000");
        let edge = change(edge).start().await?;
        // Other tests cover the limit of checks in flight.
        for (name, daily) in PLANS {
            let sql =
                "INSERT OR IGNORE INTO plans (name, daily_checks, daily_scans, welcome_checks, max_in_flight)
                       VALUES (?, ?, 0, 0, 1000)";
            edge.sql(sql, &[name.into(), daily.unwrap_or(0).into()]).await;
        }
        let warm = edge.account().await;
        ensure!(warm.check(POPULAR).await.status == 200, "the popular address is not cached");
        // workerd closes idle connections.
        let client = Client::builder().timeout(PATIENCE).pool_idle_timeout(Duration::from_secs(2));
        let client = client.build()?;
        Ok(Self { edge, origin, client })
    }

    /// Runs a history with a new account; the error names the step and the difference.
    ///
    /// # Errors
    /// At the first difference between the model and the Worker or its database.
    pub async fn play(&self, history: &[Step]) -> Result<()> {
        let mut player = Player::new(self).await?;
        let mut before = player.ledger().await?;
        for (index, step) in history.iter().enumerate() {
            let at = || format!("step {index} of {}: {step:?}", history.len());
            let Ok(taken) = timeout(PATIENCE_WITH_A_STEP, player.take(*step)).await else {
                bail!("{} takes longer than two minutes", at());
            };
            taken.with_context(at)?;
            before = player.compare(before).await.with_context(at)?;
        }
        Ok(())
    }
}
