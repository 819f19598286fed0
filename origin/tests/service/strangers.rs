//! Clients without a ticket: they can neither fill the memory nor keep the edge out.

use std::time::Duration;

use crate::{
    harness::{MailServer, REQUEST_ID, body, obey, ticket},
    supervision::Origin,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Allows this process, and the origins that it starts, as many open files as the machine permits.
pub fn raise_limit_of_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

/// Connects from this address of the loopback.
async fn connect_from(ip: [u8; 4], origin: &Origin) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((ip, 0).into()).unwrap();
    let connecting = socket.connect(origin.address.parse().unwrap());
    timeout(TEST_TIMEOUT, connecting).await.unwrap().unwrap()
}

/// The process's resident memory in bytes.
fn resident(origin: &Origin) -> usize {
    let path = format!("/proc/{}/status", origin.child.id().unwrap());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
}

fn probe(address: &str, connection: &str) -> String {
    let body = body(address);
    format!(
        "POST /v1/probe HTTP/1.1\r\nhost: origin\r\nconnection: {connection}\r\n\
         authorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        ticket(&body),
        body.len()
    )
}

/// Sends a request and returns the status line.
async fn status_of(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4_096];
    let length = timeout(TEST_TIMEOUT, stream.read(&mut answer)).await.unwrap().unwrap();
    let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
    answer.lines().next().unwrap_or_default().to_owned()
}

async fn refusing() -> MailServer {
    MailServer::answering("220 mx", "", "550 5.1.1 no such user").await
}

async fn start(server: &MailServer) -> Origin {
    Origin::start(&[("RCPT_ROUTES", &server.route())]).await
}

/// 1,500 connections with 380 kB each took 493 to 605 MB.
#[tokio::test(flavor = "multi_thread")]
async fn unfinished_headers_take_little_memory() {
    const CONNECTIONS: u16 = 1_500;
    const MEMORY_MAX: usize = 64 << 20;
    raise_limit_of_files();
    let server = refusing().await;
    for (one_network, size) in [(true, 380_000), (false, 380_000), (true, 15_000), (false, 15_000)]
    {
        let origin = start(&server).await;
        let mut edge = connect_from([127, 0, 0, 1], &origin).await;
        assert_eq!(
            status_of(&mut edge, &probe("a@sandbox.test", "keep-alive")).await,
            "HTTP/1.1 200 OK"
        );
        let before = resident(&origin);
        let mut sending = JoinSet::new();
        for number in 0..CONNECTIONS {
            let [high, low] = if one_network { [0, 2] } else { number.to_be_bytes() };
            let mut stream = connect_from([127, 2, high, low.max(1)], &origin).await;
            sending.spawn(async move {
                let header =
                    [&b"GET /health HTTP/1.1\r\nhost: x\r\nx: "[..], &vec![b'a'; size]].concat();
                // Fails once the server has refused the header or closed the connection.
                let _ = timeout(Duration::from_secs(5), stream.write_all(&header)).await;
                stream
            });
        }
        let open = sending.join_all().await;
        let taken = resident(&origin).saturating_sub(before);
        println!("{CONNECTIONS} of {size}, one network {one_network}: {} kB more", taken / 1_024);
        assert!(taken < MEMORY_MAX, "{size} bytes, one network {one_network}: {taken} bytes");
        let began = Instant::now();
        assert_eq!(
            status_of(&mut edge, &probe("b@sandbox.test", "keep-alive")).await,
            "HTTP/1.1 200 OK"
        );
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        drop(open);
    }
}

/// Cloudflare's data centres have few addresses, from which strangers can send requests too.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_of_the_edges_own_network_keep_none_of_its_connections_out() {
    const EDGE: [u8; 4] = [127, 3, 0, 1];
    raise_limit_of_files();
    let server = MailServer::serving(|stream, _| async move {
        let mut stream = BufReader::new(stream);
        let _ = stream.write_all(b"220 mx\r\n").await;
        let _ = obey(&mut stream, "", "250 ok", "550 5.1.1 no such user").await;
    })
    .await;
    let origin = start(&server).await;
    // Each stranger is idle after a request, or sends none.
    let mut strangers = Vec::new();
    for number in 0..1_200 {
        let mut stranger = connect_from(EDGE, &origin).await;
        if number % 2 == 0 {
            let health = "GET /health HTTP/1.1\r\nhost: origin\r\n\r\n";
            assert_eq!(status_of(&mut stranger, health).await, "HTTP/1.1 200 OK");
        }
        strangers.push(stranger);
    }
    let mut edge = Vec::new();
    for number in 0..400 {
        let mut connection = connect_from(EDGE, &origin).await;
        let request = probe(&format!("a{number}@sandbox.test"), "keep-alive");
        assert_eq!(status_of(&mut connection, &request).await, "HTTP/1.1 200 OK", "{number}");
        edge.push(connection);
    }
    for number in 0..300 {
        strangers.push(connect_from(EDGE, &origin).await);
        if number % 100 == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    }
    for (number, connection) in edge.iter_mut().enumerate() {
        let request = probe(&format!("b{number}@sandbox.test"), "keep-alive");
        assert_eq!(status_of(connection, &request).await, "HTTP/1.1 200 OK", "{number}");
    }
    // Of the strangers, the oldest have been closed, and on a slow machine those that sent nothing for ten seconds.
    let mut open = Vec::new();
    for stranger in &mut strangers {
        let mut byte = [0];
        let read = timeout(Duration::from_millis(1), stranger.read(&mut byte)).await;
        open.push(!matches!(read, Ok(Ok(0) | Err(_))));
    }
    let closed = open.iter().filter(|is_open| !**is_open).count();
    assert!(closed >= 1_500 - 1_024 && open[1_198], "{closed} of {}", open.len());
}

#[tokio::test]
async fn a_forged_ticket_is_refused_before_the_body_comes() {
    let server = refusing().await;
    let origin = start(&server).await;
    let other_key = ticket(&body("a@sandbox.test")).replace(REQUEST_ID, "");
    let forged = other_key.rsplit_once('.').unwrap().0;
    for path in ["/v1/probe", "/v1/probe/batch", "/v1/domain"] {
        for authorization in [
            "",
            "authorization: Bearer a.b.c\r\n",
            &format!("authorization: Bearer {forged}.AAAA\r\n"),
        ] {
            let mut stream = connect_from([127, 0, 0, 1], &origin).await;
            let request = format!(
                "POST {path} HTTP/1.1\r\nhost: origin\r\n{authorization}content-length: 200000\r\n\r\n"
            );
            let began = Instant::now();
            let status = status_of(&mut stream, &request).await;
            assert_eq!(status, "HTTP/1.1 401 Unauthorized", "{path} {authorization}");
            assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        }
    }
    // A good ticket for another body is refused after the body.
    let mut stream = connect_from([127, 0, 0, 1], &origin).await;
    let request = probe("a@sandbox.test", "close").replace("a@sandbox", "b@sandbox");
    assert_eq!(status_of(&mut stream, &request).await, "HTTP/1.1 401 Unauthorized");
}
