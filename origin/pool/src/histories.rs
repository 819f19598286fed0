//! Histories of accounts: the share of their recipients that exist, over all servers. An account
//! whose recipients are mostly refused is guessing, or has an outdated list; servers can't tell the
//! two apart.

use std::time::Duration;

use tokio::time::Instant;

use super::{Key, giving_way::give_way, hash_key::ByKey, party::Party};

/// Minimum number of answers for a history.
const MIN_ANSWERS: u32 = 8;
/// Number of answers above which both counts are halved, so that recent answers weigh most.
const MAX_ANSWERS: u32 = 64;
/// In a good history, at most one in `GOOD_RATIO` recipients is refused. Sign-up forms have about one refusal in
/// twenty.
const GOOD_RATIO: u32 = 5;
/// Lifetime of a history after its last answer: even a small form (five checks an hour) renews it.
const HISTORY_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// Maximum number of accounts remembered; about 60 bytes each.
const MAX_ACCOUNTS: usize = 20_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum History {
    /// At most a fifth of the account's recipients were refused.
    Good,
    #[default]
    Unknown,
    /// More than half of the account's recipients were refused.
    Guessing,
}

#[derive(Clone, Copy)]
struct Answers {
    group: Key,
    all: u32,
    refused: u32,
    at: Instant,
}

impl Answers {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= HISTORY_LIFETIME
    }
}

#[derive(Default)]
pub(super) struct Histories {
    accounts: ByKey<Answers>,
}

impl Histories {
    pub(super) fn of(&self, account: Key, now: Instant) -> History {
        let answers = self.accounts.get(&account).filter(|answers| !answers.is_over(now));
        match answers {
            Some(Answers { all, .. }) if *all < MIN_ANSWERS => History::Unknown,
            Some(Answers { all, refused, .. }) if 2 * refused > *all => History::Guessing,
            Some(Answers { all, refused, .. }) if GOOD_RATIO * refused <= *all => History::Good,
            Some(_) | None => History::Unknown,
        }
    }

    /// If too many accounts are remembered, the group with the most accounts loses some, first those with too few
    /// answers for a history.
    pub(super) fn record_answer(&mut self, party: Party, refused: bool, now: Instant) {
        let Party { group, account, .. } = party;
        if self.accounts.len() >= MAX_ACCOUNTS && !self.accounts.contains_key(&account) {
            self.accounts.retain(|_, answers| !answers.is_over(now));
            if self.accounts.len() >= MAX_ACCOUNTS {
                give_way(&mut self.accounts, |answers| {
                    (answers.group, (answers.all >= MIN_ANSWERS, answers.at))
                });
            }
        }
        let new = Answers { group, all: 0, refused: 0, at: now };
        let answers = self.accounts.entry(account).or_insert(new);
        if answers.is_over(now) {
            *answers = new;
        }
        answers.group = group;
        answers.all += 1;
        answers.refused += u32::from(refused);
        answers.at = now;
        if answers.all > MAX_ANSWERS {
            answers.all /= 2;
            answers.refused = answers.refused.div_ceil(2);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.accounts.len()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::{HISTORY_LIFETIME, Histories, History, MAX_ACCOUNTS, MAX_ANSWERS, MIN_ANSWERS};
    use crate::party::Party;

    fn account(group: u64, account: u64) -> Party {
        Party { group, account, domain: 0, is_consumer: false }
    }

    /// Every `nth` of the `count` answers is a refusal.
    fn after(count: u32, nth: u32) -> History {
        let (mut histories, now) = (Histories::default(), Instant::now());
        for n in 1..=count {
            histories.record_answer(account(0, 1), n.is_multiple_of(nth), now);
        }
        histories.of(1, now)
    }

    #[tokio::test(start_paused = true)]
    async fn the_part_of_refused_recipients_makes_a_history() {
        for count in [MIN_ANSWERS, 50, 1_000] {
            assert_eq!(after(count, 20), History::Good, "a form, {count}");
            assert_eq!(after(count, 3), History::Unknown, "a list, {count}");
            assert_eq!(after(count, 1), History::Guessing, "a dictionary, {count}");
        }
        assert_eq!(after(MIN_ANSWERS - 1, 1), History::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_past_covers_few_guesses_and_a_bad_one_is_lived_down() {
        let (mut histories, now) = (Histories::default(), Instant::now());
        let mut until = |refused, wanted| {
            let needed = (1..1_000).find(|_| {
                histories.record_answer(account(0, 1), refused, now);
                histories.of(1, now) == wanted
            });
            needed.unwrap()
        };
        until(false, History::Good);
        for _ in 0..3 {
            assert!(until(true, History::Guessing) <= MAX_ANSWERS);
            assert!(until(false, History::Good) <= 2 * MAX_ANSWERS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_are_forgotten_after_a_day_and_their_number_is_bounded() {
        let mut histories = Histories::default();
        for name in 0..2 * MAX_ACCOUNTS as u64 {
            for _ in 0..MIN_ANSWERS {
                histories.record_answer(account(0, name), true, Instant::now());
            }
            assert_eq!(histories.of(name, Instant::now()), History::Guessing, "{name}");
            assert!(histories.len() <= MAX_ACCOUNTS);
        }
        advance(HISTORY_LIFETIME).await;
        let last = 2 * MAX_ACCOUNTS as u64 - 1;
        assert_eq!(histories.of(last, Instant::now()), History::Unknown);
        for name in 0..MAX_ACCOUNTS as u64 {
            histories.record_answer(account(0, name), true, Instant::now());
        }
        histories.record_answer(account(0, u64::MAX), true, Instant::now());
        assert!(histories.len() <= MAX_ACCOUNTS);
    }

    /// The accounts of one group fill the memory, with many answers or a single one each.
    #[tokio::test(start_paused = true)]
    async fn accounts_that_fill_the_memory_push_out_nobodys_history() {
        for answers in [1, MIN_ANSWERS] {
            let mut histories = Histories::default();
            let (paying, free) = (account(1, u64::MAX), account(0, u64::MAX - 1));
            let mut answered = |party: Party, refused, times| {
                (0..times).for_each(|_| histories.record_answer(party, refused, Instant::now()));
                histories.of(party.account, Instant::now())
            };
            answered(paying, false, MIN_ANSWERS);
            answered(free, false, MIN_ANSWERS);
            for name in 0..5 * MAX_ACCOUNTS as u64 {
                advance(std::time::Duration::from_millis(20)).await;
                answered(account(0, name), true, answers);
                if name % 5_000 == 0 {
                    answered(free, false, 1);
                }
            }
            assert_eq!(histories.of(paying.account, Instant::now()), History::Good, "{answers}");
            assert_eq!(histories.of(free.account, Instant::now()), History::Good, "{answers}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_each_account_is_a_group_those_answered_longest_ago_give_way() {
        let mut histories = Histories::default();
        for name in 0..2 * MAX_ACCOUNTS as u64 {
            advance(std::time::Duration::from_millis(20)).await;
            for _ in 0..MIN_ANSWERS {
                histories.record_answer(account(name, name), false, Instant::now());
            }
        }
        assert!(histories.len() <= MAX_ACCOUNTS);
        let last = 2 * MAX_ACCOUNTS as u64 - 1;
        let newest = last - MAX_ACCOUNTS as u64 / 2..=last;
        let all_good =
            newest.clone().all(|name| histories.of(name, Instant::now()) == History::Good);
        assert!(all_good, "{newest:?}");
    }
}
