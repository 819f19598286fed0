//! Says in the log, and only there, why a ticket was refused: two secrets that differ and two clocks that differ look
//! the same from outside.

use std::{fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use rcpt_shared::{KeyRing, Ticket};
use serde_json::Value;
use tokio::time::Instant;

/// Strangers send requests, too: one line in this time is enough.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// There is no token, or it isn't one of an edge's.
    NoTicket,
    /// The ring has no secret of this id.
    UnknownSecret,
    /// It isn't of the secret that it names.
    WrongSignature,
    /// Seconds by which the edge's clock is ahead.
    FromTheFuture(u64),
    /// Seconds since its end.
    Expired(u64),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTicket => f.write_str("no ticket"),
            Self::UnknownSecret => f.write_str("unknown secret"),
            Self::WrongSignature => f.write_str("wrong signature"),
            Self::FromTheFuture(seconds) => write!(f, "made {seconds} s from now"),
            Self::Expired(seconds) => write!(f, "expired {seconds} s ago"),
        }
    }
}

fn part(part: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

fn claims(token: &str) -> Option<(String, u64, u64)> {
    let mut parts = token.split('.');
    let (header, times) = (part(parts.next()?)?, part(parts.next()?)?);
    Some((
        header.get("kid")?.as_str()?.to_owned(),
        times.get("iat")?.as_u64()?,
        times.get("exp")?.as_u64()?,
    ))
}

impl Refused {
    pub fn of(keys: &KeyRing, token: &str, now: u64) -> Self {
        let Some((kid, iat, exp)) = claims(token) else { return Self::NoTicket };
        if keys.secret(&kid).is_none() {
            Self::UnknownSecret
        } else if Ticket::open(keys, token, iat).is_err() {
            Self::WrongSignature
        } else if iat > now {
            Self::FromTheFuture(iat - now)
        } else {
            Self::Expired(now.saturating_sub(exp))
        }
    }
}

/// Writes at most one line in ten seconds.
#[derive(Default)]
pub struct RefusedTickets(Mutex<Option<Instant>>);

impl RefusedTickets {
    pub fn log(&self, refused: Refused) {
        let mut last = self.0.lock();
        if last.is_none_or(|at| at.elapsed() >= LINE_INTERVAL) {
            *last = Some(Instant::now());
            tracing::warn!("a ticket was refused: {refused}");
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use rcpt_shared::{KeyRing, Ticket};

    use super::Refused;

    const NOW: u64 = 1_790_000_000;

    fn ring(byte: u8) -> KeyRing {
        KeyRing::parse(&URL_SAFE_NO_PAD.encode([byte; 32])).unwrap()
    }

    #[test]
    fn secret_and_clock_are_told_apart() {
        let ours = ring(1);
        let at = |keys: &KeyRing, at| Ticket::issue(keys, "id", b"{}", at).unwrap();
        let genuine = at(&ours, NOW);
        let head = genuine.rsplit_once('.').unwrap().0;
        for (token, refused, text) in [
            ("".to_owned(), Refused::NoTicket, "no ticket"),
            ("a.b.c".to_owned(), Refused::NoTicket, "no ticket"),
            (at(&ring(2), NOW), Refused::UnknownSecret, "unknown secret"),
            (format!("{head}.AAAA"), Refused::WrongSignature, "wrong signature"),
            (at(&ours, NOW + 9), Refused::FromTheFuture(9), "made 9 s from now"),
            (at(&ours, NOW - 70), Refused::Expired(10), "expired 10 s ago"),
        ] {
            assert!(Ticket::open(&ours, &token, NOW).is_err(), "{text}");
            let told = Refused::of(&ours, &token, NOW);
            assert_eq!((told, told.to_string().as_str()), (refused, text));
        }
    }
}
