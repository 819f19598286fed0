//! Requests of ours to others: the origins, a resolver, and the servers of webhooks.

pub mod dns;
pub mod in_flight;
pub mod origin_batch;
mod origin_domain;
mod origin_health;
pub mod origins;
mod rendezvous;
pub mod webhook;
pub mod webhook_url;
