//! The harness of the end-to-end tests, and the local world of `make dev`: the real origin, the real
//! Worker in workerd, real mail and name servers, each on free ports of the loopback interface, none
//! of which outlives the process that started it.

pub mod actor;
pub mod authenticator;
pub mod bench;
pub mod certificate;
pub mod chroot;
pub mod clock;
pub mod customer;
pub mod day;
pub mod dev;
pub mod edge;
pub mod exim;
pub mod fake_origin;
pub mod folder;
pub mod forgery;
pub mod hostile;
pub mod leaver;
pub mod ledger;
pub mod load;
pub mod log_scan;
pub mod mailbox;
pub mod nested;
pub mod nsd;
pub mod opensmtpd;
pub mod origin;
pub mod port;
pub mod postfix;
pub mod postgrey;
pub mod process;
pub mod resident;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod sendmail;
pub mod shim;
pub mod smtp_server;
pub mod stack;

pub use actor::{Account, Anonymous, Reply};
pub use authenticator::Authenticator;
pub use edge::Edge;
pub use exim::Exim;
pub use fake_origin::{Conduct, FakeOrigin};
pub use leaver::Leaver;
pub use mailbox::{Mail, Mailbox};
pub use nsd::Nsd;
pub use opensmtpd::OpenSmtpd;
pub use origin::Origin;
pub use postfix::Postfix;
pub use postgrey::Postgrey;
pub use process::Process;
pub use sandbox::Sandbox;
pub use sendmail::Sendmail;
pub use smtp_server::{Answer, SmtpServer};
pub use stack::Stack;
