//! A client written from the interface specification alone works with the current service. It sends and
//! expects only what the comments quote.

use rcpt_tests::{Mailbox, Stack, service::clock};
use reqwest::{Method, StatusCode, header::RETRY_AFTER};
use serde_json::{Value, json};

/// "All paths below are served under the version prefix `/v1`"; "Requests and responses are JSON".
struct Client {
    base_url: String,
    http: reqwest::Client,
}

enum Auth<'a> {
    None,
    /// "request header `X-API-Key`"
    Key(&'a str),
    /// "request header `Authorization: Bearer <ACCESS_TOKEN>`"
    Bearer(&'a str),
}
use Auth::{Bearer, Key};

struct Response {
    status: StatusCode,
    retry_after: Option<u64>,
    body: Value,
}

impl Client {
    async fn call(
        &self,
        method: Method,
        path: &str,
        auth: Auth<'_>,
        body: Option<Value>,
    ) -> Response {
        let request = self.http.request(method, format!("{}/v1{path}", self.base_url));
        let request = match auth {
            Auth::None => request,
            Key(key) => request.header("X-API-Key", key),
            Bearer(token) => request.bearer_auth(token),
        };
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.map(|seconds| seconds.to_str().unwrap().parse().unwrap());
        let status = response.status();
        Response { status, retry_after, body: response.json().await.unwrap() }
    }

    async fn post(&self, path: &str, auth: Auth<'_>, body: Value) -> Response {
        self.call(Method::POST, path, auth, Some(body)).await
    }

    /// "The verdict is in `status`, including when the address cannot receive mail."
    async fn verdict(&self, auth: Auth<'_>, email: &str) -> Value {
        let reply = self.post("/validate_email", auth, json!({ "email": email })).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let status = &reply.body["status"];
        assert!(status.is_boolean() || STATUSES.contains(&status.as_str().unwrap()), "{status}");
        assert!(reply.body["email"].is_string());
        // "Absent when the format check failed."
        assert_eq!(reply.body["cached"].is_boolean(), status != "invalid_format");
        status.clone()
    }

    /// The "Quota report".
    async fn quota(&self, auth: Auth<'_>) -> Value {
        let Response { status, body, .. } = self.call(Method::GET, "/me/quota", auth, None).await;
        assert_eq!(status, 200, "{body}");
        assert!(body["plan"].is_string() && body["unlimited"].is_boolean(), "{body}");
        assert!(body["resets_at"].as_str().unwrap().contains("T00:00:00"), "{body}");
        assert!(body["total_scans"].is_u64() && body["completed_scans"].is_u64(), "{body}");
        for (allowance, beside) in [("scans", "credits"), ("email_checks", "welcome_left")] {
            for number in ["daily_allowance", "used_today", "left_today", beside] {
                assert!(body[allowance][number].is_u64(), "{allowance} {number}: {body}");
            }
        }
        body
    }

    /// "A confirmation link is emailed", which "has the form `{portal_url}/verify?token=<token>`".
    async fn register(&self, mailbox: &Mailbox, email: &str, password: &str, nth: usize) -> String {
        let body = json!({ "email": email, "password": password });
        let reply = self.post("/auth/register", Auth::None, body).await;
        assert!(reply.status.is_success(), "{}", reply.body);
        assert_eq!(reply.body["email"], email);
        assert_eq!(reply.body["verification_required"], true);
        assert!(reply.body["message"].is_string());
        let mail = mailbox.wait_for_nth_mail(email, nth).await.unwrap();
        let (_, token) = mail.text.split_once("/verify?token=").expect("a link");
        token.split_whitespace().next().unwrap().to_owned()
    }
}

/// "Allowed string values of `status`"
const STATUSES: [&str; 7] = [
    "invalid_format",
    "domain_not_found",
    "no_mx_records",
    "smtp_connect_error",
    "smtp_timeout",
    "blocked_by_provider",
    "fatal_exception",
];

/// True if the response is a 4xx error of the form "`{detail: string}`".
fn is_plain(reply: &Response) -> bool {
    reply.status.is_client_error() && reply.body["detail"].is_string()
}

/// True if the error has the form "`{detail: {error: string}}`" ("email validation, statuses 400 and 401").
fn is_nested(reply: &Response, status: u16) -> bool {
    reply.status == status && reply.body["detail"]["error"].is_string()
}

#[tokio::test]
async fn a_client_written_from_the_specification_alone_works() {
    let stack = Stack::start().await;
    let client = Client { base_url: stack.edge.url.clone(), http: reqwest::Client::new() };
    let (mailbox, email) = (stack.edge.mailbox(), stack.edge.new_email());
    let [first, password] = ["harbor-lantern-41-quartz", "copper-meadow-58-lattice"];
    let credentials = |password: &str| json!({ "email": email, "password": password });

    // "Sign-in and the API key do not work while unconfirmed."; "The password is replaced and a new link is sent."
    client.register(&mailbox, &email, first, 1).await;
    assert!(is_plain(&client.post("/auth/login", Auth::None, credentials(first)).await));
    let token = client.register(&mailbox, &email, password, 2).await;
    let confirmed = client.post("/auth/verify-email", Auth::None, json!({ "token": token })).await;
    assert!(confirmed.status.is_success(), "{}", confirmed.body);
    // "valid 24 hours and can be used once"
    assert!(is_plain(
        &client.post("/auth/verify-email", Auth::None, json!({ "token": token })).await
    ));
    assert!(is_plain(&client.post("/auth/login", Auth::None, credentials(first)).await));

    let signed_in = client.post("/auth/login", Auth::None, credentials(password)).await;
    assert!(signed_in.status.is_success(), "{}", signed_in.body);
    for body in [&confirmed.body, &signed_in.body] {
        assert_eq!(body["email"], email);
        // "`token` is a JWT"
        assert_eq!(body["token"].as_str().unwrap().split('.').count(), 3);
        assert_eq!(body["api_key"], confirmed.body["api_key"]);
    }
    let [token, key] = ["token", "api_key"].map(|name| signed_in.body[name].as_str().unwrap());

    // "`/validate_email` and `/me/quota` accept either scheme."
    assert_eq!(client.verdict(Key(key), "accepts@sandbox.test").await, true);
    assert_eq!(client.verdict(Bearer(token), "rejects@sandbox.test").await, false);
    assert_eq!(client.verdict(Key(key), "Ann <accepts@sandbox.test>").await, true);
    assert_eq!(client.verdict(Key(key), "no address").await, "invalid_format");
    assert_eq!(client.quota(Bearer(token)).await, client.quota(Key(key)).await);

    // "400: ... when `email` is missing, the body is not JSON"; "401: ... when the API key is missing, wrong"
    assert!(is_nested(&client.post("/validate_email", Key(key), json!({})).await, 400));
    let question = || json!({ "email": "accepts@sandbox.test" });
    assert!(is_nested(&client.post("/validate_email", Auth::None, question()).await, 401));
    assert!(is_nested(&client.post("/validate_email", Key("wrong"), question()).await, 401));

    // "Success: profile (2.4)."
    let name = json!({ "display_name": "Ann" });
    let profile = client.call(Method::PUT, "/auth/settings", Bearer(token), Some(name)).await;
    assert!(profile.status.is_success(), "{}", profile.body);
    assert_eq!(
        (&profile.body["email"], &profile.body["display_name"]),
        (&json!(email), &json!("Ann"))
    );

    // "the API key cannot rotate itself"; "The old key stops working at once."
    assert!(is_plain(&client.post("/auth/rotate-api-key", Key(key), json!({})).await));
    let rotated = client.post("/auth/rotate-api-key", Bearer(token), json!({})).await;
    assert!(rotated.status.is_success(), "{}", rotated.body);
    assert!(is_nested(&client.post("/validate_email", Key(key), question()).await, 401));
    let key = rotated.body["api_key"].as_str().unwrap();

    // "consumes the daily email check allowance first, then welcome checks"; "the 429 applies once ... used up"
    clock::today().await;
    let checks = client.quota(Key(key)).await["email_checks"].clone();
    let checks_left = |name: &str| checks[name].as_u64().unwrap();
    for _ in 0..checks_left("left_today") + checks_left("welcome_left") {
        client.verdict(Key(key), "accepts@sandbox.test").await;
    }
    let checks = client.quota(Key(key)).await["email_checks"].clone();
    assert_eq!((&checks["left_today"], &checks["welcome_left"]), (&json!(0), &json!(0)));
    let refused = client.post("/validate_email", Key(key), question()).await;
    assert_eq!(refused.status, 429, "{}", refused.body);
    // "`Retry-After` (integer, seconds until reset)"
    assert!(refused.retry_after.is_some_and(|seconds| seconds <= 24 * 60 * 60));
    let detail = &refused.body["detail"];
    assert!(detail["error"].is_string() && detail["resets_at"].is_string(), "{detail}");
    assert_eq!(detail["limit"], "email check");
}
