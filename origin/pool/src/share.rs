//! The one rule of shares: for refused recipients, waiting checks, probes in progress and places of batches.

use crate::question::{Key, Party};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    pub left: usize,
    pub most: usize,
}

impl Shared {
    /// `share` is the part of `all` that one group may have, at least one; `None` if only what is left counts.
    pub fn of(all: usize, taken: usize, share: Option<f64>) -> Self {
        let most = match share {
            Some(share) if share < 1.0 => ((all as f64 * share) as usize).max(1),
            Some(_) => all,
            None => usize::MAX,
        };
        let left = all.saturating_sub(taken);
        // One group alone gets its part: with three quarters, each unit that is left counts three times.
        let left = match share {
            Some(share) if share > 0.5 && share < 1.0 => {
                (left as f64 * share / (1.0 - share)) as usize
            }
            _ => left,
        };
        Self { left, most }
    }

    /// True if a group that has `of_group` units, and its account that has `of_account` of them, may have one more: a
    /// party may while it has less than is left, up to its part. One group alone gets half, and k greedy groups leave
    /// 1/(k + 1) to all others. A group's accounts share what is left to the group by the same rule; `None` if the group
    /// is one account. A party's first unit passes: whether anything is left is the caller's.
    pub fn gives_one_more(self, of_group: usize, of_account: Option<usize>) -> bool {
        if self.most == usize::MAX {
            return self.left > 0;
        }
        let room = self.left.min(self.most);
        let left = room.saturating_sub(of_group);
        let account_fits = |own: usize| own == 0 || own < left;
        (of_group == 0 || of_group < room) && of_account.is_none_or(account_fits)
    }
}

impl Party {
    pub(crate) fn may_have_one_more(self, of: Shared, has: impl Fn(Key) -> usize) -> bool {
        let of_account = (self.account != self.group).then(|| has(self.account));
        of.gives_one_more(has(self.group), of_account)
    }
}

#[cfg(test)]
mod tests {
    use super::Shared;

    /// The number that each of several greedy groups gets, one after the other.
    fn greedy(all: usize, groups: usize) -> Vec<usize> {
        let mut taken = 0;
        let mut all_of = |_| {
            let mut own = 0;
            while taken < all && Shared::of(all, taken, Some(0.5)).gives_one_more(own, None) {
                (own, taken) = (own + 1, taken + 1);
            }
            own
        };
        (0..groups).map(&mut all_of).collect()
    }

    #[test]
    fn one_group_leaves_half_and_two_leave_a_quarter() {
        assert_eq!(greedy(100, 4), [50, 25, 13, 6]);
        assert_eq!(greedy(15, 5), [7, 4, 2, 1, 1]);
        assert_eq!(greedy(1, 2), [1, 0]);
        let of_lists = |taken| Shared::of(8, taken, Some(0.75));
        assert!(of_lists(5).gives_one_more(5, None) && !of_lists(6).gives_one_more(6, None));
        assert!(of_lists(6).gives_one_more(1, None), "another one's second");
    }

    #[test]
    fn an_account_leaves_half_of_its_group() {
        let free = |of_group, of_account| {
            Shared::of(100, of_group, Some(0.5)).gives_one_more(of_group, Some(of_account))
        };
        assert!(free(24, 24) && !free(25, 25), "half of half");
        assert!(free(49, 0) && !free(50, 0), "the group's accounts together");
    }
}
