//! The service's callers: an anonymous caller, an account with its credentials and its authenticator app, an operator, a
//! client that aborts, and a user of the command line.

mod aborting_client;
mod account;
mod anonymous;
pub mod authenticator;
pub mod command;
mod operator;
mod passkey;
mod reply;
mod send;

pub use aborting_client::AbortingClient;
pub use account::{Account, EmailChecks, PASSWORD};
pub use anonymous::Anonymous;
pub use authenticator::Authenticator;
pub use command::CommandLine;
pub use operator::Operator;
pub use passkey::PasskeyDevice;
pub use reply::Reply;
pub use send::{send, send_again, send_all, send_at_once};
