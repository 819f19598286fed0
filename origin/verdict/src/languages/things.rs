//! Machines and services named after mailboxes: in `user database not found` and `servidor de
//! cuenta no encontrado`, no mailbox is missing.

use std::{collections::HashSet, ops::Range, sync::LazyLock};

use serde::Deserialize;

use super::super::{
    matcher,
    text::{COLON, Said},
};

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

/// The words have the form of [`Said::words`].
fn folded(words: Vec<String>) -> HashSet<String> {
    words.iter().map(|word| Said::of(word).words.trim().to_owned()).collect()
}

static THINGS: LazyLock<Things<HashSet<String>>> = LazyLock::new(|| {
    let read: Things<Vec<String>> = matcher::read(include_str!("../../data/things.toml"));
    Things {
        things: folded(read.things),
        with_of: folded(read.with_of),
        of: folded(read.of),
        without_of: folded(read.without_of),
        unspaced: folded(read.unspaced),
    }
});

/// True if the mailbox word at `noun` is part of a thing's name, or the state at `state` is a thing's.
pub(super) fn stand_between(words: &str, noun: &Range<usize>, state: &Range<usize>) -> bool {
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
