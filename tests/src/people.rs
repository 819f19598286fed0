//! Those who call the service: an anonymous caller, an account with its credentials and its authenticator
//! app, and a client that aborts.

mod aborting_client;
mod account;
mod anonymous;
pub mod authenticator;
mod reply;
mod send;

pub use aborting_client::AbortingClient;
pub use account::{Account, EmailChecks, PASSWORD};
pub use anonymous::Anonymous;
pub use authenticator::Authenticator;
pub use reply::Reply;
pub use send::{send, send_all, send_at_once};
