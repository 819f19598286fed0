//! The servers that the service talks to: Debian's mail and name servers, our own mail servers that follow a script, an
//! origin that fails on command, and customers' webhook receivers.

mod bare_http;
mod certificate;
mod chroot;
mod exim;
mod fake_dns;
mod fake_origin;
mod fake_turnstile;
mod fake_webhook;
pub mod hostile;
mod nsd;
mod opensmtpd;
mod platform;
mod postfix;
mod postgrey;
pub mod sandbox;
pub mod sendmail;
mod smtp_server;

pub use exim::Exim;
pub use fake_dns::{Dns, FakeDns};
pub use fake_origin::{Conduct, FakeOrigin};
pub use fake_turnstile::FakeTurnstile;
pub use fake_webhook::{Event, FakeWebhook};
pub use nsd::Nsd;
pub use opensmtpd::OpenSmtpd;
pub use platform::{Platform, Run};
pub use postfix::Postfix;
pub use postgrey::Postgrey;
pub use sandbox::Sandbox;
pub use sendmail::Sendmail;
pub use smtp_server::{Answer, SmtpServer};
