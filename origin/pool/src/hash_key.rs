//! Keyed hashes of names.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
};

use super::Key;

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

/// Values by key, which is a keyed hash already and isn't hashed again.
pub(super) type ByKey<V> = HashMap<Key, V, BuildHasherDefault<Unhashed>>;

#[derive(Default)]
pub(super) struct Unhashed(u64);

impl Hasher for Unhashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self(rand::random())
    }
}
