//! The most common passwords, which attackers try first.

use std::cmp::Ordering;

/// Whether this is a common password, in lower or upper case: a binary search in the text of the list itself, which
/// has one a line, in byte order.
pub fn contains(list: &str, password: &str) -> bool {
    let password = password.to_lowercase();
    let mut rest = list.trim_end();
    while !rest.is_empty() {
        // The line around the middle of what is left, and what is before and after it. All is ASCII.
        let (before, after) = rest.split_at_checked(rest.len() / 2).unwrap_or((rest, ""));
        let (before, head) = before.rsplit_once('\n').unwrap_or(("", before));
        let (tail, after) = after.split_once('\n').unwrap_or((after, ""));
        rest = match head.chars().chain(tail.chars()).cmp(password.chars()) {
            Ordering::Equal => return true,
            Ordering::Less => after,
            Ordering::Greater => before,
        };
    }
    false
}

#[cfg(test)]
pub mod tests {
    /// See `data/README.md`.
    pub const LIST: &str = include_str!("../../data/common-passwords.txt");

    fn contains(password: &str) -> bool {
        super::contains(LIST, password)
    }

    #[test]
    fn every_line_is_found_in_any_case_and_there_are_three_thousand_in_order() {
        let lines: Vec<_> = LIST.lines().collect();
        assert!(lines.len() >= 3_000 && lines.is_sorted());
        for line in lines {
            assert!(line.is_ascii() && line == line.to_lowercase(), "{line}");
            assert!(contains(line) && contains(&line.to_uppercase()), "{line}");
        }
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in
            ["", "violet-anchor-77-quarry", "password\n", "passwor", "Apassword", "\u{10ffff}"]
        {
            assert!(!contains(text), "{text:?}");
        }
    }
}
