//! Parts of a minimal HTTP server for simulated failures: reads one request, and formats a response.

use anyhow::{Result, ensure};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

/// The bytes of a response with this body, after which the connection ends.
pub(super) fn http(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

pub(super) struct Request {
    pub head: String,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Reads one request, head and body.
pub(super) async fn read_request(stream: &mut TcpStream) -> Result<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        ensure!(stream.read_buf(&mut bytes).await? > 0, "the request ended early");
    };
    let mut body = bytes.split_off(end + 4);
    let mut request = Request { head: String::from_utf8(bytes)?, body: String::new() };
    let length = request.header("content-length").unwrap_or("0").parse()?;
    while body.len() < length {
        ensure!(stream.read_buf(&mut body).await? > 0, "the body ended early");
    }
    request.body = String::from_utf8(body)?;
    Ok(request)
}
