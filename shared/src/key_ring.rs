//! Secrets that can be replaced without an outage: the youngest that is ten minutes old signs, all verify.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::Sha256;

/// Shortest secret accepted: 256 bits, as RFC 7518 §3.2 requires for HS256.
const MIN_SECRET_BYTES: usize = 32;
/// A secret signs ten minutes after it was made: then every instance of the edge verifies it, and clocks may differ.
const SIGNS_AFTER_S: u64 = 10 * 60;
/// Bytes of a secret's id: two secrets share one once in 2^40 pairs.
const ID_BYTES: usize = 5;

/// Secrets that are valid together, so that one can be added and later another deleted. Clones turn together.
#[derive(Clone)]
pub struct KeyRing(Arc<Ring>);

struct Ring {
    /// The oldest first.
    entries: Vec<Entry>,
    signing: AtomicUsize,
}

struct Entry {
    id: String,
    /// Minute of its making, in Unix seconds.
    made: u64,
    secret: SecretSlice<u8>,
    /// The secret's precomputed key schedule: two of the four compressions of a short MAC.
    keyed: Hmac<Sha256>,
}

/// A configured secret can't be read; no part of it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a secret is unpadded base64url of at least {MIN_SECRET_BYTES} bytes")]
pub struct KeyRingError;

impl KeyRing {
    /// A ring of secrets in unpadded base64url, each with the minute of its making in Unix seconds. The oldest signs
    /// until the ring is [turned](Self::turn). A ring without secrets signs what nothing verifies.
    ///
    /// # Errors
    /// [`KeyRingError`], if one can't be read.
    pub fn new<'t>(
        secrets: impl IntoIterator<Item = (u64, &'t str)>,
    ) -> Result<Self, KeyRingError> {
        let entries = secrets.into_iter().map(|(made, text)| Entry::read(made, text));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(|entry| entry.made);
        Ok(Self(Arc::new(Ring { entries, signing: AtomicUsize::new(0) })))
    }

    /// Parses secrets without an age, separated by commas: the first signs.
    ///
    /// # Errors
    /// [`KeyRingError`], if one can't be read.
    pub fn parse(configured: &str) -> Result<Self, KeyRingError> {
        Self::new(configured.split(',').map(|text| (0, text)))
    }

    /// Lets the youngest secret sign that is ten minutes old at `now` (Unix seconds), or else the oldest.
    pub fn turn(&self, now: u64) {
        let is_ripe = |entry: &Entry| entry.made.saturating_add(SIGNS_AFTER_S) <= now;
        let signing = self.0.entries.iter().rposition(is_ripe).unwrap_or_default();
        self.0.signing.store(signing, Ordering::Relaxed);
    }

    /// The signing secret and its id.
    #[must_use]
    pub fn signing(&self) -> (&str, &[u8]) {
        // An empty secret would verify nothing that was signed.
        self.entries().next().map_or(("", &[]), |entry| (&entry.id, entry.secret.expose_secret()))
    }

    /// The secret with this id.
    #[must_use]
    pub fn secret(&self, id: &str) -> Option<&[u8]> {
        self.entries().find(|entry| entry.id == id).map(|entry| entry.secret.expose_secret())
    }

    /// Ids of the secrets: the signing secret's first, then the oldest's.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries().map(|entry| entry.id.as_str())
    }

    /// An HMAC under the signing secret, to be updated with the message.
    #[must_use]
    pub fn signing_mac(&self) -> Hmac<Sha256> {
        self.macs().next().unwrap_or_else(|| Hmac::new(&Default::default()))
    }

    /// An HMAC under each secret, in the order of [`Self::ids`], to be updated with the message.
    pub fn macs(&self) -> impl Iterator<Item = Hmac<Sha256>> {
        self.entries().map(|entry| entry.keyed.clone())
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        let Ring { entries, signing } = &*self.0;
        let signing = signing.load(Ordering::Relaxed);
        let others = entries.iter().enumerate().filter(move |(index, _)| *index != signing);
        entries.get(signing).into_iter().chain(others.map(|(_, entry)| entry))
    }
}

impl Entry {
    fn read(made: u64, text: &str) -> Result<Self, KeyRingError> {
        let secret = URL_SAFE_NO_PAD.decode(text.trim()).map_err(|_| KeyRingError)?;
        if secret.len() < MIN_SECRET_BYTES {
            return Err(KeyRingError);
        }
        let keyed = Hmac::<Sha256>::new_from_slice(&secret).map_err(|_| KeyRingError)?;
        let id = keyed.clone().chain_update(b"rcpt secret id").finalize().into_bytes();
        let id = id.iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { id, made, secret: secret.into(), keyed })
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyRing, KeyRingError};

    const A: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";
    const B: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI";
    const C: &str = "Q0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0NDQ0M";

    #[test]
    fn the_youngest_that_is_ten_minutes_old_signs_and_all_verify() {
        // In any order, as the platform lists them.
        let ring = KeyRing::new([(9_000, C), (1_000, A), (5_000, B)]).unwrap();
        let clone = ring.clone();
        for (now, signs) in
            [(0, b'A'), (1_600, b'A'), (5_599, b'A'), (5_600, b'B'), (9_600, b'C'), (0, b'A')]
        {
            ring.turn(now);
            assert_eq!(clone.signing().1, [signs; 32], "{now}");
            assert_eq!((ring.macs().count(), ring.ids().count()), (3, 3));
            for id in ring.ids() {
                assert!(ring.secret(id).is_some());
            }
        }
        ring.turn(5_600);
        let secrets: Vec<_> = ring.ids().map(|id| ring.secret(id).unwrap()[0]).collect();
        assert_eq!(secrets, [b'B', b'A', b'C'], "the one that signs, and then the oldest");
        assert_eq!(ring.secret("gone"), None);
    }

    #[test]
    fn an_id_belongs_to_the_value_alone() {
        let id = |ring: &KeyRing| ring.signing().0.to_owned();
        let alone = KeyRing::parse(A).unwrap();
        // Computed by another implementation (Python's hmac).
        assert_eq!(id(&alone), "4e13baf98a");
        assert_eq!(id(&KeyRing::new([(77, A)]).unwrap()), id(&alone));
        assert_ne!(id(&KeyRing::parse(B).unwrap()), id(&alone));
    }

    #[test]
    fn says_what_is_wrong_without_showing_the_secret() {
        for configured in ["", "QUFB", &format!("{A}="), &format!("{A},"), &format!("k1:{A}")] {
            assert_eq!(KeyRing::parse(configured).unwrap_err(), KeyRingError, "{configured}");
        }
    }

    #[test]
    fn a_ring_without_secrets_verifies_nothing_and_hides_no_panic() {
        let ring = KeyRing::new([]).unwrap();
        ring.turn(7);
        assert_eq!((ring.signing(), ring.macs().count()), (("", [].as_slice()), 0));
    }

    #[test]
    fn hides_secrets_from_debug() {
        let shown = format!("{:?}", KeyRing::parse(A).unwrap());
        assert_eq!(shown, r#"["4e13baf98a"]"#);
    }
}
