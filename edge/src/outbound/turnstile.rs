//! Cloudflare Turnstile, if the operator uses it: verifies that a browser has solved the challenge for a token.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use crate::{
    cf::{fetch::OutgoingRequest, log},
    json,
};

/// Time limit in milliseconds. A request with a token waits for Turnstile, whether or not its address has an account.
const PATIENCE_MS: u32 = 2_000;
/// Greatest length of a token in characters, as the service documents it.
const TOKEN_CHARS_MAX: usize = 2_048;

pub struct Turnstile {
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
    /// True if the service confirms this token. Each token is valid once. If the service fails or is slow, the request
    /// is treated as one without a token.
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
        match reply.and_then(|text| json::read::<Verification>(text.as_bytes()).ok()) {
            Some(verification) => verification.success,
            None => {
                log::failure("turnstile", &"the service did not answer");
                false
            }
        }
    }
}
