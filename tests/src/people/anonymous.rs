//! A caller without credentials.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::{PasskeyDevice, Reply, send};

/// Time limit of a request; no response should take that long.
const PATIENCE: Duration = Duration::from_secs(180);

/// A caller without credentials.
#[derive(Debug, Clone)]
pub struct Anonymous {
    client: Client,
    url: String,
}

impl Anonymous {
    /// Calls the service at `url`, which doesn't contain `/v1`.
    pub fn new(url: &str) -> Self {
        // No idle connections: they would belong to the runtime of the test that opened them.
        let client = Client::builder().pool_max_idle_per_host(0).timeout(PATIENCE);
        let client = client.build().expect("a client");
        Self { client, url: url.to_owned() }
    }

    /// Calls the service at `url` on persistent connections, for many requests within one test.
    pub fn on_kept_connections(url: &str) -> Self {
        // workerd closes idle connections; a request on a connection that was just closed would fail unread.
        let client = Client::builder().pool_idle_timeout(Duration::from_secs(2)).timeout(PATIENCE);
        Self { client: client.build().expect("a client"), url: url.to_owned() }
    }

    /// A request to change before it is sent with [`send`]; `path` is below `/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}/v1{path}", self.url))
    }

    /// The web origin of the service's pages.
    pub fn origin(&self) -> String {
        self.url.clone()
    }

    /// Sends `POST /auth/passkeys/sign-in/options`.
    pub async fn passkey_challenge(&self) -> Value {
        let reply = self.post("/auth/passkeys/sign-in/options", &json!({})).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.body
    }

    /// Sends `POST /auth/passkeys/sign-in` with a signature of this device under a fresh challenge.
    pub async fn sign_in_with(&self, device: &PasskeyDevice) -> Reply {
        self.send_assertion(&device.sign(&self.passkey_challenge().await)).await
    }

    /// Sends `POST /auth/passkeys/sign-in`.
    pub async fn send_assertion(&self, credential: &Value) -> Reply {
        self.post("/auth/passkeys/sign-in", &json!({ "credential": credential })).await
    }

    /// Sends `GET path`.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// Sends `POST path` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends `POST /auth/register`.
    pub async fn register(&self, email: &str, password: &str) -> Reply {
        self.post("/auth/register", &json!({ "email": email, "password": password })).await
    }

    /// Sends `POST /auth/verify-email`.
    pub async fn verify_email(&self, token: &str) -> Reply {
        self.post("/auth/verify-email", &json!({ "token": token })).await
    }

    /// Sends `POST /auth/login`, without a code.
    pub async fn login(&self, email: &str, password: &str) -> Reply {
        self.post("/auth/login", &json!({ "email": email, "password": password })).await
    }

    /// Sends `POST /auth/login` with a code.
    pub async fn login_with_code(&self, email: &str, password: &str, code: &str) -> Reply {
        let body = json!({ "email": email, "password": password, "totp_code": code });
        self.post("/auth/login", &body).await
    }

    /// Sends `POST /auth/forgot-password`.
    pub async fn forgot_password(&self, email: &str) -> Reply {
        self.post("/auth/forgot-password", &json!({ "email": email })).await
    }

    /// Sends `POST /auth/reset-password`, without a code.
    pub async fn reset_password(&self, token: &str, password: &str) -> Reply {
        let body = json!({ "token": token, "password": password });
        self.post("/auth/reset-password", &body).await
    }

    /// Sends `POST /validate_email` with this `X-API-Key`.
    pub async fn check_with_key(&self, api_key: &str, address: &str) -> Reply {
        send(self.check_request(api_key, address)).await
    }

    /// The request that [`Self::check_with_key`] sends.
    pub fn check_request(&self, api_key: &str, address: &str) -> RequestBuilder {
        let request = self.request(Method::POST, "/validate_email");
        request.header("x-api-key", api_key).json(&json!({ "email": address }))
    }
}
