//! Host names and URLs in a server's words: `callback.example.org` isn't about a callback.

/// Top-level domains, besides those of two letters, of names with a single dot. Other words joined by a full stop
/// aren't names.
const COMMON: &[&str] =
    &["com", "net", "org", "info", "biz", "edu", "gov", "email", "cloud", "goog"];

/// `run` has neither spaces nor brackets.
pub(super) fn is_host_name(run: &str) -> bool {
    let name = run.trim_matches(['.', '-', '_']);
    let Some((before, top)) = name.rsplit_once('.') else { return false };
    let lower = top.bytes().all(|octet| octet.is_ascii_lowercase());
    let upper = top.bytes().all(|octet| octet.is_ascii_uppercase());
    // `RESOLVER.ADR.RecipientNotFound` is a program's identifier, and `rejected.Your` the end of a
    // sentence.
    if top.len() < 2 || !(lower || upper) {
        return top.starts_with("xn--");
    }
    let labels = || before.split('.');
    let plain = labels().all(|label| {
        let octet = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_';
        !label.is_empty() && label.bytes().all(octet)
    });
    plain
        && match labels().count() {
            1 => top.len() == 2 || COMMON.contains(&top.to_ascii_lowercase().as_str()),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::is_host_name;

    #[test]
    fn names_of_hosts_are_told_from_words() {
        for name in [
            "example.org",
            "EXAMPLE.COM",
            "ess.barracudanetworks.com",
            "AM0EUR02FT014.eop-EUR02.prod.protection.outlook.com",
            "_dmarc.example.de",
            "mx.xn--80a.xn--p1ai",
            "zen.spamhaus.org.",
        ] {
            assert!(is_host_name(name), "{name}");
        }
        for word in [
            "unknown",
            "5.7.1",
            "rejected.Your",
            "unknown.please",
            "RESOLVER.ADR.RecipientNotFound",
            "STOREDRV.Deliver",
            "192.0.2.1",
            "e.g",
            "...",
            "",
        ] {
            assert!(!is_host_name(word), "{word}");
        }
    }
}
