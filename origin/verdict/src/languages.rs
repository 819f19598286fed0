//! Words of servers in their users' languages, one file in `data/languages/` per language; a new file needs a line in
//! this module.
//!
//! A refusal is about the recipient if a word for a mailbox is near a word for its absence, but not near a word for a
//! machine. A word for absence alone isn't enough: `not found` may be about our PTR record.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use serde::Deserialize;

use super::{
    phrases::{self, Matcher, Meaning},
    text::{COLON, IP, LOST, REJECTED, STOP, Said},
};

/// A file in `data/languages/`: words in their normal spelling, in any case; accents are optional.
/// A word matches from its beginning and, unless it ends with `*`, to its end. Scripts without
/// spaces are matched anywhere.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Language {
    pub recipient: Vec<String>,
    /// Near a word of `missing` or `unavailable`, the address is the recipient's, unless other words concern us.
    pub address: Vec<String>,
    pub missing: Vec<String>,
    pub domain: Vec<String>,
    /// For a message that can't be delivered: its cause is the recipient's address, not ours.
    pub undelivered: Vec<String>,
    /// For missing or out of order: RFC 5321 uses `mailbox unavailable` for both, and for a policy.
    pub unavailable: Vec<String>,
    pub disabled: Vec<String>,
    pub full: Vec<String>,
    /// That can only mean us: our address, host or domain.
    pub us: Vec<String>,
    pub encryption: Vec<String>,
    /// The unknown mailbox may be the sender's.
    pub sender: Vec<String>,
    /// About us, unless a code says otherwise.
    pub refusal: Vec<String>,
    /// Our side of the conversation. Such words can withhold a `false`, but affect no later recipient.
    pub sending: Vec<String>,
    pub later: Vec<String>,
    pub outage: Vec<String>,
    /// A look-up of the recipient that fails for now.
    pub lookup: Vec<String>,
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
        include_str!("../data/languages/swedish.toml"),
        include_str!("../data/languages/danish.toml"),
        include_str!("../data/languages/norwegian.toml"),
        include_str!("../data/languages/slovenian.toml"),
        include_str!("../data/languages/ukrainian.toml"),
    ]
    .map(phrases::read)
    .into()
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Recipient,
    Address,
    Domain,
    Undelivered,
    Missing,
    Unavailable,
    Disabled,
    Full,
    /// A complete statement by itself.
    Plain(Meaning),
}

impl Sense {
    const fn of_mailbox(self) -> Option<Meaning> {
        match self {
            Self::Missing => Some(Meaning::Recipient),
            Self::Unavailable => Some(Meaning::Unavailable),
            Self::Disabled => Some(Meaning::Disabled),
            Self::Full => Some(Meaning::MailboxFull),
            Self::Recipient | Self::Address | Self::Domain | Self::Undelivered | Self::Plain(_) => {
                None
            }
        }
    }
}

/// Between a word for a mailbox and the word for its state, as in `user with that name unknown`.
const NEAR_CHARACTERS: usize = 14;
/// A refusal has about a dozen.
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
    fn columns(&self) -> [(&[String], Sense); 16] {
        [
            (&self.recipient, Sense::Recipient),
            (&self.address, Sense::Address),
            (&self.domain, Sense::Domain),
            (&self.undelivered, Sense::Undelivered),
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
            (&self.lookup, Sense::Plain(Meaning::Unreachable)),
        ]
    }
}

/// The result is a bit set; `words` are those of [`Said`](super::text::Said).
pub(super) fn meanings(words: &str) -> u32 {
    let mut findings: Vec<(usize, Sense, Range<usize>)> = Vec::new();
    let (mut meanings, mut is_undelivered) = (0, false);
    for ((language, sense), range) in WORDS.hits(words) {
        match sense {
            Sense::Plain(meaning) => meanings |= meaning.bit(),
            Sense::Undelivered => is_undelivered = true,
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
            nouns
                .map(|(.., place)| place)
                .any(|place| are_near(words, place, range) && !stand_between(words, place, range))
        };
        if matches!(state, Sense::Missing | Sense::Disabled) && near(Sense::Domain) {
            meanings |= Meaning::Domain.bit();
        }
        let alone = *state == Sense::Full && is_all(words, range);
        if alone || near(Sense::Recipient) || is_what_was_rejected(words, range) {
            meanings |= meaning.bit();
        } else if matches!(state, Sense::Missing | Sense::Unavailable)
            && near(Sense::Address)
            // `indirizzo del mittente non esiste`: the address is the sender's.
            && meanings & Meaning::Sender.bit() == 0
        {
            meanings |= Meaning::Address.bit();
            if is_undelivered && !words.contains(IP) {
                meanings |= Meaning::Recipient.bit();
            }
        }
    }
    meanings
}

pub(super) fn found(words: &str, is_wanted: impl Fn(Meaning) -> bool) -> Option<&'static str> {
    let rows = LANGUAGES.iter().flat_map(Language::columns);
    let wanted = rows.filter(|(_, sense)| matches!(sense, Sense::Plain(it) if is_wanted(*it)));
    let mut wanted = wanted.flat_map(|(row, _)| row);
    let occurs = |word: &&String| patterns_of(word).iter().any(|it| words.contains(it.as_str()));
    wanted.find(occurs).map(String::as_str)
}

/// Example: `Recipient address rejected: user unknown`.
fn is_what_was_rejected(words: &str, state: &Range<usize>) -> bool {
    let before = words.get(..=state.start).unwrap_or_default();
    before.trim_end_matches([' ', COLON]).ends_with(REJECTED)
}

/// Several words that are the whole text, such as Exim's `Over quota`, are the mailbox's state. A single word may also
/// be about the server.
fn is_all(words: &str, state: &Range<usize>) -> bool {
    let (before, after) = (words.get(..state.start), words.get(state.end..));
    let others = [before, after].into_iter().flatten().any(|it| it.contains(char::is_alphabetic));
    !others && words.get(state.clone()).is_some_and(|said| said.trim().contains(' '))
}

/// Both are in one sentence, without an IP address between them: `address 192.0.2.1 not found` is about our address.
fn are_near(words: &str, one: &Range<usize>, other: &Range<usize>) -> bool {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    let Some(between) = words.get(first.end..second.start) else { return first.end > second.start };
    let between = between.trim_start().strip_prefix(COLON).unwrap_or(between);
    between.chars().take(NEAR_CHARACTERS + 1).count() <= NEAR_CHARACTERS
        && !between.contains([IP, STOP, COLON])
}

/// The word intact, and with the non-ASCII letters lost.
fn patterns_of(word: &str) -> Vec<String> {
    let (stem, open) = word.strip_suffix('*').map_or((word, false), |stem| (stem, true));
    let lossy = |c: char| if c.is_ascii() { c } else { LOST };
    let words = |text: &str| Said::of(text).words.trim().to_owned();
    let mut forms = vec![words(stem)];
    // Words in other scripts would lose all their letters.
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

/// `data/things.toml`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Things<T: Default> {
    /// Words that follow the word for a mailbox, or the state.
    things: T,
    /// Words that precede the mailbox, with a word in `of` between them.
    with_of: T,
    of: T,
    /// Words that directly precede the mailbox.
    without_of: T,
    /// Words between mailbox and state, in scripts without spaces.
    unspaced: T,
}

fn folded(words: Vec<String>) -> HashSet<String> {
    words.iter().map(|word| Said::of(word).words.trim().to_owned()).collect()
}

static THINGS: LazyLock<Things<HashSet<String>>> = LazyLock::new(|| {
    let read: Things<Vec<String>> = phrases::read(include_str!("../data/things.toml"));
    Things {
        things: folded(read.things),
        with_of: folded(read.with_of),
        of: folded(read.of),
        without_of: folded(read.without_of),
        unspaced: folded(read.unspaced),
    }
});

/// True if the mailbox word at `noun` is part of a thing's name, or the state at `state` is a thing's.
fn stand_between(words: &str, noun: &Range<usize>, state: &Range<usize>) -> bool {
    let (first, second) = if noun.start <= state.start { (noun, state) } else { (state, noun) };
    let between = words.get(first.end..second.start).unwrap_or_default();
    let is_thing = |word: &str| THINGS.things.contains(word);
    between.split(' ').any(is_thing)
        || THINGS.unspaced.iter().any(|thing| between.contains(thing.as_str()))
        || word_behind(words, noun).is_some_and(is_thing)
        // Excludes `Account: unknown protocol`, but not `user unknown, system message`.
        || (between.contains(COLON) && word_behind(words, state).is_some_and(is_thing))
        || is_of_a_thing(words, noun)
}

fn word_behind<'a>(words: &'a str, place: &Range<usize>) -> Option<&'a str> {
    let rest = words.get(place.end..)?;
    let is_whole = words.get(..place.end)?.ends_with(' ');
    let rest = if is_whole { rest } else { rest.split_once(' ')?.1 };
    rest.trim_start().split(' ').next()
}

fn is_of_a_thing(words: &str, noun: &Range<usize>) -> bool {
    let before = words.get(..=noun.start).unwrap_or_default().trim_end();
    let mut backwards = before.rsplit(' ');
    let (last, second, third) = (backwards.next(), backwards.next(), backwards.next());
    let [last, second, third] = [last, second, third].map(Option::unwrap_or_default);
    let two = format!("{second} {last}");
    THINGS.without_of.contains(last)
        // Matches `сервер почтового ящика`.
        || (THINGS.without_of.contains(second) && last.starts_with("почтов"))
        || (THINGS.of.contains(last) && THINGS.with_of.contains(second))
        || (THINGS.of.contains(&two) && THINGS.with_of.contains(third))
}
