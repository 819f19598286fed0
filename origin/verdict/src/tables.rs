//! Word lists are data: files of `data/`, built in and read once.

use serde::de::DeserializeOwned;

/// Parses the file's content.
#[expect(clippy::expect_used, reason = "the files are built in, and a test reads each of them")]
pub(super) fn read<T: DeserializeOwned>(file: &str) -> T {
    toml::from_str(file).expect("a word list")
}
