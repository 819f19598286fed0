//! Sessions in use, remembered by an isolate so that their use is recorded occasionally instead of
//! with each request.

use crate::{credentials::session::SessionId, isolate};

/// Largest number of remembered sessions; about 50 bytes each. When there are more, all are
/// forgotten: recording a use twice costs a statement that writes nothing.
const SESSIONS_MAX: usize = 10_000;
/// Seconds between two records of a session's use by one isolate. All isolates together write once
/// in ten minutes, so a session's last use is recorded at most a quarter of an hour late.
const PAUSE_S: u64 = 5 * 60;
/// Age in seconds up to which a session's use needn't be recorded, because its start counts as a
/// use.
const YOUNG_S: u64 = 10 * 60;

/// Sessions whose last record is recent.
#[derive(Debug)]
pub struct SeenSessions(isolate::Map<SessionId, ()>);

impl Default for SeenSessions {
    fn default() -> Self {
        Self(isolate::Map::new(SESSIONS_MAX))
    }
}

impl SeenSessions {
    /// True if the use of a session that began at `issued_at` should be recorded at `now` (both in Unix seconds). The
    /// caller then records it; the next record is due after the pause.
    pub fn is_due(&self, session: SessionId, issued_at: u64, now: u64) -> bool {
        if now < issued_at.saturating_add(YOUNG_S) {
            return false;
        }
        self.0.update(session, now, |slot| {
            let is_due = slot.is_none();
            slot.get_or_insert(((), now.saturating_add(PAUSE_S)));
            is_due
        })
    }

    /// Makes the session's next use due, after a record has failed.
    pub fn forget(&self, session: SessionId) {
        self.0.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::{PAUSE_S, SeenSessions};
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
        assert!(!sessions.is_due(session(1), 0, 1_000 + PAUSE_S - 1));
        assert!(sessions.is_due(session(2), 0, 1_000));
        assert!(sessions.is_due(session(1), 0, 1_000 + PAUSE_S));
        assert!(!sessions.is_due(session(1), 0, 1_000 + PAUSE_S));
        sessions.forget(session(1));
        assert!(sessions.is_due(session(1), 0, 1_000 + PAUSE_S));
    }
}
