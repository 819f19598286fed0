//! Fair shares of concurrent work: probes, batches, handshakes.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use rcpt_pool::Asker;

/// A group (see [`rcpt_pool::Asker`]), and an account if the group has several.
type Party = (Option<Arc<str>>, Option<Arc<str>>);

/// Counters of work in progress, by group.
///
/// A group may start one more unit while it holds less than what is free. One group alone gets half, and in the long
/// run, k greedy groups leave 1/(k + 1) to all others. A group's first unit always passes. Accounts share their group's
/// remainder by the same rule.
pub struct FairShares {
    counts: Arc<Mutex<Counts>>,
    /// Limit of one group; it doesn't apply to requests without a group.
    share: AtomicUsize,
    /// Limit of all groups together; only a group's first unit passes beyond it.
    most: usize,
}

#[derive(Default)]
struct Counts {
    all: usize,
    by_party: HashMap<Party, usize>,
}

impl Counts {
    fn of(&self, party: &Party) -> usize {
        self.by_party.get(party).copied().unwrap_or_default()
    }
}

impl FairShares {
    pub fn new(share: usize, most: usize) -> Self {
        Self { counts: Arc::default(), share: AtomicUsize::new(share.max(1)), most }
    }

    /// Sets the limit of one group. Units in progress beyond a smaller limit continue until they are dropped.
    pub fn set_share(&self, share: usize) {
        self.share.store(share.max(1), Ordering::Relaxed);
    }

    /// Counts a unit for the group until it is dropped; `None` if the group already has a unit and no room
    /// for another.
    pub fn enter(&self, group: Option<Arc<str>>) -> Option<Share> {
        self.enter_within(&Asker { account: None, fairness_group: group }, usize::MAX)
    }

    /// Like [`FairShares::enter`], for one account of its group, with at most `free` units left in total.
    pub fn enter_within(&self, asker: &Asker, free: usize) -> Option<Share> {
        let Asker { account, fairness_group: group } = asker.clone();
        let of_group = (group.clone(), None);
        let mut counts = lock(&self.counts);
        let free = free.min(self.most.saturating_sub(counts.all));
        let own = counts.of(&of_group);
        let room = match group {
            Some(_) => free.min(self.share.load(Ordering::Relaxed)),
            None if free > 0 => usize::MAX,
            None => 0,
        };
        if own > 0 && own >= room {
            return None;
        }
        let mut parties = vec![of_group];
        if group.is_some() && account.is_some() && account != group {
            let of_account = (group, account);
            let own_of_account = counts.of(&of_account);
            if own_of_account > 0 && own_of_account >= room.saturating_sub(own) {
                return None;
            }
            parties.push(of_account);
        }
        counts.all += 1;
        for party in &parties {
            *counts.by_party.entry(party.clone()).or_default() += 1;
        }
        Some(Share { counts: Arc::clone(&self.counts), parties })
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock()
}

/// A unit in progress, counted until it is dropped.
pub struct Share {
    counts: Arc<Mutex<Counts>>,
    parties: Vec<Party>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.all -= 1;
        for party in &self.parties {
            if let Some(count) = counts.by_party.get_mut(party) {
                *count -= 1;
                if *count == 0 {
                    counts.by_party.remove(party);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asker, FairShares, Share};

    #[test]
    fn no_tenant_takes_more_than_its_share_and_each_may_have_one() {
        let tenants = FairShares::new(2, 3);
        let enter = |name: &str| tenants.enter(Some(name.into()));
        let mut shares = vec![enter("a"), enter("a")];
        assert!(shares.iter().all(Option::is_some));
        assert!(enter("a").is_none(), "its share");
        shares.push(enter("b"));
        assert!(enter("b").is_none(), "too many");
        assert!(enter("c").is_some(), "its first");
        shares.clear();
        assert!(enter("a").is_some());
        tenants.set_share(1);
        shares.push(enter("a"));
        assert!(shares[0].is_some() && enter("a").is_none(), "its new share");
        shares.clear();
        let unknown: Vec<_> = (0..3).map(|_| tenants.enter(None)).collect();
        assert!(unknown.iter().all(Option::is_some));
    }

    fn all_of(tenants: &FairShares, tenant: &str, account: &str) -> Vec<Share> {
        let asker = Asker { account: Some(account.into()), fairness_group: Some(tenant.into()) };
        let enter = || tenants.enter_within(&asker, usize::MAX);
        std::iter::from_fn(enter).collect()
    }

    #[test]
    fn greedy_tenants_leave_as_much_to_the_others_as_one_of_them_has() {
        for greedy in 1..=5 {
            let tenants = FairShares::new(256, 512);
            let shares: Vec<_> =
                (0..greedy).map(|n| all_of(&tenants, &format!("t{n}"), &format!("t{n}"))).collect();
            let taken_shares: usize = shares.iter().map(Vec::len).sum();
            // The parties arrive one after the other, and each takes as many units as it can get.
            assert!(512 - taken_shares >= 512 / (1 << greedy), "{greedy} took {taken_shares}");
            assert!(!all_of(&tenants, "other", "other").is_empty(), "{greedy}");
        }
    }

    #[test]
    fn one_account_of_a_tenant_of_many_leaves_room_to_the_others() {
        let tenants = FairShares::new(256, 512);
        let greedy = all_of(&tenants, "free", "greedy");
        assert!((100..=200).contains(&greedy.len()), "{}", greedy.len());
        let modest = all_of(&tenants, "free", "modest");
        assert!(modest.len() >= 20, "{}", modest.len());
    }

    #[test]
    fn what_others_hold_of_the_same_thing_is_not_free() {
        let tenants = FairShares::new(256, 512);
        let entered = |free| {
            tenants.enter_within(&Asker { account: None, fairness_group: Some("a".into()) }, free)
        };
        let shares = [entered(2), entered(1)];
        assert!(shares[0].is_some() && shares[1].is_none());
    }
}
