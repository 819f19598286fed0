//! Clients that send their headers, or a body, one byte at a time, and clients that stay.

mod strangers;

use std::{convert::Infallible, future::pending, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    routing::{get, post},
};
use futures_util::stream;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    sync::watch,
    time::{Instant, sleep},
};

use super::{HEADER_TIMEOUT, IDLE_TIMEOUT, Strangers};
use crate::http::serve::speak;

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nhost: origin\r\ncontent-length: 2\r\n\r\nhi";

/// Connects to a server that echoes bodies, and at `/slow` sends a line every 20 seconds for two minutes.
fn connect() -> DuplexStream {
    let slowly = || {
        stream::unfold(0, |sent| async move {
            sleep(Duration::from_secs(20)).await;
            (sent < 6).then(|| (Ok::<_, Infallible>("line\n"), sent + 1))
        })
    };
    let router = Router::new()
        .route("/", post(async |body: Bytes| Ok::<_, Infallible>(body)))
        .route("/slow", get(async move || Body::from_stream(slowly())));
    let (client, server) = duplex(1_024);
    let strangers = Arc::new(Strangers::default());
    let stranger = Arc::new(strangers.enter(IpAddr::from([192, 0, 2, 1]), 1));
    tokio::spawn(async move {
        let (stopping, _until_shutdown) = watch::channel(());
        speak(server, router, stranger, &stopping).await;
    });
    client
}

/// A byte per second. The result is the time until the server disconnects.
async fn drip(client: &mut DuplexStream, octets: &[u8]) -> Duration {
    let started = Instant::now();
    let (mut reading, mut writing) = tokio::io::split(client);
    let dripping = async {
        for octet in octets {
            if writing.write_all(&[*octet]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        pending::<Infallible>().await
    };
    let mut answer = Vec::new();
    tokio::select! {
        _ = reading.read_to_end(&mut answer) => started.elapsed(),
        never = dripping => match never {},
    }
}

async fn ask(client: &mut DuplexStream) {
    client.write_all(REQUEST).await.unwrap();
    let mut answer = vec![0; 1_024];
    let length = client.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("hi"), "{answer}");
}

fn assert_limit(took: Duration, limit: Duration) {
    assert!(took >= limit && took < limit + Duration::from_secs(2), "{took:?} of {limit:?}");
}

#[tokio::test(start_paused = true)]
async fn a_header_that_comes_slowly_or_not_at_all_loses_its_connection() {
    for octets in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REQUEST] {
        assert_limit(drip(&mut connect(), octets).await, HEADER_TIMEOUT);
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_ends_after_a_minute_and_so_does_a_later_header() {
    let mut client = connect();
    for _ in 0..5 {
        ask(&mut client).await;
        sleep(IDLE_TIMEOUT - Duration::from_secs(1)).await;
    }
    ask(&mut client).await;
    assert_limit(drip(&mut client, b"").await, IDLE_TIMEOUT);
    let mut client = connect();
    ask(&mut client).await;
    let slow = [&REQUEST[..20], &[b'x'; 100]].concat();
    assert_limit(drip(&mut client, &slow).await, IDLE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_handler_and_its_body_may_take_longer_than_a_header() {
    let mut client = connect();
    let (head, body) = REQUEST.split_at(REQUEST.len() - 2);
    client.write_all(head).await.unwrap();
    sleep(HEADER_TIMEOUT * 2).await;
    client.write_all(body).await.unwrap();
    let mut answer = vec![0; 1_024];
    let length = client.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 200 "));
}

/// A list's lines come for a minute: only then does the time between two requests begin.
#[tokio::test(start_paused = true)]
async fn a_response_may_take_longer_than_a_connection_may_be_idle() {
    let mut client = connect();
    client.write_all(b"GET /slow HTTP/1.1\r\nhost: origin\r\n\r\n").await.unwrap();
    let began = Instant::now();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(answer.matches("line\n").count(), 6, "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_limit(began.elapsed(), Duration::from_secs(7 * 20) + IDLE_TIMEOUT);
}

#[tokio::test(start_paused = true)]
async fn a_header_of_more_than_16_kb_is_refused_before_it_is_complete() {
    let mut client = connect();
    let (mut reading, mut writing) = tokio::io::split(&mut client);
    let sending = async {
        let _ = writing.write_all(b"GET / HTTP/1.1\r\nhost: origin\r\nx: ").await;
        let _ = writing.write_all(&[b'a'; 400_000]).await;
    };
    let mut answer = Vec::new();
    let reading = reading.read_to_end(&mut answer);
    let began = Instant::now();
    let _ = tokio::join!(sending, reading);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(began.elapsed() < HEADER_TIMEOUT, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_of_http_2_ends_after_a_minute_too() {
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(connect()));
    let (mut sender, connection) = handshake.await.unwrap();
    let ended = tokio::spawn(async move {
        let _ = connection.await;
        Instant::now()
    });
    for path in ["/", "/slow"] {
        let method = if path == "/" { "POST" } else { "GET" };
        let request = Request::builder().method(method).uri(format!("http://origin{path}"));
        let response = sender.send_request(request.body(Body::from("hi")).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        let body = to_bytes(Body::new(response.into_body()), 1_024).await.unwrap();
        assert!(!body.is_empty());
    }
    let answered = Instant::now();
    assert_limit(ended.await.unwrap() - answered, IDLE_TIMEOUT);
}
