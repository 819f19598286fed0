//! The calls.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use rand::distr::{Alphanumeric, SampleString as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::{
    Agent,
    http::{Method, Request, header},
};

use crate::{
    Builder,
    answers::{Quota, SignIn, Validation},
    error::Error,
    rate_limit::RateLimit,
    retry::{Patience, Wait},
};

/// More than any answer has: a page of results is 1,000 lines.
const LARGEST: u64 = 4 << 20;

pub(crate) type OnWait = Arc<dyn Fn(&Wait) + Send + Sync>;

/// Calls the API. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    pub(crate) agent: Agent,
    /// Without `/v1`, and without a slash at the end.
    pub(crate) url: String,
    pub(crate) api_key: Option<SecretString>,
    pub(crate) patience: Duration,
    pub(crate) on_wait: OnWait,
    pub(crate) told: Arc<Mutex<Option<RateLimit>>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// One call, as it goes on the wire.
#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    method: Method,
    /// Below `/v1`.
    path: &'a str,
    body: Option<Value>,
    bearer: Option<&'a SecretString>,
    /// The `Idempotency-Key`, in place of a fresh one.
    key: Option<&'a str>,
    /// Whether it may be made again when it is not known whether it has arrived.
    repeatable: bool,
}

impl<'a> Call<'a> {
    const fn new(method: Method, path: &'a str, body: Option<Value>) -> Self {
        Self { method, path, body, bearer: None, key: None, repeatable: true }
    }

    pub(crate) const fn get(path: &'a str) -> Self {
        Self::new(Method::GET, path, None)
    }

    pub(crate) const fn post(path: &'a str, body: Value) -> Self {
        Self::new(Method::POST, path, Some(body))
    }

    pub(crate) const fn put(path: &'a str, body: Value) -> Self {
        Self::new(Method::PUT, path, Some(body))
    }

    /// Under this `Idempotency-Key`.
    pub(crate) const fn under(mut self, key: &'a str) -> Self {
        self.key = Some(key);
        self
    }
}

/// An answer with status, body and the time that it asks to wait.
struct Reply {
    status: u16,
    body: Vec<u8>,
    after: Option<Duration>,
}

impl Client {
    /// A client with this key and the usual patience.
    ///
    /// # Errors
    /// [`Error::Address`]: the URL is none, or would send the key in the clear.
    pub fn new(url: &str, api_key: &str) -> Result<Self, Error> {
        Self::builder(url).api_key(api_key.into()).build()
    }

    /// A client of the service at `url`, with or without `/v1` at its end.
    #[must_use]
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }

    /// The service's address, without `/v1`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What is left, as the last answer that said so has it; `None` before that, and on an unlimited plan.
    #[must_use]
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks whether an address can receive mail.
    ///
    /// # Errors
    /// No verdict: see [`Error`].
    pub fn check(&self, email: &str) -> Result<Validation, Error> {
        self.validate(json!({ "email": email }))
    }

    /// Asks whether an address can receive mail, and why: the answer has `details`.
    ///
    /// # Errors
    /// No verdict: see [`Error`].
    pub fn check_with_details(&self, email: &str) -> Result<Validation, Error> {
        self.validate(json!({ "email": email, "details": true }))
    }

    /// Asks under an `Idempotency-Key` of the caller's own, 16 to 255 printable characters: sent again with the same
    /// key within 24 hours, also by another process, it is counted once.
    ///
    /// # Errors
    /// No verdict: see [`Error`].
    pub fn check_under(
        &self,
        idempotency_key: &str,
        email: &str,
        details: bool,
    ) -> Result<Validation, Error> {
        let body = json!({ "email": email, "details": details });
        self.call(&Call::post("/validate_email", body).under(idempotency_key))
    }

    fn validate(&self, body: Value) -> Result<Validation, Error> {
        self.call(&Call::post("/validate_email", body))
    }

    /// The plan and what is left of its allowances.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn quota(&self) -> Result<Quota, Error> {
        self.call(&Call::get("/me/quota"))
    }

    /// Signs in by password. `code` is needed when the service answers `totp_required`.
    ///
    /// # Errors
    /// [`Error::Unauthorised`] with its code, and others.
    pub fn sign_in(
        &self,
        email: &str,
        password: &SecretString,
        code: Option<&str>,
    ) -> Result<SignIn, Error> {
        let mut body = json!({ "email": email, "password": password.expose_secret() });
        if let (Some(code), Some(members)) = (code, body.as_object_mut()) {
            members.insert("totp_code".to_owned(), code.into());
        }
        // A code works once: a second attempt with it would be told that it is wrong.
        self.call(&Call { repeatable: code.is_none(), ..Call::post("/auth/login", body) })
    }

    /// Ends a session. The API key goes on working.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn sign_out(&self, token: &SecretString) -> Result<(), Error> {
        let call = Call { bearer: Some(token), ..Call::post("/auth/sign-out", json!({})) };
        self.reply(&call).map(drop)
    }

    pub(crate) fn call<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Error> {
        let reply = self.reply(call)?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            Error::Unintelligible(format!("{} doesn't answer as rcpt does ({error}).", self.url))
        })
    }

    /// Makes the call, again and again while that may help.
    fn reply(&self, call: &Call<'_>) -> Result<Reply, Error> {
        // One for all attempts, so that they can be told to be one.
        let key = call.key.map(str::to_owned);
        let key = key.or_else(|| (call.method == Method::POST).then(idempotency_key));
        let mut patience = Patience::new(self.patience);
        loop {
            let (error, asked) = match self.attempt(call, key.as_deref()) {
                Ok(reply) if (200..300).contains(&reply.status) => return Ok(reply),
                Ok(reply) => {
                    let (again, after) = (is_momentary(&reply), reply.after);
                    let error = error_of(&self.url, &reply);
                    if !again {
                        return Err(error);
                    }
                    (error, after)
                }
                Err(error) if call.repeatable => (error, None),
                Err(error) => return Err(error),
            };
            let Some(mut wait) = patience.pause(asked, rand::random()) else {
                return Err(error);
            };
            wait.why = error.to_string();
            (self.on_wait)(&wait);
            thread::sleep(wait.pause);
        }
    }

    fn attempt(&self, call: &Call<'_>, key: Option<&str>) -> Result<Reply, Error> {
        let uri = format!("{}/v1{}", self.url, call.path);
        let mut request = Request::builder().method(&call.method).uri(uri);
        match (call.bearer, &self.api_key) {
            (Some(token), _) => {
                let bearer = format!("Bearer {}", token.expose_secret());
                request = request.header(header::AUTHORIZATION, bearer);
            }
            (None, Some(api_key)) => request = request.header("X-API-Key", api_key.expose_secret()),
            (None, None) => {}
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        let unusable = |_| Error::Unauthorised {
            code: None,
            message: "The API key has characters that no key has.".to_owned(),
        };
        let answer = match &call.body {
            Some(body) => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                self.agent.run(request.body(body.to_string()).map_err(unusable)?)
            }
            None => self.agent.run(request.body(()).map_err(unusable)?),
        };
        let network = |error: ureq::Error| Error::Network { cause: in_words(&error) };
        let mut answer = answer.map_err(network)?;
        let after = answer.headers().get(header::RETRY_AFTER);
        let after = after.and_then(|value| value.to_str().ok()?.parse().ok());
        let status = answer.status().as_u16();
        if let Some(told) = RateLimit::of(answer.headers()) {
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        }
        let body = answer.body_mut().with_config().limit(LARGEST).read_to_vec().map_err(network)?;
        Ok(Reply { status, body, after: after.map(Duration::from_secs) })
    }
}

/// 409 with this code: the first call with this `Idempotency-Key` is still under way.
const IN_PROGRESS: &str = "idempotency_key_in_use";

fn is_momentary(reply: &Reply) -> bool {
    match reply.status {
        429 | 502 | 503 | 504 => true,
        409 => Told::of(&reply.body).is_some_and(|told| told.code.as_deref() == Some(IN_PROGRESS)),
        _ => false,
    }
}

/// What an error says for people and for programs, in any of its three shapes.
struct Told {
    message: String,
    code: Option<String>,
}

impl Told {
    fn of(body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let detail = body.get("detail")?;
        let message = detail.as_str().or_else(|| detail.get("error")?.as_str())?.to_owned();
        let code = body.get("code").and_then(Value::as_str).map(str::to_owned);
        Some(Self { message, code })
    }
}

fn error_of(url: &str, reply: &Reply) -> Error {
    let (status, after) = (reply.status, reply.after);
    match (status, Told::of(&reply.body)) {
        (401, Some(Told { message, code })) => Error::Unauthorised { code, message },
        (429, Some(Told { message, code })) => Error::TooMany { code, message, after },
        (500.., Some(Told { message, .. })) => Error::Unavailable { status, message },
        (400..500, Some(Told { message, code })) => Error::Refused { status, code, message },
        (502..=504, None) => {
            Error::Unavailable { status, message: format!("{url} answers with status {status}.") }
        }
        _ => Error::Unintelligible(format!(
            "{url} answers with status {status}, and not as rcpt does. Is the address right?"
        )),
    }
}

/// A fresh `Idempotency-Key`: 24 letters and digits, 142 bits.
#[must_use]
pub fn idempotency_key() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 24)
}

/// The cause of a failed connection, as a person would say it.
fn in_words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "the host name isn't known".to_owned(),
        ureq::Error::Timeout(_) => "no answer in time".to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Reply, error_of};
    use crate::Error;

    #[test]
    fn a_page_that_is_not_ours_is_no_verdict_and_no_refusal() {
        let reply = |status, body: &str| Reply { status, body: body.into(), after: None };
        let error = |status, body| error_of("https://rcpt.example.net", &reply(status, body));
        for (status, body) in [(302, ""), (404, "<html>"), (401, "{}"), (500, "oops")] {
            let error = error(status, body);
            assert!(matches!(error, Error::Unintelligible(_)), "{status}: {error:?}");
        }
        let told = error(401, r#"{"detail":{"error":"Invalid API key."}}"#);
        assert_eq!(told.to_string(), "Invalid API key.");
    }
}
