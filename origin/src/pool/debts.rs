//! Sessions that were closed on us at RCPT, by the account that asked. A domain that closes the
//! connection costs its neighbours a session. One account may bring many such domains, so while it is in
//! debt, those of its domains that were not answered lately come one at a time, and the others as before.
//! Free accounts are one tenant elsewhere; here each has its own debts, or one would hold up all.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::Key;

/// From one unproven domain of an account in debt to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long a debt lasts after the last session that was closed.
const LASTS: Duration = Duration::from_secs(60);
/// One closed session may be chance.
const CLOSED: u32 = 2;
const MAX_DEBTORS: usize = 256;

#[derive(Default)]
pub(super) struct Debts(HashMap<Key, Debt>);

#[derive(Clone, Copy)]
struct Debt {
    closed: u32,
    next: Instant,
    until: Instant,
}

impl Debts {
    pub(super) fn closed(&mut self, account: Key, now: Instant) {
        self.0.retain(|_, debt| debt.until > now);
        if self.0.len() >= MAX_DEBTORS && !self.0.contains_key(&account) {
            return;
        }
        let debt = self.0.entry(account).or_insert(Debt { closed: 0, next: now, until: now });
        debt.closed += 1;
        debt.until = now + LASTS;
    }

    /// When an unproven domain of the account may be asked about. That moment is reserved, if it comes
    /// by `latest`.
    pub(super) fn pass(&mut self, account: Key, now: Instant, latest: Instant) -> Instant {
        match self.0.get_mut(&account) {
            Some(debt) if debt.until > now && debt.closed >= CLOSED => {
                let at = debt.next.max(now);
                if at <= latest {
                    debt.next = at + INTERVAL;
                }
                at
            }
            Some(_) | None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Debts, LASTS};

    #[tokio::test(start_paused = true)]
    async fn an_account_that_costs_sessions_comes_once_a_second_for_a_minute() {
        let (mut debts, now) = (Debts::default(), Instant::now());
        debts.closed(1, now);
        let latest = now + Duration::from_secs(2);
        assert_eq!(debts.pass(1, now, latest), now, "one may be chance");
        debts.closed(1, now);
        let passed = [(); 5].map(|()| debts.pass(1, now, latest).duration_since(now).as_secs());
        assert_eq!(passed, [0, 1, 2, 3, 3], "what comes too late reserves nothing");
        assert_eq!(debts.pass(2, now, latest), now, "not another's");
        let later = now + LASTS + Duration::from_secs(1);
        assert_eq!(debts.pass(1, later, later), later);
    }
}
