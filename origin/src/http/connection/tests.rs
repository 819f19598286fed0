//! Clients that send their headers, or a body, one byte at a time.

use std::{convert::Infallible, future::pending, time::Duration};

use axum::{Router, body::Bytes, routing::post, serve::Listener};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex},
    sync::mpsc,
    time::{Instant, sleep},
};

use super::HEADER_TIMEOUT;
use crate::http::serve::serve;

const REQUEST: &[u8] = b"POST / HTTP/1.1\r\nhost: origin\r\ncontent-length: 2\r\n\r\nhi";

/// A listener that yields a test's connections.
struct Connections(mpsc::UnboundedReceiver<DuplexStream>);

impl Listener for Connections {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(stream) => (stream, ()),
            None => pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Connects to a server that echoes bodies, in virtual time.
fn connect() -> DuplexStream {
    let (connecting, connections) = mpsc::unbounded_channel();
    let router = Router::new().route("/", post(async |body: Bytes| Ok::<_, Infallible>(body)));
    let (client, server) = duplex(1_024);
    connecting.send(server).unwrap();
    tokio::spawn(async move {
        let _open = connecting;
        serve(Connections(connections), router, pending(), Duration::ZERO).await
    });
    client
}

/// Sends a byte per second, and returns the time until the server disconnects.
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

fn assert_limit(took: Duration) {
    assert!(took >= HEADER_TIMEOUT && took < HEADER_TIMEOUT + Duration::from_secs(2), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_header_that_comes_slowly_or_not_at_all_loses_its_connection() {
    for octets in [&b""[..], b"P", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REQUEST] {
        assert_limit(drip(&mut connect(), octets).await);
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_that_of_a_later_request_and_an_idle_connection_stays() {
    let mut client = connect();
    for _ in 0..3 {
        ask(&mut client).await;
        sleep(HEADER_TIMEOUT * 10).await;
    }
    assert_limit(drip(&mut client, REQUEST).await);
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
