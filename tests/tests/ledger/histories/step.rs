//! Steps in the history of an account, and their probabilities.

use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// End of a held check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Verdict,
    /// The origin answers 500.
    Failure,
    /// The origin couldn't determine a verdict.
    Fatal,
    /// Client and Worker have ended, and the lease lasts until it expires.
    Died,
}

/// A step of an account's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A fresh check.
    Check,
    /// Sends this many fresh checks in parallel.
    Burst(u8),
    /// A check answered from the cache, with the session or the key.
    Cached {
        in_session: bool,
    },
    InvalidFormat,
    /// A list of this many new addresses and some that no origin can check, with a cached, a repeated and a malformed
    /// address.
    List {
        fresh: u8,
        broken: u8,
    },
    /// A list of this many addresses, of which one stays in progress during the next steps. The list's response is
    /// pending or outstanding.
    BeginList {
        units: u8,
        is_pending: bool,
    },
    /// A check whose origin answers 500, so that the response is 502.
    OriginFailure,
    FatalException,
    /// A check in progress during the next steps.
    Begin,
    /// A check with a pending response during the next steps.
    BeginPending,
    /// Ends a held check, if there is any: index of the check, modulo the number of held checks.
    Finish(u8, End),
    /// All leases expire.
    LeasesExpire,
    /// The day ends. Leases of the day before it have already expired, because a lease lives for minutes at most.
    Midnight,
    /// The operator changes the account's plan: index of the plan, modulo the number of plans.
    PlanChange(u8),
    /// Grants this many welcome checks.
    Grant(u8),
    /// Replaces the key, and tries the old key once more.
    Rotate,
    /// Sends a request with one of two `Idempotency-Key`s that all operations share.
    UnderKey {
        operation: u8,
        key: u8,
        /// True for the same request as the last under this key at this operation.
        is_repeat: bool,
        is_held: bool,
    },
    /// Continues with a new named key with this many checks a day, and ends the previous named key.
    NamedKey(u8),
}

/// A random step; the numbers are relative weights.
pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => Just(Step::Check),
        4 => (2..7u8).prop_map(Step::Burst),
        8 => any::<bool>().prop_map(|in_session| Step::Cached { in_session }),
        6 => Just(Step::InvalidFormat),
        7 => (0..3u8, 0..3u8).prop_map(|(fresh, broken)| Step::List { fresh, broken }),
        7 => (2..6u8, any::<bool>()).prop_map(|(units, is_pending)| Step::BeginList { units, is_pending }),
        4 => Just(Step::OriginFailure),
        4 => Just(Step::FatalException),
        8 => Just(Step::Begin),
        5 => Just(Step::BeginPending),
        15 => (any::<u8>(), end()).prop_map(|(which, end)| Step::Finish(which, end)),
        4 => Just(Step::LeasesExpire),
        5 => Just(Step::Midnight),
        4 => any::<u8>().prop_map(Step::PlanChange),
        4 => (1..4u8).prop_map(Step::Grant),
        3 => Just(Step::Rotate),
        7 => (1..9u8).prop_map(Step::NamedKey),
        20 => (0..3u8, 0..2u8, any::<bool>(), any::<bool>()).prop_map(|(operation, key, is_repeat, is_held)| {
            Step::UnderKey { operation, key, is_repeat, is_held }
        }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        2 => Just(End::Verdict),
        1 => Just(End::Failure),
        1 => Just(End::Fatal),
        1 => Just(End::Died),
    ]
}
