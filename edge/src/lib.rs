//! The edge: a Cloudflare Worker that authenticates callers, counts and caches checks, and forwards them to an origin.
//! docs/architecture.md describes the rooms; `rooms.rs` checks that each uses only those below it.

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
