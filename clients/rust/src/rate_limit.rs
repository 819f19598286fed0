//! Parses the headers `RateLimit` and `RateLimit-Policy`.

use ureq::http::HeaderMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// `daily` or `welcome` for checks, `scans` or `credits` for scans. New ones may be added.
    pub name: String,
    pub left: u64,
    /// Seconds until the allowance is renewed; `None` if it never is.
    pub seconds: Option<u64>,
    pub allowance: Option<u64>,
}

impl RateLimit {
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let items = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let limit = items("ratelimit")?.split(',').next()?;
        let (name, left) = (name_of(limit)?, number_of(limit, "r=")?);
        let policy = items("ratelimit-policy").unwrap_or_default().split(',');
        let policy = policy.into_iter().find(|policy| name_of(policy) == Some(name));
        Some(Self {
            name: name.to_owned(),
            left,
            seconds: number_of(limit, "t="),
            allowance: policy.and_then(|policy| number_of(policy, "q=")),
        })
    }
}

fn name_of(item: &str) -> Option<&str> {
    item.split(';').next()?.trim().strip_prefix('"')?.strip_suffix('"')
}

fn number_of(item: &str, parameter: &str) -> Option<u64> {
    item.split(';').find_map(|part| part.trim().strip_prefix(parameter)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::RateLimit;
    use ureq::http::{HeaderMap, HeaderValue};

    fn rate_limit_of(limit: &'static str, policy: &'static str) -> Option<RateLimit> {
        let mut headers = HeaderMap::new();
        headers.insert("ratelimit", HeaderValue::from_static(limit));
        headers.insert("ratelimit-policy", HeaderValue::from_static(policy));
        RateLimit::of(&headers)
    }

    #[test]
    fn the_first_allowance_is_read_and_junk_is_none() {
        let policy = r#""daily";q=100;w=86400, "welcome";q=50"#;
        let daily = RateLimit {
            name: "daily".to_owned(),
            left: 7,
            seconds: Some(3_600),
            allowance: Some(100),
        };
        assert_eq!(rate_limit_of(r#""daily";r=7;t=3600, "scans";r=1;t=3600"#, policy), Some(daily));
        let welcome = rate_limit_of(r#""welcome"; r=3"#, policy).unwrap();
        assert_eq!((welcome.left, welcome.seconds, welcome.allowance), (3, None, Some(50)));
        for junk in ["", "daily;r=1", r#""daily""#, r#""daily";r=-1"#, r#""daily";r=x"#] {
            assert_eq!(rate_limit_of(junk, policy), None, "{junk}");
        }
    }
}
