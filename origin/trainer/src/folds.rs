//! Assigns sources to folds.

use sha2::{Digest as _, Sha256};

pub const FOLDS: u8 = 5;
/// Held-out fold: words and settings are never chosen from its rows.
pub const HELD_OUT: u8 = 0;

/// Returns the fold of `source`: the first byte of its SHA-256 modulo five.
#[must_use]
pub fn fold_of(source: &str) -> u8 {
    Sha256::digest(source.as_bytes()).first().copied().unwrap_or_default() % FOLDS
}
