//! A queue that is fair among tenants, and within each of them among recipients' domains.

use std::collections::{HashMap, VecDeque};

use super::Key;

/// In a row for one domain, before the tenant's next domain has its turn. Domains of one operator often
/// have a host each, and to change the host is to open a session: ten questions are worth one.
const DOMAIN_TURN: usize = 10;

/// Tenants take turns; each tenant's domains take turns; each domain is served in order of arrival.
pub(super) struct FairQueue<W> {
    tenants: Turns<Turns<VecDeque<W>>>,
    len: usize,
}

/// Something whose parts take turns.
struct Turns<Q> {
    order: VecDeque<Key>,
    parts: HashMap<Key, Q>,
    /// Taken in a row from the part at the front.
    served: usize,
}

impl<Q> Default for Turns<Q> {
    fn default() -> Self {
        Self { order: VecDeque::new(), parts: HashMap::new(), served: 0 }
    }
}

impl<Q: Default> Turns<Q> {
    fn part(&mut self, key: Key) -> &mut Q {
        let order = &mut self.order;
        self.parts.entry(key).or_insert_with(|| {
            order.push_back(key);
            Q::default()
        })
    }

    /// One was taken from the part called `key` (at `position`), which is now empty or not.
    fn taken(&mut self, position: usize, key: Key, is_empty: bool, turn: usize) {
        if is_empty {
            self.parts.remove(&key);
            self.order.remove(position);
            self.served = if position == 0 { 0 } else { self.served };
        } else if position == 0 {
            self.served += 1;
            if self.served >= turn {
                self.order.rotate_left(1);
                self.served = 0;
            }
        }
    }
}

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self { tenants: Turns::default(), len: 0 }
    }
}

impl<W> FairQueue<W> {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn push(&mut self, tenant: Key, domain: Key, waiter: W) {
        self.tenants.part(tenant).part(domain).push_back(waiter);
        self.len += 1;
    }

    /// Takes the first, in order of turns, that `fits`.
    pub(super) fn take(&mut self, mut fits: impl FnMut(&W) -> bool) -> Option<W> {
        for position in 0..self.tenants.order.len() {
            let tenant = *self.tenants.order.get(position)?;
            let domains = self.tenants.parts.get_mut(&tenant)?;
            let Some(waiter) = take_of_tenant(domains, &mut fits) else { continue };
            let is_empty = domains.order.is_empty();
            self.tenants.taken(position, tenant, is_empty, 1);
            self.len -= 1;
            return Some(waiter);
        }
        None
    }

    /// Forgets those that `keep` does not want.
    pub(super) fn retain(&mut self, keep: impl Fn(&W) -> bool) {
        let mut len = 0;
        self.tenants.parts.retain(|_, domains| {
            domains.parts.retain(|_, queue| {
                queue.retain(&keep);
                len += queue.len();
                !queue.is_empty()
            });
            domains.order.retain(|domain| domains.parts.contains_key(domain));
            !domains.order.is_empty()
        });
        self.tenants.order.retain(|tenant| self.tenants.parts.contains_key(tenant));
        self.len = len;
    }

    pub(super) fn of_tenant(&self, tenant: Key) -> usize {
        let domains = self.tenants.parts.get(&tenant);
        domains.map_or(0, |domains| domains.parts.values().map(VecDeque::len).sum())
    }

    /// The tenant with most waiters.
    pub(super) fn largest_tenant(&self) -> Option<Key> {
        self.tenants.order.iter().copied().max_by_key(|tenant| self.of_tenant(*tenant))
    }

    /// Takes the one of `tenant` that came last to its longest queue.
    pub(super) fn take_last_of(&mut self, tenant: Key) -> Option<W> {
        let position = self.tenants.order.iter().position(|other| *other == tenant)?;
        let domains = self.tenants.parts.get_mut(&tenant)?;
        let (at, domain) = domains
            .order
            .iter()
            .copied()
            .enumerate()
            .max_by_key(|(_, domain)| domains.parts.get(domain).map_or(0, VecDeque::len))?;
        let queue = domains.parts.get_mut(&domain)?;
        let waiter = queue.pop_back()?;
        if queue.is_empty() {
            domains.taken(at, domain, true, DOMAIN_TURN);
        }
        if domains.order.is_empty() {
            self.tenants.taken(position, tenant, true, 1);
        }
        self.len -= 1;
        Some(waiter)
    }
}

fn take_of_tenant<W>(
    domains: &mut Turns<VecDeque<W>>,
    fits: &mut impl FnMut(&W) -> bool,
) -> Option<W> {
    for position in 0..domains.order.len() {
        let domain = *domains.order.get(position)?;
        let queue = domains.parts.get_mut(&domain)?;
        if let Some(found) = queue.iter().position(&mut *fits) {
            let waiter = queue.remove(found);
            let is_empty = queue.is_empty();
            domains.taken(position, domain, is_empty, DOMAIN_TURN);
            return waiter;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{DOMAIN_TURN, FairQueue};

    #[test]
    fn a_long_list_does_not_hold_up_another_domain() {
        let mut queue = FairQueue::default();
        for n in 0..1_000 {
            queue.push(1, 10, ("long", n));
        }
        queue.push(1, 11, ("short", 0));
        let position = (0..).find(|_| queue.take(|_| true) == Some(("short", 0))).unwrap();
        assert_eq!(position, DOMAIN_TURN);
        let rest: Vec<_> = std::iter::from_fn(|| queue.take(|_| true)).collect();
        assert_eq!(rest.len(), 990);
        assert!(rest.is_sorted(), "and its own order is kept");
        assert!(queue.is_empty() && queue.tenants.parts.is_empty());
    }

    #[test]
    fn a_tenant_with_a_thousand_domains_does_not_hold_up_another_tenant() {
        let mut queue = FairQueue::default();
        for n in 0..1_000 {
            queue.push(1, n, 1);
        }
        queue.push(2, 5, 2);
        queue.push(2, 6, 2);
        let taken: Vec<_> = (0..4).filter_map(|_| queue.take(|_| true)).collect();
        assert_eq!(taken, [1, 2, 1, 2]);
    }

    #[test]
    fn takes_and_forgets_by_what_fits() {
        let mut queue = FairQueue::default();
        for (domain, n) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
            queue.push(7, domain, n);
        }
        assert_eq!(queue.take(|n| *n > 1), Some(3), "the domain's turn counts");
        assert_eq!(queue.take(|n| *n > 9), None);
        queue.retain(|n| *n != 1);
        assert_eq!(
            (queue.len(), queue.take(|_| true), queue.take(|_| true)),
            (2, Some(2), Some(4))
        );
        assert_eq!(queue.take(|_| true), None);
    }

    #[test]
    fn the_largest_tenant_gives_way_and_the_count_stays_right() {
        let mut queue = FairQueue::default();
        for (tenant, domain, n) in [(1, 1, 1), (2, 1, 2), (2, 2, 3), (2, 2, 4)] {
            queue.push(tenant, domain, n);
        }
        assert_eq!(queue.largest_tenant(), Some(2));
        assert_eq!(queue.take_last_of(2), Some(4));
        assert_eq!(queue.take_last_of(1), Some(1));
        assert_eq!((queue.of_tenant(1), queue.of_tenant(2), queue.len()), (0, 2, 2));
        assert_eq!((queue.take(|_| true), queue.take(|_| true)), (Some(2), Some(3)));
        assert!(queue.is_empty());
    }
}
