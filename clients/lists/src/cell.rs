//! A cell of the address column: one address, several, none, or a text that isn't an address.

use std::collections::HashSet;

use rcpt_shared::{Address, read};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Nothing but blanks and invisible marks: the row has no verdict.
    Empty,
    /// The addresses of the cell, each once, in order; at least one. A mail program sends to all of them.
    Addresses(Vec<Address>),
    /// A text that can't be read as an address. Nobody is asked about it.
    NotAnAddress(Problem),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A sentence for people. It quotes at most one character of the text.
    pub sentence: String,
    pub suggestion: Option<String>,
}

#[must_use]
pub fn subject(cell: &str) -> Subject {
    match address(cell) {
        Ok(address) => match unguarded(&address) {
            Some(problem) => Subject::NotAnAddress(problem),
            None => Subject::Addresses(vec![address]),
        },
        Err(Rejection::Empty) => Subject::Empty,
        Err(Rejection::Problem(problem)) => {
            several(cell).map_or(Subject::NotAnAddress(problem), Subject::Addresses)
        }
    }
}

#[derive(Debug)]
pub(crate) enum Rejection {
    Empty,
    Problem(Problem),
}

pub(crate) fn address(text: &str) -> Result<Address, Rejection> {
    read(text).map_err(|malformed| match malformed.is_empty() {
        true => Rejection::Empty,
        false => Rejection::Problem(Problem {
            sentence: malformed.problem(),
            suggestion: malformed.suggestion(),
        }),
    })
}

/// Some exports put an apostrophe before every text, against formulas. RFC 5321 allows it in an address, but the
/// mailbox that was meant has none.
fn unguarded(address: &Address) -> Option<Problem> {
    let meant = address.as_given().strip_prefix('\'')?;
    let suggestion = Address::parse(meant).ok()?.as_given().to_owned();
    let sentence = "It begins with an apostrophe, which spreadsheets put before a text.".to_owned();
    Some(Problem { sentence, suggestion: Some(suggestion) })
}

/// `None` unless the text holds at least two addresses, and nothing else that looks like one.
fn several(text: &str) -> Option<Vec<Address>> {
    if text.matches('@').count() < 2 {
        return None;
    }
    let mut found = Vec::new();
    for piece in pieces(text) {
        match address(piece) {
            Ok(address) => found.push(address),
            Err(Rejection::Empty) => {}
            Err(Rejection::Problem(_)) => found.extend(words(piece)?),
        }
    }
    let mut known = HashSet::new();
    found.retain(|address| known.insert(address.normal().to_owned()));
    (found.len() > 1).then_some(found)
}

pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut quoted, mut escaped, mut bracketed) = (0, false, false, false);
    // A quote that isn't closed quotes nothing.
    let closes = text.matches('"').count().is_multiple_of(2);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if closes => quoted = !quoted,
            '<' if !quoted => bracketed = true,
            '>' if !quoted => bracketed = false,
            '\r' | '\n' | ',' | ';' | '|' if !quoted && (!bracketed || c.is_control()) => {
                pieces.extend(text.get(start..at));
                start = at + c.len_utf8();
                bracketed = false;
            }
            _ => {}
        }
    }
    pieces.extend(text.get(start..));
    pieces
}

fn words(text: &str) -> Option<Vec<Address>> {
    let mut found = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "<>()".contains(c)) {
        let word = word.trim_matches(|c: char| ",;:.'\"".contains(c));
        match word.matches('@').count() {
            0 => {}
            1 => found.push(one(word)?),
            // Two addresses with a slash between them. A slash is allowed before the @, so each part must be whole.
            _ => {
                for part in word.split('/') {
                    found.push(one(part)?);
                }
            }
        }
    }
    Some(found)
}

fn one(word: &str) -> Option<Address> {
    address(word).ok().filter(|address| address.domain().contains('.'))
}

#[cfg(test)]
mod tests {
    use super::{Subject, subject};

    fn texts(cell: &str) -> Vec<String> {
        match subject(cell) {
            Subject::Empty => vec![],
            Subject::Addresses(found) => found.iter().map(|a| a.as_given().to_owned()).collect(),
            Subject::NotAnAddress(problem) => vec![format!("{problem:?}")],
        }
    }

    #[test]
    fn each_address_of_a_cell_is_found_with_every_separator_that_people_use() {
        for cell in [
            "a@x.org, b@x.org",
            "a@x.org; b@x.org;",
            "a@x.org b@x.org",
            "a@x.org/b@x.org",
            "a@x.org\r\nb@x.org",
            "a@x.org or b@x.org",
            "a@x.org ::: b@x.org",
            "a@x.org | b@x.org",
            "Ann <a@x.org>, \"B, the @ second\" <b@x.org>",
            "Ann (a@x.org); Bob (b@x.org)",
            "a@x.org, b@x.org, a@X.ORG",
        ] {
            assert_eq!(texts(cell), ["a@x.org", "b@x.org"], "{cell:?}");
        }
        assert_eq!(texts("Ann <a@x.org>"), ["a@x.org"]);
        assert_eq!(texts("a/b@x.org"), ["a/b@x.org"]);
    }

    #[test]
    fn a_cell_is_several_addresses_only_if_all_that_looks_like_one_is_one() {
        for cell in ["a@x.org, b@@x.org", "a@b@x.org", "a@x.org, b@", "mailto:a@x.org b@x.org"] {
            assert!(matches!(subject(cell), Subject::NotAnAddress(_)), "{cell:?}");
        }
    }

    #[test]
    fn blanks_are_no_address_and_nothing_is_wrong_with_them() {
        for cell in ["", "  ", "\t\u{a0}", "\u{feff}"] {
            assert_eq!(subject(cell), Subject::Empty, "{cell:?}");
        }
    }

    #[test]
    fn an_address_that_was_guarded_against_formulas_is_suggested_and_not_asked_about() {
        let Subject::NotAnAddress(problem) = subject("'ann@x.org") else { panic!() };
        assert_eq!(problem.suggestion.as_deref(), Some("ann@x.org"));
        assert!(matches!(subject("o'neil@x.org"), Subject::Addresses(_)));
    }
}
