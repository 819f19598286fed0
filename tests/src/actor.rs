//! Who calls the service: nobody in particular, or an account with its credentials.

use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, header::HeaderMap};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

/// An answer: status, headers, and the body as JSON.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Reply {
    /// Status and body, to be asserted together.
    #[must_use]
    pub fn parts(&self) -> (u16, &Value) {
        (self.status, &self.body)
    }

    /// Asserts an error of an account operation: this status, and `{detail, code}` with this code and
    /// nothing else.
    ///
    /// # Panics
    /// It is another answer.
    pub fn assert_error(&self, status: u16, code: &str, why: &str) {
        let detail = self.body.get("detail").and_then(Value::as_str).unwrap_or_default();
        let expected = json!({ "detail": detail, "code": code });
        assert_eq!(self.parts(), (status, &expected), "{why}");
        assert!(!detail.is_empty(), "{why}");
    }

    /// A member of the body as text; empty when absent.
    #[must_use]
    pub fn text(&self, member: &str) -> &str {
        self.body.get(member).and_then(Value::as_str).unwrap_or_default()
    }

    /// A header as text; empty when absent.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// A test that waits longer would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// A caller without credentials.
#[derive(Debug, Clone)]
pub struct Anonymous {
    client: Client,
    url: String,
}

impl Anonymous {
    /// Calls the service at `url`, which is without `/v1`.
    ///
    /// # Panics
    /// Never: no TLS backend has to be found.
    #[must_use]
    pub fn new(url: &str) -> Self {
        // No idle connections: they would belong to the runtime of the test that opened them.
        let client = Client::builder().pool_max_idle_per_host(0).timeout(PATIENCE);
        let client = client.build().expect("a client");
        Self { client, url: url.to_owned() }
    }

    /// As [`Anonymous::new`], but its connections are kept for further requests: for many requests
    /// within one test.
    ///
    /// # Panics
    /// Never: no TLS backend has to be found.
    #[must_use]
    pub fn on_kept_connections(url: &str) -> Self {
        Self { client: Client::builder().build().expect("a client"), url: url.to_owned() }
    }

    /// A request to change before it is sent with [`send`]; `path` is below `/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}/v1{path}", self.url))
    }

    /// `GET path`.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// `POST path` with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// `POST /auth/register`.
    pub async fn register(&self, email: &str, password: &str) -> Reply {
        self.post("/auth/register", &json!({ "email": email, "password": password })).await
    }

    /// `POST /auth/verify-email`.
    pub async fn verify_email(&self, token: &str) -> Reply {
        self.post("/auth/verify-email", &json!({ "token": token })).await
    }

    /// `POST /auth/login`, without a code.
    pub async fn login(&self, email: &str, password: &str) -> Reply {
        self.post("/auth/login", &json!({ "email": email, "password": password })).await
    }

    /// `POST /auth/login` with a code.
    pub async fn login_with_code(&self, email: &str, password: &str, code: &str) -> Reply {
        let body = json!({ "email": email, "password": password, "totp_code": code });
        self.post("/auth/login", &body).await
    }

    /// `POST /auth/forgot-password`.
    pub async fn forgot_password(&self, email: &str) -> Reply {
        self.post("/auth/forgot-password", &json!({ "email": email })).await
    }

    /// `POST /auth/reset-password`, without a code.
    pub async fn reset_password(&self, token: &str, password: &str) -> Reply {
        let body = json!({ "token": token, "password": password });
        self.post("/auth/reset-password", &body).await
    }

    /// `POST /validate_email` with this `X-API-Key`.
    pub async fn check_with_key(&self, api_key: &str, address: &str) -> Reply {
        send(self.check_request(api_key, address)).await
    }

    /// What [`Self::check_with_key`] sends.
    pub fn check_request(&self, api_key: &str, address: &str) -> RequestBuilder {
        let request = self.request(Method::POST, "/validate_email");
        request.header("x-api-key", api_key).json(&json!({ "email": address }))
    }
}

/// Requests in flight at once, over all tests of a binary; further ones wait for a place. workerd closes
/// a connection whose request it has not read within 15 s (kj's `headerTimeout`), unread. Behind
/// miniflare's own Workers it reads 170 a second on an idle machine of two cores, a third of that on a
/// busy one: 500 leave room for both.
static IN_FLIGHT: Semaphore = Semaphore::const_new(500);

/// Sends a request.
///
/// # Panics
/// The connection fails. A body that is not JSON becomes a JSON string.
pub async fn send(request: RequestBuilder) -> Reply {
    try_send(request).await.expect("the edge answers")
}

async fn try_send(request: RequestBuilder) -> reqwest::Result<Reply> {
    let _permit = IN_FLIGHT.acquire().await.expect("never closed");
    exchange(request).await
}

async fn exchange(request: RequestBuilder) -> reqwest::Result<Reply> {
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Reply { status, headers, body })
}

/// Sends all requests at the same time, each on a connection of its own, however many. For the Worker's
/// direct socket, which reads several hundred a second.
///
/// # Panics
/// One gets no answer.
pub async fn send_at_once(requests: impl IntoIterator<Item = RequestBuilder>) -> Vec<Reply> {
    let replies: JoinSet<_> = requests.into_iter().map(exchange).collect();
    replies.join_all().await.into_iter().map(|reply| reply.expect("the edge answers")).collect()
}

/// Sends all requests, `width` at once, and returns the answers in the order of the requests. A hundred
/// that each hash a password keep a busy machine longer than workerd's `headerTimeout`: a connection
/// that it closes unread is opened again.
///
/// # Panics
/// A request gets no answer five times.
pub async fn send_all(
    requests: impl IntoIterator<Item = RequestBuilder>,
    width: usize,
) -> Vec<Reply> {
    let places = std::sync::Arc::new(Semaphore::new(width));
    let mut tasks = Vec::new();
    for request in requests {
        let place = std::sync::Arc::clone(&places).acquire_owned().await.expect("never closed");
        tasks.push(tokio::spawn(async move {
            for _ in 0..4 {
                let again = request.try_clone().expect("a body of bytes");
                if let Ok(reply) = try_send(again).await {
                    return reply;
                }
            }
            let reply = send(request).await;
            drop(place);
            reply
        }));
    }
    let mut replies = Vec::with_capacity(tasks.len());
    for task in tasks {
        replies.push(task.await.expect("a reply"));
    }
    replies
}

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
    /// The account of session credentials (interface §2.2).
    ///
    /// # Panics
    /// The reply is not 200 with credentials.
    #[must_use]
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

    /// `POST /validate_email` with the API key.
    pub async fn check(&self, address: &str) -> Reply {
        self.anonymous.check_with_key(&self.api_key, address).await
    }

    /// `POST /validate_email` with the session.
    pub async fn check_in_session(&self, address: &str) -> Reply {
        self.post("/validate_email", &json!({ "email": address })).await
    }

    /// `GET /me/quota` with the API key.
    pub async fn quota(&self) -> Reply {
        let request = self.anonymous.request(Method::GET, "/me/quota");
        send(request.header("x-api-key", &self.api_key)).await
    }

    /// The four numbers of `email_checks` in the quota report.
    ///
    /// # Panics
    /// The report has another shape.
    pub async fn email_checks(&self) -> EmailChecks {
        let reply = self.quota().await;
        let checks = reply.body.get("email_checks").cloned().unwrap_or_default();
        serde_json::from_value(checks).unwrap_or_else(|error| panic!("{error}: {}", reply.body))
    }

    /// `POST /auth/rotate-api-key`; the account goes on with the key it had.
    pub async fn rotate_api_key(&self) -> Reply {
        self.post("/auth/rotate-api-key", &json!({})).await
    }

    /// `GET path` with the session.
    pub async fn get(&self, path: &str) -> Reply {
        send(self.request(Method::GET, path)).await
    }

    /// `POST path` with the session.
    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// `PUT path` with the session.
    pub async fn put(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::PUT, path).json(body)).await
    }

    /// `DELETE path` with the session.
    pub async fn delete(&self, path: &str, body: &Value) -> Reply {
        send(self.request(Method::DELETE, path).json(body)).await
    }

    /// A request with the session, to change before it is sent with [`send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous.request(method, path).bearer_auth(&self.token)
    }
}

/// `email_checks` of the quota report (interface §2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub struct EmailChecks {
    pub daily_allowance: i64,
    pub used_today: i64,
    pub left_today: i64,
    pub welcome_left: i64,
}
