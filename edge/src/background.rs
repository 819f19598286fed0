//! Work without a request or after its response.

pub mod confirmations;
pub mod deletions;
pub mod email_changes;
pub mod maintenance;
pub mod notices;
pub mod reset_links;
pub mod scans;
pub mod webhook_event;
pub mod webhooks;
