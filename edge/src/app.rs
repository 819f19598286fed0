use crate::{
    cf::{database::Database, mailer::Mailer, shield::Shield, verdict_cache::VerdictCache},
    config::Config,
};

/// What handlers work with: the configuration and the bindings.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub database: Database,
    pub verdicts: VerdictCache,
    pub mailer: Mailer,
    pub shield: Shield,
}
