//! The client side of SMTP (RFC 5321), up to the answer to RCPT: never VRFY, never DATA.

mod capabilities;
mod command;
mod dial;
mod enhanced;
mod helo_identity;
mod reply;
mod session;
mod tls;
mod wire;

pub use capabilities::Capabilities;
pub use command::{Command, Unencodable};
pub use dial::{Dialer, Unconnected};
pub use enhanced::EnhancedCode;
pub use helo_identity::HeloIdentity;
pub use reply::{Reply, ReplyError, ReplyParser};
pub use session::{Answer, Broken, Envelope, Failure, Greeting, Session};
pub use tls::Tls;
pub use wire::Wire;
