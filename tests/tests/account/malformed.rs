//! Malformed bodies: 400, and no other effect.

use rcpt_tests::{
    Mail,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{answers::error, edge};

#[tokio::test]
async fn a_body_of_another_shape_is_400_invalid_body_at_every_account_operation() {
    let edge = edge().await;
    let post = async |path: &str, body: &[u8]| {
        send(edge.anonymous().request(Method::POST, path).body(body.to_vec())).await
    };
    const NOT_JSON: &str = "The request body is not JSON.";
    let email = "Missing 'email' field in request body.";
    for (path, body, detail) in [
        ("/auth/register", &b""[..], email),
        ("/auth/register", b"email=a&password=b", NOT_JSON),
        ("/auth/register", b"{", NOT_JSON),
        ("/auth/register", b"{\"email\":\"\xff\"}", NOT_JSON),
        ("/auth/register", b"{\"password\":\"violet-anchor-77\"}", email),
        (
            "/auth/register",
            b"{\"email\":\"a@b.example\"}",
            "Missing 'password' field in request body.",
        ),
        (
            "/auth/register",
            b"{\"email\":1,\"password\":\"x\"}",
            "The 'email' field must be a string.",
        ),
        (
            "/auth/register",
            b"{\"email\":\"a@b.example\",\"password\":null}",
            "The 'password' field must be a string.",
        ),
        ("/auth/login", b"{}", email),
        (
            "/auth/login",
            b"{\"email\":\"a@b.example\"}",
            "Missing 'password' field in request body.",
        ),
        (
            "/auth/login",
            b"{\"email\":[],\"password\":\"x\"}",
            "The 'email' field must be a string.",
        ),
        (
            "/auth/login",
            b"{\"email\":\"a\",\"password\":{}}",
            "The 'password' field must be a string.",
        ),
        ("/auth/verify-email", b"", "Missing 'token' field in request body."),
        ("/auth/verify-email", b"not json", NOT_JSON),
        ("/auth/verify-email", b"{\"token\":null}", "The 'token' field must be a string."),
        ("/auth/verify-email", b"{\"token\":7}", "The 'token' field must be a string."),
    ] {
        let reply = post(path, body).await;
        let shown = String::from_utf8_lossy(body).into_owned();
        let expected = error("invalid_body", detail);
        assert_eq!(reply.parts(), (400, &expected), "{path} {shown}");
    }
    for path in ["/auth/register", "/auth/login", "/auth/verify-email"] {
        let reply = post(path, &[b' '; 1_000_000]).await;
        let expected = error("body_too_large", "The request body is larger than 16384 bytes.");
        assert_eq!(reply.parts(), (413, &expected), "{path}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_an_object_is_400_even_where_its_members_would_fit() {
    let edge = edge().await;
    let (email, mail) = edge.registered().await;
    let other = edge.new_email();
    let expected = error("invalid_body", "The request body must be a JSON object.");
    for (path, body) in [
        ("/auth/register", json!([other, PASSWORD])),
        ("/auth/register", json!([])),
        ("/auth/register", json!(other)),
        ("/auth/register", Value::Null),
        ("/auth/login", json!([email, PASSWORD, null])),
        ("/auth/verify-email", json!([mail.token()])),
        ("/auth/verify-email", json!(mail.token())),
    ] {
        let reply = edge.anonymous().post(path, &body).await;
        assert_eq!(reply.parts(), (400, &expected), "{path} {body}");
    }
    assert_eq!(edge.mailbox().mails_to(&other), [] as [Mail; 0]);
    assert_eq!(edge.count(&format!("accounts WHERE email = '{email}'")).await, 0);
}
