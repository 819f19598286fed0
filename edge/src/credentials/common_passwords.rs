//! The most common passwords, which attackers try first.

/// In byte order, front-coded by `build.rs`; see `data/README.md`.
static PACKED: &str = include_str!(concat!(env!("OUT_DIR"), "/common-passwords.front"));

/// Whether this is a common password, in lower or upper case.
pub fn contains(password: &str) -> bool {
    let password = password.to_lowercase();
    // From the start each time: 60 KB to look through are nothing beside the hash that follows.
    lines(|line| line == password)
}

/// Shows each line in turn, until one is what is looked for.
fn lines(mut is_it: impl FnMut(&str) -> bool) -> bool {
    let mut line = String::new();
    // The first line has nothing before it.
    for c in PACKED.chars().skip(1) {
        if !c.is_ascii_uppercase() {
            line.push(c);
            continue;
        }
        // The next line begins, with so many letters of this one.
        if is_it(&line) {
            return true;
        }
        line.truncate((c as usize).saturating_sub('A' as usize));
    }
    is_it(&line)
}

#[cfg(test)]
mod tests {
    use super::{contains, lines};

    #[test]
    fn every_line_is_found_in_any_case_and_there_are_ten_thousand() {
        let text = include_str!("../../data/common-passwords.txt");
        assert!(text.lines().count() >= 10_000);
        // Every 20th, and the last: each look-up reads the list from its start.
        let some = text.lines().step_by(20).chain(text.lines().last());
        assert!(some.clone().all(|line| contains(line) && contains(&line.to_uppercase())));
        let mut unpacked = Vec::new();
        lines(|line| {
            unpacked.push(line.to_owned());
            false
        });
        assert_eq!(unpacked, text.lines().collect::<Vec<_>>());
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in ["", "violet-anchor-77-quarry", "password\n", "passwor", "Apassword"] {
            assert!(!contains(text), "{text:?}");
        }
    }
}
