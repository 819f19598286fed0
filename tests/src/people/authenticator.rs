//! A person's authenticator app.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::sleep;
use totp_rs::{Builder, Secret, Totp};

use crate::service::clock;

/// Seconds of a time step (RFC 6238 §5.2).
const STEP: u64 = 30;

/// Computes six-digit codes from the secret of a set-up response.
#[derive(Debug)]
pub struct Authenticator {
    totp: Totp,
    /// The secret in base32.
    pub secret: String,
    /// The last step whose code was returned.
    last_step: AtomicU64,
}

impl Authenticator {
    /// An app for this secret in base32.
    pub fn new(secret: &str) -> Self {
        let bytes = Secret::try_from_base32(secret).expect("base32");
        let totp = Builder::new().with_secret(bytes).build().expect("a secret");
        Self { totp, secret: secret.to_owned(), last_step: AtomicU64::new(0) }
    }

    /// The code of a time step.
    pub fn code_of(&self, step: u64) -> String {
        self.totp.generate(step * STEP).to_string()
    }

    /// The code of the current step. The service still accepts the code if the step ends meanwhile.
    pub fn code(&self) -> String {
        let now = step();
        self.last_step.fetch_max(now, Relaxed);
        self.code_of(now)
    }

    /// A code that wasn't returned before, since each is accepted once. The service also accepts the next
    /// step's code; if that was returned too, the function waits.
    pub async fn unused_code(&self) -> String {
        loop {
            let now = step();
            let next = now.max(self.last_step.load(Relaxed) + 1);
            if next <= now + 1 {
                self.last_step.store(next, Relaxed);
                return self.code_of(next);
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// Six digits that aren't the code of any nearby step.
    pub fn wrong_code(&self) -> String {
        let near: Vec<_> = (step() - 2..step() + 6).map(|step| self.code_of(step)).collect();
        let mut codes = (0..1_000_000).map(|code| format!("{code:06}"));
        codes.find(|code| !near.contains(code)).expect("eight of a million are near")
    }
}

/// The number of the current time step.
pub fn step() -> u64 {
    clock::now() / STEP
}
