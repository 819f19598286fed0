//! One probe: from an address to a verdict, within one budget.

mod conversation;
mod outcome;

use std::{net::SocketAddr, ops::ControlFlow, time::Duration};

use rcpt_shared::{Address, Reason, Stage, Status, Verdict};
use tokio::{
    net::lookup_host,
    time::{Instant, timeout_at},
};

use crate::{
    config::{Config, Route, Server, StartTls},
    dial::{Dialer, Unconnected},
    dns::{Dns, NoAnswer},
    mx::{self, MailHosts, NoMailHosts, guard::Guard},
    smtp::Tls,
};
use conversation::Conversation;
use outcome::Telling;

/// Addresses tried of one host: two of each family, and no domain can make us knock on more than
/// ten hosts × four doors.
const MAX_ADDRESSES: usize = 4;

/// What all probes share.
pub struct Prober {
    config: Config,
    dns: Dns,
    guard: Guard,
    dialer: Dialer,
    tls: Tls,
}

/// How far a probe has come, for the verdict of one that is cut off.
struct Progress {
    stage: Stage,
    mx_host: Option<String>,
}

/// `Break` with a verdict, or `Continue` with the failure that sends us to the next host.
type Attempt = ControlFlow<Verdict, Verdict>;

impl Prober {
    #[must_use]
    pub const fn new(config: Config, dns: Dns, guard: Guard, dialer: Dialer, tls: Tls) -> Self {
        Self { config, dns, guard, dialer, tls }
    }

    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    #[must_use]
    pub const fn dns(&self) -> &Dns {
        &self.dns
    }

    /// Asks whether `address` can receive mail. Takes no longer than the budget.
    pub async fn probe(&self, address: &Address) -> Verdict {
        let deadline = Instant::now() + self.config.budget;
        let mut progress = Progress { stage: Stage::Dns, mx_host: None };
        match timeout_at(deadline, self.run(address, &mut progress)).await {
            Ok(verdict) => verdict,
            Err(_) => Verdict {
                mx_host: progress.mx_host,
                ..Verdict::new(Status::SmtpTimeout, Reason::Timeout, progress.stage)
            },
        }
    }

    async fn run(&self, address: &Address, progress: &mut Progress) -> Verdict {
        let domain = address.domain();
        match self.config.routes.of(domain) {
            Some(Route::Server(server)) => {
                return self.ask_route(server, address, progress).await;
            }
            Some(Route::NoMx) => return no_mail_hosts(NoMailHosts::NullMx),
            None => {}
        }
        match mx::mail_hosts(&self.dns, domain).await {
            Ok(MailHosts::Explicit(hosts)) => self.ask_hosts(hosts, address, progress).await,
            Ok(MailHosts::Implicit) => self.ask_implicit(address, progress).await,
            Err(reason) => no_mail_hosts(reason),
        }
    }

    /// A route is trusted configuration: neither DNS nor the address guard has a say.
    async fn ask_route(
        &self,
        server: &Server,
        recipient: &Address,
        progress: &mut Progress,
    ) -> Verdict {
        progress.stage = Stage::Connect;
        progress.mx_host = Some(server.host.clone());
        let addresses = match lookup_host((server.host.as_str(), server.port)).await {
            Ok(addresses) => addresses.take(MAX_ADDRESSES).collect(),
            Err(_) => Vec::new(),
        };
        let attempt = self.ask_host(&server.host, addresses, recipient, progress).await;
        let (ControlFlow::Break(verdict) | ControlFlow::Continue(verdict)) = attempt;
        verdict
    }

    async fn ask_hosts(
        &self,
        hosts: Vec<String>,
        recipient: &Address,
        progress: &mut Progress,
    ) -> Verdict {
        let mut telling = Telling::default();
        for host in hosts {
            progress.mx_host = Some(host.clone());
            let attempt = match self.usable_addresses(&host, progress).await {
                Ok(addresses) => self.ask_host(&host, addresses, recipient, progress).await,
                Err(NoAnswer::Failed) => ControlFlow::Continue(dns_failure(Some(host))),
                Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {
                    ControlFlow::Continue(no_usable_address(&host))
                }
            };
            match attempt {
                ControlFlow::Break(verdict) => return verdict,
                ControlFlow::Continue(failure) => telling.add(failure),
            }
        }
        telling.into_verdict()
    }

    /// No MX record: the domain's own host, of which nobody said that it takes mail. So if it cannot
    /// be reached the answer is about the missing record (RFC 5321 §5.1).
    async fn ask_implicit(&self, recipient: &Address, progress: &mut Progress) -> Verdict {
        let host = recipient.domain();
        let no_mx = |stage| Verdict::new(Status::NoMxRecords, Reason::NoMx, stage);
        let addresses = match self.usable_addresses(host, progress).await {
            Ok(addresses) => addresses,
            Err(NoAnswer::Failed) => return dns_failure(None),
            Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => return no_mx(Stage::Dns),
        };
        progress.mx_host = Some(host.to_owned());
        match self.ask_host(host, addresses, recipient, progress).await {
            ControlFlow::Break(verdict) => verdict,
            ControlFlow::Continue(failure)
                if failure.stage <= Stage::Connect
                    && failure.status == Status::SmtpConnectError =>
            {
                no_mx(failure.stage)
            }
            ControlFlow::Continue(failure) => failure,
        }
    }

    /// Resolved once, filtered, and these literals are what is dialled: a name that changes its mind
    /// between check and use (DNS rebinding) gains nothing.
    async fn usable_addresses(
        &self,
        host: &str,
        progress: &mut Progress,
    ) -> Result<Vec<SocketAddr>, NoAnswer> {
        progress.stage = Stage::Dns;
        if !mx::is_resolvable(host) {
            return Err(NoAnswer::NoRecords);
        }
        let found = self.dns.addresses(host).await?;
        let permitted = found.into_iter().filter(|ip| self.guard.permits(*ip));
        Ok(permitted
            .take(MAX_ADDRESSES)
            .map(|ip| SocketAddr::new(ip, self.config.smtp_port))
            .collect())
    }

    /// Asks one host at one address after the other, until there is a verdict.
    async fn ask_host(
        &self,
        host: &str,
        mut addresses: Vec<SocketAddr>,
        recipient: &Address,
        progress: &mut Progress,
    ) -> Attempt {
        if addresses.is_empty() {
            return ControlFlow::Continue(no_usable_address(host));
        }
        let conversation = Conversation {
            dialer: &self.dialer,
            tls: &self.tls,
            helo_name: &self.config.helo_name,
            reverse_path: &self.config.mail_from,
            always_encrypt: self.config.starttls == StartTls::Always,
            host,
            recipient,
        };
        let mut telling = Telling::default();
        while !addresses.is_empty() {
            progress.stage = Stage::Connect;
            let attempt = match self.dialer.race(&mut addresses).await {
                Ok((stream, peer)) => conversation.hold(stream, peer, &mut progress.stage).await,
                Err(unconnected) => ControlFlow::Continue(not_connected(unconnected)),
            };
            let named = |verdict| Verdict { mx_host: Some(host.to_owned()), ..verdict };
            match attempt {
                ControlFlow::Break(verdict) => return ControlFlow::Break(named(verdict)),
                ControlFlow::Continue(failure) => telling.add(named(failure)),
            }
        }
        ControlFlow::Continue(telling.into_verdict())
    }
}

fn no_mail_hosts(reason: NoMailHosts) -> Verdict {
    match reason {
        NoMailHosts::DomainNotFound => {
            Verdict::new(Status::DomainNotFound, Reason::DomainNotFound, Stage::Dns)
        }
        NoMailHosts::NullMx => Verdict::new(Status::NoMxRecords, Reason::NullMx, Stage::Dns),
        NoMailHosts::DnsFailure => dns_failure(None),
    }
}

fn dns_failure(mx_host: Option<String>) -> Verdict {
    Verdict { mx_host, ..Verdict::new(Status::FatalException, Reason::DnsFailure, Stage::Dns) }
}

fn no_usable_address(host: &str) -> Verdict {
    Verdict {
        mx_host: Some(host.to_owned()),
        ..Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
    }
}

fn not_connected(unconnected: Unconnected) -> Verdict {
    let (status, reason) = match unconnected {
        Unconnected::Theirs => (Status::SmtpConnectError, Reason::ConnectionFailed),
        Unconnected::Ours => (Status::FatalException, Reason::OurLimit),
    };
    Verdict::new(status, reason, Stage::Connect)
}

/// Whole milliseconds, for logs.
#[must_use]
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
