//! How far a probe has come, and the time that it lost to us and to DNS.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rcpt_shared::{Stage, Verdict};
use tokio::time::Instant;

use crate::lists::MailRoute;

pub(super) struct Progress {
    pub stage: Stage,
    pub mx_host: Option<Arc<str>>,
    /// The verdict, while only the control recipient is waited for.
    pub settled: Option<Box<Verdict>>,
    /// The domain's mail hosts, once they are known.
    pub route: Option<MailRoute>,
    /// The probe has passed the gate of its domain.
    pub admitted: bool,
    /// The addresses of the host that were connected to, or tried.
    pub tried: Vec<IpAddr>,
    /// Time spent waiting for a session: what may be asked is used up by others.
    pub waiting: Stopwatch,
    /// Time that DNS took.
    pub dns: Stopwatch,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            stage: Stage::Dns,
            mx_host: None,
            settled: None,
            route: None,
            admitted: false,
            tried: Vec::new(),
            waiting: Stopwatch::default(),
            dns: Stopwatch::default(),
        }
    }
}

/// Adds up time; its clones show the same.
#[derive(Clone, Default)]
pub(super) struct Stopwatch(Arc<Mutex<(Duration, Option<Instant>)>>);

impl Stopwatch {
    /// Measures `work`.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        self.lock().1 = Some(Instant::now());
        let done = work.await;
        let mut measured = self.lock();
        let last = measured.1.take().map(|since| since.elapsed());
        measured.0 += last.unwrap_or_default();
        done
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().1.is_some()
    }

    pub(super) fn total(&self) -> Duration {
        let measured = self.lock();
        measured.0 + measured.1.map(|since| since.elapsed()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, (Duration, Option<Instant>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
