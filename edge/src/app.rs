//! What the rooms above share: the configuration and the bindings of one isolate.

use crate::{
    cf::{
        assets::Assets, hashing::HashingTurns, in_flight::InFlight, mailer::Mailer,
        origin::Origins, pace::Pace, queue::ScanQueue, recent::Recent, shield::Shield,
        verdict_cache::VerdictCache,
    },
    config::Config,
    store::{databases::Databases, refusals::Refusals},
};

/// Built once per isolate, shared by all its requests.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub assets: Assets,
    pub databases: Databases,
    pub verdicts: VerdictCache,
    pub in_flight: InFlight,
    pub hashing: HashingTurns,
    /// Of the requests on behalf of each account, checks aside.
    pub pace: Pace,
    pub refusals: Refusals,
    pub origins: Origins,
    pub scan_queue: ScanQueue,
    pub mailer: Mailer,
    pub shield: Shield,
    /// Whether the databases and the origins answered lately.
    pub readiness: Recent<(bool, bool)>,
}
