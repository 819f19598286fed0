//! The client, its calls except those about scans, and how a call is sent and retried.

use std::{fmt, sync::Arc, thread, time::Duration};

use parking_lot::Mutex;
use rand::distr::{Alphanumeric, SampleString as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::{
    Agent, AsSendBody, Body,
    http::{Method, Request, Response, header},
};

use crate::{
    Builder,
    answers::{Decision, Domain, ListValidation, Quota, SignIn, Validation},
    error::{Error, ErrorDetails},
    rate_limit::RateLimit,
    retry::{Attempts, Wait, now},
};

/// Greatest size of a response in bytes: a page has up to 1,000 results.
const RESPONSE_BYTES_MAX: u64 = 4 << 20;

pub(crate) type OnWait = Arc<dyn Fn(&Wait) + Send + Sync>;

/// A client of the API. Cloning is cheap; clones share their connections. Calls fail as [`Error`] says.
#[derive(Clone)]
pub struct Client {
    pub(crate) agent: Agent,
    /// URL of the service without `/v1` and without a trailing slash.
    pub(crate) url: String,
    pub(crate) api_key: Option<SecretString>,
    pub(crate) timeout: Duration,
    pub(crate) on_wait: OnWait,
    pub(crate) last_rate_limit: Arc<Mutex<Option<RateLimit>>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Call<'a> {
    method: Method,
    path: &'a str,
    body: Option<Value>,
    bearer: Option<&'a SecretString>,
    key: Option<&'a str>,
    /// True if the call may be repeated when it isn't known whether it arrived.
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

    pub(crate) const fn delete(path: &'a str) -> Self {
        Self::new(Method::DELETE, path, None)
    }

    pub(crate) const fn put(path: &'a str, body: Value) -> Self {
        Self::new(Method::PUT, path, Some(body))
    }

    pub(crate) const fn under(mut self, key: &'a str) -> Self {
        self.key = Some(key);
        self
    }
}

pub(crate) struct Reply {
    status: u16,
    body: Vec<u8>,
    after: Option<Duration>,
    request_id: Option<String>,
}

impl Client {
    /// With the default timeout. Fails with [`Error::Address`] if the URL isn't valid, or would send the key
    /// unencrypted.
    pub fn new(url: &str, api_key: &str) -> Result<Self, Error> {
        Self::builder(url).api_key(api_key.into()).build()
    }

    /// Builder for the service at `url`, with or without `/v1` at its end.
    #[must_use]
    pub fn builder(url: &str) -> Builder {
        Builder::new(url)
    }

    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client with another time limit for a call; both share their connections.
    #[must_use]
    pub fn within(&self, timeout: Duration) -> Self {
        Self { timeout, ..self.clone() }
    }

    /// The remaining allowance from the last response that had it; `None` until then, and on an unlimited plan.
    #[must_use]
    pub fn rate_limit(&self) -> Option<RateLimit> {
        self.last_rate_limit.lock().clone()
    }

    pub fn check(&self, email: &str) -> Result<Validation, Error> {
        self.validate(json!({ "email": email }))
    }

    /// The response has `details`, with the reason.
    pub fn check_with_details(&self, email: &str) -> Result<Validation, Error> {
        self.validate(json!({ "email": email, "details": true }))
    }

    /// Checks an address under the caller's own `Idempotency-Key` of 16 to 255 printable
    /// characters. A repeat with the same key within 24 hours isn't charged again, even from another
    /// process.
    pub fn check_under(
        &self,
        idempotency_key: &str,
        email: &str,
        details: bool,
    ) -> Result<Validation, Error> {
        let body = json!({ "email": email, "details": details });
        self.call(&Call::post("/validate_email", body).under(idempotency_key))
    }

    /// Checks an address and responds within `deadline` (0.3 to 10 seconds): with the verdict, or with
    /// [`Validation::pending`] and the details known so far. The check continues in the background. A repeat with the
    /// same key (16 to 255 printable characters) isn't charged again, and returns the verdict when there is one.
    /// Without a key, a repeat is a new check. The client's own timeout should exceed `deadline`.
    pub fn check_by(
        &self,
        deadline: Duration,
        idempotency_key: Option<&str>,
        email: &str,
        details: bool,
    ) -> Result<Validation, Error> {
        let deadline = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
        let body = json!({ "email": email, "details": details, "deadline_ms": deadline });
        self.call(&Call { key: idempotency_key, ..Call::post("/validate_email", body) })
    }

    /// Checks up to 100 addresses in one call; each is charged as a check. `deadline` and key work
    /// as in [`Self::check_by`]. If fewer checks are left than there are addresses, none is
    /// checked.
    pub fn check_list<E: AsRef<str>>(
        &self,
        emails: &[E],
        details: bool,
        deadline: Option<Duration>,
        idempotency_key: Option<&str>,
    ) -> Result<ListValidation, Error> {
        let emails: Vec<&str> = emails.iter().map(AsRef::as_ref).collect();
        let mut body = json!({ "emails": emails, "details": details });
        if let (Some(deadline), Some(members)) = (deadline, body.as_object_mut()) {
            let deadline = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX);
            members.insert("deadline_ms".to_owned(), deadline.into());
        }
        self.call(&Call { key: idempotency_key, ..Call::post("/validate_emails", body) })
    }

    /// The kind of a domain, without an address. The call is charged as a check.
    pub fn check_domain(&self, domain: &str) -> Result<Domain, Error> {
        self.call(&Call::post("/domains", json!({ "domain": domain })))
    }

    /// Asks the sign-up guard whether an address may sign up, by the account's policy. The answer comes within the
    /// policy's deadline. If the call fails all the same, let the person sign up: `client.within(…)` sets how long to
    /// wait for it.
    pub fn decide(&self, email: &str) -> Result<Decision, Error> {
        self.call(&Call::post("/guard/decide", json!({ "email": email })))
    }

    fn validate(&self, body: Value) -> Result<Validation, Error> {
        self.call(&Call::post("/validate_email", body))
    }

    pub fn quota(&self) -> Result<Quota, Error> {
        self.call(&Call::get("/me/quota"))
    }

    /// Permanently ends the client's own API key. If it was the account's own key, the next sign-in returns a new one.
    pub fn end_key(&self) -> Result<(), Error> {
        self.reply(&Call::post("/keys/self-revoke", json!({}))).map(drop)
    }

    /// Signs in with the password. `code` is needed if the service returned `totp_required`.
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
        // A code works once, so a repeated attempt would be rejected as wrong.
        self.call(&Call { repeatable: code.is_none(), ..Call::post("/auth/login", body) })
    }

    /// Ends a session. The API key stays valid.
    pub fn sign_out(&self, token: &SecretString) -> Result<(), Error> {
        let call = Call { bearer: Some(token), ..Call::post("/auth/sign-out", json!({})) };
        self.reply(&call).map(drop)
    }

    pub(crate) fn call<T: DeserializeOwned>(&self, call: &Call<'_>) -> Result<T, Error> {
        let reply = self.reply(call)?;
        serde_json::from_slice(&reply.body).map_err(|error| {
            // The parser's own text quotes the response, which may hold an address.
            let (url, column) = (&self.url, error.column());
            Error::Unintelligible(format!("{url} doesn't answer as rcpt does (byte {column})."))
        })
    }

    pub(crate) fn reply(&self, call: &Call<'_>) -> Result<Reply, Error> {
        // All attempts share one key, so that the service recognises them as one request.
        let key = call.key.map(str::to_owned);
        let key = key.or_else(|| (call.method == Method::POST).then(idempotency_key));
        let mut attempts = Attempts::new(self.timeout, now());
        let mut is_unanswered = false;
        loop {
            let attempt = self.attempt(call, key.as_deref(), attempts.next(now()));
            let (error, requested_pause) = match attempt {
                Ok(reply) if (200..300).contains(&reply.status) => return Ok(reply),
                // An earlier attempt of this call got no answer and is still in flight.
                Ok(reply) if is_in_progress(&reply) && (is_unanswered || call.key.is_none()) => {
                    (Error::Network { cause: NO_ANSWER.to_owned() }, reply.after)
                }
                Ok(reply) if is_momentary(&reply) => (error_of(&self.url, &reply), reply.after),
                Ok(reply) => return Err(error_of(&self.url, &reply)),
                Err(error @ Error::Network { .. }) if call.repeatable => {
                    is_unanswered = true;
                    (error, None)
                }
                Err(error) => return Err(error),
            };
            let Some(mut wait) = attempts.pause(requested_pause, rand::random(), now()) else {
                return Err(error);
            };
            wait.why = error.to_string();
            (self.on_wait)(&wait);
            thread::sleep(wait.pause);
        }
    }

    fn attempt(
        &self,
        call: &Call<'_>,
        key: Option<&str>,
        timeout: Duration,
    ) -> Result<Reply, Error> {
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
        if key.is_some_and(|key| !key.bytes().all(|byte| byte.is_ascii_graphic())) {
            let message = "An Idempotency-Key has only printable ASCII characters, and no spaces.";
            return Err(refused(400, message));
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        // Headers and the service's URL have been checked: only the path can be wrong.
        let unusable = |_| refused(404, "An id of the service has letters, digits and _ alone.");
        let answer = match &call.body {
            Some(body) => {
                let request = request.header(header::CONTENT_TYPE, "application/json");
                self.send_within(request.body(body.to_string()).map_err(unusable)?, timeout)
            }
            None => self.send_within(request.body(()).map_err(unusable)?, timeout),
        };
        let network = |error: ureq::Error| Error::Network { cause: in_words(&error) };
        let mut answer = answer.map_err(network)?;
        let after = answer.headers().get(header::RETRY_AFTER);
        let after = after.and_then(|value| value.to_str().ok()?.parse().ok());
        let request_id = answer.headers().get("x-request-id");
        let request_id = request_id.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let status = answer.status().as_u16();
        if let Some(last_rate_limit) = RateLimit::of(answer.headers()) {
            *self.last_rate_limit.lock() = Some(last_rate_limit);
        }
        let body = answer
            .body_mut()
            .with_config()
            .limit(RESPONSE_BYTES_MAX)
            .read_to_vec()
            .map_err(network)?;
        Ok(Reply { status, body, after: after.map(Duration::from_secs), request_id })
    }

    fn send_within(
        &self,
        request: Request<impl AsSendBody>,
        timeout: Duration,
    ) -> Result<Response<Body>, ureq::Error> {
        let configured = self.agent.configure_request(request);
        self.agent.run(configured.timeout_global(Some(timeout)).build())
    }
}

/// The error has the status that the service would give to a request that can't be sent. It quotes nothing: an id or an
/// `Idempotency-Key` may hold an address.
fn refused(status: u16, message: &str) -> Error {
    Error::Refused { status, code: None, message: message.to_owned(), details: Box::default() }
}

/// Code of a 409: the first call with this `Idempotency-Key` is still in flight.
const IN_PROGRESS: &str = "idempotency_key_in_use";

const NO_ANSWER: &str = "no answer in time";

fn is_in_progress(reply: &Reply) -> bool {
    reply.status == 409
        && Problem::of(reply).is_some_and(|it| it.code.as_deref() == Some(IN_PROGRESS))
}

fn is_momentary(reply: &Reply) -> bool {
    matches!(reply.status, 429 | 502 | 503 | 504) || is_in_progress(reply)
}

struct Problem {
    message: String,
    code: Option<String>,
    details: Box<ErrorDetails>,
}

impl Problem {
    fn of(reply: &Reply) -> Option<Self> {
        let body: Value = serde_json::from_slice(&reply.body).ok()?;
        let detail = body.get("detail")?;
        let message = detail.as_str().or_else(|| detail.get("error")?.as_str())?.to_owned();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let details = Box::new(ErrorDetails {
            request_id: reply.request_id.clone(),
            limit: text(detail.get("limit")),
            resets_at: text(detail.get("resets_at")),
            doc_url: text(body.get("doc_url")),
        });
        Some(Self { message, code: text(body.get("code")), details })
    }
}

fn error_of(url: &str, reply: &Reply) -> Error {
    let (status, after) = (reply.status, reply.after);
    let Some(Problem { message, code, details }) = Problem::of(reply) else {
        let message = format!("{url} answers with status {status}");
        return match status {
            502..=504 => Error::Unavailable {
                status,
                code: None,
                message: message + ".",
                details: Box::default(),
            },
            _ => {
                let question = ", and not as rcpt does. Is the address right?";
                Error::Unintelligible(message + question)
            }
        };
    };
    match status {
        401 => Error::Unauthorised { code, message, details },
        429 => Error::TooMany { code, message, after, details },
        500.. => Error::Unavailable { status, code, message, details },
        400..500 => Error::Refused { status, code, message, details },
        _ => Error::Unintelligible(message),
    }
}

/// A new `Idempotency-Key`: 24 letters and digits, 142 bits.
#[must_use]
pub fn idempotency_key() -> String {
    Alphanumeric.sample_string(&mut rand::rng(), 24)
}

fn in_words(error: &ureq::Error) -> String {
    match error {
        ureq::Error::HostNotFound => "the host name isn't known".to_owned(),
        ureq::Error::Timeout(_) => NO_ANSWER.to_owned(),
        ureq::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorDetails, Reply, error_of};
    use crate::Error;

    fn error(status: u16, body: &str) -> Error {
        let request_id = Some("id-1".to_owned());
        let reply = Reply { status, body: body.into(), after: None, request_id };
        error_of("https://rcpt.example.net", &reply)
    }

    #[test]
    fn a_page_that_is_not_ours_is_no_verdict_and_no_refusal() {
        for (status, body) in [(302, ""), (404, "<html>"), (401, "{}"), (500, "oops")] {
            let error = error(status, body);
            assert!(matches!(error, Error::Unintelligible(_)), "{status}: {error:?}");
        }
        let wrong_key = error(401, r#"{"detail":{"error":"Invalid API key."}}"#);
        assert_eq!(wrong_key.to_string(), "Invalid API key.");
    }

    #[test]
    fn an_error_has_all_that_its_answer_says() {
        let body = r#"{"detail":{"error":"Used up.","limit":"email check","resets_at":"2026-11-24T00:00:00Z"},
            "code":"allowance_used_up","doc_url":"https://rcpt.example.net/docs/errors"}"#;
        let error = error(429, body);
        assert_eq!(error.code(), Some("allowance_used_up"));
        let details = ErrorDetails {
            request_id: Some("id-1".to_owned()),
            limit: Some("email check".to_owned()),
            resets_at: Some("2026-11-24T00:00:00Z".to_owned()),
            doc_url: Some("https://rcpt.example.net/docs/errors".to_owned()),
        };
        assert_eq!(error.details(), Some(&details));
    }
}
