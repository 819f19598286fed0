use crate::{
    cf::{
        database::Database, in_flight::InFlight, mailer::Mailer, shield::Shield,
        verdict_cache::VerdictCache,
    },
    config::Config,
};

/// What handlers work with: the configuration and the bindings.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub database: Database,
    pub verdicts: VerdictCache,
    pub in_flight: InFlight,
    pub mailer: Mailer,
    pub shield: Shield,
}
