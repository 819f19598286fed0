//! The edge: a Cloudflare Worker that authenticates callers, counts and caches checks, and forwards them to an origin.
//! docs/architecture.md describes the rooms; `rooms.rs` checks that each uses only those below it.

mod account;
mod accounts;
mod app;
mod cf;
mod checks;
mod config;
mod credentials;
mod error;
mod extract;
mod isolate;
mod json;
mod keys;
mod ledger;
mod limits;
mod mail;
mod meter;
mod notices;
mod operator;
mod outbound;
#[cfg(test)]
mod rooms;
mod routes;
mod scans;
mod schedule;
mod webhooks;
mod worker;
