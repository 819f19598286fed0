//! The runtime's bindings behind plain types. The futures are `Send`, as axum requires.

pub mod assets;
pub mod clock;
pub mod database;
pub mod deferred;
pub mod fetch;
pub mod glue;
pub mod log;
pub mod mailer;
pub mod queue;
pub mod verdict_cache;
