//! The ticket, which only the edge can issue: it authorises one request to an origin.
//!
//! A short-lived HS256 JWT in `Authorization: Bearer`, with the SHA-256 of the request's body: a captured one can only
//! repeat the same probe, for a minute.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    KeyRing,
    jwt::{self, InvalidToken, Purpose, Timed},
};

/// Lifetime of a ticket in seconds: a probe's budget of 10 s, and room for a failover and clock
/// skew.
pub const TTL_S: u64 = 60;

const PURPOSE: Purpose = Purpose { issuer: "rcpt-edge", audience: "origin" };

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    iss: String,
    aud: String,
    iat: u64,
    exp: u64,
    /// Request id, which the logs of edge and origin share.
    pub jti: String,
    /// SHA-256 of the body, unpadded base64url.
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// True if the account pays. All accounts that don't pay are counted as one tenant.
    #[serde(default, skip_serializing_if = "is_false")]
    paying: bool,
}

pub const MAX_TENANT: usize = 64;

/// Name of the tenant shared by all free accounts.
pub const FREE: &str = "free";

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The account behind a request: an opaque name that the edge can resolve, and whether the account
/// pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenant<'a> {
    pub name: &'a str,
    pub paying: bool,
}

impl Timed for Ticket {
    fn issued_at(&self) -> u64 {
        self.iat
    }

    fn expires_at(&self) -> u64 {
        self.exp
    }
}

impl Ticket {
    pub fn issue(
        keys: &KeyRing,
        request_id: &str,
        body: &[u8],
        now: u64,
    ) -> Result<String, InvalidToken> {
        Self::issue_for(keys, request_id, body, now, None)
    }

    /// Issues the token for one request of `tenant`, which an origin limits to a share of its permits. `now` is in Unix
    /// seconds.
    pub fn issue_for(
        keys: &KeyRing,
        request_id: &str,
        body: &[u8],
        now: u64,
        tenant: Option<Tenant<'_>>,
    ) -> Result<String, InvalidToken> {
        if tenant.is_some_and(|tenant| !is_name(tenant.name)) {
            return Err(InvalidToken);
        }
        let ticket = Self {
            iss: PURPOSE.issuer.to_owned(),
            aud: PURPOSE.audience.to_owned(),
            iat: now,
            exp: now.saturating_add(TTL_S),
            jti: request_id.to_owned(),
            body: digest(body),
            tenant: tenant.map(|tenant| tenant.name.to_owned()),
            paying: tenant.is_some_and(|tenant| tenant.paying),
        };
        jwt::sign(keys, &ticket)
    }

    /// Checks the token before the request's body is read; `now` is in Unix seconds. The ticket holds for a body of
    /// which [`Ticket::is_for`] is true.
    pub fn open(keys: &KeyRing, token: &str, now: u64) -> Result<Self, InvalidToken> {
        let ticket: Self = jwt::verify(keys, PURPOSE, token, now)?;
        // A token with a longer lifetime than `TTL_S` wasn't issued by an edge.
        let short_lived = ticket.exp.saturating_sub(ticket.iat) <= TTL_S;
        let fine = short_lived && ticket.tenant.as_deref().is_none_or(is_name);
        if fine { Ok(ticket) } else { Err(InvalidToken) }
    }

    #[must_use]
    pub fn is_for(&self, body: &[u8]) -> bool {
        self.body == digest(body)
    }

    pub fn check(keys: &KeyRing, token: &str, body: &[u8], now: u64) -> Result<Self, InvalidToken> {
        let ticket = Self::open(keys, token, now)?;
        if ticket.is_for(body) { Ok(ticket) } else { Err(InvalidToken) }
    }

    pub fn counted_as(&self) -> Option<&str> {
        let name = self.tenant.as_deref()?;
        Some(if self.paying { name } else { FREE })
    }

    pub fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }
}

/// A tenant's name is logged, so its format excludes addresses.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=MAX_TENANT).contains(&text.len()) && text.bytes().all(plain)
}

fn digest(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::{TTL_S, Tenant, Ticket};
    use crate::{KeyRing, jwt};

    const NOW: u64 = 1_790_000_000;
    const BODY: &[u8] = br#"{"address":"a@example.org"}"#;

    fn secret(byte: u8) -> String {
        URL_SAFE_NO_PAD.encode([byte; 32])
    }

    fn keys() -> KeyRing {
        KeyRing::parse(&secret(7)).unwrap()
    }

    fn issued() -> String {
        Ticket::issue(&keys(), "req-1", BODY, NOW).unwrap()
    }

    #[test]
    fn a_fresh_ticket_opens_its_own_body() {
        let ticket = Ticket::check(&keys(), &issued(), BODY, NOW + 1).unwrap();
        assert_eq!(ticket.jti, "req-1");
    }

    #[test]
    fn a_ticket_opens_nothing_else() {
        assert!(Ticket::check(&keys(), &issued(), b"{}", NOW).is_err(), "another body");
        assert!(Ticket::check(&keys(), &issued(), BODY, NOW + TTL_S).is_err(), "expired");
        assert!(Ticket::check(&keys(), &issued(), BODY, NOW - 60).is_err(), "from the future");
        let stranger = KeyRing::parse(&secret(8)).unwrap();
        assert!(Ticket::check(&stranger, &issued(), BODY, NOW).is_err(), "another secret");
    }

    #[test]
    fn an_origin_that_knows_two_secrets_takes_tickets_of_both() {
        let both = KeyRing::parse(&format!("{},{}", secret(9), secret(7))).unwrap();
        assert!(Ticket::check(&both, &issued(), BODY, NOW).is_ok());
        let newer = Ticket::issue(&both, "req-2", BODY, NOW).unwrap();
        assert!(Ticket::check(&both, &newer, BODY, NOW).is_ok());
        assert!(Ticket::check(&keys(), &newer, BODY, NOW).is_err());
    }

    #[test]
    fn it_may_say_who_asks_and_free_accounts_are_one() {
        let issue = |tenant| Ticket::issue_for(&keys(), "r", BODY, NOW, tenant);
        for (tenant, counted) in [
            (None, None),
            (Some(Tenant { name: "t1", paying: true }), Some("t1")),
            (Some(Tenant { name: "t2", paying: false }), Some("free")),
        ] {
            let ticket = Ticket::check(&keys(), &issue(tenant).unwrap(), BODY, NOW).unwrap();
            assert_eq!(ticket.counted_as(), counted);
            assert_eq!(ticket.tenant(), tenant.map(|tenant| tenant.name));
        }
        for name in ["", "a@example.org", &"x".repeat(65)] {
            assert!(issue(Some(Tenant { name, paying: true })).is_err(), "{name}");
        }
    }

    #[test]
    fn claims_that_are_signed_but_wrong_are_refused() {
        let good = json!({"iss": "rcpt-edge", "aud": "origin", "iat": NOW, "exp": NOW + TTL_S,
            "jti": "r", "body": super::digest(BODY)});
        let accepts = |claims: &serde_json::Value| {
            let token = jwt::sign(&keys(), claims).unwrap();
            Ticket::check(&keys(), &token, BODY, NOW).is_ok()
        };
        assert!(accepts(&good));
        for (claim, value) in [
            ("iss", json!("someone")),
            ("aud", json!("portal")),
            ("exp", json!(NOW + 3600)),
            ("iat", json!(NOW + 30)),
            ("body", json!("")),
            ("tenant", json!("a@example.org")),
        ] {
            let mut bad = good.clone();
            bad[claim] = value;
            assert!(!accepts(&bad), "{claim}");
        }
    }

    #[test]
    fn no_other_algorithm_and_no_flipped_bit_is_accepted() {
        let token = issued();
        let (header, rest) = token.split_once('.').unwrap();
        let id = keys().signing().0.to_owned();
        let naming = |alg| URL_SAFE_NO_PAD.encode(json!({"alg": alg, "kid": id}).to_string());
        let (none, hs512) = (naming("none"), naming("HS512"));
        let payload = rest.split_once('.').unwrap().0;
        for forged in [
            format!("{none}.{payload}."),
            format!("{hs512}.{rest}"),
            format!("{header}.{payload}."),
        ] {
            assert!(Ticket::check(&keys(), &forged, BODY, NOW).is_err(), "{forged}");
        }
        for position in 0..token.len() {
            for bit in 0..8 {
                let mut bytes = token.clone().into_bytes();
                bytes[position] ^= 1 << bit;
                if let Ok(flipped) = String::from_utf8(bytes) {
                    assert!(Ticket::check(&keys(), &flipped, BODY, NOW).is_err(), "{flipped}");
                }
            }
        }
    }
}
