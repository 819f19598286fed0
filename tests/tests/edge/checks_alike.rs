//! A check gets the same response in a browser and in a program, and only under its own path.

use rcpt_tests::{Edge, FakeOrigin, people::send};
use reqwest::{Method, header::HeaderMap};
use serde_json::json;

/// The headers, without those that differ between responses.
fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let changing = ["x-request-id", "date"];
    let headers = headers.iter().filter(|(name, _)| !changing.contains(&name.as_str()));
    let value = |name: &str, value: &str| match name {
        "retry-after" => "seconds".to_owned(),
        // The remainder falls by one after each response, and the seconds change.
        "ratelimit" => value.replace(|c: char| c.is_ascii_digit(), ""),
        _ => value.to_owned(),
    };
    let mut headers: Vec<_> = headers
        .map(|(name, text)| (name.to_string(), value(name.as_str(), text.to_str().unwrap())))
        .collect();
    headers.sort();
    headers
}

#[tokio::test]
async fn a_check_is_answered_alike_with_and_without_an_origin() {
    let origin = FakeOrigin::by_name();
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    let used_up = edge.account().await;
    edge.set(&used_up.email, "plan = 'free', day = 999999, daily_charged = 100, welcome_left = 0")
        .await;
    assert_eq!(account.check("known@alike.example").await.status, 200);
    let checks = [
        (&account.api_key, json!({ "email": "Known <known@alike.example>" }).to_string(), 200),
        (&account.api_key, json!({ "email": "no address" }).to_string(), 200),
        (&account.api_key, json!({ "email": "" }).to_string(), 400),
        (&account.api_key, json!({ "email": "a@alike.example", "details": 1 }).to_string(), 400),
        (&account.api_key, "[]".to_owned(), 400),
        (&account.api_key, "{".to_owned(), 400),
        (&account.api_key, " ".repeat(16 * 1024 + 1), 413),
        (&account.api_key, json!({ "email": "broken@alike.example" }).to_string(), 502),
        (&used_up.api_key, json!({ "email": "known@alike.example" }).to_string(), 429),
        (&"rcpt_live_junk".to_owned(), json!({ "email": "known@alike.example" }).to_string(), 401),
        (&String::new(), json!({ "email": "known@alike.example" }).to_string(), 401),
    ];
    for (key, body, status) in checks {
        let mut replies = Vec::new();
        for origin in [None, Some("https://elsewhere.example")] {
            let request = account.anonymous.request(Method::POST, "/validate_email?ref=alike");
            let mut request = request.header("x-api-key", key).body(body.clone());
            if let Some(origin) = origin {
                request = request.header("origin", origin);
            }
            let response = request.send().await.unwrap();
            let headers = shown(response.headers());
            let status = response.status().as_u16();
            let mut body = response.text().await.unwrap();
            if status == 429 {
                // The seconds to wait change.
                body.truncate(40);
            }
            replies.push((status, headers, body));
        }
        assert_eq!(replies[0], replies[1], "{body:.40}");
        assert_eq!(replies[0].0, status, "{body:.40}");
    }
    for path in
        ["/validate_email/", "/validate_emailing", "//validate_email", "/x/v1/validate_email"]
    {
        let request = account.anonymous.request(Method::POST, path);
        let request = request.header("x-api-key", &account.api_key);
        let reply = send(request.body(r#"{"email":"x@alike.example"}"#)).await;
        assert_eq!(reply.status, 404, "{path}");
    }
}
