//! Webhooks: where an account's events go, and their delivery.

pub mod delivery;
pub mod event;
pub mod notifications;
pub mod request;
pub mod url;
pub mod webhooks_sql;
