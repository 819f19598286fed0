//! Words of servers in their users' languages, a file of `data/languages/` for each: add a word there, or a file and
//! its line here.
//!
//! A refusal is about the recipient where a word for a mailbox stands near a word for its absence, and
//! not near one for a machine. Neither alone says anything: `not found` may be our PTR record.

pub(super) mod things;

use std::{ops::Range, sync::LazyLock};

use serde::Deserialize;

use super::{
    matcher::Matcher,
    phrases::Meaning,
    tables,
    text::{COLON, IP, REJECTED, STOP, Said, fold::LOST},
};

/// A file of `data/languages/`: words as they are written, in any case; accents may be missing. A word is matched from its beginning,
/// and to its end unless it ends with `*`. Scripts without spaces are matched anywhere.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Language {
    /// A mailbox or whom it belongs to.
    pub recipient: Vec<String>,
    /// An address, which may be ours: with `missing` alone it means the recipient.
    pub address: Vec<String>,
    pub missing: Vec<String>,
    /// Missing or out of order: RFC 5321 says `mailbox unavailable` of both, and of a policy.
    pub unavailable: Vec<String>,
    pub disabled: Vec<String>,
    pub full: Vec<String>,
    /// Unmistakably us: our address, host or domain.
    pub us: Vec<String>,
    /// TLS by another name.
    pub encryption: Vec<String>,
    /// The sender, whose mailbox may be unknown as well.
    pub sender: Vec<String>,
    /// A policy, a denial: us, unless a code says otherwise.
    pub refusal: Vec<String>,
    /// Words about our side of the conversation. They weaken a verdict but never decide it.
    pub sending: Vec<String>,
    /// A request to come back.
    pub later: Vec<String>,
    /// The server fails at the moment.
    pub outage: Vec<String>,
}

pub(super) static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    [
        include_str!("../data/languages/english.toml"),
        include_str!("../data/languages/german.toml"),
        include_str!("../data/languages/french.toml"),
        include_str!("../data/languages/spanish.toml"),
        include_str!("../data/languages/portuguese.toml"),
        include_str!("../data/languages/italian.toml"),
        include_str!("../data/languages/dutch.toml"),
        include_str!("../data/languages/polish.toml"),
        include_str!("../data/languages/russian.toml"),
        include_str!("../data/languages/chinese.toml"),
        include_str!("../data/languages/japanese.toml"),
        include_str!("../data/languages/korean.toml"),
        include_str!("../data/languages/turkish.toml"),
    ]
    .map(tables::read)
    .into()
});

/// Sense of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Recipient,
    Address,
    Missing,
    Unavailable,
    Disabled,
    Full,
    /// A complete statement.
    Plain(Meaning),
}

impl Sense {
    /// Returns the state's meaning for a mailbox; `None` if it isn't a state.
    const fn of_mailbox(self) -> Option<Meaning> {
        match self {
            Self::Missing => Some(Meaning::Recipient),
            Self::Unavailable => Some(Meaning::Unavailable),
            Self::Disabled => Some(Meaning::Disabled),
            Self::Full => Some(Meaning::MailboxFull),
            Self::Recipient | Self::Address | Self::Plain(_) => None,
        }
    }
}

/// Most characters between a word for a mailbox and the word for its state: `user with that name is`.
const NEAR: usize = 14;
/// Maximum of words whose neighbours are examined; a refusal has a dozen.
const MAX_WORDS: usize = 256;

static WORDS: LazyLock<Matcher<(usize, Sense)>> = LazyLock::new(|| {
    Matcher::new(LANGUAGES.iter().enumerate().flat_map(|(number, language)| {
        language.columns().into_iter().flat_map(move |(words, sense)| {
            let patterns = words.iter().flat_map(|word| patterns_of(word));
            patterns.map(move |pattern| (pattern, (number, sense)))
        })
    }))
});

impl Language {
    fn columns(&self) -> [(&[String], Sense); 13] {
        [
            (&self.recipient, Sense::Recipient),
            (&self.address, Sense::Address),
            (&self.missing, Sense::Missing),
            (&self.unavailable, Sense::Unavailable),
            (&self.disabled, Sense::Disabled),
            (&self.full, Sense::Full),
            (&self.us, Sense::Plain(Meaning::Client)),
            (&self.encryption, Sense::Plain(Meaning::Encryption)),
            (&self.sender, Sense::Plain(Meaning::Sender)),
            (&self.refusal, Sense::Plain(Meaning::Policy)),
            (&self.sending, Sense::Plain(Meaning::Sending)),
            (&self.later, Sense::Plain(Meaning::TryLater)),
            (&self.outage, Sense::Plain(Meaning::Outage)),
        ]
    }
}

/// Returns the meanings of all languages' words in `words` (see [`Said`](super::text::Said)), as bits.
pub(super) fn meanings(words: &str) -> u32 {
    let mut findings: Vec<(usize, Sense, Range<usize>)> = Vec::new();
    let mut meanings = 0;
    for ((language, sense), range) in WORDS.hits(words) {
        match sense {
            Sense::Plain(meaning) => meanings |= meaning.bit(),
            _ => {
                meanings |= Meaning::Mailbox.bit();
                if findings.len() < MAX_WORDS {
                    findings.push((language, sense, range));
                }
            }
        }
    }
    for (language, state, range) in &findings {
        let Some(meaning) = state.of_mailbox() else { continue };
        let near = |noun: Sense| {
            let nouns =
                findings.iter().filter(|(other, sense, _)| other == language && *sense == noun);
            nouns.map(|(.., place)| place).any(|place| {
                are_near(words, place, range) && !things::stand_between(words, place, range)
            })
        };
        let alone = *state == Sense::Full && is_all(words, range);
        if alone || near(Sense::Recipient) || is_what_was_rejected(words, range) {
            meanings |= meaning.bit();
        } else if matches!(state, Sense::Missing | Sense::Unavailable) && near(Sense::Address) {
            meanings |= Meaning::Address.bit();
        }
    }
    meanings
}

/// `Recipient address rejected: user unknown`, and nothing between the two.
fn is_what_was_rejected(words: &str, state: &Range<usize>) -> bool {
    let before = words.get(..=state.start).unwrap_or_default();
    before.trim_end_matches([' ', COLON]).ends_with(REJECTED)
}

/// Exim's `Over quota`: of whom, if it says nothing else? A single word may be of the server.
fn is_all(words: &str, state: &Range<usize>) -> bool {
    let (before, after) = (words.get(..state.start), words.get(state.end..));
    let others = [before, after].into_iter().flatten().any(|it| it.contains(char::is_alphabetic));
    !others && words.get(state.clone()).is_some_and(|said| said.trim().contains(' '))
}

/// Within one sentence, and no IP address between them: `address 192.0.2.1 not found` is ours.
fn are_near(words: &str, one: &Range<usize>, other: &Range<usize>) -> bool {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    let Some(between) = words.get(first.end..second.start) else { return first.end > second.start };
    let between = between.trim_start().strip_prefix(COLON).unwrap_or(between);
    between.chars().take(NEAR + 1).count() <= NEAR && !between.contains([IP, STOP, COLON])
}

/// `word` in its forms in a text: intact, and with the bytes above ASCII lost.
fn patterns_of(word: &str) -> Vec<String> {
    let (stem, open) = word.strip_suffix('*').map_or((word, false), |stem| (stem, true));
    let lossy = |c: char| if c.is_ascii() { c } else { LOST };
    let words = |text: &str| Said::of(text).words.trim().to_owned();
    let mut forms = vec![words(stem)];
    // Words in other scripts would have no letter left.
    if !stem.is_ascii() && stem.chars().all(|c| c < '\u{250}') {
        forms.push(words(&stem.chars().map(lossy).collect::<String>()));
    }
    let unspaced = stem.chars().any(|c| c >= '\u{2e80}');
    forms
        .into_iter()
        .map(|form| match (unspaced, open) {
            (true, _) => form,
            (false, true) => format!(" {form}"),
            (false, false) => format!(" {form} "),
        })
        .collect()
}
