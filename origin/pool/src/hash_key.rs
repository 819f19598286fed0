//! Keyed hashes of names.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Secret that goes into a hash before the value: without it nobody knows which values share a hash.
#[derive(Clone, Copy)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// A key of its own for each process; the same octets give the same hashes in one build.
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
