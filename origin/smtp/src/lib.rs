//! The client side of SMTP (RFC 5321), up to the answer to RCPT: never VRFY, never DATA.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unreachable,
    clippy::unwrap_used
)]

mod dial;
mod reply;
mod session;
mod tls;

pub use dial::{
    ConnectFailure, Connection, Dialer, Families, HeloIdentity, Network, SourceAddress,
};
pub use reply::{Capabilities, EnhancedCode, Reply, ReplyError, ReplyParser};
pub use session::{
    Answer, Broken, Command, Envelope, Failure, Greeting, Patience, Session, Unencodable,
};
pub use tls::{Tls, Wire};
