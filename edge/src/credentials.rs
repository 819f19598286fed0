//! Credentials and proofs of callers: pure rules without storage.

pub mod account_reference;
pub mod admin_keys;
pub mod api_key;
mod base62;
pub mod common_passwords;
pub mod guard_hook;
pub mod idempotency;
pub mod keyed_names;
pub mod link_token;
pub mod mailed_token;
pub mod password;
pub mod proof;
pub mod random;
pub mod recovery_code;
pub mod sealed;
pub mod session;
pub mod signed_message;
pub mod totp;
pub mod webhook_secret;
