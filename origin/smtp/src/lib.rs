//! The client side of SMTP (RFC 5321), up to the answer to RCPT: never VRFY, never DATA.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod capabilities;
mod command;
mod dial;
mod enhanced;
mod families;
mod helo_identity;
mod reply;
mod session;
mod tls;
mod wire;

pub use capabilities::Capabilities;
pub use command::{Command, Unencodable};
pub use dial::{ConnectFailure, Connection, Dialer, Network, Unconnected};
pub use enhanced::EnhancedCode;
pub use families::{Families, SourceAddress};
pub use helo_identity::HeloIdentity;
pub use reply::{Reply, ReplyError, ReplyParser};
pub use session::{Answer, Broken, Envelope, Failure, Greeting, Patience, Session};
pub use tls::Tls;
pub use wire::Wire;
