//! Portal sessions: HS256 JWTs that name the account and its session version.

use rcpt_shared::{
    KeyRing,
    jwt::{self, InvalidToken, Purpose, Timed},
};
use serde::{Deserialize, Serialize};

use crate::account::AccountId;

const PURPOSE: Purpose = Purpose { issuer: "rcpt", audience: "portal" };

/// What a genuine session token says. Whether the version is still the account's own is the
/// database's to say, on every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session {
    pub account: AccountId,
    pub version: u32,
}

#[derive(Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    iat: u64,
    exp: u64,
    jti: String,
    /// Session version.
    ver: u32,
}

impl Timed for Claims {
    fn issued_at(&self) -> u64 {
        self.iat
    }

    fn expires_at(&self) -> u64 {
        self.exp
    }
}

/// Issues a token that lives `ttl` seconds from `now` (unix seconds).
///
/// # Errors
/// [`InvalidToken`] when the claims do not serialise.
pub fn issue(
    keys: &KeyRing,
    identity: Session,
    jti: String,
    now: u64,
    ttl: u64,
) -> Result<String, InvalidToken> {
    let claims = Claims {
        iss: PURPOSE.issuer.to_owned(),
        aud: PURPOSE.audience.to_owned(),
        sub: identity.account.to_string(),
        iat: now,
        exp: now.saturating_add(ttl),
        jti,
        ver: identity.version,
    };
    jwt::sign(keys, &claims)
}

/// Checks everything about a presented token that needs no database; `now` in unix seconds.
///
/// # Errors
/// [`InvalidToken`] for anything that is not exactly right.
pub fn verify(keys: &KeyRing, token: &str, now: u64) -> Result<Session, InvalidToken> {
    let claims: Claims = jwt::verify(keys, PURPOSE, token, now)?;
    let account = AccountId::parse(&claims.sub).ok_or(InvalidToken)?;
    Ok(Session { account, version: claims.ver })
}

#[cfg(test)]
mod tests {
    use super::{Session, issue, verify};
    use crate::account::AccountId;
    use rcpt_shared::{KeyRing, Ticket};

    const NOW: u64 = 1_790_000_000;
    const IDENTITY: Session = Session { account: AccountId::from_u64(42), version: 3 };

    fn keys() -> KeyRing {
        KeyRing::parse(&format!("s1:{}", "s".repeat(43))).unwrap()
    }

    #[test]
    fn a_session_holds_until_it_expires() {
        let token = issue(&keys(), IDENTITY, "j".into(), NOW, 60).unwrap();
        assert_eq!(verify(&keys(), &token, NOW + 59), Ok(IDENTITY));
        assert!(verify(&keys(), &token, NOW + 60).is_err());
    }

    #[test]
    fn a_ticket_is_not_a_session_even_under_the_same_secret() {
        let ticket = Ticket::issue(&keys(), "r", b"", NOW).unwrap();
        assert!(verify(&keys(), &ticket, NOW).is_err());
        let session = issue(&keys(), IDENTITY, "j".into(), NOW, 60).unwrap();
        assert!(Ticket::check(&keys(), &session, b"", NOW).is_err());
    }
}
