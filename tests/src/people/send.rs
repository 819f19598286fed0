//! Sends requests: one, a limited number at a time, or all at the same time.

use std::sync::Arc;

use reqwest::RequestBuilder;
use serde_json::Value;
use tokio::{sync::Semaphore, task::JoinSet};

use super::Reply;

/// Limit of concurrent requests over all tests of a binary; further requests wait. The runtime closes a connection
/// whose request it hasn't read within 15 s (kj's `headerTimeout`). Behind miniflare's own Workers, it reads 170
/// requests a second on two idle cores, and a third of that on busy cores: 500 is safe in both cases.
static IN_FLIGHT: Semaphore = Semaphore::const_new(500);

/// Sends a request. A response body that isn't JSON becomes a JSON string.
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
    let path = response.url().path().to_owned();
    let text = response.text().await?;
    let mut body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    if status >= 400 {
        take_link(&mut body, &path);
    }
    Ok(Reply { status, headers, body })
}

/// Removes an error's link to the reference, so that tests name only what differs between errors. Asserts that the
/// link belongs to the error's code.
fn take_link(body: &mut Value, path: &str) {
    let shown = body.to_string();
    let Some(error) = body.as_object_mut().filter(|body| body.contains_key("detail")) else {
        return;
    };
    let code = error.get("code").and_then(Value::as_str).map(str::to_owned);
    let code = code.unwrap_or_else(|| panic!("{path}: an error without a code: {shown}"));
    let link = error.remove("doc_url");
    // Without a configuration there is no portal to link to.
    let is_linked = match &link {
        Some(link) => {
            link.as_str().is_some_and(|link| link.ends_with(&format!("/docs#code-{code}")))
        }
        None => code == "unavailable",
    };
    assert!(is_linked, "{path}: {shown}");
}

/// Sends all requests at the same time, each on its own connection, without a limit. Meant for the
/// Worker's direct socket, which reads several hundred a second.
pub async fn send_at_once(requests: impl IntoIterator<Item = RequestBuilder>) -> Vec<Reply> {
    let replies: JoinSet<_> = requests.into_iter().map(exchange).collect();
    replies.join_all().await.into_iter().map(|reply| reply.expect("the edge answers")).collect()
}

/// Sends a request, and repeats it if workerd has closed the connection without reading it. workerd closes idle
/// connections, and those that wait longer than `headerTimeout` on a busy machine.
pub async fn send_again(request: RequestBuilder) -> Reply {
    for _ in 0..4 {
        let again = request.try_clone().expect("a body of bytes");
        if let Ok(reply) = try_send(again).await {
            return reply;
        }
    }
    send(request).await
}

/// Sends all requests, `width` at a time, and returns the responses in the order of the requests. A small `width`
/// limits the load of requests that hash passwords.
pub async fn send_all(
    requests: impl IntoIterator<Item = RequestBuilder>,
    width: usize,
) -> Vec<Reply> {
    let permits = Arc::new(Semaphore::new(width));
    let mut tasks = Vec::new();
    for request in requests {
        let permit = Arc::clone(&permits).acquire_owned().await.expect("never closed");
        tasks.push(tokio::spawn(async move {
            let reply = send_again(request).await;
            drop(permit);
            reply
        }));
    }
    let mut replies = Vec::with_capacity(tasks.len());
    for task in tasks {
        replies.push(task.await.expect("a reply"));
    }
    replies
}
