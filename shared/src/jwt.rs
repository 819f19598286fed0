//! HS256 JSON Web Tokens (RFC 7519) over a [`KeyRing`], with the time as an argument. The algorithm provider installed
//! here supports only HS256, so `alg: none` and key confusion are impossible (docs/security.md, A5).

use std::sync::Once;

use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, EncodingKey, Header, Validation,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    decode_header,
    errors::{ErrorKind, Result as JwtResult},
    signature,
};
use serde::{Serialize, de::DeserializeOwned};
use sha2::Sha256;

use crate::KeyRing;

/// Greatest tolerated difference between two clocks, in seconds. With a larger difference, new tokens are rejected as
/// issued in the future.
pub const CLOCK_SKEW_S: u64 = 5;

/// The token isn't valid: forged, from another issuer, for another audience, or outside its lifetime.
/// The error has no details, so that an attacker learns nothing from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid token")]
pub struct InvalidToken;

/// Issuer and audience that a token must contain.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    pub issuer: &'static str,
    pub audience: &'static str,
}

pub trait Timed {
    fn issued_at(&self) -> u64;
    fn expires_at(&self) -> u64;
}

/// Signs with the ring's signing secret.
pub fn sign<C: Serialize>(keys: &KeyRing, claims: &C) -> Result<String, InvalidToken> {
    install();
    let (kid, secret) = keys.signing();
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::HS256) };
    jsonwebtoken::encode(&header, claims, &EncodingKey::from_secret(secret))
        .map_err(|_| InvalidToken)
}

/// Checks signature, `kid`, issuer, audience and times (`now` in Unix seconds).
pub fn verify<C: DeserializeOwned + Timed>(
    keys: &KeyRing,
    purpose: Purpose,
    token: &str,
    now: u64,
) -> Result<C, InvalidToken> {
    install();
    let kid = decode_header(token).ok().and_then(|header| header.kid).ok_or(InvalidToken)?;
    let secret = keys.secret(&kid).ok_or(InvalidToken)?;
    let mut rules = Validation::new(Algorithm::HS256);
    rules.set_issuer(&[purpose.issuer]);
    rules.set_audience(&[purpose.audience]);
    rules.set_required_spec_claims(&["exp", "iss", "aud"]);
    // The library would read the clock, which panics in wasm; the check below uses `now` instead.
    rules.validate_exp = false;
    let claims = jsonwebtoken::decode::<C>(token, &DecodingKey::from_secret(secret), &rules)
        .map_err(|_| InvalidToken)?
        .claims;
    let in_time =
        claims.issued_at() <= now.saturating_add(CLOCK_SKEW_S) && now < claims.expires_at();
    if in_time { Ok(claims) } else { Err(InvalidToken) }
}

fn install() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |algorithm, key| {
            hs256(*algorithm, key.family())?;
            Ok(Box::new(Hs256::new(key.as_bytes())?))
        },
        verifier_factory: |algorithm, key| {
            hs256(*algorithm, key.family())?;
            Ok(Box::new(Hs256::new(key.try_get_as_bytes()?)?))
        },
        key_utils: KeyUtils::new_unimplemented(),
    };
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Fails only if a provider is already installed, and no other code installs one.
        let _ = PROVIDER.install_default();
    });
}

fn hs256(algorithm: Algorithm, family: AlgorithmFamily) -> JwtResult<()> {
    if algorithm == Algorithm::HS256 && family == AlgorithmFamily::Hmac {
        Ok(())
    } else {
        Err(ErrorKind::InvalidAlgorithm.into())
    }
}

/// HMAC-SHA256 with the interface that `jsonwebtoken` requires.
struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(secret: &[u8]) -> JwtResult<Self> {
        Hmac::new_from_slice(secret).map(Self).map_err(|_| ErrorKind::InvalidKeyFormat.into())
    }

    fn over(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac
    }
}

impl signature::Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.over(message).finalize().into_bytes().to_vec())
    }
}

impl signature::Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        // Compares in constant time, and only accepts the full 32 bytes.
        self.over(message).verify_slice(signature).map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}
