//! The configuration and the bindings of one isolate, shared by its requests.

pub mod policies;
pub mod readiness;
pub mod recent;
pub mod refusal_counts;

use std::sync::Arc;

use crate::{
    cf::{assets::Assets, mailer::Mailer, queue::ScanQueue, verdict_cache::VerdictCache},
    config::Config,
    credentials::session::SessionId,
    isolate,
    ledger::{databases::Databases, plans::PlanSizes},
    limits::{hashing::HashingTurns, pace::Pace, refusals::Refusals, shield::Shield},
    outbound::{in_flight::InFlight, origins::Origins},
};

use policies::Policies;
use readiness::Readiness;
use recent::Recent;
use refusal_counts::RefusalCounts;

#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub assets: Assets,
    pub databases: Databases,
    pub verdicts: VerdictCache,
    pub in_flight: InFlight,
    pub hashing: HashingTurns,
    pub pace: Pace,
    pub refusals: Refusals,
    /// Sessions whose use after their first minute is recorded.
    pub used_sessions: isolate::Map<SessionId, ()>,
    pub origins: Origins,
    pub scan_queue: ScanQueue,
    pub mailer: Mailer,
    pub shield: Shield,
    pub policies: Policies,
    pub refusal_counts: RefusalCounts,
    pub readiness: Recent<Readiness>,
    pub plans: Recent<Arc<[PlanSizes]>>,
}
