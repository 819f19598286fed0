//! A person's authenticator app, and accounts that have one.

use serde_json::json;
use totp_rs::{Builder, Secret, Totp};

use crate::{Account, Edge, Reply, clock};

/// Seconds of a time step (RFC 6238 §5.2).
const STEP: u64 = 30;

/// Makes six-digit codes out of the secret that a set-up answered.
#[derive(Debug)]
pub struct Authenticator {
    totp: Totp,
    /// Base32.
    pub secret: String,
}

impl Authenticator {
    /// # Panics
    /// The secret is not base32.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        let bytes = Secret::try_from_base32(secret).expect("base32");
        let totp = Builder::new().with_secret(bytes).build().expect("a secret");
        Self { totp, secret: secret.to_owned() }
    }

    /// The code of a time step.
    #[must_use]
    pub fn code_of(&self, step: u64) -> String {
        self.totp.generate(step * STEP).to_string()
    }

    /// The code of the current step. It is still accepted when the step ends before it arrives.
    #[must_use]
    pub fn code(&self) -> String {
        self.code_of(step())
    }

    /// Six digits that belong to no step around this one.
    #[must_use]
    pub fn wrong_code(&self) -> String {
        let near: Vec<_> = (step() - 2..step() + 6).map(|step| self.code_of(step)).collect();
        let mut codes = (0..1_000_000).map(|code| format!("{code:06}"));
        codes.find(|code| !near.contains(code)).expect("eight of a million are near")
    }
}

/// The current time step.
#[must_use]
pub fn step() -> u64 {
    clock::now() / STEP
}

impl Account {
    /// `POST /auth/totp/setup`.
    ///
    /// # Panics
    /// The answer is not 200.
    pub async fn set_up_two_factor(&self) -> Authenticator {
        let reply = self.post("/auth/totp/setup", &json!({ "password": self.password })).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        Authenticator::new(reply.text("secret"))
    }

    /// Turns two-factor on, which uses up the current step; with the recovery codes.
    ///
    /// # Panics
    /// Any step does not go as documented.
    pub async fn enable_two_factor(&self) -> (Authenticator, Vec<String>) {
        let authenticator = self.set_up_two_factor().await;
        let reply = self.enable_with(&authenticator.code()).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let codes = reply.body.get("recovery_codes").cloned().unwrap_or_default();
        (authenticator, serde_json::from_value(codes).expect("recovery codes"))
    }

    /// `POST /auth/totp/enable`.
    pub async fn enable_with(&self, code: &str) -> Reply {
        self.post("/auth/totp/enable", &json!({ "totp_code": code })).await
    }

    /// `POST /auth/rotate-api-key` with a code.
    pub async fn rotate_with(&self, code: &str) -> Reply {
        self.post("/auth/rotate-api-key", &json!({ "totp_code": code })).await
    }
}

impl Edge {
    /// Makes every step of the account acceptable again, so that a test need not wait for the next.
    ///
    /// # Panics
    /// There is no such account.
    pub async fn forget_steps(&self, account: &Account) {
        self.set(&account.email, "totp_last_step = 0").await;
    }

    /// The current code, acceptable whatever has been used before.
    pub async fn fresh_code(&self, account: &Account, authenticator: &Authenticator) -> String {
        self.forget_steps(account).await;
        authenticator.code()
    }
}
