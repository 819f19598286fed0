//! The token in a mailed link: 256 random bits for its owner, a SHA-256 for the database.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// Seconds a confirmation link is valid.
pub const CONFIRMATION_TTL: u64 = 24 * 60 * 60;

/// Seconds a password reset link is valid.
pub const RESET_TTL: u64 = 60 * 60;

/// The token as mailed. Never stored; hidden from `Debug`.
pub struct MailedToken(String);

/// The only form in which a mailed token is stored: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl MailedToken {
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The confirmation link that carries it.
    pub fn confirmation_link(&self, portal_url: &str) -> String {
        format!("{portal_url}/verify?token={}", self.0)
    }

    /// The password reset link that carries it.
    pub fn reset_link(&self, portal_url: &str) -> String {
        format!("{portal_url}/reset?token={}", self.0)
    }

    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }
}

impl fmt::Debug for MailedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailedToken(…)")
    }
}

impl TokenHash {
    /// The hash of whatever was presented. A plain hash is enough: 256 random bits are not guessed.
    #[inline(never)]
    pub fn of(presented: &str) -> Self {
        Self(hex::encode(Sha256::digest(presented)))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{MailedToken, TokenHash};

    #[test]
    fn the_link_carries_the_token_and_the_hash_matches_what_comes_back() {
        let token = MailedToken::from_random([0xfb; 32]);
        let link = token.confirmation_link("https://portal.example");
        let presented = link.strip_prefix("https://portal.example/verify?token=").unwrap();
        assert_eq!(presented.len(), 43);
        assert_eq!(TokenHash::of(presented), token.hash());
        assert_ne!(TokenHash::of(presented.split_at(42).0), token.hash());
    }

    #[test]
    fn hides_itself_from_debug() {
        assert_eq!(format!("{:?}", MailedToken::from_random([1; 32])), "MailedToken(…)");
    }
}
