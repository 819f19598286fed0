//! Keyed hashes of names.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Secret that is hashed before each value, so that outsiders can't find values with equal hashes.
#[derive(Clone, Copy)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// Creates a key from random numbers, different for each process; the same numbers give the
    /// same hashes within one build.
    pub const fn new(secret: [u64; 2]) -> Self {
        Self(secret)
    }

    pub fn hash_one(self, value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0, value).hash(&mut hasher);
        hasher.finish()
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self(rand::random())
    }
}
