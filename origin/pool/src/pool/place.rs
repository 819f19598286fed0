//! Which site, machine and address a check goes to.

use std::net::{IpAddr, SocketAddr};

use tokio::time::{Duration, Instant};

use super::{Pool, State};
use crate::{
    places::sources::{self, AtSource},
    question::{Class, Key, OperatorId, Party, Question, SiteKey, Target, Want},
    settings::Settings,
};

const DIALOGUE_TIME_MIN: Duration = Duration::from_secs(1);

impl<S: Send + 'static> Pool<S> {
    pub(super) fn place(
        &self,
        state: &mut State<S>,
        question: &Question,
        target: &Target<'_>,
        now: Instant,
    ) -> Want {
        let settings = self.settings.load();
        let machine = target.addresses.first().map(SocketAddr::ip);
        let operator = settings.operators.of_host(target.host).filter(|_| !target.is_route);
        let site = match (operator, machine) {
            (Some(operator), _) => {
                let identity = state.use_source(operator, target.identity, &settings, now);
                SiteKey::Operator(operator, identity)
            }
            (None, Some(ip)) if !target.is_route => SiteKey::network_of(ip),
            _ => SiteKey::Route(target.host.into()),
        };
        let mut want = self.want(state, question, target, site, &settings, now);
        match (&want.site, machine) {
            (SiteKey::Network(_), Some(machine)) => {
                self.go_to_machine(state, &mut want, machine, now);
                self.choose_machine(state, &mut want, target.addresses, now);
            }
            (SiteKey::Operator(..), _) => {
                let site = self.site(state, &want.site, now);
                let of = (want.party, want.class);
                let due = |ip: &IpAddr| site.here.address_not_before(*ip, of, now);
                want.address = target.addresses.iter().map(SocketAddr::ip).min_by_key(due);
            }
            _ => {
                self.site(state, &want.site, now);
            }
        }
        want
    }

    fn want(
        &self,
        state: &State<S>,
        question: &Question,
        target: &Target<'_>,
        site: SiteKey,
        settings: &Settings,
        now: Instant,
    ) -> Want {
        let party = self.party(question);
        let class = question.wait.class();
        let deadline = question.wait.deadline();
        let (identity, warm_up) = match site {
            SiteKey::Operator(operator, identity) if class == Class::Batch => {
                let since = self.warms_up_since(state, operator, identity);
                let unix_now = (self.unix_now)();
                (identity, since.and_then(|since| sources::per_minute(since, unix_now)))
            }
            SiteKey::Operator(_, identity) => (identity, None),
            SiteKey::Network(_) | SiteKey::Route(_) => (target.identity, None),
        };
        let is_consumer = settings.operators.is_consumer_domain(question.address.domain());
        Want {
            party,
            past: state.pasts.of(party.account, now),
            class,
            share: question.asker.fairness_group.as_ref().map(|_| settings.tenant_share),
            site,
            meter: None,
            host: target.host.into(),
            identity,
            address: None,
            latest: deadline.checked_sub(DIALOGUE_TIME_MIN).unwrap_or(now).max(now),
            has_gate: !(target.is_route || is_consumer),
            is_admitted: target.is_route || target.admitted,
            afresh: target.afresh,
            warm_up,
        }
    }

    fn party(&self, question: &Question) -> Party {
        let Question { address, asker, .. } = question;
        let key = |kind: u8, name: Option<&str>| self.keys.hash_one((kind, name));
        let account = key(1, asker.account.as_deref());
        let group = match &asker.fairness_group {
            Some(group) if asker.account.as_ref() == Some(group) => account,
            group => key(0, group.as_deref()),
        };
        Party { group, account, domain: key(2, Some(address.domain())) }
    }

    pub(super) fn go_to_machine(
        &self,
        state: &mut State<S>,
        want: &mut Want,
        machine: IpAddr,
        now: Instant,
    ) {
        want.site = SiteKey::network_of(machine);
        let most_since_ban =
            (!state.bans.is_empty()).then(|| state.bans.most(self.machine_key(machine), now));
        let site = self.site(state, &want.site, now);
        want.meter = site.meter_of(machine, now);
        want.address = Some(machine);
        // The meter exists before anybody waits for it.
        let meter = site.here.meter(want.meter);
        if let Some(most) = most_since_ban {
            meter.lately.most_since_ban = most;
        }
    }

    /// Another address of the host may be in another network. It is chosen if its gate opens earlier, unless an idle
    /// session needs none.
    fn choose_machine(
        &self,
        state: &mut State<S>,
        want: &mut Want,
        addresses: &[SocketAddr],
        now: Instant,
    ) {
        let of = (want.party, want.class);
        let due = |address: &SocketAddr| {
            let site = state.sites.all.get(&SiteKey::network_of(address.ip()))?;
            site.here.address_not_before(address.ip(), of, now)
        };
        let has_idle =
            || state.sites.all.get(&want.site).is_some_and(|it| it.here.has_idle_for(want, now));
        if addresses.first().and_then(due).is_none() || has_idle() {
            return;
        }
        if let Some(address) = addresses.iter().min_by_key(|address| due(address)) {
            self.go_to_machine(state, want, address.ip(), now);
        }
    }

    pub(super) fn machine_key(&self, machine: IpAddr) -> Key {
        self.keys.hash_one(("machine", machine))
    }

    pub(super) fn warms_up_since(
        &self,
        state: &State<S>,
        operator: OperatorId,
        identity: usize,
    ) -> Option<u64> {
        let now = Instant::now();
        let (_, rest) = state.at_source(operator, identity);
        let returned = rest.and_then(|rest| rest.returned(now)).map(|at| {
            (self.unix_now)().saturating_sub(now.saturating_duration_since(at).as_secs())
        });
        let configured = self.settings.load().sources.get(identity).and_then(|source| source.since);
        let listed = state.listed.get(identity).copied().flatten();
        [returned, configured, listed].into_iter().flatten().max()
    }
}

impl<S> State<S> {
    pub(super) fn at_source(&self, operator: OperatorId, identity: usize) -> AtSource {
        let Some(site) = self.sites.all.get(&SiteKey::Operator(operator, identity)) else {
            return (None, None);
        };
        let meter = site.here.meters.get(&None);
        (meter.and_then(|meter| meter.rate.floor_since()), site.rest)
    }

    fn use_source(
        &mut self,
        operator: OperatorId,
        identity: usize,
        settings: &Settings,
        now: Instant,
    ) -> usize {
        if settings.sources.len() < 2 {
            return identity;
        }
        let at = |operator, identity| self.at_source(operator, identity);
        let source = sources::source_of(operator, identity, &settings.sources, at, now);
        if source != identity {
            return source;
        }
        let Some(rest) = sources::rest(operator, identity, &settings.sources, at, now) else {
            return identity;
        };
        if let Some(site) = self.sites.all.get_mut(&SiteKey::Operator(operator, identity)) {
            site.rest = Some(rest);
        }
        rest.to
    }
}
