//! One host asked: where it is, in which session, and what its failures mean.

use std::{net::SocketAddr, ops::ControlFlow};

use rand::Rng as _;
use rcpt_shared::{Address, Reason, Stage, Status, Verdict};
use tokio::{net::lookup_host, time::Instant};

use super::{
    Attempt, Door, MAX_ADDRESSES, Prober, Progress, Question,
    conversation::{Conversation, Place},
    dns_failure,
    outcome::Telling,
};
use crate::{
    dial::Unconnected,
    dns::NoAnswer,
    mx,
    pace::{Grant, Refused, Wanted, operator},
    verdict,
};

impl Prober {
    async fn addresses(
        &self,
        host: &str,
        door: &Door,
        progress: &mut Progress,
    ) -> Result<Vec<SocketAddr>, NoAnswer> {
        match *door {
            Door::Found => self.usable_addresses(host, progress).await,
            Door::Route(port) => {
                progress.stage = Stage::Connect;
                // `host:port` by the system's own means: a route may name what only it knows.
                let addresses = lookup_host((host, port)).await;
                Ok(addresses.map(|found| found.take(MAX_ADDRESSES).collect()).unwrap_or_default())
            }
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

    /// Asks one host: in a warm session if there is one, else in a new one.
    ///
    /// Each step is boxed: a probe that a silent server holds has the memory of that step alone, and
    /// not of the largest of all.
    pub(super) async fn ask_host(
        &self,
        host: &str,
        door: &Door,
        question: Question<'_>,
        progress: &mut Progress,
    ) -> Attempt {
        let recipient = question.address;
        let named = |verdict| Verdict { mx_host: Some(host.to_owned()), ..verdict };
        if recipient.needs_smtputf8() && self.hosts.offers(host).lacks_smtputf8 {
            let verdict = verdict::smtputf8_unsupported().at(Stage::Ehlo, None);
            return ControlFlow::Break(named(verdict));
        }
        let control = self.control_recipient(question);
        let conversation = Conversation {
            prober: self,
            host,
            recipient,
            control: control.as_ref(),
            details: question.details,
        };
        let route = match *door {
            Door::Found => None,
            Door::Route(port) => Some(format!("{host}:{port}")),
        };
        let wanted = Wanted {
            operator: route.as_deref().unwrap_or_else(|| operator::of(host)),
            host,
            domain: recipient.domain(),
            exempt: route.is_some(),
        };
        let mut place = None;
        if let Some((session, warm)) = self.pace.warm(wanted) {
            match Box::pin(conversation.resume(session, warm, progress)).await {
                Ok(attempt) => return map(attempt, named),
                Err(stale) => place = Some(stale),
            }
        }
        let addresses = match Box::pin(self.addresses(host, door, progress)).await {
            Ok(addresses) if !addresses.is_empty() => addresses,
            Err(NoAnswer::Failed) => {
                return ControlFlow::Continue(dns_failure(Some(host.to_owned())));
            }
            Ok(_) | Err(NoAnswer::NoSuchName | NoAnswer::NoRecords) => {
                return ControlFlow::Continue(no_usable_address(host));
            }
        };
        progress.stage = Stage::Connect;
        let place = match place {
            Some(place) => place,
            None => match Box::pin(self.place(wanted, conversation, progress)).await {
                Ok(place) => place,
                Err(attempt) => return map(attempt, named),
            },
        };
        map(self.dial(conversation, addresses, place, progress).await, named)
    }

    /// Waits for leave to open a session. `Err` with the answer when there is none, or a warm session
    /// turned up that gave it.
    async fn place(
        &self,
        wanted: Wanted<'_>,
        conversation: Conversation<'_>,
        progress: &mut Progress,
    ) -> Result<Place, Attempt> {
        let since = Instant::now();
        progress.waiting = Some(since);
        let grant = self.pace.session(wanted).await;
        progress.waiting = None;
        progress.waited += since.elapsed();
        match grant {
            Ok(Grant::Fresh(place)) => Ok(place),
            Ok(Grant::Warm(session, place)) => {
                match Box::pin(conversation.resume(session, place, progress)).await {
                    Ok(attempt) => Err(attempt),
                    Err(place) => {
                        progress.stage = Stage::Connect;
                        Ok(place)
                    }
                }
            }
            Err(refused) => Err(our_limit(refused)),
        }
    }

    /// Connects to one address after the other, until there is a verdict.
    async fn dial(
        &self,
        conversation: Conversation<'_>,
        mut addresses: Vec<SocketAddr>,
        mut place: Place,
        progress: &mut Progress,
    ) -> Attempt {
        let mut telling = Telling::default();
        while !addresses.is_empty() {
            progress.stage = Stage::Connect;
            let identity = self.identity(place.identity());
            let attempt = match self.dialer.race(identity, &mut addresses).await {
                Ok((stream, peer)) => {
                    let holding = conversation.hold(stream, peer, place, progress);
                    let (attempt, left) = Box::pin(holding).await;
                    match (attempt, left) {
                        (ControlFlow::Continue(failure), Some(left)) => {
                            place = left;
                            ControlFlow::Continue(failure)
                        }
                        (ended, _) => return ended_with(ended, telling),
                    }
                }
                Err(unconnected) => {
                    if unconnected == Unconnected::Theirs {
                        self.hosts.could_not_be_reached(conversation.host);
                    }
                    ControlFlow::Continue(not_connected(unconnected))
                }
            };
            match attempt {
                ControlFlow::Break(verdict) => return ControlFlow::Break(verdict),
                ControlFlow::Continue(failure) => telling.add(failure),
            }
        }
        ControlFlow::Continue(telling.into_verdict())
    }

    /// A recipient that nobody has, when somebody wants to know whether the domain takes everything.
    fn control_recipient(&self, question: Question<'_>) -> Option<Address> {
        let domain = question.address.domain();
        if !question.details || self.hosts.catch_all(domain).is_some() {
            return None;
        }
        let mut random = rand::rng();
        // 26¹⁶ ≈ 4 × 10²²: nobody has it, and no filter knows it.
        let local_part: String =
            (0..16).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect();
        Address::parse(&format!("{local_part}@{domain}")).ok()
    }
}

fn map(attempt: Attempt, change: impl FnOnce(Verdict) -> Verdict) -> Attempt {
    match attempt {
        ControlFlow::Break(verdict) => ControlFlow::Break(change(verdict)),
        ControlFlow::Continue(failure) => ControlFlow::Continue(change(failure)),
    }
}

/// The last attempt at a host, with those before it.
fn ended_with(attempt: Attempt, mut telling: Telling) -> Attempt {
    match attempt {
        ControlFlow::Break(verdict) => ControlFlow::Break(verdict),
        ControlFlow::Continue(failure) => {
            telling.add(failure);
            ControlFlow::Continue(telling.into_verdict())
        }
    }
}

/// Our own restraint: never the recipient's fault. A host that refused us is not gone around by way of
/// its backup; one that was out of order may be.
fn our_limit(refused: Refused) -> Attempt {
    let seconds = u32::try_from(refused.after.as_secs()).unwrap_or(u32::MAX).max(1);
    let verdict = Verdict {
        retry_after: Some(seconds),
        ..Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Connect)
    };
    if refused.blocked { ControlFlow::Break(verdict) } else { ControlFlow::Continue(verdict) }
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
