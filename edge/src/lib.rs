//! The edge: a Cloudflare Worker that authenticates callers, counts and caches checks, and forwards
//! them to an origin.
//!
//! The rooms from top to bottom; each may use only those below it (`rooms.rs` checks it): `worker`
//! (the runtime's events), `routes` (the operations), `operator` (signed calls of operators), `extract` (the handlers' inputs),
//! `background` (work without a request), `app` (shared state), `store` (SQL), `config` (settings),
//! `limits` (rates and allowances) and `mail`, `credentials`, `account` and `outbound` (outgoing
//! requests), `cf` (the runtime's bindings), and `error`, `isolate` and `meter`.

mod account;
mod app;
mod background;
mod cf;
mod config;
mod credentials;
mod error;
mod extract;
mod isolate;
mod limits;
mod mail;
mod meter;
mod operator;
mod outbound;
#[cfg(test)]
mod rooms;
mod routes;
mod store;
mod worker;
