//! Outgoing requests: to the origins, a resolver, the servers of webhooks, and Turnstile.

pub mod dns;
pub mod in_flight;
pub mod origin_batch;
mod origin_domain;
mod origin_health;
pub mod origins;
pub mod turnstile;
