//! A question to one host: its addresses, its session, and the meaning of its failures.

use std::{
    borrow::Cow,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    time::Duration,
};

use futures_util::FutureExt as _;
use rcpt_pool::{Acquired, Refused, Target};
use rcpt_shared::{Confidence, Details, Reason, Stage, Status, Verdict};
use rcpt_smtp::{ConnectFailure, Connection, Patience};
use tokio::time::{Instant, sleep};

use super::{
    client::HostPermit,
    conversation::{PATIENCE, Resumed},
    host_probe::{HostProbe, Progress},
    outcome::{BestFailure, Outcome, RETRY_DELAY, dns_failure, opted_out, our_limit},
    resolver::{AddressSource, Unresolved},
    treatment::{Place, Stops},
};

const CONNECT_TIMEOUT_MIN: Duration = Duration::from_secs(1);
const DIALOGUE_TIME_MIN: Duration = Duration::from_secs(1);
const MAX_STALE: usize = 3;

impl HostProbe<'_> {
    /// Each step is boxed: while a server is silent, the probe uses only that step's memory, not that of the largest
    /// step.
    pub(super) async fn run(&self, progress: &mut Progress) -> Outcome {
        let (host, source) = (self.host, self.address_source);
        let recipient = &self.question.address;
        let with_host = |verdict| Verdict { mx_host: Some(host.to_owned()), ..verdict };
        if recipient.needs_smtputf8() && self.client.memory.offers(host).lacks_smtputf8 {
            return Outcome::Settled(with_host(
                rcpt_verdict::smtputf8_unsupported().at(Stage::Ehlo, None),
            ));
        }
        let addresses = match source {
            AddressSource::Planned(addresses) => Ok(Cow::Borrowed(addresses)),
            AddressSource::InDns | AddressSource::ByRoute(_) => {
                progress.stage = Stage::Dns;
                let times = progress.times.clone();
                let resolving = Box::pin(self.resolver.addresses(host, source));
                times.dns.during(resolving).await.map(Cow::Owned)
            }
        };
        let identities = self.client.identities();
        let identity = identities.of(recipient.domain(), self.question.asker.class());
        let own = identities.get(identity);
        let reached = |address: &SocketAddr| own.reaches(address.ip());
        let addresses = match addresses {
            Ok(addresses) if addresses.is_empty() => {
                return Outcome::NextHost(with_host(self.no_usable_address(Confidence::None)));
            }
            Ok(addresses) => addresses,
            Err(Unresolved::NoSuchName) => {
                return Outcome::NextHost(with_host(self.no_usable_address(Confidence::High)));
            }
            Err(Unresolved::DnsFailed) => {
                return Outcome::EqualHost(with_host(dns_failure()), None);
            }
        };
        if source == AddressSource::InDns && self.opted_out(&addresses) {
            return Outcome::Settled(with_host(opted_out()));
        }
        let mut addresses = addresses;
        if !addresses.iter().all(reached) {
            addresses.to_mut().retain(reached);
        }
        if addresses.is_empty() {
            // All the host's addresses are of a family over which we don't connect.
            return Outcome::EqualHost(with_host(not_connected(ConnectFailure::NoWay)), None);
        }
        progress.stage = Stage::Connect;
        let asked = addresses.clone();
        if let Some(after) = self.stop_of(&asked, Stops::keeps_away) {
            return Outcome::EqualHost(with_host(our_limit(after)), None);
        }
        let attempt = self.try_addresses(addresses, identity, progress).await;
        match self.unless_stopped(attempt, &asked, progress) {
            Outcome::NextHost(failure) if failure.reason != Reason::OurLimit => {
                Outcome::NextHost(with_host(failure))
            }
            Outcome::NextHost(verdict) | Outcome::EqualHost(verdict, _) => {
                Outcome::EqualHost(with_host(verdict), None)
            }
            Outcome::Settled(verdict) => Outcome::Settled(with_host(verdict)),
        }
    }

    fn stop_of(
        &self,
        addresses: &[SocketAddr],
        stop: impl Fn(&Stops, Place) -> Option<Duration>,
    ) -> Option<Duration> {
        if !self.is_list() || self.by_route() {
            return None;
        }
        let stops = self.places(addresses).map(|place| stop(&self.client.stops, place));
        stops.collect::<Option<Vec<_>>>()?.into_iter().min()
    }

    fn places(&self, addresses: &[SocketAddr]) -> impl Iterator<Item = Place> {
        addresses.iter().filter_map(|address| self.client.place(self.host, Some(address.ip())))
    }

    /// An address of a list that met a stop is asked again when it is over.
    fn unless_stopped(
        &self,
        attempt: Outcome,
        addresses: &[SocketAddr],
        progress: &mut Progress,
    ) -> Outcome {
        let (Outcome::NextHost(verdict) | Outcome::Settled(verdict)) = &attempt else {
            return attempt;
        };
        if verdict.stage == Stage::Rcpt && verdict.status != Status::SmtpConnectError {
            return attempt;
        }
        progress.has_spoken |=
            self.places(addresses).any(|place| self.client.stops.has_spoken(place));
        match self.stop_of(addresses, Stops::stopped_for) {
            Some(after) => Outcome::NextHost(our_limit(after)),
            None => attempt,
        }
    }

    fn opted_out(&self, addresses: &[SocketAddr]) -> bool {
        let config = self.config.load();
        addresses.iter().any(|address| config.opt_outs.include_address(address.ip()))
    }

    async fn try_addresses(
        &self,
        mut addresses: Cow<'_, [SocketAddr]>,
        identity: usize,
        progress: &mut Progress,
    ) -> Outcome {
        let host = self.host;
        // The port is part of a route's name in the pool: each port is a server of its own.
        let route = match self.address_source {
            AddressSource::InDns | AddressSource::Planned(_) => None,
            AddressSource::ByRoute(port) => Some(format!("{host}:{port}")),
        };
        let (mut best, mut stale, mut asked_again) = (BestFailure::default(), 0, false);
        let mut afresh = false;
        while !addresses.is_empty() {
            let admitted = progress.admitted;
            let target = Target {
                host: route.as_deref().unwrap_or(host),
                addresses: &addresses,
                identity,
                is_route: route.is_some(),
                admitted,
                afresh,
            };
            let dialogue = match Box::pin(self.begin(&target, progress)).await {
                Ok(dialogue) => dialogue,
                Err(refused) => {
                    best.add(our_limit(refused.after));
                    return Outcome::NextHost(best.into_verdict());
                }
            };
            let attempt = match dialogue.await {
                None => return cut_short(progress),
                Some(Resumed::Answered(attempt)) => attempt,
                Some(unheard) => {
                    stale += 1;
                    afresh = matches!(unheard, Resumed::Refused) || stale >= MAX_STALE;
                    progress.stage = Stage::Connect;
                    continue;
                }
            };
            match attempt {
                Outcome::NextHost(failure) => best.add(failure),
                Outcome::EqualHost(_, Some(retry))
                    if !asked_again && self.has_time(retry.after) =>
                {
                    asked_again = true;
                    afresh |= retry.afresh;
                    sleep(retry.after).await;
                    progress.stage = Stage::Connect;
                    continue;
                }
                settled => return settled,
            }
            let tried = std::mem::take(&mut progress.tried);
            if tried.is_empty() {
                break;
            }
            addresses.to_mut().retain(|address| !tried.contains(&address.ip()));
        }
        Outcome::NextHost(best.into_verdict())
    }

    async fn begin<'t>(
        &'t self,
        target: &'t Target<'t>,
        progress: &'t mut Progress,
    ) -> Result<Dialogue<'t>, Refused> {
        let times = progress.times.clone();
        let acquired = times.waiting.during(self.pool.session(self.question, target)).await;
        progress.admitted |= acquired.is_ok();
        Ok(match acquired? {
            Acquired::Idle(session, permit) => {
                let cut = permit.cut();
                let patience = self.patience_of(target.addresses.len());
                let resuming = self.resume(permit, session, patience, progress);
                Box::pin(unless(cut, Box::pin(resuming)))
            }
            Acquired::New(permit) => {
                let cut = permit.cut();
                let dialling = self.dial(target, permit, progress);
                Box::pin(unless(cut, Box::pin(dialling.map(Resumed::Answered))))
            }
        })
    }

    fn has_time(&self, moment: Duration) -> bool {
        Instant::now() + moment + DIALOGUE_TIME_MIN < self.question.wait.deadline()
    }

    /// If the permit's address is slow, an address of the other family is tried too. The first connection is used.
    async fn dial(
        &self,
        target: &Target<'_>,
        permit: HostPermit,
        progress: &mut Progress,
    ) -> Outcome {
        progress.stage = Stage::Connect;
        let Some(first) = at(target.addresses, permit.address()) else {
            return Outcome::NextHost(self.no_usable_address(Confidence::None));
        };
        let patience = self.budget_share(target.addresses.len());
        progress.tried.push(first.ip());
        let began = Instant::now();
        let mut permit = permit;
        match Box::pin(self.connect(target, &mut permit, first, patience, progress)).await {
            Ok((stream, peer)) => {
                let patience = self.patience_of(target.addresses.len());
                Box::pin(self.hold(stream, peer, patience, permit, progress)).await
            }
            Err(failed) => {
                // A refused connection always counts. Silence counts only if the time limit was at least half of the
                // usual limit.
                let is_silence = began.elapsed() >= patience;
                let is_fair = patience >= self.client.dialer.timeout() / 2;
                if failed == ConnectFailure::Theirs && (!is_silence || is_fair) {
                    self.client.memory.could_not_be_reached(self.host);
                    self.client.note_silence(self.host, &permit);
                }
                if is_silence && progress.took_time_of(patience, self.client.dialer.timeout()) {
                    return Outcome::NextHost(our_limit(RETRY_DELAY));
                }
                Outcome::NextHost(not_connected(failed))
            }
        }
    }

    /// The time limit of this host's replies; `None` if no other host or address is left. After the greeting, the host
    /// may use all the time except for another host's share.
    fn patience_of(&self, addresses: usize) -> Option<Patience> {
        if self.more_hosts == 0 && addresses <= 1 {
            return None;
        }
        let now = Instant::now();
        let reserve = self.question.wait.deadline().checked_sub(PATIENCE).unwrap_or(now);
        Some(Patience {
            banner: now + PATIENCE.min(self.budget_share(addresses)),
            dialogue: reserve.max(now + PATIENCE.min(self.budget_share(addresses))),
        })
    }

    async fn connect(
        &self,
        target: &Target<'_>,
        permit: &mut HostPermit,
        first: SocketAddr,
        patience: Duration,
        progress: &mut Progress,
    ) -> Result<(Box<dyn Connection>, SocketAddr), ConnectFailure> {
        let identity = self.client.identity(permit.identity());
        let mut others = target.addresses.iter().copied();
        let second = others.find(|other| other.is_ipv4() != first.is_ipv4());
        let mut beside = None;
        let race = self.client.dialer.race(
            &identity,
            first,
            || {
                let second = second?;
                if !permit.is_for_any_address() {
                    let target = Target { identity: permit.identity(), ..*target };
                    beside = Some(self.pool.try_session(self.question, &target, second.ip())?);
                }
                progress.tried.push(second.ip());
                Some(second)
            },
            patience,
        );
        let (stream, peer) = race.await?;
        if let (true, Some(other)) = (Some(peer) == second, beside) {
            *permit = other;
        }
        permit.connected_to(peer.ip());
        Ok((stream, peer))
    }

    /// `confidence` is the certainty that the host will get no usable address.
    fn no_usable_address(&self, confidence: Confidence) -> Verdict {
        let details = Details { confidence, ..Details::new(None, None) };
        Verdict {
            details: Some(Box::new(details)),
            ..Verdict::new(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns)
        }
    }

    fn budget_share(&self, addresses: usize) -> Duration {
        let time_left = self.question.wait.deadline().saturating_duration_since(Instant::now());
        let others = self.more_hosts + addresses.saturating_sub(1);
        let share = time_left / u32::try_from(others + 1).unwrap_or(u32::MAX);
        share.max(CONNECT_TIMEOUT_MIN)
    }
}

/// A dialogue in a session, boxed so that a waiting probe uses only its step's memory. `None` if the session is cut
/// because others wait for it.
type Dialogue<'a> = Pin<Box<dyn Future<Output = Option<Resumed>> + Send + 'a>>;

async fn unless<T>(
    cut: impl Future<Output = ()>,
    dialogue: Pin<Box<impl Future<Output = T>>>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = dialogue => Some(done),
        () = cut => None,
    }
}

fn cut_short(progress: &mut Progress) -> Outcome {
    let settled = progress.settled.take().map(|verdict| *verdict);
    Outcome::Settled(settled.unwrap_or_else(|| our_limit(RETRY_DELAY)))
}

fn at(addresses: &[SocketAddr], chosen: Option<IpAddr>) -> Option<SocketAddr> {
    let fits = |address: &&SocketAddr| chosen.is_none_or(|ip| address.ip() == ip);
    addresses.iter().find(fits).or(addresses.first()).copied()
}

fn not_connected(failed: ConnectFailure) -> Verdict {
    let (status, reason) = match failed {
        ConnectFailure::Theirs => (Status::SmtpConnectError, Reason::ConnectionFailed),
        ConnectFailure::NoWay | ConnectFailure::NoSocket => {
            (Status::FatalException, Reason::OurLimit)
        }
    };
    Verdict::new(status, reason, Stage::Connect)
}
