//! The most common passwords, which attackers try first.

/// In byte order, front-coded by `build.rs`; see `data/README.md`.
static PACKED: &str = include_str!(concat!(env!("OUT_DIR"), "/common-passwords.front"));

/// Whether this is a common password, in lower or upper case.
pub fn contains(password: &str) -> bool {
    let password = password.to_lowercase();
    let mut line = String::new();
    // From the start each time: 60 KB to look through are nothing beside the hash that follows.
    PACKED.lines().any(|packed| {
        unpack(&mut line, packed);
        line == password
    })
}

/// Makes the line before into the one that `packed` stands for. All of it is ASCII.
fn unpack(line: &mut String, packed: &str) {
    let mut rest = packed.chars();
    let shared = rest.next().map_or(0, |count| (count as usize).saturating_sub('A' as usize));
    line.truncate(shared);
    line.push_str(rest.as_str());
}

#[cfg(test)]
mod tests {
    use super::{PACKED, contains, unpack};

    #[test]
    fn every_line_is_found_in_any_case_and_there_are_ten_thousand() {
        let lines: Vec<_> = include_str!("../../data/common-passwords.txt").lines().collect();
        assert!(lines.len() >= 10_000);
        // Every 20th, and the last: each look-up reads the list from its start.
        let some = lines.iter().step_by(20).chain(lines.last());
        assert!(some.clone().all(|line| contains(line) && contains(&line.to_uppercase())));
        let mut unpacked = String::new();
        for (packed, line) in PACKED.lines().zip(&lines) {
            unpack(&mut unpacked, packed);
            assert_eq!(unpacked, *line);
        }
        assert_eq!(PACKED.lines().count(), lines.len());
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in ["", "violet-anchor-77-quarry", "password\n", "passwor", "Apassword"] {
            assert!(!contains(text), "{text:?}");
        }
    }
}
