//! A cached value that the requests of an isolate share.

use std::sync::{Mutex, PoisonError};

/// The time when the value was stored or a caller was last asked to renew it, in milliseconds of the Worker's clock;
/// and the value.
#[derive(Debug)]
pub struct Recent<T>(Mutex<Option<(u64, T)>>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T: Clone> Recent<T> {
    /// The value while it is younger than `age_ms`. Afterwards, one caller per `age_ms` gets `None` and is expected to
    /// store a new value; other callers get the old value.
    pub fn get(&self, now_ms: u64, age_ms: u64) -> Option<T> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, value) = cache.as_mut()?;
        if now_ms < since.saturating_add(age_ms) {
            return Some(value.clone());
        }
        *since = now_ms;
        None
    }

    pub fn set(&self, now_ms: u64, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now_ms, value));
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn one_caller_renews_an_old_value_and_the_others_go_on_with_it() {
        let recent = Recent::default();
        assert_eq!(recent.get(0, 10), None);
        recent.set(0, 'a');
        assert_eq!(recent.get(9, 10), Some('a'));
        assert_eq!(recent.get(10, 10), None);
        assert_eq!(recent.get(10, 10), Some('a'));
        recent.set(11, 'b');
        assert_eq!(recent.get(20, 10), Some('b'));
    }
}
