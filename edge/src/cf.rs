//! The floor: the runtime's bindings behind plain types. Their futures are `Send`, so that the rooms
//! above stay plain axum.

pub mod assets;
pub mod at_once;
pub mod clock;
pub mod database;
pub mod deferred;
mod fetch;
pub mod glue;
pub mod hashing;
pub mod in_flight;
mod kv;
pub mod log;
pub mod mail_domain;
pub mod mailer;
pub mod meter;
pub mod origin;
pub mod origin_batch;
mod origin_health;
pub mod pace;
pub mod queue;
pub mod recent;
mod rendezvous;
pub mod shield;
pub mod verdict_cache;
pub mod webhook;
pub mod webhook_url;
