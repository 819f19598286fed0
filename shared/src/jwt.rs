//! HS256 JSON Web Tokens (RFC 7519) over a [`KeyRing`], with the time as an argument. Only one header is written and
//! read, so `alg: none` and key confusion are impossible (docs/security.md, A5).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::Mac as _;
use serde::Serialize;

use crate::KeyRing;

/// Greatest tolerated difference between two clocks, in seconds. With a larger difference, new tokens are rejected as
/// issued in the future.
pub const CLOCK_SKEW_S: u64 = 5;

/// The text of every header before and after the id of the secret.
const HEADER: [&str; 2] = [r#"{"typ":"JWT","alg":"HS256","kid":""#, r#""}"#];

/// The token isn't valid: forged, from another issuer, for another audience, or outside its lifetime.
/// The error has no details, so that an attacker learns nothing from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a valid token")]
pub struct InvalidToken;

/// Issuer and audience that a token must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose<'a> {
    pub issuer: &'a str,
    pub audience: &'a str,
}

pub trait Claims {
    fn purpose(&self) -> Purpose<'_>;
    /// Time of issue and of expiry, in Unix seconds.
    fn times(&self) -> (u64, u64);
}

/// Signs with the ring's signing secret.
pub fn sign<C: Serialize>(keys: &KeyRing, claims: &C) -> Result<String, InvalidToken> {
    serde_json::to_vec(claims).ok().and_then(|claims| token(keys, &claims)).ok_or(InvalidToken)
}

fn token(keys: &KeyRing, claims: &[u8]) -> Option<String> {
    let (id, _) = keys.signing();
    let header = HEADER.join(id);
    let signed = [header.as_bytes(), claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let tag = keys.mac(id)?.chain_update(&signed).finalize().into_bytes();
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag)))
}

/// Checks signature, `kid`, issuer, audience and times (`now` in Unix seconds). `read` gets the claims' JSON.
pub fn verify<C: Claims>(
    keys: &KeyRing,
    purpose: Purpose<'_>,
    token: &str,
    now: u64,
    read: impl FnOnce(&[u8]) -> Option<C>,
) -> Result<C, InvalidToken> {
    let claims = signed_claims(keys, token).and_then(|claims| read(&claims)).ok_or(InvalidToken)?;
    let (issued_at, expires_at) = claims.times();
    let in_time = issued_at <= now.saturating_add(CLOCK_SKEW_S) && now < expires_at;
    if in_time && claims.purpose() == purpose { Ok(claims) } else { Err(InvalidToken) }
}

/// The claims in JSON, if a secret of the ring has signed them.
fn signed_claims(keys: &KeyRing, token: &str) -> Option<Vec<u8>> {
    let (signed, tag) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let header = String::from_utf8(URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    let [before, after] = HEADER;
    let id = header.strip_prefix(before)?.strip_suffix(after)?;
    // Compares in constant time, and only accepts the full 32 bytes.
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    keys.mac(id)?.chain_update(signed).verify_slice(&tag).ok()?;
    URL_SAFE_NO_PAD.decode(claims).ok()
}
