//! Replaces private parts of a server's text with placeholders.

use std::net::IpAddr;

use rcpt_shared::Address;

const MAX_CHARS: usize = 512;
const ADDRESS: &str = "[address]";
const IP: &str = "[ip]";

/// One line of at most 512 characters, without email and IP addresses, the checked local part and our HELO names.
/// Behind a NAT we don't know which IP address is ours, and the server's own address is of no use to the customer.
pub(super) fn redact<'a>(
    text: &str,
    recipient: &Address,
    helo_names: impl IntoIterator<Item = &'a str>,
) -> String {
    let local_part = recipient.local_part().to_lowercase();
    let helo_names: Vec<_> = helo_names.into_iter().map(str::to_lowercase).collect();
    let mut shown = String::with_capacity(text.len().min(MAX_CHARS));
    let whole = text.to_lowercase();
    // A quoted local part may contain spaces, at which the words below would be split.
    let quoted = local_part.starts_with('"') && whole.contains(&local_part);
    if quoted {
        return ADDRESS.to_owned();
    }
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        let lower = word.to_lowercase();
        let contains_part = |part: &str| !part.is_empty() && lower.contains(part);
        if word.contains('@') || names_local_part(&lower, &local_part) {
            shown.push_str(ADDRESS);
        } else if helo_names.iter().any(|name| contains_part(name)) {
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

/// True if `word` contains the checked local part in quotes, in brackets, before an encoded `@`, or alone if it has
/// other characters than letters. In `Mailbox is full`, `full` needn't be the mailbox `full`.
fn names_local_part(word: &str, local_part: &str) -> bool {
    word.match_indices(local_part).any(|(start, _)| {
        let (before, from) = word.split_at(start);
        let after = from.get(local_part.len()..).unwrap_or_default();
        let is_word = |c: char| c.is_alphanumeric();
        if before.ends_with(is_word) {
            return false;
        }
        let quoted = before.ends_with(['"', '\'', '`', '<', '(', '[', '{', '‘', '“', '«'])
            && after.starts_with(['"', '\'', '`', '>', ')', ']', '}', '’', '”', '»']);
        let encoded = after.starts_with("%40") || after.starts_with("=40");
        let distinct = local_part.contains(|c: char| !c.is_alphabetic());
        quoted || encoded || (distinct && !after.starts_with(is_word))
    })
}

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
    // Punctuation may follow an address, and `ip:` may precede it, as in `ip:192.0.2.1`.
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
            assert_eq!(redact(text, &recipient, ["probe.example.com"]), told);
        }
        let plain = Address::parse("full@example.org").unwrap();
        for (text, told) in [
            ("Mailbox is full", "Mailbox is full"),
            ("<FULL@example.org> is full.", "[address] is full."),
            ("User (full) is fully 'full'", "User [address] is fully [address]"),
            ("see http://x.example/?r=full%40example.org", "see [address]"),
        ] {
            assert_eq!(redact(text, &plain, ["probe.example.com"]), told);
        }
        let short = Address::parse("a1@example.org").unwrap();
        let redacted = redact("a1 and ba1 and a12: <a1>", &short, ["probe.example.com"]);
        assert_eq!(redacted, "[address] and ba1 and a12: [address]");
        let quoted = Address::parse("\"ann smith\"@example.org").unwrap();
        let redacted = redact("user \"ann smith\" is unknown", &quoted, ["probe.example.com"]);
        assert!(!redacted.contains("smith"), "{redacted}");
    }

    #[test]
    fn each_of_our_names_is_hidden() {
        let recipient = Address::parse("ann@example.org").unwrap();
        let names = ["probe1.example.com", "probe2.example.com"];
        let text = "Helo PROBE2.example.com[192.0.2.2] does not match probe1.example.com.";
        assert_eq!(redact(text, &recipient, names), "Helo [us] does not match [us]");
    }

    #[test]
    fn it_is_one_line_of_at_most_512_characters() {
        let recipient = Address::parse("someone@example.org").unwrap();
        let text = redact(&"ä\n".repeat(2_000), &recipient, ["probe.example.com"]);
        assert_eq!(text.chars().count(), MAX_CHARS);
        assert!(!text.contains('\n'));
    }
}
