//! Domains of an operator leave a source address whose rate has been at the floor.

use std::time::Duration;

use tokio::time::Instant;

use super::{State, operators::OperatorId, site::SiteKey};

/// After so long at the floor an operator's domains go to the next source address, once in so long.
const MOVE_AFTER: Duration = Duration::from_secs(3_600);
const MOVE_KEPT: Duration = Duration::from_secs(24 * 3_600);

impl<S> State<S> {
    /// The identity that stands in for `identity` with this operator, whose domains leave a source address that
    /// has been at the floor for an hour.
    pub(super) fn moved(
        &mut self,
        operator: OperatorId,
        identity: usize,
        identities: usize,
    ) -> usize {
        if identities < 2 {
            return identity;
        }
        let now = Instant::now();
        let is_kept = |at: Instant| now.saturating_duration_since(at) < MOVE_KEPT;
        let floor_since = |number: usize| {
            let site = self.sites.get(&SiteKey::Operator(operator, number))?;
            site.sessions.known_meter(None)?.rate.floor_since()
        };
        let before = self.moves.get(&(operator, identity)).copied();
        if let Some((to, at)) = before
            && is_kept(at)
        {
            return to;
        }
        // Back from a rest it has the hour anew.
        let returned = before.map(|(_, at)| at + MOVE_KEPT);
        let since = floor_since(identity).map(|since| returned.map_or(since, |at| at.max(since)));
        if since.is_none_or(|since| now.saturating_duration_since(since) < MOVE_AFTER) {
            return identity;
        }
        // One rests at a time, so at least half are left; and none moves to where it would be no better.
        if self.moves.iter().any(|((of, _), (_, at))| *of == operator && is_kept(*at)) {
            return identity;
        }
        let mut others = (1..identities).map(|step| (identity + step) % identities);
        let Some(to) = others.find(|number| floor_since(*number).is_none()) else {
            return identity;
        };
        self.moves.insert((operator, identity), (to, now));
        to
    }
}
