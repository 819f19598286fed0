//! Pasts of accounts: the share of their recipients that exist, over all servers. An account whose recipients are
//! mostly refused is guessing, or has an outdated list; servers can't tell the two apart.

use std::time::Duration;

use tokio::time::Instant;

use crate::{
    bounded::Bounded,
    keys::Key,
    question::{Party, Past},
};

const MIN_ANSWERS: u32 = 8;
/// Number of answers above which both counts are halved, so that recent answers weigh most.
const MAX_ANSWERS: u32 = 64;
/// In a good past, at most one in `GOOD_RATIO` recipients is refused. Sign-up forms have about one refusal in twenty.
const GOOD_RATIO: u32 = 5;
/// Lifetime of a past after its last answer: even a small form (five checks an hour) renews it.
const PAST_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
const MAX_ACCOUNTS: usize = 20_000;

#[derive(Clone, Copy, Default)]
struct Answers {
    all: u32,
    refused: u32,
}

pub(crate) struct Pasts(Bounded<Key, Answers>);

impl Default for Pasts {
    fn default() -> Self {
        Self(Bounded::new(MAX_ACCOUNTS))
    }
}

impl Pasts {
    pub(crate) fn of(&self, account: Key, now: Instant) -> Past {
        match self.0.get(account, now) {
            Some(Answers { all, .. }) if *all < MIN_ANSWERS => Past::Unknown,
            Some(Answers { all, refused, .. }) if 2 * refused > *all => Past::Guessing,
            Some(Answers { all, refused, .. }) if GOOD_RATIO * refused <= *all => Past::Good,
            Some(_) | None => Past::Unknown,
        }
    }

    pub(crate) fn hear(&mut self, party: Party, refused: bool, now: Instant) {
        let Party { group, account, .. } = party;
        let answers = self.0.entry(account, (group, PAST_LIFETIME), now, Answers::default);
        answers.all += 1;
        answers.refused += u32::from(refused);
        if answers.all > MAX_ANSWERS {
            answers.all /= 2;
            answers.refused = answers.refused.div_ceil(2);
        }
        if answers.all == MIN_ANSWERS {
            self.0.prefer(account);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, advance};

    use super::{MAX_ACCOUNTS, MAX_ANSWERS, MIN_ANSWERS, PAST_LIFETIME, Pasts};
    use crate::question::{Party, Past};

    fn account(group: u64, account: u64) -> Party {
        Party { group, account, domain: 0 }
    }

    /// Every `nth` of the `count` answers is a refusal.
    fn after(count: u32, nth: u32) -> Past {
        let (mut pasts, now) = (Pasts::default(), Instant::now());
        for n in 1..=count {
            pasts.hear(account(0, 1), n.is_multiple_of(nth), now);
        }
        pasts.of(1, now)
    }

    #[tokio::test(start_paused = true)]
    async fn the_part_of_refused_recipients_makes_a_past() {
        for count in [MIN_ANSWERS, 50, 1_000] {
            assert_eq!(after(count, 20), Past::Good, "a form, {count}");
            assert_eq!(after(count, 3), Past::Unknown, "a list, {count}");
            assert_eq!(after(count, 1), Past::Guessing, "a dictionary, {count}");
        }
        assert_eq!(after(MIN_ANSWERS - 1, 1), Past::Unknown);
    }

    #[tokio::test(start_paused = true)]
    async fn a_good_past_covers_few_guesses_and_a_bad_one_is_lived_down() {
        let (mut pasts, now) = (Pasts::default(), Instant::now());
        let mut until = |refused, wanted| {
            let needed = (1..1_000).find(|_| {
                pasts.hear(account(0, 1), refused, now);
                pasts.of(1, now) == wanted
            });
            needed.unwrap()
        };
        until(false, Past::Good);
        for _ in 0..3 {
            assert!(until(true, Past::Guessing) <= MAX_ANSWERS);
            assert!(until(false, Past::Good) <= 2 * MAX_ANSWERS);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_are_forgotten_after_a_day_and_their_number_is_bounded() {
        let mut pasts = Pasts::default();
        for name in 0..2 * MAX_ACCOUNTS as u64 {
            for _ in 0..MIN_ANSWERS {
                pasts.hear(account(0, name), true, Instant::now());
            }
            assert_eq!(pasts.of(name, Instant::now()), Past::Guessing, "{name}");
            assert!(pasts.len() <= MAX_ACCOUNTS);
        }
        advance(PAST_LIFETIME).await;
        let last = 2 * MAX_ACCOUNTS as u64 - 1;
        assert_eq!(pasts.of(last, Instant::now()), Past::Unknown);
        for name in 0..MAX_ACCOUNTS as u64 {
            pasts.hear(account(0, name), true, Instant::now());
        }
        pasts.hear(account(0, u64::MAX), true, Instant::now());
        assert!(pasts.len() <= MAX_ACCOUNTS);
    }

    /// The accounts of one group fill the memory, with many answers or a single one each.
    #[tokio::test(start_paused = true)]
    async fn accounts_that_fill_the_memory_push_out_nobodys_past() {
        for answers in [1, MIN_ANSWERS] {
            let mut pasts = Pasts::default();
            let (paying, free) = (account(1, u64::MAX), account(0, u64::MAX - 1));
            let mut answered = |party: Party, refused, times| {
                (0..times).for_each(|_| pasts.hear(party, refused, Instant::now()));
                pasts.of(party.account, Instant::now())
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
            assert_eq!(pasts.of(paying.account, Instant::now()), Past::Good, "{answers}");
            assert_eq!(pasts.of(free.account, Instant::now()), Past::Good, "{answers}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn where_each_account_is_a_group_those_answered_longest_ago_give_way() {
        let mut pasts = Pasts::default();
        for name in 0..2 * MAX_ACCOUNTS as u64 {
            advance(std::time::Duration::from_millis(20)).await;
            for _ in 0..MIN_ANSWERS {
                pasts.hear(account(name, name), false, Instant::now());
            }
        }
        assert!(pasts.len() <= MAX_ACCOUNTS);
        let last = 2 * MAX_ACCOUNTS as u64 - 1;
        let newest = last - MAX_ACCOUNTS as u64 / 2..=last;
        let all_good = newest.clone().all(|name| pasts.of(name, Instant::now()) == Past::Good);
        assert!(all_good, "{newest:?}");
    }
}
