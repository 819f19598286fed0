//! Phrases of servers in lower case, each with the provider or software that uses it: `data/idioms.toml` if single
//! words would mislead, else `data/phrases.toml`.
//!
//! They're searched in one pass of the text that `text.rs` prepares. Sisimai is a library that parses bounces and
//! lists observed wordings.

use std::{borrow::Cow, cmp::Reverse, collections::HashMap, ops::Range, sync::LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::{Deserialize, de::DeserializeOwned};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Meaning {
    DomainRule,
    ReverseDns,
    Relay,
    Rate,
    OurAddress,
    Client,
    /// The text quotes our sender or our HELO name, and not the recipient; no phrase has this meaning.
    OurName,
    Encryption,
    Sender,
    Policy,
    /// Our side of the conversation: about us, unless a code or a word about the recipient says
    /// otherwise.
    Sending,
    /// Greylisting, named as such or in the fixed words of a software.
    Greylisting,
    /// A request to retry later: greylisting, unless a code says otherwise.
    TryLater,
    Trouble,
    Unreachable,
    Outage,
    MailboxFull,
    /// The recipient currently gets more mail than the server accepts for it.
    Busy,
    /// The recipient accepts mail only from inside its organisation.
    MembersOnly,
    Mailbox,
    Wordless,
    /// A quota of the mailbox, unless other words say that it limits sending.
    Quota,
    MessageSize,
    Disabled,
    Recipient,
    /// An address doesn't exist: the recipient's, unless other words concern ours.
    Address,
    Unavailable,
    /// Exchange Online's words for an unknown recipient with 5.4.1, and Postfix's for a policy.
    RecipientDenied,
    Domain,
    NoDomain,
}

impl Meaning {
    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The name in `docs/verdicts.md`, which explains each: `OurAddress` becomes `our address`.
    #[cfg(test)]
    pub(super) fn name(self) -> String {
        let mut name = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_uppercase() && !name.is_empty() {
                name.push(' ');
            }
            name.extend(c.to_lowercase());
        }
        name
    }
}

pub(super) struct Phrase {
    pub text: String,
    pub meaning: Meaning,
    #[cfg_attr(not(test), expect(dead_code, reason = "the row's provenance, for the reader"))]
    pub seen_at: String,
}

fn rows(file: &'static str) -> Vec<Phrase> {
    let by_meaning: HashMap<Meaning, HashMap<String, String>> = read(file);
    let rows = by_meaning.into_iter().flat_map(|(meaning, phrases)| {
        phrases.into_iter().map(move |(text, seen_at)| Phrase { text, meaning, seen_at })
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|a, b| (Reverse(a.text.len()), &a.text).cmp(&(Reverse(b.text.len()), &b.text)));
    rows
}

static ORDINARY: LazyLock<Vec<Phrase>> =
    LazyLock::new(|| rows(include_str!("../data/phrases.toml")));
/// Idioms, the longest first: each is removed from the text before shorter idioms are searched.
static IDIOMS: LazyLock<Vec<Phrase>> = LazyLock::new(|| rows(include_str!("../data/idioms.toml")));

/// Idioms are left out.
pub(super) fn phrases() -> impl Iterator<Item = &'static Phrase> {
    ORDINARY.iter()
}

pub(super) fn idioms() -> impl Iterator<Item = &'static Phrase> {
    IDIOMS.iter()
}

static PHRASES: LazyLock<Matcher<Meaning>> =
    LazyLock::new(|| Matcher::new(phrases().map(|row| (&row.text, row.meaning))));

/// Matcher for all idioms in one pass; most replies contain none.
static IDIOM_TEXTS: LazyLock<Matcher<Meaning>> =
    LazyLock::new(|| Matcher::new(idioms().map(|row| (&row.text, row.meaning))));

/// The result is a bit set; `text` is that of [`Said`](super::text::Said).
pub(super) fn meanings(text: &str) -> u32 {
    let mut meanings = 0;
    let mut text = Cow::Borrowed(text);
    if IDIOM_TEXTS.hits(&text).next().is_some() {
        for idiom in idioms() {
            if text.contains(&idiom.text) {
                meanings |= idiom.meaning.bit();
                text = Cow::Owned(text.replace(&idiom.text, " "));
            }
        }
    }
    for (meaning, _) in PHRASES.hits(&text) {
        meanings |= meaning.bit();
    }
    meanings
}

/// Idioms come before other phrases, and of both the longest first.
pub(super) fn found(text: &str, is_wanted: impl Fn(Meaning) -> bool) -> Option<&'static str> {
    let mut wanted = idioms().chain(phrases()).filter(|row| is_wanted(row.meaning));
    wanted.find(|row| text.contains(&row.text)).map(|row| row.text.as_str())
}

pub(super) struct Matcher<T> {
    automaton: AhoCorasick,
    values: Vec<T>,
}

impl<T: Copy> Matcher<T> {
    #[expect(clippy::expect_used, reason = "its only error is of patterns beyond 2³¹ octets")]
    pub(super) fn new<P: AsRef<[u8]>>(rows: impl IntoIterator<Item = (P, T)>) -> Self {
        let (patterns, values): (Vec<P>, Vec<T>) = rows.into_iter().unzip();
        // The fastest kind of automaton, at the cost of some megabytes: every refusal is searched.
        let builder = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(patterns);
        Self { automaton: builder.expect("a table of short words"), values }
    }

    #[cfg(test)]
    pub(super) fn memory_usage(&self) -> usize {
        self.automaton.memory_usage()
    }

    /// Matches may overlap.
    pub(super) fn hits(&self, text: &str) -> impl Iterator<Item = (T, Range<usize>)> {
        self.automaton.find_overlapping_iter(text).filter_map(|hit| {
            self.values.get(hit.pattern().as_usize()).map(|value| (*value, hit.range()))
        })
    }
}

#[expect(clippy::expect_used, reason = "the files are built in, and a test reads each of them")]
pub(super) fn read<T: DeserializeOwned>(file: &str) -> T {
    toml::from_str(file).expect("a word list")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{IDIOM_TEXTS, PHRASES, idioms, phrases};

    #[test]
    fn the_automatons_take_some_megabytes() {
        let memory = PHRASES.memory_usage() + IDIOM_TEXTS.memory_usage();
        assert!(memory < 12_000_000, "{memory}");
    }

    #[test]
    fn every_row_is_lower_case_said_once_and_has_a_source() {
        let mut texts_so_far = HashSet::new();
        for row in phrases().chain(idioms()) {
            assert_eq!(row.text, row.text.to_lowercase());
            assert!(!row.text.contains("  ") && !row.text.contains('@'), "{}", row.text);
            assert!(!row.seen_at.is_empty(), "{}", row.text);
            assert!(texts_so_far.insert(&row.text), "{} stands twice", row.text);
        }
    }

    #[test]
    fn every_idiom_hides_a_phrase_that_means_something_else() {
        for idiom in idioms() {
            let hidden =
                phrases().any(|row| idiom.text.contains(&row.text) && row.meaning != idiom.meaning);
            assert!(hidden, "{} could be an ordinary phrase", idiom.text);
        }
    }
}
