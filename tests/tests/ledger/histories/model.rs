//! The expected result of each step: the rules of docs/api.md (Allowances), without concurrency, without SQL, and
//! with every day remembered.

use std::collections::BTreeMap;

/// Allowance from which a unit is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Daily,
    Welcome,
}

/// Units held for a check or a list, with a row in the database until they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    /// The day of the lease, counted from the history's first.
    pub day: i64,
    /// Leased units of the day's allowance, and leased welcome checks.
    pub daily: u64,
    pub welcome: u64,
    /// Units charged while the lease goes on.
    pub paid: u64,
    pub is_live: bool,
    /// Number of the check that holds the lease.
    pub check: u64,
    /// Number of the named key of the request; 0 for the first key or a session.
    pub key: u64,
}

/// The named key that the history uses; the key's limit applies within the account's limit.
#[derive(Debug, Clone)]
pub struct LimitedKey {
    /// Number of the key, from 1.
    pub number: u64,
    pub limit: u64,
    /// Charges by day.
    pub charged: BTreeMap<i64, u64>,
}

/// The account's expected allowances, charges and leases.
#[derive(Debug, Clone)]
pub struct Model {
    pub today: i64,
    /// Daily checks; `None` means unlimited.
    pub allowance: Option<u64>,
    /// Charges to the daily allowance by day.
    pub charged: BTreeMap<i64, u64>,
    pub welcome_left: u64,
    pub leases: Vec<Lease>,
    /// The named key in use; `None` for the first key.
    pub key: Option<LimitedKey>,
}

impl Model {
    pub fn new(allowance: Option<u64>, welcome_left: u64) -> Self {
        let (charged, leases) = (BTreeMap::new(), Vec::new());
        Self { today: 0, allowance, charged, welcome_left, leases, key: None }
    }

    /// The units charged on this day.
    pub fn charged_on(&self, day: i64) -> u64 {
        self.charged.get(&day).copied().unwrap_or(0)
    }

    /// The units charged today plus the units of live leases from today's allowance.
    pub fn used_today(&self) -> u64 {
        let leased = |lease: &Lease| if lease.day == self.today { lease.daily } else { 0 };
        self.charged_on(self.today) + self.live(leased)
    }

    /// The welcome checks that aren't leased.
    pub fn welcome_free(&self) -> u64 {
        self.welcome_left - self.live(|lease| lease.welcome)
    }

    fn live(&self, units: impl Fn(&Lease) -> u64) -> u64 {
        self.leases.iter().filter(|lease| lease.is_live).map(units).sum()
    }

    /// The units of today's allowance that are neither charged nor leased.
    fn daily_free(&self) -> u64 {
        self.allowance.map_or(u64::MAX, |allowance| allowance.saturating_sub(self.used_today()))
    }

    /// The units charged to the named key today plus the units of the key's live
    /// leases of today; 0 for the first key.
    pub fn used_by_key(&self) -> u64 {
        let Some(key) = &self.key else { return 0 };
        let is_its = |lease: &Lease| lease.key == key.number && lease.day == self.today;
        let leased = |lease: &Lease| if is_its(lease) { lease.daily + lease.welcome } else { 0 };
        key.charged.get(&self.today).copied().unwrap_or(0) + self.live(leased)
    }

    fn free_of_key(&self) -> u64 {
        self.key.as_ref().map_or(u64::MAX, |key| key.limit.saturating_sub(self.used_by_key()))
    }

    fn charge_key(&mut self, number: u64, day: i64, units: u64) {
        if let Some(key) = self.key.as_mut().filter(|key| key.number == number) {
            *key.charged.entry(day).or_default() += units;
        }
    }

    /// The source of the next unit, or `None` if the response must be 429.
    pub fn next_source(&self) -> Option<Source> {
        if self.free_of_key() == 0 {
            return None;
        }
        if self.daily_free() > 0 {
            Some(Source::Daily)
        } else {
            (self.welcome_free() > 0).then_some(Source::Welcome)
        }
    }

    /// Charges a response if a unit is left. True if it was charged.
    pub fn answer(&mut self) -> bool {
        let source = self.next_source();
        if let Some(source) = source {
            self.charge(source, self.today);
            let number = self.key.as_ref().map_or(0, |key| key.number);
            self.charge_key(number, self.today, 1);
        }
        source.is_some()
    }

    /// Starts a check of this many addresses if enough units are left. True if it was started.
    pub fn begin(&mut self, check: u64, units: u64) -> bool {
        let daily = units.min(self.daily_free());
        let welcome = units - daily;
        let has_room = welcome <= self.welcome_free() && units <= self.free_of_key();
        if has_room {
            let key = self.key.as_ref().map_or(0, |key| key.number);
            let (day, is_live) = (self.today, true);
            self.leases.push(Lease { day, daily, welcome, paid: 0, is_live, check, key });
        }
        has_room
    }

    /// Ends a check with this many verdicts. True if the check's lease was still alive: if so, the verdicts that
    /// haven't been charged yet are charged to the lease's day, and the other units are free again.
    pub fn settle(&mut self, check: u64, units: u64) -> bool {
        let is_live = self.pay(check, units);
        self.release(check);
        is_live
    }

    /// Charges this many verdicts in all of a check whose lease is alive, and keeps the rest of the lease.
    pub fn pay(&mut self, check: u64, units: u64) -> bool {
        let its = |lease: &&mut Lease| lease.check == check && lease.is_live;
        let Some(lease) = self.leases.iter_mut().find(its) else { return false };
        let due = units - lease.paid;
        let daily = due.min(lease.daily);
        lease.daily -= daily;
        lease.welcome -= due - daily;
        lease.paid = units;
        let (day, key) = (lease.day, lease.key);
        *self.charged.entry(day).or_default() += daily;
        self.welcome_left -= due - daily;
        self.charge_key(key, day, due);
        true
    }

    /// The units that a check has paid for.
    pub fn paid(&self, check: u64) -> u64 {
        self.leases.iter().find(|lease| lease.check == check).map_or(0, |lease| lease.paid)
    }

    /// True if the check holds a live lease.
    pub fn is_in_flight(&self, check: u64) -> bool {
        self.leases.iter().any(|lease| lease.check == check && lease.is_live)
    }

    /// Removes and returns the check's lease, without a charge.
    pub fn release(&mut self, check: u64) -> Option<Lease> {
        let index = self.leases.iter().position(|lease| lease.check == check)?;
        Some(self.leases.swap_remove(index))
    }

    pub fn expire(&mut self, which: impl Fn(&Lease) -> bool) {
        for lease in self.leases.iter_mut().filter(|lease| which(lease)) {
            lease.is_live = false;
        }
    }

    fn charge(&mut self, source: Source, day: i64) {
        match source {
            Source::Daily => *self.charged.entry(day).or_default() += 1,
            Source::Welcome => self.welcome_left -= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{LimitedKey, Model, Source};

    #[test]
    fn the_daily_allowance_comes_first_and_a_lease_holds_its_unit_until_it_expires() {
        let mut model = Model::new(Some(1), 1);
        assert!(model.begin(1, 1));
        assert_eq!(model.next_source(), Some(Source::Welcome));
        assert!(model.answer() && !model.answer());
        model.expire(|_| true);
        assert!(model.answer() && !model.settle(1, 1));
        assert_eq!((model.used_today(), model.welcome_left), (1, 0));
    }

    #[test]
    fn a_limited_key_has_the_smaller_room_and_its_leases_count() {
        let mut model = Model::new(Some(9), 0);
        model.key = Some(LimitedKey { number: 1, limit: 2, charged: BTreeMap::new() });
        assert!(model.answer() && model.begin(1, 1) && !model.answer() && !model.begin(2, 1));
        assert!(model.settle(1, 1) && !model.answer());
        model.today += 1;
        assert!(model.answer(), "another day");
        model.key = None;
        assert!(model.begin(3, 8) && model.used_today() == 9);
    }

    #[test]
    fn a_late_verdict_is_charged_to_the_day_of_its_lease() {
        let mut model = Model::new(Some(1), 0);
        assert!(model.begin(1, 1));
        model.today += 1;
        assert!(model.answer() && model.settle(1, 1) && !model.answer());
        assert_eq!([0, 1].map(|day| model.charged_on(day)), [1, 1]);
    }

    #[test]
    fn a_list_holds_all_of_its_units_or_none_and_returns_those_that_were_not_charged() {
        let mut model = Model::new(Some(3), 2);
        assert!(!model.begin(1, 6) && model.begin(1, 4), "three daily units and a welcome check");
        assert_eq!((model.used_today(), model.welcome_free()), (3, 1));
        assert!(model.settle(1, 2));
        assert_eq!((model.used_today(), model.welcome_free()), (2, 2));
    }

    #[test]
    fn what_a_list_gives_out_is_charged_and_the_lease_keeps_the_rest() {
        let mut model = Model::new(Some(2), 2);
        assert!(model.begin(1, 4) && model.pay(1, 3));
        assert_eq!((model.charged_on(0), model.welcome_left, model.welcome_free()), (2, 1, 0));
        model.expire(|_| true);
        assert!(!model.settle(1, 4), "nothing more is charged");
        assert_eq!((model.charged_on(0), model.welcome_free()), (2, 1));
    }
}
