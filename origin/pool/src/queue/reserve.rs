//! Sessions that parties which aren't proven leave to others.

use tokio::time::Instant;

use crate::question::{Cause, May, Not};

/// The others at a site, from such a party's point of view.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Others {
    Absent,
    /// A check of another account that isn't slow is waiting. The party stays slow until this time, if it is known.
    Waiting(Option<Instant>),
    /// Another account had a quick answer: until this time it counts as present, and the party as slow.
    Answered(Instant),
}

/// Sessions of a site, or of a machine in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sessions {
    pub most: usize,
    pub in_use: usize,
    /// Sessions used by parties that aren't proven, or used for a long time.
    pub slow: usize,
}

/// Whether a party that isn't proven may take one more session: while others are there, one is left to them, and two of eight or
/// more. While less than half is in use, there is enough for all.
pub(crate) fn may_take(Sessions { most, in_use, slow }: Sessions, others: Others) -> May {
    let reserve = if most >= 8 { 2 } else { 1 };
    if most < 2 || in_use < (most / 2).max(1) || slow + reserve < most {
        return Ok(());
    }
    let until = match others {
        Others::Absent => return Ok(()),
        Others::Waiting(until) => until,
        Others::Answered(until) => Some(until),
    };
    Err(Not { cause: Cause::Session, until })
}

#[cfg(test)]
mod tests {
    use super::{Others, Sessions, may_take};

    #[test]
    fn slow_parties_leave_one_session_of_few_and_two_of_many_while_others_are_there() {
        let most_of = |most: usize, others| {
            (0..most)
                .take_while(|n| may_take(Sessions { most, in_use: *n, slow: *n }, others).is_ok())
                .count()
        };
        assert_eq!(
            [1, 2, 7, 8, 30].map(|most| most_of(most, Others::Waiting(None))),
            [1, 1, 6, 6, 28]
        );
        assert_eq!([1, 2, 7, 8, 30].map(|most| most_of(most, Others::Absent)), [1, 2, 7, 8, 30]);
    }
}
