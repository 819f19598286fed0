//! The most common passwords as a Bloom filter: the list itself is too long to read in each isolate.

use sha2::{Digest as _, Sha256};

/// The filter built by `portal/common-passwords.mjs`. Each password of the list, in lower case,
/// sets eight bits: the words of its SHA-256 (big-endian), modulo the number of bits. Bits of a
/// byte are numbered from the lowest.
#[derive(Debug, Clone, Copy)]
pub struct CommonPasswords<'a>(&'a [u8]);

fn positions(text: &str, bytes: usize) -> Vec<usize> {
    let digest: [u8; 32] = Sha256::digest(text).into();
    let (words, _) = digest.as_chunks();
    let bits = bytes.saturating_mul(8).max(1);
    words.iter().map(|word| u32::from_be_bytes(*word) as usize % bits).collect()
}

impl<'a> CommonPasswords<'a> {
    pub const fn new(filter: &'a [u8]) -> Self {
        Self(filter)
    }

    /// True for a common password, regardless of case. About one in 100,000 other passwords is mistaken for a common
    /// one.
    pub fn contains(self, password: &str) -> bool {
        let is_set = |position: usize| {
            self.0.get(position / 8).is_some_and(|byte| byte >> (position % 8) & 1 == 1)
        };
        positions(&password.to_lowercase(), self.0.len()).into_iter().all(is_set)
    }
}

#[cfg(test)]
pub mod tests {
    use std::sync::OnceLock;

    use super::{CommonPasswords, positions};

    /// The list of common passwords; see `data/README.md`.
    const LIST: &str = include_str!("../../data/common-passwords.txt");

    pub struct Filter(Vec<u8>);

    impl Filter {
        pub fn as_common(&self) -> CommonPasswords<'_> {
            CommonPasswords::new(&self.0)
        }
    }

    /// Builds the filter in the same way as the portal's build; an end-to-end test compares both
    /// filters.
    pub fn filter() -> &'static Filter {
        static FILTER: OnceLock<Filter> = OnceLock::new();
        FILTER.get_or_init(|| {
            let mut bytes = vec![0_u8; 196_608];
            for line in LIST.lines() {
                for position in positions(line, bytes.len()) {
                    bytes[position / 8] |= 1 << (position % 8);
                }
            }
            Filter(bytes)
        })
    }

    #[test]
    fn the_documents_have_the_number_of_passwords() {
        let count = LIST.lines().count();
        let shown = format!("{},{:03}", count / 1_000, count % 1_000);
        let pages = [
            include_str!("../../../docs/account-api.md"),
            include_str!("../../../docs/security.md"),
            include_str!("../../data/README.md"),
        ];
        assert!(pages.iter().all(|page| page.contains(&shown)), "{shown}");
    }

    #[test]
    fn every_line_is_found_in_any_case() {
        let lines: Vec<_> = LIST.lines().collect();
        assert!(lines.len() >= 50_000 && lines.is_sorted());
        for line in lines {
            assert!(line == line.to_lowercase() && line.chars().count() >= 8, "{line}");
            assert!(filter().as_common().contains(line), "{line}");
            // A few letters, such as the German \u{df}, don't survive the conversion to upper case
            // and back.
            if line.to_uppercase().to_lowercase() == line {
                assert!(filter().as_common().contains(&line.to_uppercase()), "{line}");
            }
        }
    }

    #[test]
    fn other_texts_are_not_found() {
        for text in
            ["", "violet-anchor-77-quarry", "password\n", "passwor", "Apassword", "\u{10ffff}"]
        {
            assert!(!filter().as_common().contains(text), "{text:?}");
        }
        let common_texts =
            (0..200_000).filter(|n| filter().as_common().contains(&format!("other {n}")));
        let common_count = common_texts.count();
        assert!(common_count <= 20, "{common_count} of 200,000 texts are taken for common ones");
    }

    #[test]
    fn a_filter_that_is_empty_has_nothing() {
        assert!(!CommonPasswords::new(&[]).contains("password"));
    }
}
