//! JSON log lines on stderr. They are written by a thread of their own: a reader that stands still costs lines, and
//! no check.

use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
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

/// Lines that wait to be written, at most: two seconds of 500 checks a second, of some 300 octets each.
const MAX_WAITING: usize = 1_024;

static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Lines that were dropped because the reader of the log was too slow.
pub fn dropped_lines() -> u64 {
    DROPPED.get().map_or(0, |counter| counter.dropped_lines() as u64)
}

/// Installs the logger. When dropped, the guard writes waiting lines, for a second at most.
///
/// Only our own lines pass, at any level: the resolver and the TLS library log names, and the domain of a checked
/// address must not be stored.
pub fn install(level: LevelFilter) -> (Level, WorkerGuard) {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_WAITING)
        .lossy(true)
        .thread_name("log")
        .finish(std::io::stderr());
    // Err: a logger was installed before, and its lines are counted.
    let _ = DROPPED.set(writer.error_counter());
    let (filter, handle) = reload::Layer::new(ours(level));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer);
    // Err: a logger is installed already, and lines go there.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    (Level(handle), guard)
}

fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_target("rcpt_", level).with_target("origin", level)
}
