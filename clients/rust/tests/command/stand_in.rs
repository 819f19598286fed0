//! A service that answers as a test configures it, and records its requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use parking_lot::Mutex;

/// A received request: the first line, the headers in lower case, and the body.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub line: String,
    pub headers: Vec<String>,
    pub body: String,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// An answer: status, further headers, body. Status 0 closes the connection without an answer.
pub type Answer = (u16, &'static str, String);

pub struct StandIn {
    pub url: String,
    requests: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl StandIn {
    /// Starts the service; `answer` gets the number of earlier requests, and the request.
    pub fn start(
        answer: impl Fn(usize, &ReceivedRequest) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let (all, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().clone()
    }
}

fn serve(
    stream: TcpStream,
    all: &Mutex<Vec<ReceivedRequest>>,
    answer: &dyn Fn(usize, &ReceivedRequest) -> Answer,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = read(&mut reader) {
        let before = {
            let mut all = all.lock();
            all.push(request.clone());
            all.len() - 1
        };
        let (status, headers, body) = answer(before, &request);
        if status == 0 {
            return;
        }
        let head =
            format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        if writer.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let line = lines.remove(0);
    let headers: Vec<_> = lines
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()))
        .collect();
    let mut request = ReceivedRequest { line, headers, body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).unwrap();
    Some(request)
}
