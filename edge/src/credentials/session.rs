//! Portal sessions: HS256 JWTs that name the account and the session.

use std::fmt;

use rcpt_shared::{
    KeyRing,
    jwt::{self, InvalidToken, Purpose, Timed},
};
use serde::{Deserialize, Serialize};

use crate::account::AccountId;

const PURPOSE: Purpose = Purpose { issuer: "rcpt", audience: "portal" };

/// Id of a session: 128 random bits, shown as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(u128);

impl SessionId {
    pub const fn from_random(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Parses an id's 32 hexadecimal digits; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u128::from_str_radix(text, 16).ok().map(Self))?
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Contents of a genuine session token. The database decides on each call if the session is still
/// alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub account: AccountId,
    pub id: SessionId,
}

impl Session {
    /// Account and session as texts for SQL.
    #[inline(never)]
    pub fn texts(self) -> (String, String) {
        (self.account.to_string(), self.id.to_string())
    }
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    iat: u64,
    exp: u64,
    jti: String,
}

impl Timed for Claims {
    fn issued_at(&self) -> u64 {
        self.iat
    }

    fn expires_at(&self) -> u64 {
        self.exp
    }
}

/// Issues a token that expires `ttl` seconds after `now` (Unix seconds).
///
/// # Errors
/// [`InvalidToken`] if the claims can't be serialised.
pub fn issue(keys: &KeyRing, session: Session, now: u64, ttl: u64) -> Result<String, InvalidToken> {
    let claims = Claims {
        iss: PURPOSE.issuer.to_owned(),
        aud: PURPOSE.audience.to_owned(),
        sub: session.account.to_string(),
        iat: now,
        exp: now.saturating_add(ttl),
        jti: session.id.to_string(),
    };
    jwt::sign(keys, &claims)
}

/// A session whose token is genuine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresentedSession {
    pub session: Session,
    /// Time of issue in Unix seconds.
    pub issued_at: u64,
}

/// Verifies a presented token without storage; `now` is in Unix seconds.
///
/// # Errors
/// [`InvalidToken`] for any deviation.
pub fn verify(keys: &KeyRing, token: &str, now: u64) -> Result<PresentedSession, InvalidToken> {
    let claims: Claims = jwt::verify(keys, PURPOSE, token, now)?;
    let account = AccountId::parse(&claims.sub).ok_or(InvalidToken)?;
    let id = SessionId::parse(&claims.jti).ok_or(InvalidToken)?;
    Ok(PresentedSession { session: Session { account, id }, issued_at: claims.iat })
}

#[cfg(test)]
mod tests {
    use super::{PresentedSession, Session, SessionId, issue, verify};
    use crate::account::AccountId;
    use rcpt_shared::{KeyRing, Ticket};

    const NOW: u64 = 1_790_000_000;
    const SESSION: Session =
        Session { account: AccountId::from_u64(42), id: SessionId::from_random([7; 16]) };

    fn keys() -> KeyRing {
        KeyRing::parse(&"s".repeat(43)).unwrap()
    }

    #[test]
    fn a_session_holds_until_it_expires() {
        let token = issue(&keys(), SESSION, NOW, 60).unwrap();
        let presented = PresentedSession { session: SESSION, issued_at: NOW };
        assert_eq!(verify(&keys(), &token, NOW + 59), Ok(presented));
        assert!(verify(&keys(), &token, NOW + 60).is_err());
        assert!(verify(&keys(), &token, NOW - 60).is_err(), "from the future");
    }

    #[test]
    fn a_ticket_is_not_a_session_even_under_the_same_secret() {
        let ticket = Ticket::issue(&keys(), "r", b"", NOW).unwrap();
        assert!(verify(&keys(), &ticket, NOW).is_err());
        let session = issue(&keys(), SESSION, NOW, 60).unwrap();
        assert!(Ticket::check(&keys(), &session, b"", NOW).is_err());
    }
}
