//! Validity of a certificate, and warnings about it.

use x509_parser::parse_x509_certificate;

/// First and last second in which a certificate is valid, in Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: i64,
    pub not_after: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Valid,
    /// The certificate's renewal is overdue.
    EndsSoon,
    /// Clients reject the certificate.
    Invalid,
}

const DAY_S: i64 = 86_400;
/// Certificates are normally renewed with a third of their lifetime left, or half of a lifetime of
/// a few days. With less than a sixth left, renewal must have failed; the warning comes at most two
/// weeks before the end.
const LIFETIME_DIVISOR: i64 = 6;
const REMAINING_MAX_S: i64 = 14 * DAY_S;

impl Validity {
    /// `certificate` is DER. `None` if it can't be parsed; it is served anyway.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = parse_x509_certificate(certificate).ok()?;
        let validity = certificate.validity();
        Some(Self {
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
        })
    }

    /// The state at `now` (Unix seconds), and a clause that describes it.
    pub fn state_at(self, now: u64) -> (Standing, String) {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let Self { not_before, not_after } = self;
        let time_left = not_after.saturating_sub(now);
        if now < not_before {
            let clause =
                format!("is not valid for another {}", span(not_before.saturating_sub(now)));
            return (Standing::Invalid, clause);
        }
        if time_left < 0 {
            return (
                Standing::Invalid,
                format!("expired {} ago", span(time_left.saturating_neg())),
            );
        }
        let clause = format!("expires in {}", span(time_left));
        let alarming =
            (not_after.saturating_sub(not_before) / LIFETIME_DIVISOR).min(REMAINING_MAX_S);
        (if time_left < alarming { Standing::EndsSoon } else { Standing::Valid }, clause)
    }
}

fn span(seconds: i64) -> String {
    let (count, unit) = if seconds >= 2 * DAY_S {
        (seconds / DAY_S, "days")
    } else if seconds >= 7_200 {
        (seconds / 3_600, "hours")
    } else {
        (seconds / 60, "minutes")
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, Standing, Validity};

    #[test]
    fn the_end_is_near_when_a_renewal_is_overdue() {
        use Standing::{EndsSoon, Invalid, Valid};
        // Days of validity, days since its start, state, and the expected clause.
        for (days, since, standing, clause) in [
            (90, 0, Valid, "expires in 90 days"),
            (90, 75, Valid, "expires in 15 days"),
            (90, 77, EndsSoon, "expires in 13 days"),
            (365, 350, Valid, "expires in 15 days"),
            (365, 352, EndsSoon, "expires in 13 days"),
            // A six-day certificate, renewed every three days.
            (6, 4, Valid, "expires in 2 days"),
            (12, 11, EndsSoon, "expires in 24 hours"),
            (90, 90, EndsSoon, "expires in 0 minutes"),
            (90, 93, Invalid, "expired 3 days ago"),
            (90, -1, Invalid, "is not valid for another 24 hours"),
        ] {
            let validity =
                Validity { not_before: 1_000 * DAY_S, not_after: (1_000 + days) * DAY_S };
            let now = u64::try_from((1_000 + since) * DAY_S).unwrap();
            let standing_and_clause = validity.state_at(now);
            assert_eq!(
                standing_and_clause,
                (standing, clause.to_owned()),
                "{days} days, after {since}"
            );
        }
    }

    #[test]
    fn no_time_is_out_of_bounds() {
        let extreme = Validity { not_before: i64::MIN, not_after: i64::MAX };
        for now in [0, u64::MAX] {
            extreme.state_at(now);
            Validity { not_before: i64::MAX, not_after: i64::MIN }.state_at(now);
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        assert_eq!(Validity::of(b"no certificate"), None);
    }
}
