//! Asks a domain's mail hosts in their order, and decides which of them speaks for the domain.

use std::net::SocketAddr;

use rcpt_shared::{CatchAll, Reason, Stage, Status, Verdict};
use tokio::time::timeout;

use super::{
    conversation::with_catch_all,
    host_probe::{EVIDENCE_WAIT_MAX, HostProbe, Progress},
    memory::catch_all_key,
    outcome::{BestFailure, Outcome, dns_failure, of_domain},
    prober::{Asked, Prober},
    resolver::AddressSource,
};

use crate::dns::Mx;

impl Prober {
    /// Only hosts of the first preference, and all hosts of the first host's operator, speak for a domain. `planned`
    /// are the first host's addresses, if known.
    pub(super) async fn ask_hosts(
        &self,
        hosts: &[Mx],
        planned: &[SocketAddr],
        asked: Asked<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        let planned_host = hosts.first().filter(|_| !planned.is_empty()).map(|mx| &mx.exchange);
        let hosts = self.client.memory.in_health_order(hosts);
        let config = self.config();
        let operator_of = |mx: &Mx| config.operators.of_host(&mx.exchange);
        let preferred = hosts.iter().map(|mx| mx.preference).min();
        let operator = hosts.first().and_then(operator_of);
        let (firsts, backups): (Vec<_>, Vec<_>) = hosts.iter().partition(|mx| {
            Some(mx.preference) == preferred || (operator.is_some() && operator_of(mx) == operator)
        });
        let (mut best, mut last) = (BestFailure::default(), u16::MAX);
        let mut are_silent = true;
        for (position, Mx { preference, exchange }) in firsts.iter().enumerate() {
            if *preference > last {
                continue;
            }
            let is_planned = planned_host.is_some_and(|planned| planned == exchange);
            let source =
                if is_planned { AddressSource::Planned(planned) } else { AddressSource::InDns };
            let more_hosts = firsts.len() - position - 1;
            let host_probe = HostProbe { more_hosts, ..self.only_host(asked, exchange, source) };
            progress.mx_host = Some(exchange.clone());
            match host_probe.run(progress).await {
                Outcome::Settled(verdict) => return verdict,
                Outcome::NextHost(failure) => {
                    are_silent &= never_spoke(&failure);
                    best.add(failure);
                }
                Outcome::EqualHost(failure, _) => {
                    last = *preference;
                    best.add(failure);
                }
            }
        }
        // A host that replied about the recipient, or that our own reasons kept us from, has no deputy.
        if last < u16::MAX || backups.is_empty() {
            return of_domain(best.into_verdict());
        }
        // First hosts that never speak (parked, nolisting) are a habit of the domain instead of a failure.
        let all_speak = are_silent && !progress.has_spoken;
        progress.settled = Some(Box::new(of_domain(best.clone().into_verdict())));
        Box::pin(self.ask_backups(&backups, best, all_speak, asked, progress)).await
    }

    /// `all_speak` if the hosts of the first preference are silent for everybody; otherwise only what a backup host
    /// knows counts.
    async fn ask_backups(
        &self,
        backups: &[&Mx],
        mut best: BestFailure,
        all_speak: bool,
        asked: Asked<'_>,
        progress: &mut Progress,
    ) -> Verdict {
        for (position, Mx { exchange, .. }) in backups.iter().enumerate() {
            let host_probe = HostProbe {
                more_hosts: backups.len() - position - 1,
                is_backup: true,
                ..self.only_host(asked, exchange, AddressSource::InDns)
            };
            match host_probe.run(progress).await {
                Outcome::Settled(verdict) if all_speak => return verdict,
                Outcome::Settled(verdict) => {
                    if let Some(learning) = progress.learning.take() {
                        let _ = timeout(EVIDENCE_WAIT_MAX, learning).await;
                    }
                    if self.knows(asked.0.address.domain(), exchange, &verdict) {
                        let key = catch_all_key(asked.0.address.domain(), exchange);
                        let found = self.client.memory.catch_all(&key);
                        return with_catch_all(verdict, found.unwrap_or(CatchAll::Unknown));
                    }
                }
                Outcome::NextHost(failure) | Outcome::EqualHost(failure, _) if all_speak => {
                    best.add(failure);
                }
                _ => {}
            }
        }
        of_domain(best.into_verdict())
    }

    /// True if a backup host speaks from knowledge: it refuses the recipient, or it accepts the recipient and has
    /// refused another one by name.
    fn knows(&self, domain: &str, host: &str, verdict: &Verdict) -> bool {
        let key = catch_all_key(domain, host);
        let memory = &self.client.memory;
        match verdict.status {
            Status::Refused => verdict.stage == Stage::Rcpt,
            Status::Accepted => {
                memory.catch_all(&key) == Some(CatchAll::No) || memory.refuses_by_name(&key)
            }
            _ => false,
        }
    }

    /// Without an MX record, the domain itself is the host (RFC 5321 §5.1). If it has no address, the verdict reports
    /// the missing record.
    pub(super) async fn ask_implicit(&self, asked: Asked<'_>, progress: &mut Progress) -> Verdict {
        let host = asked.0.address.domain();
        match self.only_host(asked, host, AddressSource::InDns).run(progress).await {
            Outcome::EqualHost(failure, _) if failure.reason == Reason::DnsFailure => dns_failure(),
            Outcome::Settled(verdict) | Outcome::EqualHost(verdict, _) => verdict,
            Outcome::NextHost(failure) if failure.reason == Reason::NoUsableAddress => {
                Verdict::new(Status::NoMxRecords, Reason::NoMx, failure.stage)
            }
            Outcome::NextHost(failure) => of_domain(failure),
        }
    }

    pub(super) fn only_host<'a>(
        &'a self,
        (question, manner): Asked<'a>,
        host: &'a str,
        address_source: AddressSource<'a>,
    ) -> HostProbe<'a> {
        HostProbe {
            resolver: &self.resolver,
            client: &self.client,
            pool: &self.pool,
            config: &self.config,
            question,
            invents: manner.invents,
            host,
            address_source,
            more_hosts: 0,
            is_backup: false,
        }
    }
}

/// No connection, or a host that takes no mail at all (RFC 7504).
fn never_spoke(failure: &Verdict) -> bool {
    let is_unconnected =
        failure.status == Status::SmtpConnectError && failure.stage <= Stage::Connect;
    is_unconnected || failure.reason == Reason::DomainRefusesMail
}
