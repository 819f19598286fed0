//! `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10): the allowance, and the remaining
//! units.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

const DAY_S: u64 = 24 * 60 * 60;

/// Both headers of a response, for allowances only: concurrency limits and shields have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    policy: String,
    limit: String,
}

impl RateLimit {
    pub fn daily(name: &str, allowance: i64, remaining: i64, seconds: u64) -> Self {
        Self {
            policy: format!("\"{name}\";q={allowance};w={DAY_S}"),
            limit: format!("\"{name}\";r={remaining};t={seconds}"),
        }
    }

    /// Parses the ledger's text: the daily checks, their remainder, the welcome checks, their remainder. Before a bar
    /// are a key's limit and its remainder; they alone count.
    pub fn of_checks(ledger: &str, seconds: u64) -> Option<Self> {
        Self::of(["daily", "welcome"], ledger, seconds)
    }

    /// Like [`Self::of_checks`], for scans and credits.
    pub fn of_scans(ledger: &str, seconds: u64) -> Option<Self> {
        Self::of(["scans", "credits"], ledger, seconds)
    }

    /// `None` if nothing is limited. Once the first allowance is used up, the second is reported, if any of it is left.
    fn of([first, second]: [&str; 2], ledger: &str, seconds: u64) -> Option<Self> {
        let mut numbers = numbers(ledger);
        let (allowance, remaining) = (numbers.next()?, numbers.next()?);
        let mut headers = Self::daily(first, allowance, remaining, seconds);
        if let (Some(further), Some(further_left @ 1..)) = (numbers.next(), numbers.next()) {
            headers.policy = format!("{}, \"{second}\";q={further}", headers.policy);
            if remaining == 0 {
                headers.limit = format!("\"{second}\";r={further_left}");
            }
        }
        Some(headers)
    }

    pub fn and(mut self, other: &Self) -> Self {
        self.policy = format!("{}, {}", self.policy, other.policy);
        self.limit = format!("{}, {}", self.limit, other.limit);
        self
    }

    pub fn insert(&self, headers: &mut HeaderMap) {
        for (name, value) in [(POLICY, &self.policy), (LIMIT, &self.limit)] {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        }
    }
}

/// The numbers at the beginning of the ledger's text, up to a bar.
pub fn numbers(ledger: &str) -> impl Iterator<Item = i64> {
    ledger.split(' ').map_while(|number| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::RateLimit;

    #[test]
    fn daily_checks_are_told_until_the_welcome_checks_begin() {
        let headers_of =
            |ledger| RateLimit::of_checks(ledger, 7).map(|told| (told.policy, told.limit));
        let policy = r#""daily";q=100;w=86400, "welcome";q=50"#.to_owned();
        let daily = |remaining| format!("\"daily\";r={remaining};t=7");
        assert_eq!(headers_of("100 30 50 20"), Some((policy.clone(), daily(30))));
        assert_eq!(headers_of("100 0 50 20"), Some((policy, "\"welcome\";r=20".to_owned())));
        let alone = r#""daily";q=100;w=86400"#.to_owned();
        assert_eq!(headers_of("100 0 50 0"), Some((alone, daily(0))));
        let of_key = headers_of("10 5 |100 50 50 20").unwrap();
        assert_eq!(of_key.0, r#""daily";q=10;w=86400"#);
        assert_eq!(of_key.1, r#""daily";r=5;t=7"#);
        assert_eq!(headers_of(""), None, "unlimited");
    }
}
