//! Keeps us from connecting to an operator that refused us, for a time that grows.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause after a refusal; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// 15 s × 2⁶ = 16 min.
const MAX_LEVEL: u32 = 6;
/// No hint of a server keeps us away longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(3_600);
/// At RCPT a policy may be the recipient's own, a closed group for example. So many in a row, for any
/// recipients, are about us.
const STRIKES: u32 = 3;

/// What a dialogue told about how we are received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// A recipient was spoken about.
    Answered,
    /// Refused at RCPT for something that may be us.
    Doubtful { after: Option<Duration> },
    /// We were refused: 421, or a policy before any recipient was named.
    Refused { blocked: bool, after: Option<Duration> },
}

/// Keeps us from knocking where we were refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Breaker {
    strikes: u32,
    /// How many pauses were too short; falls by one with each answer.
    level: u32,
    open_until: Option<Instant>,
    last_strike: Option<Instant>,
    blocked: bool,
}

impl Breaker {
    /// Takes note; true when this opened the breaker.
    pub(super) fn note(&mut self, signal: Signal, now: Instant) -> bool {
        match signal {
            Signal::Answered => {
                self.strikes = 0;
                self.level = self.level.saturating_sub(1);
                false
            }
            Signal::Doubtful { after } => {
                self.strikes += 1;
                self.last_strike = Some(now);
                self.strikes >= STRIKES && self.open(true, after, now)
            }
            Signal::Refused { blocked, after } => self.open(blocked, after, now),
        }
    }

    fn open(&mut self, blocked: bool, after: Option<Duration>, now: Instant) -> bool {
        if self.left(now).is_some() {
            // The answer to a question asked before: the pause has begun.
            return false;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.level);
        let pause = after.unwrap_or_default().max(pause).min(LONGEST_PAUSE);
        self.open_until = Some(now + pause);
        self.level = (self.level + 1).min(MAX_LEVEL);
        self.strikes = 0;
        self.blocked = blocked;
        true
    }

    /// How long it stays open.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let left = self.open_until?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    pub(super) const fn blocked(&self) -> bool {
        self.blocked
    }

    /// The last refusal is not made good yet: one session at a time.
    pub(super) const fn is_wary(&self) -> bool {
        self.level > 0
    }

    /// New sessions come this many times slower.
    pub(super) const fn slowdown(&self) -> u32 {
        2_u32.pow(self.level)
    }

    /// Nothing was heard for as long as the last pause: there is nothing left to remember.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let memory = FIRST_PAUSE * 2_u32.pow(self.level);
        let struck = self.last_strike.is_some_and(|strike| now < strike + FIRST_PAUSE);
        !struck && self.open_until.is_none_or(|until| now >= until + memory)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Breaker, Signal};

    const REFUSED: Signal = Signal::Refused { blocked: true, after: None };

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_a_welcome_shortens_the_next() {
        let mut now = Instant::now();
        let mut breaker = Breaker::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            assert!(breaker.note(REFUSED, now));
            assert!(!breaker.note(REFUSED, now), "an answer on its way does not count again");
            let pause = breaker.left(now).unwrap();
            pauses.push(pause.as_secs());
            now += pause;
            assert_eq!(breaker.left(now), None);
        }
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 960, 960, 960]);
        for _ in 0..6 {
            assert!(breaker.is_wary());
            breaker.note(Signal::Answered, now);
        }
        assert!(!breaker.is_wary());
        assert!(breaker.note(REFUSED, now));
        assert_eq!(breaker.left(now), Some(Duration::from_secs(15)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_of_the_server_is_kept_within_reason() {
        let now = Instant::now();
        for (hint, pause) in [(5, 15), (600, 600), (86_400, 3_600)] {
            let mut breaker = Breaker::default();
            let after = Some(Duration::from_secs(hint));
            breaker.note(Signal::Refused { blocked: false, after }, now);
            assert_eq!(breaker.left(now), Some(Duration::from_secs(pause)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubt_opens_it_only_when_nothing_else_is_heard() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        let doubt = Signal::Doubtful { after: None };
        let heard = [doubt, doubt, Signal::Answered, doubt, doubt, doubt];
        let opened = heard.map(|signal| breaker.note(signal, now));
        assert_eq!(opened, [false, false, false, false, false, true]);
    }
}
