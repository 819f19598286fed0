//! The harness of the end-to-end tests and of `devtools`: the real origin, the real Worker in workerd, and real mail
//! and name servers. Each listens on free ports of the loopback interface. No server outlives the process that started
//! it.
//!
//! If a step fails, a function panics, which fails the test, or returns an error that shows the program's log.
//!
//! [`process`] contains programs and their resources on the machine, [`servers`] the servers that the service talks to,
//! [`service`] the service itself, and [`people`] its callers.

pub mod people;
pub mod process;
pub mod proof;
pub mod servers;
pub mod service;

pub use people::{AbortingClient, Account, Anonymous, Authenticator, CommandLine, Reply};
pub use process::Process;
pub use servers::{
    Answer, Conduct, Dns, Event, Exim, FakeDns, FakeOrigin, FakeTurnstile, FakeWebhook, Nsd,
    OpenSmtpd, Platform, Postfix, Postgrey, Sandbox, Sendmail, SmtpServer,
};
pub use service::{Edge, Mail, Mailbox, Origin, Stack};
