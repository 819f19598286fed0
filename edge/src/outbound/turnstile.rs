//! Cloudflare Turnstile, where the operator has set it up: tells whether a browser has solved the challenge behind a token.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::cf::{fetch::OutgoingRequest, log};

/// Milliseconds. A registration waits for it, whatever the address.
const PATIENCE_MS: u32 = 2_000;
/// Characters of the longest token, as the service documents it.
const TOKEN_CHARS_MAX: usize = 2_048;

/// The service and our key to it.
pub struct Turnstile {
    /// Where tokens are verified.
    pub url: String,
    pub secret: SecretString,
}

impl fmt::Debug for Turnstile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turnstile").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Question<'a> {
    secret: &'a str,
    response: &'a str,
}

#[derive(Deserialize)]
struct Verification {
    success: bool,
}

impl Turnstile {
    /// Returns whether the service vouches for this token. Each is good once. A service that fails or is slow vouches for
    /// none: the request is then served as one without a token.
    pub async fn vouches_for(&self, token: &SecretString) -> bool {
        let token = token.expose_secret();
        if token.is_empty() || token.len() > TOKEN_CHARS_MAX {
            return false;
        }
        let question = Question { secret: self.secret.expose_secret(), response: token };
        let Ok(body) = serde_json::to_string(&question) else { return false };
        let request = OutgoingRequest {
            url: &self.url,
            headers: &[("Content-Type", "application/json")],
            body: Some(&body),
            timeout_ms: PATIENCE_MS,
        };
        let reply = match request.send().await {
            Some(reply) => reply.text().await,
            None => None,
        };
        match reply.and_then(|text| serde_json::from_str::<Verification>(&text).ok()) {
            Some(verification) => verification.success,
            None => {
                log::failure("turnstile", &"the service did not answer");
                false
            }
        }
    }
}
