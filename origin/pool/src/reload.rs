//! Changes the limits of a pool in use: its knowledge of each operator and machine stays.

use std::sync::Arc;

use super::{Pool, Settings, site::SiteKey};

impl<S: Send + 'static> Pool<S> {
    /// From now on these settings hold, for the sessions and waiters there are too. Rates that were lowered
    /// and refusals that were counted stay: a reload is no way to forget how we were received.
    ///
    /// The operators of `settings` are numbered as before ([`super::operators::Operators::numbered_as`]).
    pub fn set_settings(self: &Arc<Self>, settings: Settings) {
        let mut state = self.lock();
        for (key, site) in state.sites.iter_mut() {
            let operator = match key {
                SiteKey::Operator(operator, _) => Some(*operator),
                SiteKey::Network(_) | SiteKey::Route(_) => None,
            };
            let (limits, sessions) = settings.limits_of(key, operator);
            site.sessions.set_limits(limits, sessions);
        }
        let sites: Vec<_> = state
            .sites
            .iter()
            .filter(|(_, site)| !site.waiting.is_empty())
            .map(|(key, _)| key.clone())
            .collect();
        // Holds the lock, so that no site is created with the old settings meanwhile.
        self.settings.store(Arc::new(settings));
        drop(state);
        // An address may be another operator's by the new table.
        self.behind.invalidate_all();
        sites.iter().for_each(|site| self.pump(site));
    }
}
