//! Encrypts stored and queued data, so that only the Worker can read it. Also detects a repeated part of a scan
//! without storing its addresses.

use aes_gcm::{
    Aes256Gcm, Nonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use hmac::{Hmac, Mac as _};
use rcpt_shared::KeyRing;
use sha2::Sha256;

const NONCE_BYTES: usize = 12;

/// The text is damaged or too long, was sealed for another purpose or position, or its key is lost.
#[derive(Debug, PartialEq, Eq)]
pub struct SealError;

/// Purpose of a seal; each purpose has its own key.
#[derive(Debug, Clone, Copy)]
pub struct SealPurpose<'a>(pub &'a [u8]);

/// Purpose of the seals on the addresses of scans.
pub const SCANS: SealPurpose<'_> = SealPurpose(b"rcpt scan seal");

/// `id.nonce||ciphertext`, AES-256-GCM. `about` is the associated data: the text decrypts only with it.
///
/// # Errors
/// [`SealError`], for a text of more than 64 GiB.
pub fn seal(
    keys: &KeyRing,
    purpose: SealPurpose<'_>,
    about: &str,
    text: &[u8],
    nonce: [u8; NONCE_BYTES],
) -> Result<String, SealError> {
    let (id, secret) = keys.signing();
    let payload = Payload { msg: text, aad: about.as_bytes() };
    let sealed =
        cipher(secret, purpose).encrypt(&Nonce::from(nonce), payload).map_err(|_| SealError)?;
    Ok(format!("{id}.{}", STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat())))
}

/// Decrypts the output of [`seal`].
///
/// # Errors
/// [`SealError`].
pub fn open(
    keys: &KeyRing,
    purpose: SealPurpose<'_>,
    about: &str,
    sealed: &str,
) -> Result<Vec<u8>, SealError> {
    let (id, sealed) = sealed.split_once('.').ok_or(SealError)?;
    let secret = keys.secret(id).ok_or(SealError)?;
    let sealed = STANDARD_NO_PAD.decode(sealed).map_err(|_| SealError)?;
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>().ok_or(SealError)?;
    let payload = Payload { msg: sealed, aad: about.as_bytes() };
    cipher(secret, purpose).decrypt(&Nonce::from(*nonce), payload).map_err(|_| SealError)
}

/// The encryption key is derived, so that the ring's secrets may have any length.
fn cipher(secret: &[u8], purpose: SealPurpose<'_>) -> Aes256Gcm {
    let mut derived = <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(secret)
        .unwrap_or_else(|_| hmac::KeyInit::new(&Default::default()));
    derived.update(purpose.0);
    Aes256Gcm::new(&derived.finalize().into_bytes())
}

/// MACs over a part's position and all its addresses, one for each live secret, the signing secret's first: `id.` and
/// 64 hexadecimal digits.
pub fn part_macs(keys: &KeyRing, scan: &str, part: u32, addresses: &[String]) -> Vec<String> {
    let mac = |mut mac: Hmac<Sha256>| {
        mac.update(format!("scan part\0{scan}\0{part}").as_bytes());
        for address in addresses {
            // The length comes first, so that two different lists never hash the same text.
            mac.update(&(address.len() as u64).to_be_bytes());
            mac.update(address.as_bytes());
        }
        hex::encode(mac.finalize().into_bytes())
    };
    keys.ids().zip(keys.macs()).map(|(id, keyed)| format!("{id}.{}", mac(keyed))).collect()
}

#[cfg(test)]
mod tests {
    use super::{SCANS, SealError, SealPurpose, open, part_macs, seal};
    use rcpt_shared::KeyRing;

    fn keys(letter: &str) -> KeyRing {
        KeyRing::parse(&letter.repeat(43)).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_for_what_it_is_about_and_under_its_key_only() {
        let sealed = seal(&keys("w"), SCANS, "scan_1/0/0", b"ann@example.org", [9; 12]).unwrap();
        assert!(!sealed.contains("ann") && sealed.starts_with(keys("w").signing().0), "{sealed}");
        let opened = open(&keys("w"), SCANS, "scan_1/0/0", &sealed).unwrap();
        assert_eq!(opened, b"ann@example.org");
        assert_eq!(open(&keys("w"), SCANS, "scan_1/0/1", &sealed), Err(SealError));
        assert_eq!(open(&keys("0"), SCANS, "scan_1/0/0", &sealed), Err(SealError));
        let other = SealPurpose(b"another");
        assert_eq!(open(&keys("w"), other, "scan_1/0/0", &sealed), Err(SealError));
        let id = keys("w").signing().0.to_owned();
        let (nothing, short) = (format!("{id}."), format!("{id}.AAAA"));
        for damaged in ["", &nothing, &short, sealed.trim_end_matches(char::is_alphanumeric)] {
            assert_eq!(open(&keys("w"), SCANS, "scan_1/0/0", damaged), Err(SealError), "{damaged}");
        }
    }

    #[test]
    fn what_a_replaced_secret_has_sealed_opens_while_it_is_there() {
        let (old, new) = ("w".repeat(43), "0".repeat(43));
        let sealed = seal(&KeyRing::parse(&old).unwrap(), SCANS, "s", b"x", [1; 12]).unwrap();
        let both = KeyRing::parse(&format!("{new},{old}")).unwrap();
        assert_eq!(open(&both, SCANS, "s", &sealed).unwrap(), b"x");
        assert_eq!(open(&KeyRing::parse(&new).unwrap(), SCANS, "s", &sealed), Err(SealError));
    }

    #[test]
    fn a_part_is_told_from_every_other_one() {
        let of = |scan, part, list: &[&str]| {
            let list: Vec<String> = list.iter().map(|text| (*text).to_owned()).collect();
            part_macs(&keys("w"), scan, part, &list)
        };
        let one = of("s", 0, &["ab", "c"]);
        assert_eq!(one, of("s", 0, &["ab", "c"]));
        assert_eq!(one.len(), 1);
        for other in [of("s", 0, &["a", "bc"]), of("s", 1, &["ab", "c"]), of("t", 0, &["ab", "c"])]
        {
            assert_ne!(one, other);
        }
    }
}
