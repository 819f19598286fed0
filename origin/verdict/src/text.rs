//! A server's words in the form for searching the tables'. A mailbox may be named `spamhaus`, so addresses, host names
//! and URLs are removed first.

use std::{borrow::Cow, net::IpAddr, sync::LazyLock};

use serde::Deserialize;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

use crate::phrases;

/// Marks a removed IP address in [`Said::words`].
pub(super) const IP: char = '*';
/// Marks the end of a sentence in [`Said::words`].
pub(super) const STOP: char = '|';

/// Marks a colon in [`Said::words`]: only a word directly before it can belong to the words after it.
pub(super) const COLON: char = ':';
/// Replaces `Recipient address rejected` in [`Said::words`]: words directly after it are about the recipient.
pub(super) const REJECTED: char = '§';
const REJECTIONS: [&str; 2] = [" recipient address rejected ", " recipient rejected "];

/// Four times the first 1 KiB of a reply, which alone is interpreted: U+FDFA folds into 18 letters.
const FOLDED_BYTES_MAX: usize = 4_096;

/// Words that say nothing about who is rejected.
const FILLERS: [&str; 9] = ["sorry", "the", "this", "that", "is", "was", "has", "been", "here"];

/// Complete replies, without fillers, that only reject the recipient.
const MERELY_REJECTED: [&[&str]; 8] = [
    &["address", "rejected"],
    &["address", "refused"],
    &["address", "not", "accepted"],
    &["mailbox", "not", "accepted"],
    &["recipient", "refused"],
    &["recipient", "not", "accepted"],
    &["recipient", "address", "refused"],
    &["recipient", "address", "not", "accepted"],
];

/// From U+2E80 on, scripts have no spaces between words.
const UNSPACED: char = '\u{2e80}';

#[derive(Debug, Default)]
pub(super) struct Said {
    /// Folded words with punctuation, separated and surrounded by single spaces.
    pub text: String,
    /// Folded words without punctuation; IP addresses and ends of sentences are marked.
    pub words: String,
    pub names_blocklist: bool,
}

impl Said {
    pub(super) fn of(text: &str) -> Self {
        let text = unquoted(text);
        let mut parsed = Self::default();
        let mut rest = &*text;
        // Position of the last closing bracket, searched once: a search for each open bracket would be quadratic.
        let last_closing = text.rfind('>').unwrap_or_default();
        while let Some((before, quoted)) = rest.split_once('<') {
            parsed.push(before);
            // An unclosed bracket quotes nothing; brackets without an address contain a URL or a
            // sentence (RFC 3986 appendix C).
            let is_closed = text.len() - quoted.len() <= last_closing;
            let pair = if is_closed { quoted.split_once('>') } else { None };
            rest = pair.map_or(quoted, |(inside, after)| {
                if !inside.contains('@') && inside.contains([':', ' ']) {
                    parsed.push(inside);
                }
                after
            });
        }
        parsed.push(rest);
        parsed.text.push(' ');
        parsed.gap();
        for rejection in REJECTIONS {
            if parsed.words.contains(rejection) {
                parsed.words = parsed.words.replace(rejection, &format!(" {REJECTED} "));
            }
        }
        parsed
    }

    pub(super) fn quotes_an_ip(&self) -> bool {
        self.words.contains(IP)
    }

    /// Other words would decide the subject of the reply.
    pub(super) fn merely_rejects_the_recipient(&self) -> bool {
        let spoken_words = self.words.split(' ').filter(|word| word.contains(char::is_alphabetic));
        let meaningful_words: Vec<_> =
            spoken_words.filter(|word| !FILLERS.contains(word)).collect();
        (meaningful_words.is_empty() && self.words.contains(REJECTED))
            || MERELY_REJECTED.iter().any(|words| meaningful_words == *words)
    }

    fn push(&mut self, part: &str) {
        for word in part.split_whitespace() {
            if is_ip_address(word) {
                self.gap();
                self.words.push(IP);
            } else if let Some((local, domain)) = word.rsplit_once('@') {
                // `not found:a@example.org`: unless quoted, a local part contains no colon (RFC 5322 §3.2.3).
                let label = local.rsplit_once(COLON).map_or("", |(label, _)| label);
                if !label.is_empty() && label.chars().all(char::is_alphabetic) {
                    self.push_word(&format!("{label}{COLON}"));
                }
                // Keeps text attached to an address: `a@example.org:user` and `用户a@example.org不存在`.
                let before: String = word.chars().take_while(|c| *c >= UNSPACED).collect();
                let part =
                    |c: char| c < UNSPACED && (c.is_alphanumeric() || matches!(c, '.' | '-'));
                // Host names never contain two dots in a row: `a@example.org...User unknown`.
                let (domain, behind) = domain.split_once("..").unwrap_or((domain, ""));
                let after = domain.trim_start_matches(part);
                let glued = if after.contains(char::is_alphanumeric) { after } else { "" };
                self.push_word(&(before + glued));
                self.push_word(behind.trim_start_matches('.'));
            } else {
                self.push_word(word);
            }
        }
    }

    fn push_word(&mut self, word: &str) {
        let word = fold(&self.without_names(word));
        if word.is_empty() || self.text.len() + word.len() > FOLDED_BYTES_MAX {
            return;
        }
        self.text.push(' ');
        self.text.push_str(&word);
        self.gap();
        let mut chars = word.chars().peekable();
        let mut previous = ' ';
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            let lost =
                c == '?' && previous.is_alphabetic() && next.is_some_and(char::is_alphabetic);
            // `l'adresse` and `dell'utente` are two words each; `n'existe` and `doesn't` are one word each.
            let elided = c == '\'' && previous != 'n' && chars.clone().take(3).count() == 3;
            match c {
                _ if elided => self.gap(),
                _ if c.is_alphanumeric() || c == LOST || c == '\'' => self.words.push(c),
                _ if lost => self.words.push(LOST),
                COLON => {
                    self.gap();
                    self.words.push(COLON);
                    self.gap();
                }
                _ if matches!(c, ';' | '!' | '。') || (c == '.' && next.is_none()) => {
                    self.gap();
                    self.words.push(STOP);
                    self.gap();
                }
                _ => self.gap(),
            }
            previous = c;
        }
    }

    fn gap(&mut self) {
        if !self.words.ends_with(' ') {
            self.words.push(' ');
        }
    }

    /// URLs and host names may be a part of the word, as in `host=mx.example.org[192.0.2.1]`.
    fn without_names(&mut self, word: &str) -> String {
        let mut remainder = String::with_capacity(word.len());
        let mut rest = word;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        while let Some(start) = rest.find(is_part) {
            let (before, from) = rest.split_at(start);
            remainder.push_str(before);
            let (run, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
            rest = after;
            if let Some(url) = after.strip_prefix("://") {
                let (host, path) = url.split_at(url.find(|c| !is_part(c)).unwrap_or(url.len()));
                self.names_blocklist |= is_of_blocklist(host);
                rest = behind_path(path);
            } else if is_host_name(run) {
                self.names_blocklist |= is_of_blocklist(run);
                rest = if after.starts_with('/') { behind_path(after) } else { after };
                // The removed name may have ended a sentence.
                remainder.push_str(if run.ends_with('.') { "." } else { "" });
            } else {
                remainder.push_str(run);
            }
        }
        remainder + rest
    }
}

fn behind_path(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_graphic() || matches!(c, '"' | ')' | ']' | '>'));
    text.get(end.unwrap_or(text.len())..).unwrap_or_default()
}

fn is_ip_address(word: &str) -> bool {
    let start = word.trim_start_matches(['[', '(']);
    let bare = start.trim_end_matches([']', ')', ',', ';', '.', ':']);
    bare.contains(['.', ':']) && bare.parse::<IpAddr>().is_ok()
}

/// Top-level domains, besides those of two letters, of names with a single dot. Other words joined by a full stop
/// aren't names.
const COMMON: &[&str] =
    &["com", "net", "org", "info", "biz", "edu", "gov", "email", "cloud", "goog"];

/// `run` has neither spaces nor brackets.
fn is_host_name(run: &str) -> bool {
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

/// `data/blocklists.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocklists {
    /// Domains whose hosts and pages report listed addresses.
    sites: Vec<String>,
    /// First labels of the DNS zones in which addresses are looked up.
    zones: Vec<String>,
}

static BLOCKLISTS: LazyLock<Blocklists> =
    LazyLock::new(|| phrases::read(include_str!("../data/blocklists.toml")));

fn is_of_blocklist(host: &str) -> bool {
    let host = host.trim_matches('.').to_ascii_lowercase();
    let below = |site: &String| {
        host.strip_suffix(site.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let zone = host
        .split_once('.')
        .is_some_and(|(label, _)| BLOCKLISTS.zones.iter().any(|zone| zone == label));
    zone || BLOCKLISTS.sites.iter().any(below)
}

/// Replaces a lost letter: a byte that isn't UTF-8, or the `?` of a server that writes ASCII only.
pub(super) const LOST: char = char::REPLACEMENT_CHARACTER;

const MAX_LETTERS: usize = 2_048;

fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text
        .nfkd()
        .take(MAX_LETTERS)
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
    {
        match c {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            // Turkish: servers without support for the language write `i` for `ı`.
            'ı' => folded.push('i'),
            '\u{2018}' | '\u{2019}' | '\u{2bc}' | '`' | '\u{b4}' => folded.push('\''),
            // Removes combining marks, such as the rest of a lower-cased İ, and zero-width
            // characters.
            c if is_combining_mark(c) || is_invisible(c) => {}
            c => folded.push(c),
        }
    }
    folded
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Some servers write non-ASCII letters as quoted-printable (`=C3=A4`).
fn unquoted(text: &str) -> Cow<'_, str> {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('=') {
        let (octets, after) = octets(from);
        decoded.push_str(before);
        // A single non-ASCII byte isn't UTF-8, so `host=callback` contains no quoted byte.
        match String::from_utf8(octets) {
            Ok(letters) if !letters.is_empty() => {
                decoded.push_str(&letters);
                rest = after;
            }
            _ => {
                decoded.push('=');
                rest = from;
            }
        }
    }
    if decoded.is_empty() {
        return Cow::Borrowed(text);
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// `text` begins behind the `=` of the first byte.
fn octets(text: &str) -> (Vec<u8>, &str) {
    let (mut octets, mut rest) = (Vec::new(), text);
    while let Some((octet, after)) = octet(rest) {
        octets.push(octet);
        rest = after;
        match after.strip_prefix('=') {
            Some(next) if self::octet(next).is_some() => rest = next,
            _ => break,
        }
    }
    (octets, rest)
}

fn octet(text: &str) -> Option<(u8, &str)> {
    let (digits, after) = text.split_at_checked(2)?;
    let octet = u8::from_str_radix(digits, 16).ok()?;
    (octet >= 0x80).then_some((octet, after))
}

#[cfg(test)]
mod tests;
