//! Parses the token in an `Authorization` header: a session at the edge, a ticket at an origin.

/// The token of `Authorization: Bearer TOKEN` (RFC 6750 §2.1), given the header's value; `None` for another scheme. The
/// scheme is case-insensitive (RFC 9110 §11.1).
#[must_use]
pub fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::bearer_token;

    #[test]
    fn the_scheme_is_bearer_in_any_case_and_nothing_else() {
        assert_eq!(bearer_token("Bearer abc"), Some("abc"));
        assert_eq!(bearer_token("bEARER  abc "), Some("abc"));
        for other in ["Basic abc", "Bearer", "abc", ""] {
            assert_eq!(bearer_token(other), None, "{other}");
        }
    }
}
