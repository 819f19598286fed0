//! Limit of refused recipients an hour at one operator or machine: without it, a list of dead addresses would look like
//! a directory harvest.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Class,
    hash_key::ByKey,
    hour::{FIRST_SLICE, Hour, SLICE},
    party::Party,
};

/// Each group, and each of its accounts, is guaranteed a twentieth of the group's share of refused recipients.
const FLOOR_DIVISOR: usize = 20;
/// Limit of single checks of all groups, as a multiple of the hour's number.
const HARD_LIMIT_FACTOR: usize = 2;

/// Recipients refused in the last hour, by group and account.
pub(super) struct Refusals {
    per_hour: usize,
    /// Start of the first slice.
    began: Option<Instant>,
    total: Hour,
    parties: ByKey<Hour>,
    /// Slice in which expired parties were last removed.
    forgot_in: u64,
}

impl Refusals {
    pub(super) fn new(per_hour: usize) -> Self {
        Self {
            per_hour,
            began: None,
            total: Hour::default(),
            parties: ByKey::default(),
            forgot_in: 0,
        }
    }

    pub(super) const fn set_most(&mut self, per_hour: usize) {
        self.per_hour = per_hour;
    }

    fn slice(&self, now: Instant) -> u64 {
        let age = self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began));
        FIRST_SLICE + age.as_secs() / SLICE.as_secs()
    }

    /// A group may continue while it has fewer refusals than its share and than are left in total. The first group can
    /// use half, the next group half of the rest. Above the hour's number, each group may have a few more refusals,
    /// until the total is twice that number. Even then, a group without refusals may have one. An account with few
    /// refusals may continue until its group has used the whole hour's number. Batches stop at the hour's number.
    pub(super) fn must_wait(
        &self,
        party: Party,
        share: usize,
        class: Class,
        now: Instant,
    ) -> Option<Duration> {
        if self.parties.is_empty() {
            return None;
        }
        let slice = self.slice(now);
        let sum = |key| self.parties.get(&key).map_or(0, |hour: &Hour| hour.sum(slice));
        let total = self.total.sum(slice);
        let of_group = sum(party.group);
        let of_account = sum(party.account);
        let share = share.min(self.per_hour);
        let floor = (share / FLOOR_DIVISOR).max(1);
        let room = self.per_hour.saturating_sub(total).min(share).max(floor);
        let has_little = of_account < floor && of_group < self.per_hour;
        let beyond = of_group > 0 && total >= HARD_LIMIT_FACTOR * self.per_hour;
        let spent = (of_group >= room && !has_little)
            || beyond
            || (class == Class::Batch && total >= self.per_hour);
        let began = self.began.filter(|_| spent)?;
        let slices = self.total.lightens(slice).saturating_sub(FIRST_SLICE);
        let until = began + SLICE.saturating_mul(u32::try_from(slices).ok()?);
        Some(until.saturating_duration_since(now))
    }

    /// Control recipients have no party.
    pub(super) fn count(&mut self, party: Option<Party>, now: Instant) {
        self.began.get_or_insert(now);
        let slice = self.slice(now);
        self.total.count(slice);
        for key in party.into_iter().flat_map(|party| [party.group, party.account]) {
            self.parties.entry(key).or_default().count(slice);
        }
    }

    /// A control recipient may be checked only while less than half of the hour's number is used, because its refusal
    /// is likely.
    pub(super) fn spares_one(&self, now: Instant) -> bool {
        self.total(now) < self.per_hour.div_ceil(2)
    }

    pub(super) fn total(&self, now: Instant) -> usize {
        self.total.sum(self.slice(now))
    }

    pub(super) fn parties(&self) -> usize {
        self.parties.len()
    }

    pub(super) const fn per_hour(&self) -> usize {
        self.per_hour
    }

    pub(super) fn forget(&mut self, now: Instant) {
        let slice = self.slice(now);
        if std::mem::replace(&mut self.forgot_in, slice) == slice {
            return;
        }
        self.parties.retain(|_, hour| hour.sum(slice) > 0);
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.total(now) == 0
    }
}

/// The share is at least one.
pub(super) fn part_of(all: usize, share: f64) -> usize {
    if share >= 1.0 { all } else { ((all as f64 * share) as usize).max(1) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Refusals;
    use crate::{Class, party::Party};

    fn account(group: u64, account: u64) -> Party {
        Party { group, account: 1_000 * group + account, domain: 0, is_consumer: false }
    }

    fn tenant(name: u64) -> Party {
        account(name, name)
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_stop_batches_and_the_tenant_that_spends_them() {
        let (mut refusals, now) = (Refusals::new(100), Instant::now());
        for _ in 0..50 {
            refusals.count(Some(tenant(1)), now);
        }
        let waits = |who, class, now| refusals.must_wait(tenant(who), 50, class, now).is_some();
        assert!(waits(1, Class::Interactive, now), "its share is spent");
        assert!(!waits(2, Class::Batch, now));
        for name in 10..60 {
            refusals.count(Some(tenant(name)), now);
        }
        let waits = |who, class, now| refusals.must_wait(tenant(who), 50, class, now).is_some();
        assert!(waits(2, Class::Batch, now), "all is spent");
        assert!(!waits(2, Class::Interactive, now));
        let later = now + Duration::from_secs(3_600);
        assert!(!waits(1, Class::Batch, later));
        assert!(refusals.is_over(later));
    }

    #[tokio::test(start_paused = true)]
    async fn many_groups_together_have_less_than_twice_the_hours_number() {
        for groups in [2, 5, 20, 40] {
            let (mut refusals, now) = (Refusals::new(100), Instant::now());
            for group in 0..groups {
                let who = tenant(group);
                for _ in 0..200 {
                    if refusals.must_wait(who, 50, Class::Interactive, now).is_some() {
                        break;
                    }
                    refusals.count(Some(who), now);
                }
            }
            assert!(refusals.total(now) <= 200, "{groups}: {}", refusals.total(now));
            let first = refusals.must_wait(tenant(99), 50, Class::Interactive, now);
            assert_eq!(first, None, "{groups}: another one's first");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_hour_is_forgotten_slice_by_slice() {
        let (mut refusals, start) = (Refusals::new(100), Instant::now());
        let minute = Duration::from_secs(60);
        for n in 0..12 {
            refusals.count(Some(tenant(1)), start + n * 5 * minute);
        }
        assert_eq!(refusals.total(start + 59 * minute), 12);
        for n in 0..12_usize {
            let now = start + (60 + 5 * n as u32) * minute;
            assert_eq!(refusals.total(now), 11 - n);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_account_does_not_spend_the_share_of_the_others_that_are_one_tenant_with_it() {
        let (mut refusals, now) = (Refusals::new(100), Instant::now());
        let waits = |refusals: &mut Refusals, name| {
            refusals.must_wait(account(1, name), 50, Class::Interactive, now).is_some()
        };
        for _ in 0..50 {
            assert!(!waits(&mut refusals, 7));
            refusals.count(Some(account(1, 7)), now);
        }
        assert!(waits(&mut refusals, 7), "the one that has spent it");
        for name in 10..35 {
            for _ in 0..2 {
                assert!(!waits(&mut refusals, name), "{name}");
                refusals.count(Some(account(1, name)), now);
            }
            assert!(waits(&mut refusals, name), "its twentieth is spent");
        }
        assert!(waits(&mut refusals, 99), "many accounts have no more than the hour's number");
        assert!(refusals.must_wait(tenant(2), 50, Class::Interactive, now).is_none());
    }
}
