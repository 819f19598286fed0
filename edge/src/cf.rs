//! The only modules, with `lib.rs` and `store/`, that name `worker`: the runtime's bindings behind
//! plain types. Their futures are `Send`, so that handlers stay plain axum.

pub mod clock;
pub mod database;
pub mod http;
pub mod in_flight;
pub mod isolate;
pub mod log;
pub mod mailer;
pub mod meter;
pub mod origin;
pub mod request;
pub mod shield;
pub mod start;
pub mod verdict_cache;
