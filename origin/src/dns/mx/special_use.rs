//! Names that don't exist in public DNS.

/// Names that don't exist in public DNS, from the IANA registry of special-use domain names.
///
/// `example.com`, `example.net` and `example.org` are in the registry too, but they are delegated
/// and can be queried.
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

/// True if `domain` (lower-case) is a special-use name or below one. Such a name isn't queried: the answer is known,
/// and queries mustn't leave our network (RFC 6761 §6).
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
