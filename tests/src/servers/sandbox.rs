//! The sandbox: addresses that always give their documented verdict, with no network at all.
//!
//! Origin reaches them through explicit routes, as a mail server's transport map would.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use rcpt_shared::{Reason, Status};

use super::smtp_server::{Answer, SmtpServer};

/// A sandbox address and what is said about it. A tag changes nothing: `accepts+anything@sandbox.test`
/// is another address with the verdict of `accepts@sandbox.test`.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub address: &'static str,
    pub status: Status,
    pub reason: Reason,
    /// What the sandbox does.
    pub because: &'static str,
}

/// Every sandbox address: the table that README quotes and `make dev` prints.
pub const CASES: [Case; 15] = [
    case("accepts@sandbox.test", Status::Accepted, Reason::Accepted, "250"),
    case("rejects@sandbox.test", Status::Refused, Reason::NoSuchMailbox, "550 5.1.1"),
    case("disabled@sandbox.test", Status::Refused, Reason::MailboxDisabled, "550 5.2.1"),
    case("full@sandbox.test", Status::Refused, Reason::MailboxFull, "552 5.2.2"),
    case(
        "blocked@sandbox.test",
        Status::BlockedByProvider,
        Reason::Blocked,
        "550 5.7.1, on a blocklist",
    ),
    case(
        "relay@sandbox.test",
        Status::BlockedByProvider,
        Reason::RelayDenied,
        "554 5.7.1, relay access denied",
    ),
    case(
        "greylisted@sandbox.test",
        Status::BlockedByProvider,
        Reason::Greylisted,
        "451 4.7.1, greylisted",
    ),
    case(
        "ratelimited@sandbox.test",
        Status::BlockedByProvider,
        Reason::RateLimited,
        "450 4.2.1, too many",
    ),
    case(
        "unavailable@sandbox.test",
        Status::SmtpConnectError,
        Reason::ServerUnavailable,
        "451 4.3.0",
    ),
    case("slow@sandbox.test", Status::Accepted, Reason::Accepted, "250 after three seconds"),
    case("timeout@sandbox.test", Status::SmtpTimeout, Reason::Timeout, "never answers"),
    case(
        "anyone@catchall.sandbox.test",
        Status::Accepted,
        Reason::Accepted,
        "250 to every recipient",
    ),
    case("x@nomx.sandbox.test", Status::NoMxRecords, Reason::NullMx, "takes no mail (null MX)"),
    case(
        "x@down.sandbox.test",
        Status::SmtpConnectError,
        Reason::ConnectionFailed,
        "refuses connections",
    ),
    case(
        "x@nodomain.test",
        Status::DomainNotFound,
        Reason::DomainNotFound,
        "has no route, and .test is special",
    ),
];

const fn case(
    address: &'static str,
    status: Status,
    reason: Reason,
    because: &'static str,
) -> Case {
    Case { address, status, reason, because }
}

/// TCP port 1 (tcpmux): privileged, and nobody has listened on it for decades.
const CLOSED: &str = "127.0.0.1:1";

/// A running sandbox mail server.
#[derive(Debug)]
pub struct Sandbox {
    server: SmtpServer,
}

impl Sandbox {
    /// Starts on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn start() -> Result<Self> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Ok(Self { server: SmtpServer::start(any, answer)? })
    }

    /// The mail server, for what it has been asked.
    pub fn server(&self) -> &SmtpServer {
        &self.server
    }

    /// The routes, as origin's `RCPT_ROUTES` takes them; the most specific suffix wins.
    pub fn routes(&self) -> String {
        let server = self.server.address();
        format!("sandbox.test={server},down.sandbox.test={CLOSED},nomx.sandbox.test=no-mx")
    }
}

/// What the sandbox says about a recipient.
fn answer(recipient: &str) -> Answer {
    let (local, domain) = recipient.rsplit_once('@').unwrap_or((recipient, ""));
    if domain.eq_ignore_ascii_case("catchall.sandbox.test") {
        return Answer::accept();
    }
    match local.split('+').next().unwrap_or(local) {
        "accepts" => Answer::accept(),
        "slow" => Answer::After(Duration::from_secs(3), "250 2.1.5 Ok".to_owned()),
        "timeout" => Answer::Silence,
        "disabled" => Answer::reply("550 5.2.1 This mailbox is disabled"),
        "full" => Answer::reply("552 5.2.2 The mailbox is over its quota"),
        "blocked" => Answer::reply("550 5.7.1 Your IP address is on our blocklist: blocked"),
        "relay" => Answer::reply("554 5.7.1 Relay access denied"),
        "greylisted" => Answer::reply("451 4.7.1 Greylisted, please try again in 300 seconds"),
        "ratelimited" => Answer::reply("450 4.2.1 Too many messages, slow down"),
        "unavailable" => Answer::reply("451 4.3.0 Temporary lookup failure"),
        _ => Answer::unknown(),
    }
}
