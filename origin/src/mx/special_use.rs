//! Names that no public DNS zone holds.

/// Names that no public DNS zone holds, from the IANA special-use domain names registry.
///
/// `example.com`, `example.net` and `example.org` are in the registry too, but they are delegated and
/// answer for themselves.
const SPECIAL_USE: [&str; 8] = [
    // RFC 6761 §6.2–6.5.
    "test",
    "localhost",
    "invalid",
    "example",
    // Multicast DNS, RFC 6762 §3.
    "local",
    // RFC 7686 §1.
    "onion",
    // RFC 8375 §4.
    "home.arpa",
    // RFC 9476 §2.
    "alt",
];

/// Returns whether `domain` (lower-case) is, or is under, a special-use name: it isn't queried, because the answer is
/// known and the query would leave our network for nothing (RFC 6761 §6).
pub fn is_special_use(domain: &str) -> bool {
    SPECIAL_USE.iter().any(|name| {
        domain.strip_suffix(name).is_some_and(|under| under.is_empty() || under.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::is_special_use;

    #[test]
    fn knows_special_names_and_what_is_under_them() {
        for domain in [
            "localhost",
            "a.localhost",
            "sandbox.test",
            "a.b.invalid",
            "mail.example",
            "printer.local",
            "facebookcorewwwi.onion",
            "router.home.arpa",
            "x.alt",
        ] {
            assert!(is_special_use(domain), "{domain}");
        }
    }

    #[test]
    fn ordinary_names_are_not_special() {
        for domain in [
            "example.com",
            "example.org",
            "mytest",
            "contest.org",
            "test.org",
            "localhost.org",
            "arpa",
            "notlocal",
            "walt",
        ] {
            assert!(!is_special_use(domain), "{domain}");
        }
    }
}
