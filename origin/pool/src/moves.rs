//! Moves an operator's domains away from a source address whose rate has stayed at the minimum.

use std::time::Duration;

use tokio::time::Instant;

use super::{Settings, State, operators::OperatorId, site_key::SiteKey};

/// Time at the minimum after which an operator's domains move to the next suitable source address.
pub(super) const TIME_AT_MINIMUM: Duration = Duration::from_secs(3_600);
pub(super) const MOVE_LIFETIME: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Number of the source address that serves the domains instead.
    pub to: usize,
    pub at: Instant,
}

impl Move {
    pub(super) fn is_kept(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) < MOVE_LIFETIME
    }

    /// `None` while the domains are moved.
    pub(super) fn returned(&self, now: Instant) -> Option<Instant> {
        (!self.is_kept(now)).then(|| self.at + MOVE_LIFETIME)
    }
}

impl<S> State<S> {
    /// `identity`, or a substitute if the rate of `identity` has been at the minimum for an hour.
    pub(super) fn source_of(
        &mut self,
        operator: OperatorId,
        identity: usize,
        settings: &Settings,
    ) -> usize {
        let sources = &settings.sources;
        let Some(own) = sources.get(identity).filter(|_| sources.len() > 1) else {
            return identity;
        };
        let now = Instant::now();
        // Free accounts never use up the reputation of paying accounts' addresses, or the reverse.
        let may_stand_in = |number: usize| {
            let source = sources.get(number);
            source.is_some_and(|source| source.is_in_use && source.class == own.class)
        };
        let before = self.moves.get(&(operator, identity)).copied();
        if let Some(rest) = before
            && rest.is_kept(now)
            && may_stand_in(rest.to)
        {
            return rest.to;
        }
        // After the domains have returned, the rate may again stay at the minimum for an hour.
        let returned = before.map(|rest| rest.at + MOVE_LIFETIME);
        let since = self.floor_since(operator, identity);
        let since = since.map(|since| returned.map_or(since, |at| at.max(since)));
        if since.is_none_or(|since| now.saturating_duration_since(since) < TIME_AT_MINIMUM) {
            return identity;
        }
        // An operator's domains move away from only one address at a time, so that at least half of our addresses
        // remain in use there.
        if self.moves.iter().any(|((of, _), rest)| *of == operator && rest.is_kept(now)) {
            return identity;
        }
        let mut others = (1..sources.len()).map(|step| (identity + step) % sources.len());
        let is_better =
            |number: &usize| may_stand_in(*number) && self.floor_since(operator, *number).is_none();
        let Some(to) = others.find(is_better) else {
            return identity;
        };
        self.moves.insert((operator, identity), Move { to, at: now });
        to
    }

    pub(super) fn floor_since(&self, operator: OperatorId, identity: usize) -> Option<Instant> {
        let site = self.sites.get(&SiteKey::Operator(operator, identity))?;
        site.sessions.known_meter(None)?.rate.floor_since()
    }
}
