//! The address that was probably meant by a text, and the domains in it.

use crate::address::{
    ADDRESS_BYTES_MAX, Address, LABELS_MAX,
    marks::{is_blank, without_hidden},
    to_a_labels,
};

/// The signs that UTS #46 reads as the dot between two labels.
pub const DOTS: &[char] = &['.', '。', '．', '｡'];
/// Around an address; one of them alone may begin it.
const BEFORE: &[char] = &[',', ';', ':', '.', '\'', '"', '(', '['];
/// After an address; none is the end of a domain.
const AFTER: &[char] = &[',', ';', ':', '.', '\'', '"', ')', ']', '?', '!', '`', '|', '}'];
/// Signs behind which an address may begin, and signs before which it ends.
const OPENING: &[char] = &['<', '(', '[', ':', ';', '"'];
const CLOSING: &[char] = &['<', '>', '(', ')', '[', ']', '"', '\'', ';'];
/// Blanks and angle brackets end a word.
const BREAKS: &[char] = &[' ', '<', '>'];

/// The address that was probably meant, which always has a dot in its domain.
///
/// A blank or an angle bracket ends a word. If one word is an address, perhaps after a repair, it is what was meant, if
/// the words before it can be a name or a label, and those after it a remark. If the only `@` is at a word's end,
/// blanks beside it are left out, but only in a text of nothing else.
pub fn suggestion(text: &str) -> Option<String> {
    // Nobody types a longer address, and each repair reads the whole text.
    if text.len() > 4 * ADDRESS_BYTES_MAX {
        return None;
    }
    let plain = plain(text);
    if let Some(address) = with_dot(&plain) {
        return Some(address);
    }
    let words: Vec<&str> = words(&plain).collect();
    let mut with_at = words.iter().filter(|word| word.contains('@'));
    let (Some(word), None) = (with_at.next(), with_at.next()) else { return None };
    let is_part = word.starts_with('@') || word.ends_with('@');
    match words[..] {
        [local, "@", domain] => repaired(&[local, "@", domain].concat()),
        [one, other] if is_part => repaired(&[one, other].concat()),
        _ if is_part => None,
        _ => {
            let (before, after) = plain.split_once(word)?;
            repaired(word).filter(|_| is_name_or_label(before) && is_remark(after))
        }
    }
}

impl Address {
    /// The address that was probably meant: with the signs of an English keyboard for typographic and full-width ones,
    /// and at `domain`, if the domain looks misspelled.
    #[must_use]
    pub fn suggestion(&self, domain: Option<&str>) -> Option<String> {
        let typed = (!self.as_given().is_ascii()).then(|| suggestion(self.as_given())).flatten();
        let typed = typed.and_then(|typed| Self::parse(&typed).ok()).filter(|typed| typed != self);
        match domain {
            Some(domain) => {
                Some(format!("{}@{domain}", typed.as_ref().unwrap_or(self).local_part()))
            }
            None => typed.map(|typed| typed.as_given().to_owned()),
        }
    }
}

/// `ann smith@…` may be one local part, typed with a blank; `Ann asmith@…` and `email: ann@…` hardly are.
fn is_name_or_label(before: &str) -> bool {
    let before = before.trim();
    !before.starts_with(is_lower_case) || before.ends_with(OPENING)
}

/// Of the scripts with two cases, those below U+0590 (Latin, Greek, Cyrillic, Armenian). `char::is_lowercase` would add
/// its table to the Worker.
fn is_lower_case(c: char) -> bool {
    c.is_ascii_lowercase() || (('ß'..'\u{590}').contains(&c) && c.to_lowercase().eq([c]))
}

/// `…@example.co m` may be one domain; `…@example.com (work)` is not.
fn is_remark(after: &str) -> bool {
    !after.contains(char::is_alphanumeric) || after.trim_start().starts_with(CLOSING)
}

/// True if a name before `address` holds another address. In quotes, a name may hold anything.
pub fn holds_other_than(name: &str, address: &Address) -> bool {
    let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if quoted.is_some_and(|content| !content.contains('"')) {
        return false;
    }
    let plain = plain(name);
    let found = words(&plain).filter(|word| word.contains('@')).filter_map(repaired);
    found.filter_map(|found| Address::parse(&found).ok()).any(|found| found != *address)
}

/// Every name after the first `@` that may be a domain, in lower-case A-labels. Labels before it that aren't part of a
/// host name are left out, and so are comments, which may also stand inside a domain.
pub fn domains(text: &str) -> Vec<String> {
    let plain = plain(text);
    let texts = [without_comments(&plain), plain];
    let after_at = texts.iter().filter_map(|text| text.split_once('@'));
    let is_possible = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c) || !c.is_ascii();
    let runs = after_at.flat_map(|(_, after)| after.split(move |c| !is_possible(c)));
    let meant = suggestion(text).and_then(|address| Address::parse(&address).ok());
    let meant = meant.map(|address| address.domain().to_owned());
    runs.filter_map(domain_at_end).chain(meant).collect()
}

fn domain_at_end(run: &str) -> Option<String> {
    let labels: Vec<&str> = run.split(DOTS).filter(|label| !label.is_empty()).collect();
    let first = labels.len().saturating_sub(LABELS_MAX);
    // At least two labels: no list has fewer.
    let mut starts = first..labels.len().saturating_sub(1);
    starts.find_map(|first| to_a_labels(&labels.get(first..)?.join(".")))
}

/// Comments in parentheses may be nested; blanks beside a dot are removed too (RFC 5322, `CFWS`).
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            ' ' if kept.ends_with('.') => {}
            '.' => {
                kept.truncate(kept.trim_end_matches(' ').len());
                kept.push(c);
            }
            _ => kept.push(c),
        }
    }
    kept
}

/// Blanks become spaces, hidden characters are removed, and typographic and full-width signs become those of an English
/// keyboard.
fn plain(text: &str) -> String {
    let ascii = |c: char| match c {
        '‘' | '’' | '‛' | 'ʼ' | '′' | '´' => '\'',
        '“' | '”' | '„' | '‟' | '«' | '»' | '″' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' => '-',
        '﹫' => '@',
        // Full-width forms have the order of ASCII.
        '！'..='～' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        _ if is_blank(c) => ' ',
        _ => c,
    };
    without_hidden(text).chars().map(ascii).collect()
}

fn words(plain: &str) -> impl Iterator<Item = &str> {
    plain
        .split(BREAKS)
        .map(|word| word.trim_start_matches(BEFORE).trim_end_matches(AFTER))
        .filter(|word| !word.is_empty())
}

/// Of several `@` or dots in a row one stays, dots around either part go, as do a scheme (`mailto:`, `SMTP:`) and a
/// link's query. A comma becomes a dot if no dot is before it, because it is next to the dot on every keyboard.
fn repaired(word: &str) -> Option<String> {
    let squeezed = squeezed(word);
    let (local, domain) = squeezed.rsplit_once('@')?;
    let local = local.rsplit(':').next()?.trim_matches('.');
    let domain = domain.split('?').next()?;
    let domain = match domain.split_once(',') {
        Some((before, _)) if !before.contains('.') => domain.replace(',', "."),
        _ => domain.to_owned(),
    };
    with_dot(&format!("{local}@{}", domain.trim_matches(DOTS)))
}

fn with_dot(text: &str) -> Option<String> {
    let address = Address::parse(text).ok()?;
    address.domain().contains('.').then(|| text.to_owned())
}

fn squeezed(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for c in text.chars() {
        if !("@.".contains(c) && squeezed.ends_with(c)) {
            squeezed.push(c);
        }
    }
    squeezed
}
