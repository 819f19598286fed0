//! Passwords that are tried first by whoever tries passwords.

use std::sync::OnceLock;

/// In byte order, one a line; see `data/README.md`.
static TEXT: &str = include_str!("../data/common-passwords.txt");

static LINES: OnceLock<Vec<&str>> = OnceLock::new();

/// Whether this is a common password, in lower or upper case.
#[must_use]
pub fn contains(password: &str) -> bool {
    let lines = LINES.get_or_init(|| TEXT.lines().collect());
    lines.binary_search(&password.to_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{TEXT, contains};

    #[test]
    fn every_line_is_found_and_there_are_ten_thousand() {
        assert!(TEXT.lines().count() >= 10_000);
        assert!(TEXT.lines().is_sorted(), "binary search needs byte order");
        assert!(TEXT.lines().all(contains));
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in ["", "violet-anchor-77-quarry", "password\n"] {
            assert!(!contains(text), "{text:?}");
        }
    }
}
