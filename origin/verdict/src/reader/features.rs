//! The features of a text: its words, pairs of words and runs of letters, hashed into buckets.

use crate::{
    languages::things,
    text::{REJECTED, Said},
};

/// Number of buckets for hashed features; each has a weight of one byte.
pub const BUCKETS: usize = 1 << 16;

/// Maximum number of words of folded text that are used. A refusal has about a dozen words; the
/// rest of a longer text is advice.
const WORDS_MAX: usize = 32;
const OCTETS_MAX: usize = 256;
/// Minimum and maximum number of letters in a run.
const RUN: [usize; 2] = [3, 5];

/// Words about faults, DNS names, message content, lists, rules and times, which aren't about a
/// mailbox: `unknown error`, `PTR not found`, `illegal attachment`, `no such rule`, `quota of this
/// hour`.
const FAULTS: [&str; 41] = [
    "attachment",
    "attachments",
    "command",
    "day",
    "days",
    "dns",
    "domain",
    "error",
    "errors",
    "failure",
    "file",
    "files",
    "group",
    "host",
    "hostname",
    "hour",
    "hours",
    "key",
    "list",
    "lists",
    "minute",
    "minutes",
    "module",
    "network",
    "number",
    "path",
    "policies",
    "policy",
    "ptr",
    "queue",
    "reach",
    "record",
    "records",
    "route",
    "rule",
    "rules",
    "session",
    "syntax",
    "tenant",
    "today",
    "zone",
];

/// A feature of a text: its readable form, and the bucket of its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// One word, two words, or letters between `…`.
    pub text: String,
    pub bucket: u16,
}

/// The features of one text.
#[derive(Debug, Clone, Default)]
pub struct Features {
    /// Bucket of every feature occurrence, in the order of the text.
    pub buckets: Vec<u16>,
    /// Buckets of the single words.
    pub words: Vec<u16>,
    /// The text names a machine, a service or a fault, which may be missing instead of the mailbox.
    pub names_thing: bool,
    /// The text continues beyond the used words, and the rest may name its subject.
    pub is_cut: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word = 1,
    Pair = 2,
    Run = 3,
}

impl Features {
    /// Returns the features of a server's text, without quotations.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let (plain, is_cut) = plain(text);
        let is_fault = |word| FAULTS.contains(&word);
        let names_thing = things::are_named(&plain) || plain.split(' ').any(is_fault);
        let buckets = Vec::with_capacity(3 * plain.len());
        let mut features = Self { buckets, words: Vec::new(), names_thing, is_cut };
        each(&plain, |kind, part| {
            let bucket = bucket(kind, part);
            features.buckets.push(bucket);
            if kind == Kind::Word {
                features.words.push(bucket);
            }
        });
        features
    }

    /// Returns the features in readable form, in the order of the text.
    pub(super) fn named(text: &str) -> Vec<Feature> {
        let mut names = Vec::new();
        each(&plain(text).0, |kind, part| {
            let text = if kind == Kind::Run { format!("…{part}…") } else { part.to_owned() };
            names.push(Feature { text, bucket: bucket(kind, part) });
        });
        names
    }

    /// Returns the divisor for each occurrence, so that long and short texts have equal weight.
    #[must_use]
    pub fn norm(&self) -> f64 {
        (self.buckets.len().max(1) as f64).sqrt()
    }
}

/// Hashes with FNV-1a, folded to 16 bits.
fn bucket(kind: Kind, part: &str) -> u16 {
    let mut hash = 0x811c_9dc5_u32;
    for octet in [kind as u8].iter().chain(part.as_bytes()) {
        hash = (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193);
    }
    (hash ^ (hash >> 16)) as u16
}

/// Returns the words of `text` as the rules see them, surrounded by single spaces, and whether
/// there are more than are used. Queue names and numbers are left out.
fn plain(text: &str) -> (String, bool) {
    let plain_text = Said::of(text);
    let mut plain = String::with_capacity(OCTETS_MAX + 2);
    plain.push(' ');
    let is_word = |word: &&str| {
        word.contains(|c: char| c.is_alphabetic() || c == REJECTED)
            && !word.contains(|c: char| c.is_ascii_digit())
    };
    for (index, word) in plain_text.words.split(' ').filter(is_word).enumerate() {
        if index == WORDS_MAX || plain.len() + word.len() > OCTETS_MAX {
            return (plain, true);
        }
        plain.push_str(word);
        plain.push(' ');
    }
    (plain, false)
}

/// Calls `take` with each feature of `plain`.
fn each(plain: &str, mut take: impl FnMut(Kind, &str)) {
    let words = plain.trim();
    let mut begins = 0;
    let mut previous = None;
    while let Some(rest) = words.get(begins..).filter(|rest| !rest.is_empty()) {
        let end = begins + rest.find(' ').unwrap_or(rest.len());
        take(Kind::Word, words.get(begins..end).unwrap_or_default());
        if let Some(start) = previous {
            take(Kind::Pair, words.get(start..end).unwrap_or_default());
        }
        // The word with the spaces around it: `plain` begins one space before `words`.
        each_run(plain.get(begins..end + 2).unwrap_or_default(), &mut take);
        previous = Some(begins);
        begins = end + 1;
    }
}

/// Calls `take` with each run of letters of a word between spaces. Runs across words would repeat
/// the pairs.
fn each_run(word: &str, mut take: impl FnMut(Kind, &str)) {
    let mut places = word.char_indices().map(|(place, _)| place);
    while let Some(start) = places.next() {
        let [least, most] = RUN;
        let ends = places.clone().chain([word.len()]).take(most).skip(least - 1);
        for end in ends {
            take(Kind::Run, word.get(start..end).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Features, OCTETS_MAX, plain};

    #[test]
    fn words_pairs_and_runs_of_letters_are_features() {
        let list = Features::named("No such ID");
        let texts: Vec<_> = list.iter().map(|feature| feature.text.as_str()).collect();
        let begins = ["no", "… no…", "… no …", "…no …", "such", "no such", "… su…", "… suc…"];
        assert_eq!(texts.get(..begins.len()).unwrap(), begins, "{texts:?}");
        assert_eq!(*texts.last().unwrap(), "…id …");
        assert!(!texts.contains(&"…o su…"), "{texts:?}");
        let features = Features::of("No such ID");
        assert_eq!(features.words.len(), 3);
        let buckets: Vec<_> = list.iter().map(|feature| feature.bucket).collect();
        assert_eq!(features.buckets, buckets);
    }

    #[test]
    fn what_is_quoted_and_numbers_are_no_features() {
        let one =
            plain("5.1.1 <ann@example.org>: nobody of that name, q1-2f3 mx.example.org 192.0.2.1");
        assert_eq!(one, (" nobody of that name ".to_owned(), false));
        assert!(Features::of("").buckets.is_empty());
    }

    #[test]
    fn a_long_text_is_read_in_part() {
        for text in ["x".repeat(9_000), "no such user ".repeat(900), "用户不存在 ".repeat(900)]
        {
            let (plain, is_cut) = plain(&text);
            assert!(plain.len() <= OCTETS_MAX + 2);
            assert!(is_cut || plain.trim().is_empty(), "{plain}");
        }
    }
}
