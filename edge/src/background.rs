//! What happens without a request or after its answer: notices, confirmation links that an operator has asked for,
//! what the directory is told of deletions, the scans, and the webhooks that tell of their end.

pub mod deletions;
pub mod email_changes;
pub mod maintenance;
pub mod notices;
pub mod requested;
pub mod reset_links;
pub mod scans;
pub mod webhook_event;
pub mod webhooks;
