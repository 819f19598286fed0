//! Sessions in use that an isolate remembers, so that their use is recorded occasionally and not with
//! each request.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::credentials::session::SessionId;

/// Sessions remembered at once; about 50 bytes each. Beyond that all are forgotten: noting one twice costs a statement
/// that writes nothing.
const MOST: usize = 10_000;
/// Seconds between two notes of one isolate. With the ten minutes between two writes of all of them, a session's last use
/// is never more than a quarter of an hour behind.
const PAUSE: u64 = 5 * 60;
/// Seconds from its start in which a session needs no note: its start counts.
const YOUNG: u64 = 10 * 60;

/// When each session was noted last, in unix seconds.
#[derive(Debug, Default)]
pub struct SeenSessions(Mutex<HashMap<SessionId, u64>>);

impl SeenSessions {
    /// Returns whether the use of a session that began at `issued_at` is to be noted now (both unix seconds). The caller
    /// does it: the next one is due after a pause.
    pub fn is_due(&self, session: SessionId, issued_at: u64, now: u64) -> bool {
        if now < issued_at.saturating_add(YOUNG) {
            return false;
        }
        let mut all = self.lock();
        if all.get(&session).is_some_and(|noted| now < noted.saturating_add(PAUSE)) {
            return false;
        }
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(session, now);
        true
    }

    /// Makes the next use due: this one could not be noted.
    pub fn forget(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, u64>> {
        // Held between two awaits only, in an isolate of one thread: never contended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, PAUSE, SeenSessions};
    use crate::credentials::session::SessionId;

    fn session(number: u16) -> SessionId {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        SessionId::from_random(bytes)
    }

    #[test]
    fn a_session_is_noted_once_in_a_pause_and_again_where_that_failed() {
        let sessions = SeenSessions::default();
        assert!(!sessions.is_due(session(1), 401, 1_000));
        assert!(sessions.is_due(session(1), 400, 1_000));
        assert!(!sessions.is_due(session(1), 0, 1_000 + PAUSE - 1));
        assert!(sessions.is_due(session(2), 0, 1_000));
        assert!(sessions.is_due(session(1), 0, 1_000 + PAUSE));
        assert!(!sessions.is_due(session(1), 0, 1_000 + PAUSE));
        sessions.forget(session(1));
        assert!(sessions.is_due(session(1), 0, 1_000 + PAUSE));
    }

    #[test]
    fn the_memory_is_bounded() {
        let sessions = SeenSessions::default();
        for number in 0..=u16::try_from(MOST).unwrap() {
            assert!(sessions.is_due(session(number), 0, 1_000));
        }
        assert_eq!(sessions.lock().len(), 1);
    }
}
