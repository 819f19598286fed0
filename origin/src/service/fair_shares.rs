//! Fair shares of concurrent work: probes, batches, handshakes.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use rcpt_pool::{Asker, Shared};
use tokio::sync::Notify;

/// A group (see [`rcpt_pool::Asker`]), and an account if the group has several.
type Party = (Option<Arc<str>>, Option<Arc<str>>);

/// Counters of work in progress, by group.
///
/// Groups, and a group's accounts, have shares by the pool's rule ([`Shared`]). A group's first unit always passes.
pub struct FairShares {
    taken: Arc<Taken>,
    /// Limit of one group; it doesn't apply to requests without a group.
    share: AtomicUsize,
    /// Limit of all groups together; only a group's first unit passes beyond it.
    most: AtomicUsize,
}

#[derive(Default)]
struct Taken {
    counts: Mutex<Counts>,
    ended: Notify,
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
        let share = AtomicUsize::new(share.max(1));
        Self { taken: Arc::default(), share, most: AtomicUsize::new(most) }
    }

    pub fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
        self.taken.ended.notify_waiters();
    }

    pub fn set_share(&self, share: usize) {
        self.share.store(share.max(1), Ordering::Relaxed);
        self.taken.ended.notify_waiters();
    }

    /// Waits until a unit of the account can be counted. Waiting longest gives no precedence:
    /// the unit goes to any account that may have one more.
    pub async fn enter_when_free(&self, asker: &Asker) -> Share {
        loop {
            let ended = self.taken.ended.notified();
            if let Some(share) = self.enter_within(asker, usize::MAX) {
                return share;
            }
            ended.await;
        }
    }

    pub fn enter(&self, group: Option<Arc<str>>) -> Option<Share> {
        self.enter_within(&Asker { account: None, fairness_group: group }, usize::MAX)
    }

    pub fn enter_within(&self, asker: &Asker, free: usize) -> Option<Share> {
        let Asker { account, fairness_group: group } = asker.clone();
        let of_group = (group.clone(), None);
        let mut counts = self.taken.counts.lock();
        let most = self.most.load(Ordering::Relaxed);
        let left = free.min(most.saturating_sub(counts.all));
        let own = counts.of(&of_group);
        let most_of_group = match group {
            Some(_) => self.share.load(Ordering::Relaxed),
            None => usize::MAX,
        };
        let mut parties = vec![of_group];
        if group.is_some() && account.is_some() && account != group {
            parties.push((group, account));
        }
        let of_account = parties.get(1).map(|account| counts.of(account));
        if own > 0 && !(Shared { left, most: most_of_group }).gives_one_more(own, of_account) {
            return None;
        }
        counts.all += 1;
        for party in &parties {
            *counts.by_party.entry(party.clone()).or_default() += 1;
        }
        Some(Share { taken: Arc::clone(&self.taken), parties })
    }
}

pub struct Share {
    taken: Arc<Taken>,
    parties: Vec<Party>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.taken.counts.lock();
        counts.all -= 1;
        for party in &self.parties {
            if let Some(count) = counts.by_party.get_mut(party) {
                *count -= 1;
                if *count == 0 {
                    counts.by_party.remove(party);
                }
            }
        }
        drop(counts);
        self.taken.ended.notify_waiters();
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

    /// The places of lists: one account waits with hundreds of addresses, another one's list comes later.
    #[tokio::test]
    async fn who_waits_for_a_place_has_one_before_a_greedy_account_has_more() {
        let places = FairShares::new(128, 256);
        let asker =
            |name: &str| Asker { account: Some(name.into()), fairness_group: Some(name.into()) };
        let mut greedy = all_of(&places, "greedy", "greedy");
        assert_eq!(greedy.len(), 128);
        let (first, second) = (asker("other"), asker("greedy"));
        let _other = places.enter_when_free(&first).await;
        let waits = places.enter_when_free(&second);
        tokio::pin!(waits);
        let now = std::time::Duration::ZERO;
        assert!(tokio::time::timeout(now, &mut waits).await.is_err(), "its share");
        greedy.pop();
        waits.await;
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
