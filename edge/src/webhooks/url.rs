//! The URL of a webhook: customers choose it, so it must never lead to an internal host.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlRefusal {
    Form(&'static str),
    /// The host isn't on the public Internet, or is our own.
    NotPublic,
}

const URL_CHARS_MAX: usize = 500;

/// Domains without public hosts: RFC 6761, 6762, 7686, 8375, 9476, and names of internal networks.
const INSIDE: [&str; 15] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "arpa",
    "alt",
    "onion",
    "test",
    "example",
    "invalid",
];

/// Accepts only URLs that every parser reads alike: no escapes in the name, no user, no port but 443. `ours` are URLs
/// whose hosts are rejected too.
pub fn check<'a>(url: &str, ours: impl IntoIterator<Item = &'a str>) -> Result<(), UrlRefusal> {
    if url.len() > URL_CHARS_MAX {
        return Err(UrlRefusal::Form("The webhook's URL is longer than 500 characters."));
    }
    if !url.starts_with(SCHEME) {
        return Err(UrlRefusal::Form("The webhook's URL must begin with https://."));
    }
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte);
    if !url.bytes().all(is_plain) {
        let detail =
            "The webhook's URL has a character that must be percent-encoded, or a fragment.";
        return Err(UrlRefusal::Form(detail));
    }
    let authority = authority(url);
    let name = authority.strip_suffix(":443").unwrap_or(authority);
    if name.contains(['@', '[']) || name.contains(':') {
        let detail = "The webhook's URL needs a host name, without a user and on port 443.";
        return Err(UrlRefusal::Form(detail));
    }
    let name = name.to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').collect();
    let is_label = |label: &&str| {
        let is_made_of =
            |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
        (1..=63).contains(&label.len()) && label.bytes().all(is_made_of)
    };
    if name.len() > 253 || !labels.iter().all(is_label) {
        return Err(UrlRefusal::Form("The webhook's URL has no valid host name."));
    }
    // No public top-level domain begins with a digit; the last label of an IPv4 address does, in any spelling.
    let last = labels.last().copied().unwrap_or_default();
    let is_name = labels.len() > 1 && last.starts_with(|c: char| c.is_ascii_lowercase());
    let is_ours = ours.into_iter().any(|url| host(url).eq_ignore_ascii_case(&name));
    if is_name && !INSIDE.contains(&last) && !is_ours { Ok(()) } else { Err(UrlRefusal::NotPublic) }
}

const SCHEME: &str = "https://";

fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

pub fn host(url: &str) -> &str {
    let authority = authority(url);
    authority.split_once(':').map_or(authority, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::{UrlRefusal, check, host};

    const OURS: [&str; 2] = ["https://rcpt.example.net", "https://origin.example.net:8443"];

    #[test]
    fn a_public_name_on_443_is_taken() {
        for url in [
            "https://hooks.example.com",
            "https://hooks.example.com:443/a/b?c=d&e=%20",
            "https://HOOKS.example.com/",
            "https://a_b.xn--bcher-kva.co.uk/x@y:z",
            "https://example.com?to=http://10.0.0.1",
        ] {
            assert_eq!(check(url, OURS), Ok(()), "{url}");
        }
        assert_eq!(host("https://hooks.example.com:443/a:b"), "hooks.example.com");
    }

    #[test]
    fn what_leads_inside_or_to_us_is_not() {
        for url in [
            "https://localhost/",
            "https://api",
            "https://10.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.0x1/",
            "https://a.0x7f/",
            "https://169.254.169.254/latest/meta-data",
            "https://metadata.google.internal/",
            "https://printer.LOCAL",
            "https://1.0.0.10.in-addr.arpa",
            "https://RCPT.example.net/v1/scans",
            "https://origin.example.net/",
        ] {
            assert_eq!(check(url, OURS), Err(UrlRefusal::NotPublic), "{url}");
        }
    }

    #[test]
    fn what_may_be_read_in_two_ways_is_not() {
        let long = format!("https://example.com/{}", "a".repeat(500));
        for url in [
            "",
            "http://example.com",
            "HTTPS://example.com",
            "https:/example.com",
            "https://",
            "https:///example.com",
            "https://example.com:8443/",
            "https://example.com:/",
            "https://user@example.com/",
            "https://user:password@example.com/",
            "https://example.com@10.0.0.1/",
            "https://[::1]/",
            "https://10.0.0.1\\@example.com/",
            "https://example.com#@10.0.0.1",
            "https://exa mple.com/",
            "https://example.com/\r\nX: y",
            "https://ex\tample.com/",
            "https://exämple.com/",
            "https://%31%30.0.0.1/",
            "https://example.com./",
            "https://example..com/",
            &long,
        ] {
            assert!(matches!(check(url, OURS), Err(UrlRefusal::Form(_))), "{url}");
        }
    }
}
