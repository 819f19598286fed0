//! Histories of accounts: the share of their recipients that exist, over all servers. An account
//! whose recipients are mostly refused is guessing, or has an outdated list; servers can't tell the
//! two apart.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::Key;

/// Least number of answers for a history.
const MIN_ANSWERS: u32 = 8;
/// Number of answers at which both counts are halved, so that recent ones weigh most.
const MAX_ANSWERS: u32 = 64;
/// In a good history, at most one in this many recipients is refused. For sign-up forms it is about
/// one in twenty.
const GOOD_RATIO: u32 = 5;
/// Lifetime of a history after its last answer: a small form has five checks an hour at one origin.
const MEMORY: Duration = Duration::from_secs(24 * 3_600);
/// Most accounts remembered; about 40 bytes each.
const MAX_ACCOUNTS: usize = 20_000;
/// Time between two searches for accounts to forget: a search takes half a millisecond under the
/// pool's lock.
const SEARCH: Duration = Duration::from_secs(60);

/// The history of an account.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum History {
    /// Nearly all of its recipients exist.
    Good,
    #[default]
    Unknown,
    /// More than half of its recipients were refused.
    Guessing,
}

/// Answers about an account's recipients.
#[derive(Clone, Copy)]
struct Answers {
    all: u32,
    refused: u32,
    at: Instant,
}

impl Answers {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= MEMORY
    }
}

#[derive(Default)]
pub(super) struct Histories {
    accounts: HashMap<Key, Answers>,
    /// Time of the last search for accounts to forget.
    searched_at: Option<Instant>,
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

    /// Records a reply about a recipient of the account. If too many accounts are remembered, new
    /// ones stay unknown.
    pub(super) fn answered(&mut self, account: Key, refused: bool, now: Instant) {
        if self.accounts.len() >= MAX_ACCOUNTS && !self.accounts.contains_key(&account) {
            let searched = self.searched_at.map(|at| now.saturating_duration_since(at));
            if searched.is_none_or(|ago| ago >= SEARCH) {
                self.searched_at = Some(now);
                self.accounts.retain(|_, answers| !answers.is_over(now));
            }
            if self.accounts.len() >= MAX_ACCOUNTS {
                return;
            }
        }
        let new = Answers { all: 0, refused: 0, at: now };
        let answers = self.accounts.entry(account).or_insert(new);
        if answers.is_over(now) {
            *answers = new;
        }
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

    use super::{Histories, History, MAX_ACCOUNTS, MAX_ANSWERS, MEMORY, MIN_ANSWERS};

    /// Returns the history after `count` answers of which every `nth` is a refusal.
    fn after(count: u32, nth: u32) -> History {
        let (mut histories, now) = (Histories::default(), Instant::now());
        for n in 1..=count {
            histories.answered(1, n.is_multiple_of(nth), now);
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
                histories.answered(1, refused, now);
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
        for account in 0..2 * MAX_ACCOUNTS as u64 {
            for _ in 0..MIN_ANSWERS {
                histories.answered(account, true, Instant::now());
            }
        }
        assert_eq!(histories.len(), MAX_ACCOUNTS);
        assert_eq!(histories.of(1, Instant::now()), History::Guessing);
        advance(MEMORY).await;
        assert_eq!(histories.of(1, Instant::now()), History::Unknown);
        histories.answered(u64::MAX, true, Instant::now());
        assert_eq!(histories.len(), 1);
    }
}
