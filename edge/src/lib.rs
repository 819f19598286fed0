//! The edge: a Cloudflare Worker that authenticates, counts, caches and asks an origin.
//!
//! The rooms, from the roof down; each may name only what stands below it (`rooms.rs` checks it):
//! `worker` (the runtime's events), `routes` (the operations), `extract` (what a handler receives),
//! `background` (what happens without a request), `app` (what the rooms above share), `store` (SQL), `limits`
//! (who may do how much) and the other rules, `credentials`, `outbound` (requests of ours to others), and `cf`
//! (the runtime's bindings).

mod account;
mod app;
mod background;
mod cf;
mod config;
mod credentials;
mod error;
mod extract;
mod limits;
mod mail;
mod meter;
mod outbound;
#[cfg(test)]
mod rooms;
mod routes;
mod store;
mod worker;
