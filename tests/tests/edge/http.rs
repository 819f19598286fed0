//! Properties of every response of the edge, and the operations about the service itself (docs/api.md).

use std::collections::BTreeSet;

use rcpt_shared::Status;
use rcpt_tests::{
    Anonymous, Conduct, Edge, FakeOrigin, Reply,
    people::{PASSWORD, send},
    process::{folder, port},
};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

struct World {
    edge: Edge,
    _origin: FakeOrigin,
}

/// The shared edge, whose origin fails for addresses at `broken.example`.
async fn edge() -> &'static Edge {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    let world = WORLD
        .get_or_init(async || {
            let origin = FakeOrigin::start(|address| {
                if address.ends_with("@broken.example") {
                    Conduct::Answer(500, "{}")
                } else {
                    Conduct::Verdict(Status::Accepted)
                }
            });
            let edge = Edge::builder().pages().origins(&[&origin.url]).start().await.unwrap();
            World { edge, _origin: origin }
        })
        .await;
    &world.edge
}

/// Method, path below `/v1`, and `Allow` header of every operation.
const OPERATIONS: [(&str, &str, &str); 68] = [
    ("POST", "/validate_email", "POST"),
    ("POST", "/validate_emails", "POST"),
    ("POST", "/domains", "POST"),
    ("GET", "/guard", "GET,HEAD,PUT"),
    ("PUT", "/guard", "GET,HEAD,PUT"),
    ("POST", "/guard/secret", "POST"),
    ("POST", "/guard/decide", "POST"),
    ("POST", "/guard/hooks/supabase/{hook}", "POST"),
    ("POST", "/scans", "POST,GET,HEAD"),
    ("GET", "/scans", "POST,GET,HEAD"),
    ("GET", "/scans/{id}", "GET,HEAD,DELETE"),
    ("DELETE", "/scans/{id}", "GET,HEAD,DELETE"),
    ("POST", "/scans/{id}/cancel", "POST"),
    ("PUT", "/scans/{id}/parts/{n}", "PUT"),
    ("POST", "/scans/{id}/parts/{n}/match", "POST"),
    ("GET", "/scans/{id}/results", "GET,HEAD"),
    ("GET", "/events", "GET,HEAD"),
    ("GET", "/notifications", "GET,HEAD,PUT"),
    ("PUT", "/notifications", "GET,HEAD,PUT"),
    ("POST", "/notifications/secret", "POST"),
    ("POST", "/notifications/test", "POST"),
    ("POST", "/auth/register", "POST"),
    ("POST", "/auth/verify-email", "POST"),
    ("POST", "/auth/login", "POST"),
    ("POST", "/auth/forgot-password", "POST"),
    ("POST", "/auth/stop-emails", "POST"),
    ("POST", "/auth/reset-password/show", "POST"),
    ("POST", "/auth/reset-password", "POST"),
    ("PUT", "/auth/password", "PUT"),
    ("POST", "/auth/totp/setup", "POST"),
    ("POST", "/auth/totp/enable", "POST"),
    ("POST", "/auth/totp/disable", "POST"),
    ("POST", "/auth/totp/recovery-codes", "POST"),
    ("POST", "/auth/rotate-api-key", "POST"),
    ("POST", "/auth/show-api-key", "POST"),
    ("POST", "/keys", "POST,GET,HEAD"),
    ("GET", "/keys", "POST,GET,HEAD"),
    ("DELETE", "/keys/{id}", "DELETE"),
    ("POST", "/keys/replace-all", "POST"),
    ("POST", "/keys/{id}/replace", "POST"),
    ("POST", "/keys/self-revoke", "POST"),
    ("POST", "/auth/passkeys/options", "POST"),
    ("POST", "/auth/passkeys", "POST,GET,HEAD"),
    ("GET", "/auth/passkeys", "POST,GET,HEAD"),
    ("DELETE", "/auth/passkeys/{id}", "DELETE"),
    ("POST", "/auth/passkeys/sign-in/options", "POST"),
    ("POST", "/auth/passkeys/sign-in", "POST"),
    ("PUT", "/auth/settings", "PUT"),
    ("POST", "/auth/sign-out", "POST"),
    ("POST", "/auth/sign-out-everywhere", "POST"),
    ("GET", "/auth/sessions", "GET,HEAD"),
    ("DELETE", "/auth/sessions/{id}", "DELETE"),
    ("GET", "/me", "GET,HEAD,DELETE"),
    ("DELETE", "/me", "GET,HEAD,DELETE"),
    ("GET", "/me/plan", "GET,HEAD"),
    ("GET", "/site", "GET,HEAD"),
    ("GET", "/me/quota", "GET,HEAD"),
    ("POST", "/auth/change-email", "POST"),
    ("POST", "/auth/confirm-email", "POST"),
    ("POST", "/auth/stop-changes", "POST"),
    ("GET", "/me/usage", "GET,HEAD"),
    ("GET", "/me/events", "GET,HEAD"),
    ("GET", "/me/export", "GET,HEAD"),
    ("POST", "/me/stop-changes", "POST"),
    ("GET", "/health", "GET,HEAD"),
    ("GET", "/health/ready", "GET,HEAD"),
    ("GET", "/openapi.json", "GET,HEAD"),
    ("GET", "/openapi-account.json", "GET,HEAD"),
];

fn method(name: &str) -> Method {
    name.parse().unwrap()
}

async fn request(method: Method, url: &str) -> Reply {
    send(Client::new().request(method, url)).await
}

/// Checks the headers that every API response has. Caches may store only a 200 of `/site`.
fn assert_headers(reply: &Reply, what: &str) {
    let is_json = reply.header("content-type") == "application/json";
    let may_be_kept = what == "/site" && reply.status == 200 && is_json;
    for (name, value) in [
        ("cache-control", if may_be_kept { "public, max-age=300" } else { "no-store" }),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("strict-transport-security", "max-age=31536000; includeSubDomains"),
    ] {
        assert_eq!(reply.header(name), value, "{name} of {what}");
        assert_eq!(reply.headers.get_all(name).iter().count(), 1, "{name} of {what}");
    }
    let id = reply.header("x-request-id");
    let is_id =
        id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    assert!(is_id, "{id:?} of {what}");
}

#[tokio::test]
async fn every_answer_is_json_carries_the_security_headers_and_an_id_of_its_own() {
    let edge = edge().await;
    let anonymous = edge.anonymous();
    let account = edge.account().await;
    let used_up = edge.account().await;
    edge.set(&used_up.email, "day = 99999, daily_charged = 100, welcome_left = 0").await;
    let (unconfirmed, _) = edge.registered().await;
    let large = anonymous.request(Method::POST, "/auth/login").body(vec![b' '; 20_000]);
    let replies = [
        (200, anonymous.get("/health").await),
        (200, anonymous.get("/openapi.json").await),
        (200, anonymous.get("/openapi-account.json").await),
        (200, account.quota().await),
        (200, account.check("headers@example.org").await),
        (200, account.check("headers@example.org").await),
        (200, account.check("no address").await),
        (201, anonymous.register(&edge.new_email(), PASSWORD).await),
        (400, account.check("").await),
        (400, anonymous.verify_email("junk").await),
        (401, anonymous.get("/me/quota").await),
        (401, anonymous.login("nobody@example.org", PASSWORD).await),
        (401, anonymous.check_with_key("junk", "x@example.org").await),
        (401, anonymous.login(&unconfirmed, PASSWORD).await),
        (404, anonymous.get("/nothing").await),
        (405, anonymous.get("/auth/login").await),
        (413, send(large).await),
        (429, used_up.check("headers@example.org").await),
        (502, account.check("x@broken.example").await),
    ];
    let mut ids = BTreeSet::new();
    for (status, reply) in &replies {
        let what = format!("{status} {}", reply.body);
        assert_eq!(reply.status, *status, "{what}");
        assert_eq!(reply.header("content-type"), "application/json", "{what}");
        assert_headers(reply, &what);
        ids.insert(reply.header("x-request-id").to_owned());
    }
    assert_eq!(ids.len(), replies.len(), "no id comes twice");
}

#[tokio::test]
async fn a_request_id_is_never_taken_from_the_client() {
    let anonymous = edge().await.anonymous();
    for given in ["0123456789abcdef0123456789abcdef", "ann@example.org"] {
        let request = anonymous.request(Method::GET, "/health").header("x-request-id", given);
        let reply = send(request).await;
        assert_headers(&reply, given);
        assert_ne!(reply.header("x-request-id"), given);
    }
    assert!(!edge().await.process.log().contains("0123456789abcdef0123456789abcdef"));
}

#[tokio::test]
async fn an_unknown_path_is_404() {
    let edge = edge().await;
    let expected = json!({ "detail": "There is nothing at this path.", "code": "not_found" });
    for path in [
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/nothing/",
        "/v1//health",
        "/v1/Health",
        "/v1/validate_email/x",
        "/v1/%76alidate_email%2f",
        // Only the Worker may read this asset.
        "/v1/common-passwords.bloom",
    ] {
        for method in [Method::GET, Method::POST] {
            let reply = request(method, &format!("{}{path}", edge.url)).await;
            assert_eq!(reply.parts(), (404, &expected), "{path}");
            assert_headers(&reply, path);
        }
    }
}

#[tokio::test]
async fn a_path_that_is_not_utf_8_is_404_in_json_whatever_the_operation() {
    let edge = edge().await;
    let expected = json!({ "detail": "There is nothing at this path.", "code": "not_found" });
    for (method, path) in [
        (Method::DELETE, "/v1/keys/%ff"),
        (Method::POST, "/v1/keys/%ff/replace"),
        (Method::DELETE, "/v1/auth/sessions/%ff"),
        (Method::DELETE, "/v1/auth/passkeys/%ff"),
        (Method::POST, "/v1/guard/hooks/supabase/%ff"),
        (Method::GET, "/v1/scans/%ff"),
        (Method::PUT, "/v1/scans/a/parts/%c3%28"),
        (Method::GET, "/v1/%ff"),
    ] {
        let reply = request(method, &format!("{}{path}", edge.url)).await;
        assert_eq!(reply.parts(), (404, &expected), "{path}");
        assert_headers(&reply, path);
    }
}

/// Outside `/v1` the portal answers; tests/portal tests the portal's pages.
#[tokio::test]
async fn an_unknown_page_is_404_too() {
    let edge = edge().await;
    for path in ["/V1/health", "/v2/health", "/health", "/nothing.html", "/validate_email.html"] {
        let reply = request(Method::GET, &format!("{}{path}", edge.url)).await;
        assert_eq!((reply.status, reply.header("content-type")), (404, "text/html; charset=utf-8"));
    }
    let page = request(Method::HEAD, &format!("{}/", edge.url)).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
}

/// A client that left out `/v1` gets a JSON error with the intended path.
#[tokio::test]
async fn a_request_outside_the_api_that_no_page_answers_is_told_the_right_path() {
    let edge = edge().await;
    let near = |path: &str| format!("There is nothing at this path. Did you mean /v1{path}?");
    let far = "There is nothing at this path. Paths of the API begin with /v1/.".to_owned();
    for (method, path, detail) in [
        (Method::POST, "/validate_email", near("/validate_email")),
        (Method::GET, "/validate_email", near("/validate_email")),
        (Method::HEAD, "/validate_email?email=a", String::new()),
        (Method::POST, "/auth/login", near("/auth/login")),
        (Method::PUT, "/scans/scan_1/parts/0", near("/scans/scan_1/parts/0")),
        (Method::DELETE, "/me", near("/me")),
        (Method::POST, "/v1/validate_email/", near("/validate_email")),
        (Method::POST, "/", far.clone()),
        (Method::PATCH, "/docs", far.clone()),
        (Method::POST, "/v2/validate_email", far.clone()),
        (Method::POST, "/V1/validate_email", far),
    ] {
        // The second size is larger than any body that is read into memory.
        for size in [2, 100_000] {
            let body = if method == Method::HEAD || method == Method::GET { 0 } else { size };
            let url = format!("{}{path}", edge.url);
            let client = Client::new().request(method.clone(), url).body(vec![b' '; body]);
            let reply = send(client).await;
            let what = format!("{method} {path}: {}", reply.body);
            let error_text = reply.body["detail"].as_str().unwrap_or_default();
            assert_eq!((reply.status, error_text), (404, detail.as_str()), "{what}");
            assert_eq!(reply.header("content-type"), "application/json", "{what}");
            assert_headers(&reply, &what);
        }
    }
    // The next requests are served: no rest of a body is read as a request.
    for _ in 0..20 {
        assert_eq!(edge.anonymous().get("/health").await.status, 200);
    }
}

#[tokio::test]
async fn a_known_path_with_another_method_is_405_and_names_those_it_takes() {
    let edge = edge().await;
    let detail = "Method not allowed. See the Allow header.";
    for (_, path, allow) in OPERATIONS {
        for name in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            if allow.split(',').any(|allowed| allowed == name) {
                continue;
            }
            let reply = send(edge.anonymous().request(method(name), path)).await;
            assert_eq!(
                reply.parts(),
                (405, &json!({ "detail": detail, "code": "method_not_allowed" })),
                "{name} {path}"
            );
            assert_eq!(reply.header("allow"), allow, "{name} {path}");
            assert_headers(&reply, path);
        }
    }
}

#[tokio::test]
async fn head_is_answered_as_get_without_a_body() {
    let edge = edge().await;
    for (_, path, _) in OPERATIONS.iter().filter(|(name, ..)| *name == "GET") {
        let get = edge.anonymous().get(path).await;
        let head = send(edge.anonymous().request(Method::HEAD, path)).await;
        assert_eq!((head.status, &head.body), (get.status, &json!("")), "{path}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        assert_headers(&head, path);
    }
}

// --- browsers

async fn preflight(anonymous: &Anonymous, origin: &str, name: &str, path: &str) -> Reply {
    let request = anonymous.request(Method::OPTIONS, path).header("origin", origin);
    let request = request.header("access-control-request-method", name);
    let headers = "authorization,content-type,x-api-key";
    send(request.header("access-control-request-headers", headers)).await
}

#[tokio::test]
async fn the_portal_may_call_every_operation_from_a_browser() {
    let edge = edge().await;
    for (name, path, _) in OPERATIONS {
        let reply = preflight(&edge.anonymous(), &edge.url, name, path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_headers(&reply, path);
        assert_eq!(reply.header("access-control-allow-origin"), edge.url, "{path}");
        let list = |header: &str| -> Vec<String> {
            let all = reply.header(header).split(',');
            all.map(|item| item.trim().to_ascii_lowercase()).collect()
        };
        let methods = list("access-control-allow-methods");
        assert!(methods.contains(&name.to_ascii_lowercase()), "{path}: {methods:?}");
        let headers = list("access-control-allow-headers");
        let expected = ["authorization", "content-type", "x-api-key", "idempotency-key"];
        assert_eq!(headers, expected, "{path}");
        assert_eq!(reply.header("access-control-allow-credentials"), "", "there are no cookies");
    }
    let request = edge.anonymous().request(Method::GET, "/me/quota").header("origin", &edge.url);
    let reply = send(request).await;
    assert_eq!(reply.header("access-control-allow-origin"), edge.url, "errors can be read too");
    let exposed = reply.header("access-control-expose-headers").to_ascii_lowercase();
    for name in ["retry-after", "x-request-id", "ratelimit", "ratelimit-policy"] {
        assert!(exposed.split(',').any(|exposed| exposed.trim() == name), "{name}: {exposed}");
    }
}

#[tokio::test]
async fn no_other_web_origin_may() {
    let edge = edge().await;
    let port = edge.url.rsplit(':').next().unwrap();
    for origin in [
        "https://evil.example",
        "null",
        &format!("https://127.0.0.1:{port}"),
        &format!("http://127.0.0.1:{port}.evil.example"),
        &format!("{}0", edge.url),
        "http://127.0.0.1",
    ] {
        let reply = preflight(&edge.anonymous(), origin, "POST", "/validate_email").await;
        assert_eq!(reply.header("access-control-allow-origin"), "", "{origin}");
        let request = edge.anonymous().request(Method::GET, "/health").header("origin", origin);
        let reply = send(request).await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (200, ""));
    }
}

// --- the service itself

#[tokio::test]
async fn health_says_up() {
    let reply = edge().await.anonymous().get("/health").await;
    assert_eq!(reply.parts(), (200, &json!({ "status": "up" })));
}

/// Health is remembered for two seconds.
async fn ready_when(edge: &Edge, is_so: impl Fn(&Reply) -> bool) -> Reply {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    loop {
        let reply = edge.anonymous().get("/health/ready").await;
        if is_so(&reply) {
            return reply;
        }
        assert!(tokio::time::Instant::now() < deadline, "never: {}", reply.body);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

fn readiness(status: &str, origins: [u8; 2]) -> Value {
    let state = if origins[0] == 0 { "down" } else { "up" };
    json!({
        "status": status, "database": "up", "schedule": "up",
        "origins": state, "origins_up": origins[0], "origins_total": origins[1],
        "emails_waiting": 0, "scans_waiting": 0,
    })
}

#[tokio::test]
async fn ready_counts_the_origins_that_work_and_is_503_when_none_does() {
    let [one, two] = [(); 2].map(|()| FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted)));
    // It is alive and can't work: its port is shut, its nameservers are silent, or it doesn't accept our tickets.
    let shut = FakeOrigin::start(|_| Conduct::Answer(503, r#"{"detail":"Port 25 is shut."}"#));
    let dead = format!("http://127.0.0.1:{}", port::free());
    let origins = [&dead, &one.url, &two.url, &shut.url];
    let edge = Edge::builder().origins(&origins.map(String::as_str)).start().await.unwrap();
    let reply = edge.anonymous().get("/health/ready").await;
    assert_eq!(reply.parts(), (200, &readiness("up", [2, 4])));
    drop(one);
    let reply = ready_when(&edge, |reply| reply.body["origins_up"] == 1).await;
    assert_eq!(reply.parts(), (200, &readiness("up", [1, 4])));
    drop(two);
    let reply = ready_when(&edge, |reply| reply.status == 503).await;
    assert_eq!(reply.parts(), (503, &readiness("down", [0, 4])));
    assert_headers(&reply, "not ready");
    for name in [dead.as_str(), shut.url.as_str()] {
        assert!(!reply.body.to_string().contains(name.trim_start_matches("http://")), "no names");
    }
    let reply = edge.anonymous().get("/health").await;
    assert_eq!(reply.parts(), (200, &json!({ "status": "up" })), "alive all the same");
}

#[tokio::test]
async fn ready_is_503_when_the_schedule_has_stopped_and_counts_what_waits() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    let notice = "INSERT INTO notices (account_id, kind, due_at, happened_at, attempts)
        VALUES (?1, 'plan_changed', unixepoch() + 600, unixepoch() - 901, 1)";
    edge.sql_of(&id, notice, &[json!(id)]).await;
    edge.run_scheduled().await;
    let reply = ready_when(&edge, |reply| reply.body["emails_waiting"] == 1).await;
    assert_eq!(
        (reply.status, reply.text("status")),
        (200, "up"),
        "one mailbox that refuses stops nothing"
    );
    edge.sql("UPDATE this_database SET ran_at = unixepoch() - 901", &[]).await;
    let reply = ready_when(&edge, |reply| reply.status == 503).await;
    assert_eq!((reply.text("schedule"), reply.text("origins")), ("down", "up"));
    edge.run_scheduled().await;
    ready_when(&edge, |reply| reply.status == 200).await;
}

#[tokio::test]
async fn readiness_warns_while_customers_have_nobody_to_ask() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder()
        .origins(&[&origin.url])
        .var("CONTACT_EMAIL", " ")
        .var("TERMS_URL", "/terms")
        .var("HOMSE", "*:0");
    let edge = edge.start().await.unwrap();
    let mut expected = readiness("up", [1, 1]);
    expected["warnings"] = json!(["no_contact", "settings"]);
    assert_eq!(edge.anonymous().get("/health/ready").await.parts(), (200, &expected));
    let contact = edge.anonymous().get("/site").await.body["contact"].clone();
    assert_eq!(contact, json!({ "url": null, "email": null }));
}

#[tokio::test]
async fn anybody_reads_whom_to_ask_and_what_the_plans_allow_and_may_keep_it() {
    let edge = Edge::builder()
        .var("CONTACT_URL", "https://help.example/contact")
        .var("TERMS_URL", "https://help.example/terms")
        .var("CHECKOUT_URLS", "pro=https://buy.example/x?client_reference_id={reference}")
        .start()
        .await
        .unwrap();
    let reply = edge.anonymous().get("/site").await;
    let plan = |name: &str, checks, scans, sizes: [u32; 4], checkout| {
        let [welcome, in_flight, size, at_once] = sizes;
        json!({
            "name": name, "unlimited": checks == Value::Null, "daily_checks": checks,
            "welcome_checks": welcome, "checks_in_flight": in_flight, "daily_scans": scans,
            "scan_size": size, "scans_at_once": at_once, "checkout": checkout,
        })
    };
    let expected = json!({
        "contact": { "url": "https://help.example/contact", "email": "help@example.net" },
        "terms_url": "https://help.example/terms",
        "status_url": null,
        "plans": [
            plan("free", json!(100), json!(1), [50, 10, 200, 1], false),
            plan("pro", json!(5_000), json!(20), [50, 100, 10_000, 3], true),
            plan("unlimited", Value::Null, Value::Null, [0, 500, 100_000, 10], false),
        ],
    });
    assert_eq!(reply.parts(), (200, &expected));
    assert_eq!(reply.header("cache-control"), "public, max-age=300");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn the_api_description_is_openapi_3_1_and_lists_every_operation_and_no_other() {
    let reply = edge().await.anonymous().get("/openapi-account.json").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
    let document = &reply.body;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
    assert_eq!(document["info"]["version"], "1.0");
    let paths = document["paths"].as_object().unwrap();
    let listed: BTreeSet<_> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().keys();
            methods.map(move |name| (name.to_ascii_uppercase(), path.clone()))
        })
        .collect();
    let expected: BTreeSet<_> = OPERATIONS
        .iter()
        .map(|(name, path, _)| ((*name).to_owned(), format!("/v1{path}")))
        .collect();
    assert_eq!(listed, expected);
    let customers = edge().await.anonymous().get("/openapi.json").await;
    for (document, name) in [(document, "openapi-account.json"), (&customers.body, "openapi.json")]
    {
        let file = std::fs::read_to_string(folder::repository().join("edge").join(name)).unwrap();
        let mut expected: Value = serde_json::from_str(&file).unwrap();
        // This member contains the deployed service's own URL.
        expected["servers"][0]["url"] = document["servers"][0]["url"].clone();
        assert_eq!(*document, expected, "{name}");
        assert!(document["servers"][0]["url"].as_str().unwrap().starts_with("http"));
    }
}

#[tokio::test]
async fn the_api_description_says_which_credentials_an_operation_takes() {
    let document = edge().await.anonymous().get("/openapi.json").await.body;
    let security = |path: &str, method: &str| -> Vec<String> {
        let schemes = document["paths"][path][method]["security"].as_array();
        let names = schemes.into_iter().flatten().filter_map(Value::as_object);
        names.flat_map(|scheme| scheme.keys().cloned()).collect()
    };
    assert_eq!(security("/v1/validate_email", "post"), ["ApiKey", "Session"]);
    assert_eq!(security("/v1/me/quota", "get"), ["ApiKey", "Session"]);
    assert_eq!(security("/v1/auth/rotate-api-key", "post"), ["Session"]);
    assert_eq!(security("/v1/auth/settings", "put"), ["Session"]);
    for path in ["/v1/auth/register", "/v1/auth/login", "/v1/auth/verify-email"] {
        assert_eq!(security(path, "post"), [] as [String; 0]);
    }
    let schemes = &document["components"]["securitySchemes"];
    let api_key = json!({ "type": "apiKey", "in": "header", "name": "X-API-Key" });
    assert_eq!(schemes["ApiKey"], api_key);
    let session = json!({ "type": "http", "scheme": "bearer", "bearerFormat": "JWT" });
    assert_eq!(schemes["Session"], session);
}

// --- the page behind an emailed link

#[tokio::test]
async fn the_confirmation_page_is_served_with_a_strict_policy_and_opening_it_confirms_nothing() {
    let edge = edge().await;
    let (email, mail) = edge.registered().await;
    let link = mail.link().unwrap();
    let page = request(Method::GET, link).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.header("content-security-policy");
    let own = "default-src 'none'; script-src 'self'; font-src 'self'; style-src 'self'; ";
    assert!(policy.starts_with(own), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("referrer-policy"), "no-referrer");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    assert_eq!(page.header("x-frame-options"), "DENY");
    let html = page.body.as_str().unwrap();
    assert!(!html.contains(mail.token().unwrap()), "the token is not echoed");

    for method in [Method::GET, Method::HEAD, Method::POST] {
        request(method, link).await;
    }
    assert_eq!(edge.count(&format!("accounts WHERE email = '{email}'")).await, 0);
    assert_eq!(edge.anonymous().verify_email(mail.token().unwrap()).await.status, 200);
}
