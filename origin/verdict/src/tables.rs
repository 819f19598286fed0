//! Reads the word lists: files in `data/`, built in and parsed once.

use serde::de::DeserializeOwned;

#[expect(clippy::expect_used, reason = "the files are built in, and a test reads each of them")]
pub(super) fn read<T: DeserializeOwned>(file: &str) -> T {
    toml::from_str(file).expect("a word list")
}
