//! Replaces the settings of a running pool; records about operators and machines are kept.

use std::sync::Arc;

use super::{Pool, Settings};

impl<S: Send + 'static> Pool<S> {
    /// Replaces the settings, and applies the new limits to existing sites and their waiting
    /// requests. Lowered rates and counted refusals are kept, because a reload mustn't make us
    /// forget how we were treated.
    ///
    /// The operators of `settings` are numbered as before ([`super::operators::Operators::numbered_as`]).
    pub fn set_settings(self: &Arc<Self>, settings: Settings) {
        let mut state = self.lock();
        for (key, site) in state.sites.iter_mut() {
            let (limits, sessions) = settings.limits_of(key);
            site.sessions.set_limits(limits, sessions);
        }
        let sites: Vec<_> = state
            .sites
            .iter()
            .filter(|(_, site)| !site.waiting.is_empty())
            .map(|(key, _)| key.clone())
            .collect();
        // The lock is still held, so that no site is created with the old settings.
        self.settings.store(Arc::new(settings));
        drop(state);
        // In the new table, an address may belong to another operator.
        self.behind.invalidate_all();
        sites.iter().for_each(|site| self.pump(site));
    }
}
