//! The public key of a passkey: parsed from COSE (RFC 9052), stored as a JWK (RFC 7517). Also converts signatures for
//! the runtime.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::cbor::CborReader;

/// Algorithm numbers in COSE's registry: ECDSA over P-256 with SHA-256, and RSASSA-PKCS1-v1_5 with SHA-256.
pub const ALGORITHMS: [i64; 2] = [ES256, RS256];
const ES256: i64 = -7;
const RS256: i64 = -257;
/// Bytes of a coordinate and of each half of a signature.
const P256_BYTES: usize = 32;
/// In bytes: 2,048 to 4,096 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=512;
/// In bytes; in practice the exponent is 65537.
const EXPONENT: std::ops::RangeInclusive<usize> = 1..=4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(String);

#[derive(Default)]
struct CoseKey<'a> {
    kind: Option<i64>,
    algorithm: Option<i64>,
    /// Label -1 of an EC key.
    curve: Option<i64>,
    /// Labels -1, -2 and -3, if they are byte strings.
    strings: [Option<&'a [u8]>; 3],
}

impl PublicKey {
    /// Parses one COSE key. Returns `None` for another algorithm, and for an unknown, repeated or malformed parameter.
    pub fn read(reader: &mut CborReader<'_>) -> Option<Self> {
        let mut key = CoseKey::default();
        let pairs = reader.map()?;
        for _ in 0..pairs {
            let label = reader.int()?;
            let old = match label {
                1 => key.kind.replace(reader.int()?).is_some(),
                3 => key.algorithm.replace(reader.int()?).is_some(),
                -1 if key.kind == Some(2) => key.curve.replace(reader.int()?).is_some(),
                -3..=-1 => {
                    let slot = key.strings.get_mut(usize::try_from(-1 - label).ok()?)?;
                    slot.replace(reader.bytes()?).is_some()
                }
                _ => return None,
            };
            if old {
                return None;
            }
        }
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match (key.kind, key.algorithm, key.curve, key.strings) {
            (Some(2), Some(ES256), Some(1), [None, Some(x), Some(y)])
                if x.len() == P256_BYTES && y.len() == P256_BYTES =>
            {
                let (x, y) = (text(x), text(y));
                Some(Self(format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}"}}"#)))
            }
            (Some(3), Some(RS256), None, [Some(n), Some(e), None])
                if MODULUS.contains(&n.len())
                    && EXPONENT.contains(&e.len())
                    && n.first() != Some(&0) =>
            {
                let (n, e) = (text(n), text(e));
                Some(Self(format!(r#"{{"kty":"RSA","n":"{n}","e":"{e}"}}"#)))
            }
            _ => None,
        }
    }

    pub const fn stored(jwk: String) -> Self {
        Self(jwk)
    }

    /// The curve's base point: verifying under it takes as long as under a passkey's key.
    pub fn base_point() -> Self {
        Self(
            r#"{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}"#
                .to_owned(),
        )
    }

    pub fn as_jwk(&self) -> &str {
        &self.0
    }

    /// A signature in the form that the runtime verifies. An ECDSA signature is converted from DER (RFC 3279 §2.2.3) to
    /// two numbers of 32 bytes each.
    pub fn signature(&self, presented: &[u8]) -> Option<Vec<u8>> {
        if self.0.starts_with(r#"{"kty":"RSA""#) {
            return Some(presented.to_vec());
        }
        let (sequence, rest) = der(0x30, presented)?;
        let (r, numbers) = der(0x02, sequence)?;
        let (s, none) = der(0x02, numbers)?;
        let is_all = rest.is_empty() && none.is_empty();
        is_all.then(|| Some([p256_number(r)?, p256_number(s)?].concat()))?
    }
}

fn der(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let [found, length, rest @ ..] = bytes else { return None };
    let is_it = *found == tag && *length < 128;
    is_it.then(|| rest.split_at_checked(usize::from(*length)))?
}

/// The number must be positive, and encoded in its shortest form.
fn p256_number(integer: &[u8]) -> Option<[u8; P256_BYTES]> {
    let digits = match integer {
        [0, digits @ ..] if digits.first().is_some_and(|first| *first >= 128) => digits,
        [1..128, ..] => integer,
        _ => return None,
    };
    let mut number = [0; P256_BYTES];
    let start = P256_BYTES.checked_sub(digits.len())?;
    number.get_mut(start..)?.copy_from_slice(digits);
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::{CborReader, PublicKey};

    fn key(hex: &str) -> Option<PublicKey> {
        let bytes = hex::decode(hex).unwrap();
        let mut reader = CborReader(&bytes);
        PublicKey::read(&mut reader).filter(|_| reader.0.is_empty())
    }

    #[test]
    fn a_key_has_each_parameter_once_and_no_other_one() {
        let (x, y) = ("11".repeat(32), "22".repeat(32));
        let good = format!("a5010203262001215820{x}225820{y}");
        assert!(key(&good).unwrap().as_jwk().starts_with(r#"{"kty":"EC","crv":"P-256","x":"ERER"#));
        for wrong in [
            // Without y; x twice; with a key id; ES384; curve P-384; a short x; y as one bit; an OKP key.
            format!("a4010203262001215820{x}"),
            format!("a5010203262001215820{x}215820{y}"),
            format!("a601020241aa03262001215820{x}225820{y}"),
            format!("a501020338222001215820{x}225820{y}"),
            format!("a5010203262002215820{x}225820{y}"),
            format!("a501020326200121581f{}225820{y}", "11".repeat(31)),
            format!("a5010203262001215820{x}22f5"),
            format!("a4010103272006215820{x}"),
            good.replace("a5", "a6"),
            "a0".to_owned(),
            String::new(),
        ] {
            assert_eq!(key(&wrong), None, "{wrong}");
        }
        let rsa = |modulus: &str, e: &str| {
            format!("a401030339010020590{:03x}{modulus}21{e}", modulus.len() / 2)
        };
        assert!(key(&rsa(&"a1".repeat(256), "43010001")).is_some());
        for (modulus, e) in [
            ("a1".repeat(255), "43010001"),
            ("a1".repeat(513), "43010001"),
            (format!("00{}", "a1".repeat(256)), "43010001"),
            ("a1".repeat(256), "40"),
            ("a1".repeat(256), "450100000001"),
        ] {
            assert_eq!(key(&rsa(&modulus, e)), None, "{}", modulus.len());
        }
    }

    #[test]
    fn signatures_of_another_form_are_none() {
        let ec = PublicKey::base_point();
        let raw = ec.signature(&hex::decode("3007020101020200ff").unwrap()).unwrap();
        assert_eq!((raw.len(), raw[31], raw[63]), (64, 1, 255));
        let long = "11".repeat(33);
        for wrong in [
            "",
            "30",
            "3005020101020101",
            "300602010102010100",
            "30060201010201",
            "3006020100020101",
            "30060201ff020101",
            "300702020001020101",
            "3081060201010201ff",
            &format!("3026022100{long}020101"),
            "310602010102020101",
        ] {
            assert_eq!(ec.signature(&hex::decode(wrong).unwrap()), None, "{wrong}");
        }
    }
}
