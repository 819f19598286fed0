//! Describes the mistake in a malformed address for the person who typed it, and suggests the intended address.

use crate::address::{ADDRESS_BYTES_MAX, Address, FormatError, LOCAL_PART_BYTES_MAX};

/// Greatest length of a label in bytes (RFC 1035 §2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// The at sign of Japanese, Chinese and Korean keyboards.
const FULL_WIDTH_AT: char = '＠';

/// Describes the mistake in a text that [`Address::parse`] rejects, in one or two sentences. The
/// description quotes at most one character of the text.
#[must_use]
pub fn explain(text: &str) -> String {
    if let Some(problem) = outside_quotes(text) {
        return problem;
    }
    match Address::parse(text) {
        Err(FormatError::NoAt) => no_at(text).into(),
        Err(FormatError::LocalPart) => {
            local_part(text.rsplit_once('@').map_or(text, |(local, _)| local))
        }
        Err(FormatError::Domain) => domain(text.rsplit_once('@').map_or("", |(_, domain)| domain)),
        Err(FormatError::TooLong) => {
            format!("It is too long: an address has at most {ADDRESS_BYTES_MAX} bytes.")
        }
        // Never used: the caller passes only texts that can't be parsed.
        Ok(_) => "It is an address.".into(),
    }
}

fn no_at(text: &str) -> &'static str {
    if text.contains(FULL_WIDTH_AT) {
        "The ＠ in it is a full-width sign: type @."
    } else {
        "There is no @ in it."
    }
}

/// Returns a mistake in the whole address, if there is one. If the local part is quoted, only a line break
/// is a mistake, because quotes may contain the other characters.
fn outside_quotes(text: &str) -> Option<String> {
    if text.contains(['\r', '\n']) {
        return Some("There is a line break in it.".into());
    }
    if text.starts_with('"') {
        return None;
    }
    if text.contains(['<', '>']) {
        return Some("Angle brackets aren't part of an address: leave them out.".into());
    }
    let several = text.matches('@').count();
    if several > 1 {
        return Some(if text.contains([',', ';', ' ']) {
            "This looks like several addresses. Send one at a time.".into()
        } else {
            format!("There are {several} @ signs in it, and an address has one.")
        });
    }
    text.contains(char::is_whitespace).then(|| "There is a space in it.".into())
}

fn local_part(local: &str) -> String {
    if local.is_empty() {
        return "There is nothing before the @.".into();
    }
    if local.len() > LOCAL_PART_BYTES_MAX {
        return format!(
            "The part before the @ is too long: {} bytes, and at most {LOCAL_PART_BYTES_MAX} are allowed.",
            local.len()
        );
    }
    if local.starts_with('"') {
        return "The quotes before the @ don't match.".into();
    }
    if local.starts_with('.') || local.ends_with('.') {
        return "The part before the @ can't start or end with a dot.".into();
    }
    if local.contains("..") {
        return "There are two dots in a row before the @.".into();
    }
    match local.chars().find(|c| r#"()<>[]:;\,""#.contains(*c)) {
        Some(c) => format!("{c} isn't allowed before the @."),
        None => "A character before the @ isn't allowed.".into(),
    }
}

fn domain(domain: &str) -> String {
    if domain.is_empty() {
        return "There is nothing after the @.".into();
    }
    if domain.starts_with('[') {
        return "Addresses at an IP number in brackets aren't supported.".into();
    }
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    if domain.contains('.') && domain.chars().all(is_number) {
        return "There is an IP number after the @, and no domain.".into();
    }
    if domain.len() > ADDRESS_BYTES_MAX {
        return format!("It is too long: an address has at most {ADDRESS_BYTES_MAX} bytes.");
    }
    if domain.starts_with('.') || domain.ends_with('.') {
        return "The domain can't start or end with a dot.".into();
    }
    if domain.contains("..") {
        return "There are two dots in a row after the @.".into();
    }
    if domain.split('.').any(|label| label.len() > LABEL_BYTES_MAX) {
        return format!(
            "The domain is too long: there are at most {LABEL_BYTES_MAX} characters between two dots."
        );
    }
    if domain.split('.').any(|label| label.starts_with('-') || label.ends_with('-')) {
        return "A part of the domain starts or ends with a hyphen.".into();
    }
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || ".-".contains(*c) || !c.is_ascii();
    match domain.chars().find(|c| !is_allowed(c) && !c.is_control()) {
        Some(c) => format!("{c} isn't allowed after the @."),
        None => "What stands after the @ isn't a domain.".into(),
    }
}

/// Returns the address that was probably meant, if small repairs turn the text into an address with a dot
/// in its domain.
#[must_use]
pub fn suggested_address(text: &str) -> Option<String> {
    // Nobody types a longer address, and each repair reads the whole text.
    if text.len() > 2 * ADDRESS_BYTES_MAX {
        return None;
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || ",;:.'\"()".contains(c));
    let text = text.strip_prefix("mailto:").unwrap_or(text);
    let repaired = squeezed(&half_width(text));
    let repaired = match repaired.rsplit_once('@') {
        // The comma is next to the dot on every keyboard.
        Some((local, domain)) => format!("{local}@{}", domain.replace(',', ".")),
        None => repaired,
    };
    let is_whole = |address: &Address| address.domain().contains('.');
    Address::parse(&repaired).ok().filter(is_whole).map(|_| repaired)
}

/// Replaces the full-width forms U+FF01 to U+FF5E by ASCII, if the text contains a full-width `@`.
fn half_width(text: &str) -> String {
    if !text.contains(FULL_WIDTH_AT) {
        return text.to_owned();
    }
    let ascii =
        |c: char| u32::from(c).checked_sub(0xFEE0).filter(|code| (0x21..=0x7E).contains(code));
    text.chars().map(|c| ascii(c).and_then(char::from_u32).unwrap_or(c)).collect()
}

/// Returns the text without blanks, and with each run of `@` or dots reduced to one.
fn squeezed(text: &str) -> String {
    let mut squeezed = String::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        if !("@.".contains(c) && squeezed.ends_with(c)) {
            squeezed.push(c);
        }
    }
    squeezed
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{explain, suggested_address};
    use crate::Address;

    #[test]
    fn each_mistake_is_named_and_repaired_where_that_is_plain() {
        let long = format!("{}@example.org", "a".repeat(65));
        let label = format!("ann@{}.org", "x".repeat(64));
        let whole = format!("ann@{}.org", ["y".repeat(60).as_str(); 5].join("."));
        for (text, problem, repaired) in [
            ("ann", "There is no @ in it.", None),
            ("", "There is no @ in it.", None),
            ("ann＠example.org", "full-width", Some("ann@example.org")),
            ("ａｎｎ＠ｅｘａｍｐｌｅ．ｏｒｇ", "full-width", Some("ann@example.org")),
            ("ann＠", "full-width", None),
            ("ann@@example.org", "There are 2 @ signs in it", Some("ann@example.org")),
            ("ann@b@example.org", "There are 2 @ signs in it", None),
            ("ann@example.org, bob@example.org", "This looks like several", None),
            ("ann @example.org", "There is a space", Some("ann@example.org")),
            ("ann@exam\nple.org", "There is a line break", Some("ann@example.org")),
            ("@example.org", "nothing before", None),
            ("ann@", "nothing after", None),
            (".ann@example.org", "start or end with a dot", Some("ann@example.org")),
            ("an..n@example.org", "two dots in a row before", Some("an.n@example.org")),
            ("Ann <ann@example.org>", "Angle brackets", None),
            ("ann(work)@example.org", "( isn't allowed before", None),
            ("ann,b@example.org", ", isn't allowed before", None),
            ("mailto:ann@example.org", ": isn't allowed before", Some("ann@example.org")),
            ("\"ann@example.org", "quotes before the @ don't match", Some("ann@example.org")),
            ("an\u{7f}n@example.org", "A character before", None),
            ("ann@[192.0.2.1]", "in brackets", None),
            ("ann@192.0.2.1", "IP number after", None),
            ("ann@example.org.", "The domain can't start or end", Some("ann@example.org")),
            ("ann@example..org", "two dots in a row after", Some("ann@example.org")),
            ("ann@example,org", ", isn't allowed after", Some("ann@example.org")),
            ("ann@-example.org", "a hyphen", None),
            ("ann@exa_mple.org", "_ isn't allowed after", None),
            ("ann@xn--\u{e9}.org", "isn't a domain", None),
            (&long, "too long: 65 bytes", None),
            (&label, "at most 63 characters between", None),
            (&whole, "too long", None),
        ] {
            assert!(Address::parse(text).is_err(), "{text:?}");
            assert!(explain(text).contains(problem), "{text:?}: {}", explain(text));
            assert_eq!(suggested_address(text).as_deref(), repaired, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_has_an_explanation_and_what_was_meant_is_an_address(
            text in r#"["a-zé＠ａ. \\@<>,;\r\n_-]{0,300}"#,
        ) {
            prop_assert!(explain(&text).ends_with('.'));
            if let Some(address) = suggested_address(&text) {
                prop_assert!(Address::parse(&address).is_ok());
            }
        }
    }
}
