//! A queue in which domains take turns.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

/// In a row for one domain, before the next has its turn. Domains of one operator often have a host
/// each, and to change the host is to open a session: ten questions are worth one.
const QUANTUM: usize = 10;

/// A queue in which domains take turns, each served in order of arrival.
pub(super) struct FairQueue<W> {
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<W>>,
    /// Served in a row for the domain at the head.
    served: usize,
}

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        Self { order: VecDeque::new(), waiting: HashMap::new(), served: 0 }
    }
}

impl<W> FairQueue<W> {
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn push(&mut self, domain: &str, waiter: W) {
        if let Some(queue) = self.waiting.get_mut(domain) {
            queue.push_back(waiter);
            return;
        }
        let domain: Arc<str> = Arc::from(domain);
        self.order.push_back(domain.clone());
        self.waiting.insert(domain, VecDeque::from([waiter]));
    }

    /// Who is next.
    pub(super) fn head(&self) -> Option<&W> {
        self.waiting.get(self.order.front()?)?.front()
    }

    pub(super) fn pop(&mut self) -> Option<W> {
        let domain = self.order.pop_front()?;
        let queue = self.waiting.get_mut(&domain)?;
        let waiter = queue.pop_front();
        self.served += 1;
        if queue.is_empty() {
            self.waiting.remove(&domain);
            self.served = 0;
        } else if self.served >= QUANTUM {
            self.order.push_back(domain);
            self.served = 0;
        } else {
            self.order.push_front(domain);
        }
        waiter
    }

    /// Takes the first, in order of queue, that `fits`.
    pub(super) fn take(&mut self, fits: impl Fn(&W) -> bool) -> Option<W> {
        for position in 0..self.order.len() {
            let domain = self.order.get(position)?.clone();
            let queue = self.waiting.get_mut(&domain)?;
            if let Some(found) = queue.iter().position(&fits) {
                let waiter = queue.remove(found);
                if queue.is_empty() {
                    self.waiting.remove(&domain);
                    self.order.remove(position);
                }
                return waiter;
            }
        }
        None
    }

    /// Forgets those that `keep` does not want.
    pub(super) fn retain(&mut self, keep: impl Fn(&W) -> bool) {
        self.waiting.retain(|_, queue| {
            queue.retain(&keep);
            !queue.is_empty()
        });
        self.order.retain(|domain| self.waiting.contains_key(domain));
    }
}

#[cfg(test)]
mod tests {
    use super::{FairQueue, QUANTUM};

    #[test]
    fn a_long_list_does_not_hold_up_another_domain() {
        let mut queue = FairQueue::default();
        for n in 0..1_000 {
            queue.push("long.example", ("long", n));
        }
        queue.push("short.example", ("short", 0));
        let position = (0..).find(|_| queue.pop() == Some(("short", 0))).unwrap();
        assert_eq!(position, QUANTUM);
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(rest.len(), 990);
        assert!(rest.is_sorted(), "and its own order is kept");
        assert!(queue.is_empty() && queue.waiting.is_empty());
    }

    #[test]
    fn takes_and_forgets_by_what_fits() {
        let mut queue = FairQueue::default();
        for (domain, n) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            queue.push(domain, n);
        }
        assert_eq!(queue.take(|n| *n > 1), Some(3), "the domain's turn counts");
        assert_eq!(queue.take(|n| *n > 9), None);
        queue.retain(|n| *n != 1);
        assert_eq!(queue.head(), Some(&2));
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(2), Some(4), None));
    }
}
