//! Word lists: files in `data/`, built in and parsed once, and the search of a text for all their words in one pass.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use serde::de::DeserializeOwned;

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
