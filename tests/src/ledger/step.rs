use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

/// How a check that is held ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Verdict,
    /// The origin answers 500.
    Failure,
    /// The origin could not find out.
    Fatal,
    /// The client leaves; the origin never answers.
    ClientGone,
}

/// One step of an account's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A fresh check.
    Check,
    /// As many fresh checks at the same time.
    Burst(u8),
    /// A check that the cache answers; in the session or with the key.
    Cached {
        in_session: bool,
    },
    InvalidFormat,
    /// A check whose origin answers 500: 502.
    OriginFailure,
    FatalException,
    /// A check that is still being asked about when the next steps come.
    Begin,
    /// One of those ends, if there is any; which, modulo their number.
    Finish(u8, End),
    /// The time of every lease runs out.
    LeasesExpire,
    /// The day ends. Leases of the day before that one ended long ago: they live for minutes at most.
    Midnight,
    /// The operator gives the account another plan; which, modulo their number.
    PlanChange(u8),
    /// So many welcome checks more.
    Grant(u8),
    /// The key is replaced, and the old one tried once more.
    Rotate,
}

/// A history of `length` steps; the same for the same seed.
#[must_use]
pub fn history(seed: u64, length: usize) -> Vec<Step> {
    let mut random = StdRng::seed_from_u64(seed);
    (0..length).map(|_| step(&mut random)).collect()
}

fn step(random: &mut StdRng) -> Step {
    match random.random_range(0..100) {
        0..16 => Step::Check,
        16..20 => Step::Burst(random.random_range(2..7)),
        20..32 => Step::Cached { in_session: random.random() },
        32..38 => Step::InvalidFormat,
        38..44 => Step::OriginFailure,
        44..50 => Step::FatalException,
        50..65 => Step::Begin,
        65..80 => {
            let ends = [End::Verdict, End::Verdict, End::Failure, End::Fatal, End::ClientGone];
            let end = ends.get(random.random_range(0..ends.len())).copied();
            Step::Finish(random.random(), end.unwrap_or(End::Verdict))
        }
        80..84 => Step::LeasesExpire,
        84..89 => Step::Midnight,
        89..93 => Step::PlanChange(random.random()),
        93..97 => Step::Grant(random.random_range(1..4)),
        _ => Step::Rotate,
    }
}

#[cfg(test)]
mod tests {
    use super::history;

    #[test]
    fn a_seed_is_a_history() {
        assert_eq!(history(7, 100), history(7, 100));
        assert_ne!(history(7, 100), history(8, 100));
    }
}
