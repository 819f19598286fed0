//! An operator, whose calls of the service are signed.

use std::time::Duration;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::Sha256;

use super::{Anonymous, Reply, send};
use crate::service::clock;

/// A person with a secret in the Worker's `ADMIN_SECRET_…`.
#[derive(Debug, Clone)]
pub struct Operator {
    anonymous: Anonymous,
    secret: Vec<u8>,
}

impl Operator {
    /// A person with this secret, in base64url.
    pub fn new(anonymous: Anonymous, secret: &str) -> Self {
        let secret = URL_SAFE_NO_PAD.decode(secret).expect("base64url");
        Self { anonymous, secret }
    }

    /// Sends an action as an own call, with a reason.
    pub async fn call(&self, action: &Value) -> Reply {
        self.send(&self.body(action)).await
    }

    /// The members that `tools/admin` sends, with a fresh id.
    pub fn body(&self, action: &Value) -> Value {
        let id = crate::service::secret::value().expect("/dev/urandom");
        let id: String = id.chars().filter(char::is_ascii_alphanumeric).collect();
        let origin = self.anonymous.origin();
        let host = origin.trim_start_matches("http://");
        json!({ "id": id, "host": host, "at": clock::now(), "reason": "a test", "action": action })
    }

    /// Signs a body and sends it.
    pub async fn send(&self, body: &Value) -> Reply {
        let text = body.to_string();
        let signature = self.signature(&text);
        self.send_signed(&signature, text).await
    }

    /// The signature of a text, for `webhook-signature`.
    pub fn signature(&self, text: &str) -> String {
        let mut mac = <Hmac<Sha256>>::new_from_slice(&self.secret).expect("any length");
        mac.update(text.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }

    /// Sends a text with this signature.
    pub async fn send_signed(&self, signature: &str, text: String) -> Reply {
        let request = self.anonymous.request(Method::POST, "/operator");
        send(request.header("webhook-signature", signature).body(text)).await
    }

    /// Sends an action that must succeed, and returns the answer. Waits for its turn: the tests of an edge share one
    /// operator's pace.
    pub async fn done(&self, action: &Value) -> Value {
        let mut reply = self.call(action).await;
        while reply.status == 429 {
            let wait = reply.header("retry-after").parse().expect("seconds");
            tokio::time::sleep(Duration::from_secs(wait)).await;
            reply = self.call(action).await;
        }
        assert_eq!(reply.status, 200, "{action}: {}", reply.body);
        reply.body
    }

    /// Sends an action about one account that must succeed.
    pub async fn on(&self, action: &str, account: &str) -> Value {
        self.done(&json!({ action: { "account": account } })).await
    }
}
