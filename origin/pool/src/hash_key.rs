//! Keyed hashes of names, and maps by such hashes.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
};

use super::Key;

/// Secret that is hashed before each value, so that outsiders can't find values with equal hashes.
#[derive(Clone, Copy)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// Creates a key from random numbers. The same numbers give the same hashes in all processes of
    /// one build.
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
pub(super) type ByKey<V> = HashMap<Key, V, BuildHasherDefault<Unkeyed>>;

/// Values by names from our own tables: nobody else can choose names that collide.
pub(super) type ByName<V> = HashMap<String, V, BuildHasherDefault<Unkeyed>>;

/// Hasher without a secret: a key is its own hash, and names are hashed with FNV-1a.
pub(super) struct Unkeyed(u64);

impl Default for Unkeyed {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Unkeyed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn write(&mut self, bytes: &[u8]) {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, mix);
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self(rand::random())
    }
}
