//! What each tenant has in progress: no tenant takes more than its share of probes, and one batch of each
//! is always admitted.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Counts something in progress, by tenant.
pub struct Tenants {
    in_progress: Arc<Mutex<HashMap<Option<Arc<str>>, usize>>>,
    /// What one tenant may have in progress. Without a tenant's name there is no such limit.
    share: AtomicUsize,
    /// What all tenants may have in progress, beyond the first of each.
    most: usize,
}

impl Tenants {
    pub fn new(share: usize, most: usize) -> Self {
        Self { in_progress: Arc::default(), share: AtomicUsize::new(share.max(1)), most }
    }

    /// What is in progress beyond a smaller share may end.
    pub fn set_share(&self, share: usize) {
        self.share.store(share.max(1), Ordering::Relaxed);
    }

    /// Counts one more, until the entry is dropped; `None` when the tenant has had its share, or when
    /// there are too many and this is not the tenant's first.
    pub fn enter(&self, tenant: Option<Arc<str>>) -> Option<Entry> {
        let mut in_progress = lock(&self.in_progress);
        let all: usize = in_progress.values().sum();
        let own = in_progress.get(&tenant).copied().unwrap_or_default();
        let over_share = tenant.is_some() && own >= self.share.load(Ordering::Relaxed);
        if over_share || (own > 0 && all >= self.most) {
            return None;
        }
        *in_progress.entry(tenant.clone()).or_default() += 1;
        Some(Entry { in_progress: Arc::clone(&self.in_progress), tenant })
    }
}

fn lock(
    counts: &Mutex<HashMap<Option<Arc<str>>, usize>>,
) -> MutexGuard<'_, HashMap<Option<Arc<str>>, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One in progress.
pub struct Entry {
    in_progress: Arc<Mutex<HashMap<Option<Arc<str>>, usize>>>,
    tenant: Option<Arc<str>>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut in_progress = lock(&self.in_progress);
        if let Some(count) = in_progress.get_mut(&self.tenant) {
            *count -= 1;
            if *count == 0 {
                in_progress.remove(&self.tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tenants;

    #[test]
    fn no_tenant_takes_more_than_its_share_and_each_may_have_one() {
        let tenants = Tenants::new(2, 3);
        let enter = |name: &str| tenants.enter(Some(name.into()));
        let mut held = vec![enter("a"), enter("a")];
        assert!(held.iter().all(Option::is_some));
        assert!(enter("a").is_none(), "its share");
        held.push(enter("b"));
        assert!(enter("b").is_none(), "too many");
        assert!(enter("c").is_some(), "its first");
        held.clear();
        assert!(enter("a").is_some());
        tenants.set_share(1);
        held.push(enter("a"));
        assert!(held[0].is_some() && enter("a").is_none(), "its new share");
        held.clear();
        let unknown: Vec<_> = (0..3).map(|_| tenants.enter(None)).collect();
        assert!(unknown.iter().all(Option::is_some));
    }
}
