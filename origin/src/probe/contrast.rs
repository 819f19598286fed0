//! Contrast: a refusal in the words that its host says to a name that doesn't exist means that nobody is there
//! (`docs/verdicts.md`).

use std::collections::HashSet;

use rcpt_shared::{Address, is_role};
use rcpt_verdict::Wording;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invented {
    /// Refused in words that the rules can't decide, between two acceptances of one recipient in one session.
    Undecided(Wording),
    Known,
    Accepted,
    Unknown,
}

const UNDECIDED: &str = "refused, undecided, between two acceptances";
const KNOWN: &str = "refused in known words";
const ACCEPTED: &str = "accepted";
const SAME: &str = "the same";
const OTHERS: &str = "others";
const ENOUGH: &str = "two or more, more than are refused so, and one again now";
const NOBODY: &str = "`false`, `no_such_mailbox`";
const OPEN: &str = "undecided";

/// Name, the invented name, the recipient's words, accepted neighbours, and the verdict. An empty column matches
/// everything, and the first match decides.
const ROWS: [[&str; 5]; 6] = [
    ["contrast.nobody", UNDECIDED, SAME, ENOUGH, NOBODY],
    // A refusal of us that spares a few recipients looks the same.
    ["contrast.few-neighbours", UNDECIDED, SAME, "", OPEN],
    // Not nobody, but closed, full, for members only, or a sender unwanted: words must say it.
    ["contrast.other-words", UNDECIDED, OTHERS, "", OPEN],
    // The server may look recipients up before it refuses us.
    ["contrast.known-words", KNOWN, "", "", OPEN],
    ["contrast.accepts-all", ACCEPTED, "", "", OPEN],
    ["contrast.otherwise", "", "", "", OPEN],
];

/// A list of exempt recipients often has one.
const NEIGHBOURS_MIN: usize = 2;

#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    pub invented: Invented,
    /// See [`people`].
    pub accepted: usize,
    /// One of them was accepted again after all refusals.
    pub is_accepted_again: bool,
}

impl Evidence {
    pub fn decide(&self, held: &[Wording]) -> Vec<bool> {
        let (invented, said) = match self.invented {
            Invented::Undecided(said) => (UNDECIDED, Some(said)),
            Invented::Known => (KNOWN, None),
            Invented::Accepted => (ACCEPTED, None),
            Invented::Unknown => ("", None),
        };
        let is_same = |held: &Wording| said.is_some_and(|said| said.is_same_as(*held));
        let refused_so = held.iter().filter(|held| is_same(held)).count();
        let is_enough = self.accepted >= NEIGHBOURS_MIN && self.accepted > refused_so;
        let neighbours = if is_enough && self.is_accepted_again { ENOUGH } else { "" };
        let decide = |held: &Wording| {
            let seen = [invented, if is_same(held) { SAME } else { OTHERS }, neighbours];
            let fits = |[_, due @ .., _]: &&[&str; 5]| {
                due.iter().zip(seen).all(|(due, seen)| due.is_empty() || *due == seen)
            };
            ROWS.iter().find(fits).is_some_and(|row| row.contains(&NOBODY))
        };
        held.iter().map(decide).collect()
    }
}

/// Number of different people among the accepted recipients. A role isn't counted, as it may be exempt from a refusal;
/// nor is the same name in another case, or with something behind a `+`.
pub fn people<'a>(accepted: impl IntoIterator<Item = &'a Address>) -> usize {
    let of = |address: &'a Address| {
        let name = address.local_part();
        let name = name.split_once('+').map_or(name, |(name, _)| name);
        (!is_role(name)).then(|| name.to_lowercase())
    };
    accepted.into_iter().filter_map(of).collect::<HashSet<_>>().len()
}

#[cfg(test)]
mod tests;
