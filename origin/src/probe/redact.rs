//! What may be shown of a server's words.

use std::net::IpAddr;

use rcpt_shared::Address;

/// Characters shown.
const MAX_CHARS: usize = 512;
/// Shorter local parts are words of any language.
const MIN_LOCAL_PART: usize = 3;
const ADDRESS: &str = "[address]";
const IP: &str = "[ip]";

/// `text` as one line of at most 512 characters, without what identifies someone: email addresses,
/// the checked local part, our HELO name and every IP address. Behind a NAT we do not know which of
/// them is ours, and the server's own is of no use to the customer.
pub(super) fn redact(text: &str, recipient: &Address, helo_name: &str) -> String {
    let local_part = recipient.local_part().to_lowercase();
    let helo_name = helo_name.to_lowercase();
    let mut shown = String::with_capacity(text.len().min(MAX_CHARS));
    let whole = text.to_lowercase();
    // A quoted local part may hold spaces, which the words below would cut through.
    let quoted = local_part.starts_with('"') && whole.contains(&local_part);
    if quoted {
        return ADDRESS.to_owned();
    }
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        let lower = word.to_lowercase();
        let named = |part: &str| !part.is_empty() && lower.contains(part);
        if word.contains('@') || (local_part.len() >= MIN_LOCAL_PART && named(&local_part)) {
            shown.push_str(ADDRESS);
        } else if named(&helo_name) {
            shown.push_str("[us]");
        } else {
            push_without_ips(&mut shown, word);
        }
    }
    match shown.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => {
            shown.truncate(end);
            shown
        }
        None => shown,
    }
}

/// Replaces what reads as an IP address, wherever in the word it stands.
fn push_without_ips(shown: &mut String, word: &str) {
    let mut rest = word;
    while !rest.is_empty() {
        let is_part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
        let start = rest.find(is_part).unwrap_or(rest.len());
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (candidate, after) = from.split_at(end);
        push_unless_ip(shown, candidate);
        rest = after;
    }
}

fn push_unless_ip(shown: &mut String, candidate: &str) {
    // Punctuation may follow an address, and `ip:192.0.2.1` precede it.
    let trimmed = candidate.trim_matches(['.', ':']);
    let after_colon = trimmed.rsplit(':').next().unwrap_or(trimmed);
    let is_ip = |text: &str| text.parse::<IpAddr>().is_ok();
    if is_ip(candidate) || is_ip(trimmed) || is_ip(after_colon) {
        shown.push_str(IP);
    } else {
        shown.push_str(candidate);
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::Address;

    use super::{MAX_CHARS, redact};

    #[test]
    fn neither_the_checked_address_nor_ours_is_redact() {
        let recipient = Address::parse("Ann.Smith@example.org").unwrap();
        for (text, told) in [
            ("No such user", "No such user"),
            ("<ann.smith@EXAMPLE.org>: Recipient\nrejected", "[address] Recipient rejected"),
            ("User ann.smith not here", "User [address] not here"),
            ("Client host [192.0.2.1] blocked", "Client host [[ip]] blocked"),
            ("client=2001:db8::1, go away", "client=[ip], go away"),
            ("see http://x.example/q?ip=192.0.2.77.", "see http://x.example/q?ip=[ip]"),
            ("probe.example.com[192.0.2.1] is bad", "[us] is bad"),
            ("5 bad feeds at 10:30", "5 bad feeds at 10:30"),
        ] {
            assert_eq!(redact(text, &recipient, "probe.example.com"), told);
        }
        let quoted = Address::parse("\"ann smith\"@example.org").unwrap();
        let told = redact("user \"ann smith\" is unknown", &quoted, "probe.example.com");
        assert!(!told.contains("smith"), "{told}");
    }

    #[test]
    fn it_is_one_line_of_at_most_512_characters() {
        let recipient = Address::parse("someone@example.org").unwrap();
        let told = redact(&"ä\n".repeat(2_000), &recipient, "probe.example.com");
        assert_eq!(told.chars().count(), MAX_CHARS);
        assert!(!told.contains('\n'));
    }
}
