//! JSON log lines on stderr.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// Installs the logger.
///
/// Only our own lines are let through, at any level: the resolver and the TLS library log the names
/// they deal with, and the domain of a checked address must not be kept.
pub fn install(level: LevelFilter) {
    let ours = Targets::new().with_target("rcpt_origin", level).with_target("origin", level);
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    // Err: a logger is installed already, and lines go there.
    let _ = tracing_subscriber::registry().with(lines).with(ours).try_init();
}
