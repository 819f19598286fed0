//! A person with an account, signed in.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{Anonymous, Authenticator, PasskeyDevice, Reply, send};

/// Satisfies every password rule.
pub const PASSWORD: &str = "violet-anchor-77-quarry";

/// A confirmed account, signed in.
#[derive(Debug, Clone)]
pub struct Account {
    pub email: String,
    pub password: String,
    /// Session JWT.
    pub token: String,
    pub api_key: String,
    pub anonymous: Anonymous,
}

impl Account {
    /// Reads the account from a response with credentials (docs/account-api.md, Signing in).
    pub fn from_credentials(anonymous: &Anonymous, password: &str, reply: &Reply) -> Self {
        assert_eq!(reply.status, 200, "{}", reply.body);
        let text = |name: &str| match reply.body.get(name) {
            Some(Value::String(text)) => text.clone(),
            _ => panic!("no {name} in {}", reply.body),
        };
        Self {
            email: text("email"),
            password: password.to_owned(),
            token: text("token"),
            api_key: text("api_key"),
            anonymous: anonymous.clone(),
        }
    }

    /// Sends `POST /validate_email` with the API key.
    pub async fn check(&self, address: &str) -> Reply {
        self.anonymous.check_with_key(&self.api_key, address).await
    }

    /// Sends `POST /validate_email` with this `Idempotency-Key`.
    pub async fn check_under(&self, key: &str, address: &str) -> Reply {
        let request = self.anonymous.check_request(&self.api_key, address);
        send(request.header("idempotency-key", key)).await
    }

    /// Sends `POST /validate_email` with the session.
    pub async fn check_in_session(&self, address: &str) -> Reply {
        self.post("/validate_email", &json!({ "email": address })).await
    }

    /// Sends `GET /me/quota` with the API key.
    pub async fn quota(&self) -> Reply {
        let request = self.anonymous.request(Method::GET, "/me/quota");
        send(request.header("x-api-key", &self.api_key)).await
    }

    /// The four numbers of `email_checks` in the quota report.
    pub async fn email_checks(&self) -> EmailChecks {
        let reply = self.quota().await;
        let checks = reply.body.get("email_checks").cloned().unwrap_or_default();
        serde_json::from_value(checks).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// Sends `POST /auth/rotate-api-key`; `api_key` stays the former key.
    pub async fn rotate_api_key(&self) -> Reply {
        self.post("/auth/rotate-api-key", &json!({})).await
    }

    /// Sends `POST /keys` with the password and these further members.
    pub async fn make_key(&self, terms: &Value) -> Reply {
        let mut body = terms.clone();
        body["password"] = json!(self.password);
        self.post("/keys", &body).await
    }

    /// Creates a named key; returns its text and its id.
    pub async fn named_key(&self, terms: &Value) -> (String, String) {
        let reply = self.make_key(terms).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        let text = |pointer| reply.body.pointer(pointer).and_then(Value::as_str).expect("a text");
        (text("/api_key").to_owned(), text("/key/id").to_owned())
    }

    /// Sends `POST /auth/passkeys/options` with the password.
    pub async fn passkey_options(&self) -> Reply {
        self.post("/auth/passkeys/options", &json!({ "password": self.password })).await
    }

    /// Adds a passkey of a new device with this name, and returns the device and the passkey's id.
    pub async fn add_passkey(&self, name: &str) -> (PasskeyDevice, String) {
        let options = self.passkey_options().await;
        assert_eq!(options.status, 200, "{}", options.body);
        let origin = self.anonymous.origin();
        let (device, credential) = PasskeyDevice::create(&options.body, &origin);
        let reply = self.add_credential(name, &credential).await;
        assert_eq!(reply.status, 201, "{}", reply.body);
        let id = reply.text("id").to_owned();
        (device, id)
    }

    /// Sends `POST /auth/passkeys`.
    pub async fn add_credential(&self, name: &str, credential: &Value) -> Reply {
        let body = json!({ "name": name, "credential": credential });
        self.post("/auth/passkeys", &body).await
    }

    /// Sends `POST /auth/totp/setup`.
    pub async fn set_up_two_factor(&self) -> Authenticator {
        let reply = self.post("/auth/totp/setup", &json!({ "password": self.password })).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        Authenticator::new(reply.text("secret"))
    }

    /// Turns on two-factor authentication, which uses up the current time step. Also returns the recovery codes.
    pub async fn enable_two_factor(&self) -> (Authenticator, Vec<String>) {
        let authenticator = self.set_up_two_factor().await;
        let reply = self.enable_with(&authenticator.code()).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let codes = reply.body.get("recovery_codes").cloned().unwrap_or_default();
        (authenticator, serde_json::from_value(codes).expect("recovery codes"))
    }

    /// Sends `POST /auth/totp/enable`.
    pub async fn enable_with(&self, code: &str) -> Reply {
        self.post("/auth/totp/enable", &json!({ "totp_code": code })).await
    }

    /// Sends `POST /auth/rotate-api-key` with a code.
    pub async fn rotate_with(&self, code: &str) -> Reply {
        self.post("/auth/rotate-api-key", &json!({ "totp_code": code })).await
    }

    /// Sends `GET path` with the session.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// Sends `POST path` with the session.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends `PUT path` with the session.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::PUT, path).json(body)).await
    }

    /// Sends `DELETE path` with the session.
    pub async fn delete(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::DELETE, path).json(body)).await
    }

    /// A request with the session, to change before it is sent with [`send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous.request(method, path).bearer_auth(&self.token)
    }
}

/// `email_checks` of the quota report (docs/api.md, GET /me/quota).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct EmailChecks {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    pub welcome_left: i64,
}
