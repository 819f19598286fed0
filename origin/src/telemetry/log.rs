//! JSON log lines on stderr.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    Registry, filter::Targets, layer::SubscriberExt as _, reload, util::SubscriberInitExt as _,
};

/// The least severe level that is logged, which can be changed.
#[derive(Debug, Clone)]
pub struct Level(reload::Handle<Targets, Registry>);

impl Level {
    pub fn set(&self, level: LevelFilter) {
        // Err: the logger is gone, or another one was installed before.
        let _ = self.0.reload(ours(level));
    }
}

/// Installs the logger.
///
/// Only our own lines are let through, at any level: the resolver and the TLS library log the names
/// they deal with, and the domain of a checked address must not be kept.
pub fn install(level: LevelFilter) -> Level {
    let (filter, handle) = reload::Layer::new(ours(level));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    // Err: a logger is installed already, and lines go there.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    Level(handle)
}

fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_target("rcpt_origin", level).with_target("origin", level)
}
