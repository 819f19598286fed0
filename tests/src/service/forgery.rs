//! Credentials forged outside the edge, with a known or guessed secret.
//!
//! Written from docs/decisions/0002-derived-keys.md alone, so that tests with it also check the edge's output.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use rcpt_shared::{KeyRing, jwt};
use serde_json::{Value, json};
use sha2::Sha256;

use super::clock;

/// The id of each account's own key.
pub const OWN: &str = "0000000000000000";

/// This version of the account's own key (the account as 16 hexadecimal digits) under the ring's first secret.
pub fn api_key(keys: &KeyRing, account: &str, version: u32) -> String {
    key(keys, (account, OWN), (u8::MAX, 0, version))
}

/// The key of this account and id (16 hexadecimal digits each), with these rights, end (Unix seconds; 0: none)
/// and version, under the ring's first secret.
pub fn key(
    keys: &KeyRing,
    (account, id): (&str, &str),
    (rights, expires_at, version): (u8, u32, u32),
) -> String {
    let [account, id] =
        [account, id].map(|id| u64::from_str_radix(id, 16).expect("16 hexadecimal digits"));
    let mut mac = Hmac::<Sha256>::new_from_slice(keys.signing().1).expect("any length");
    mac.update(b"rcpt api key\0");
    for number in [account, id] {
        mac.update(&number.to_be_bytes());
    }
    mac.update(&[rights]);
    for number in [expires_at, version] {
        mac.update(&number.to_be_bytes());
    }
    let tag = mac.finalize().into_bytes();
    let tag = u128::from_be_bytes(*tag.first_chunk().expect("32 bytes"));
    let subject = u128::from(account) << 64 | u128::from(id);
    let terms = u128::from(rights) << 64 | u128::from(expires_at) << 32 | u128::from(version);
    let [subject, terms, tag] = [base62(subject, 22), base62(terms, 13), base62(tag, 22)];
    let mode = if rights == SANDBOX { "test" } else { "live" };
    with_checksum(&format!("rcpt_{mode}_{subject}{terms}{tag}"))
}

/// The bit of the right `sandbox`.
const SANDBOX: u8 = 1 << 6;

/// Changes one character of the key's MAC, and corrects the checksum.
pub fn with_another_mac(api_key: &str) -> String {
    let (covered, _) = api_key.split_at(api_key.len() - 6);
    let (head, last) = covered.split_at(covered.len() - 1);
    with_checksum(&format!("{head}{}", if last == "0" { "1" } else { "0" }))
}

fn with_checksum(covered: &str) -> String {
    format!("{covered}{}", base62(crc32fast::hash(covered.as_bytes()).into(), 6))
}

fn base62(value: u128, width: usize) -> String {
    let digits = ::base62::encode(value);
    format!("{digits:0>width$}")
}

/// The claims of this account's session, issued now.
pub fn session_claims(account: &str, session: &str) -> Value {
    let now = clock::now();
    json!({
        "iss": "rcpt", "aud": "portal", "sub": account, "iat": now, "exp": now + 3600,
        "jti": session,
    })
}

/// The session named in a genuine token.
#[must_use]
pub fn session_of(token: &str) -> String {
    let claims = token.split('.').nth(1).expect("claims");
    let claims = URL_SAFE_NO_PAD.decode(claims).expect("base64url");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    claims.get("jti").and_then(Value::as_str).expect("a session").to_owned()
}

/// A session token with these claims, signed with the ring's first secret.
pub fn session(keys: &KeyRing, claims: &Value) -> String {
    jwt::sign(keys, claims).expect("claims")
}

/// Replaces the algorithm in the token's header, and its signature.
pub fn with_algorithm(token: &str, algorithm: &str, signature: &str) -> String {
    let mut parts = token.split('.');
    let header = URL_SAFE_NO_PAD.decode(parts.next().expect("a header")).expect("base64url");
    let mut header: Value = serde_json::from_slice(&header).expect("JSON");
    if let Some(header) = header.as_object_mut() {
        header.insert("alg".to_owned(), algorithm.into());
    }
    let claims = parts.next().expect("claims");
    format!("{}.{claims}.{signature}", URL_SAFE_NO_PAD.encode(header.to_string()))
}
