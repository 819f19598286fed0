//! Prepared inputs of a probe: a domain's mail hosts in order, and the addresses of the first. A plan is made from
//! cached answers of DNS that have passed the configuration's checks, and expires with the first of them, or on a
//! reload.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use moka::sync::Cache;
use tokio::time::Instant;

use crate::dns::Mx;

/// About 300 bytes each: 6 MB.
const MAX_PLANS: u64 = 20_000;

pub(super) struct Plan {
    pub hosts: Vec<Mx>,
    pub addresses: Vec<SocketAddr>,
    pub until: Instant,
    pub epoch: u64,
}

pub(super) struct Plans {
    plans: Cache<Arc<str>, Arc<Plan>>,
    /// Number of calls of [`Self::forget_all`]: a plan begun before the last call is discarded.
    epoch: AtomicU64,
}

impl Default for Plans {
    fn default() -> Self {
        Self { plans: Cache::new(MAX_PLANS), epoch: AtomicU64::new(0) }
    }
}

impl Plans {
    /// Must be read before the configuration from which a plan is made.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(super) fn of(&self, domain: &str) -> Option<Arc<Plan>> {
        let plan = self.plans.get(domain)?;
        (plan.epoch == self.epoch() && plan.until > Instant::now()).then_some(plan)
    }

    pub(super) fn keep(&self, domain: &str, plan: Plan) -> Arc<Plan> {
        let plan = Arc::new(plan);
        self.plans.insert(Arc::from(domain), Arc::clone(&plan));
        plan
    }

    /// Must be called after the configuration was replaced.
    pub(super) fn forget_all(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.plans.invalidate_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::{Instant, advance};

    use super::{Mx, Plan, Plans};

    fn plan(epoch: u64) -> Plan {
        Plan {
            hosts: vec![Mx { preference: 10, exchange: "mx.example".into() }],
            addresses: vec![([192, 0, 2, 1], 25).into()],
            until: Instant::now() + Duration::from_secs(60),
            epoch,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_plan_ends_with_its_answers_and_with_a_reload_also_one_that_was_begun_before() {
        let plans = Plans::default();
        let before = plans.epoch();
        plans.keep("a.example", plan(before));
        assert!(plans.of("a.example").is_some() && plans.of("b.example").is_none());
        plans.forget_all();
        assert!(plans.of("a.example").is_none());
        plans.keep("a.example", plan(before));
        assert!(plans.of("a.example").is_none(), "made by the configuration of before");
        plans.keep("a.example", plan(plans.epoch()));
        assert!(plans.of("a.example").is_some());
        advance(Duration::from_secs(60)).await;
        assert!(plans.of("a.example").is_none());
    }
}
