//! Folds by source.

use sha2::{Digest as _, Sha256};

pub const FOLDS: u8 = 5;
/// Nobody chooses words or settings from the rows of this fold.
pub const APART: u8 = 0;

/// The fold of `source`: the first octet of its SHA-256 modulo five.
#[must_use]
pub fn fold_of(source: &str) -> u8 {
    Sha256::digest(source.as_bytes()).first().copied().unwrap_or_default() % FOLDS
}
