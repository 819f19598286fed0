//! JSON log lines on stderr, written by a thread: a blocked reader of the log loses lines but delays no check.

use std::sync::OnceLock;

use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    Registry, filter::Targets, layer::SubscriberExt as _, reload, util::SubscriberInitExt as _,
};

#[derive(Debug, Clone)]
pub struct Level(reload::Handle<Targets, Registry>);

impl Level {
    pub fn set(&self, level: LevelFilter) {
        // Fails if the logger is gone, or another logger was installed before.
        let _ = self.0.reload(ours(level));
    }
}

/// Maximum number of lines waiting to be written: two seconds of 500 checks a second, with about
/// 300 bytes each.
const MAX_WAITING: usize = 1_024;

static DROPPED_LINES: OnceLock<ErrorCounter> = OnceLock::new();

pub fn dropped_lines() -> u64 {
    DROPPED_LINES.get().map_or(0, |counter| counter.dropped_lines() as u64)
}

/// When dropped, the guard writes the waiting lines, for at most a second.
///
/// Lines of libraries are dropped at any level: the resolver and the TLS library log names, but a checked address's
/// domain mustn't be stored.
pub fn install(level: LevelFilter) -> (Level, WorkerGuard) {
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_WAITING)
        .lossy(true)
        .thread_name("log")
        .finish(std::io::stderr());
    // Fails if a logger was installed before; that logger's lines are counted.
    let _ = DROPPED_LINES.set(writer.error_counter());
    let (filter, handle) = reload::Layer::new(ours(level));
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_target(false)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(writer);
    // Fails if a logger was installed before; that logger receives the lines.
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
    (Level(handle), guard)
}

fn ours(level: LevelFilter) -> Targets {
    Targets::new().with_target("rcpt_", level).with_target("origin", level)
}
