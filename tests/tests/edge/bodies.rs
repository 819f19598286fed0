//! A request's body is always read to its end, so that the connection can be reused.

use rcpt_tests::Edge;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// A connection that is kept open.
struct Connection(BufReader<TcpStream>);

impl Connection {
    async fn to(url: &str) -> Self {
        let stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
        Self(BufReader::new(stream))
    }

    /// Sends the whole request before it reads the response; returns status and body.
    async fn exchange(&mut self, request: &[u8]) -> (u16, String) {
        self.0.get_mut().write_all(request).await.expect("the connection is open");
        let (mut head, mut length) = (Vec::new(), 0);
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).await.unwrap() > 0, "an answer: {head:?}");
            if let Some((name, value)) = line.split_once(": ")
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head.push(line);
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}

fn with_length(method: &str, path: &str, headers: &str, size: usize) -> Vec<u8> {
    let head = format!(
        "{method} /v1{path} HTTP/1.1\r\nHost: edge\r\n{headers}Content-Length: {size}\r\n\r\n"
    );
    [head.into_bytes(), vec![b' '; size]].concat()
}

fn chunked(path: &str, chunks: usize) -> Vec<u8> {
    let head =
        format!("POST /v1{path} HTTP/1.1\r\nHost: edge\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = [b"1000\r\n".as_slice(), &[b' '; 0x1000], b"\r\n"].concat();
    [head.into_bytes(), chunk.repeat(chunks), b"0\r\n\r\n".to_vec()].concat()
}

#[tokio::test]
async fn a_connection_can_be_used_again_after_any_body_that_was_refused() {
    const HEALTH: &[u8] = b"GET /v1/health HTTP/1.1\r\nHost: edge\r\n\r\n";
    let edge = Edge::builder().start().await.unwrap();
    let key = format!("X-API-Key: {}\r\n", edge.account().await.api_key);
    let requests = [
        (413, "body_too_large", with_length("POST", "/auth/login", "", 20_000)),
        (413, "body_too_large", with_length("POST", "/auth/login", "", 3_000_000)),
        (413, "body_too_large", with_length("POST", "/validate_email", &key, 3_000_000)),
        (413, "body_too_large", with_length("POST", "/scans", &key, 3_000_000)),
        (413, "body_too_large", chunked("/auth/login", 1_000)),
        (401, "missing_credentials", with_length("POST", "/validate_email", "", 3_000_000)),
        (401, "invalid_api_key", with_length("POST", "/scans", "X-API-Key: junk\r\n", 3_000_000)),
        (404, "not_found", with_length("POST", "/nothing", "", 3_000_000)),
        (405, "method_not_allowed", with_length("PATCH", "/auth/login", "", 3_000_000)),
        (400, "invalid_body", chunked("/auth/login", 1)),
    ];
    // Tests the Worker's own socket, and the socket behind miniflare's router.
    for url in [&edge.direct, &edge.url] {
        for (status, code, request) in &requests {
            let mut connection = Connection::to(url).await;
            let shown = String::from_utf8_lossy(&request[..60]).into_owned();
            let (answered, body) = connection.exchange(request).await;
            assert_eq!(answered, *status, "{shown}: {body}");
            assert!(body.contains(&format!("\"code\":\"{code}\"")), "{shown}: {body}");
            let again = connection.exchange(HEALTH).await;
            assert_eq!(again, (200, r#"{"status":"up"}"#.to_owned()), "after {shown}");
        }
    }
}
