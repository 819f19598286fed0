//! A mail server behind a line with a delay.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

/// Delay in one direction.
pub const DELAY: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 64 * 1_024;

/// A mail server that accepts everybody, behind a delay line: input arrives 20 ms later, and so does output, regardless
/// of the load. Threads add the delay, because Tokio's timers are exact only to a millisecond.
pub struct Delayed {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
}

impl Delayed {
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let connection_count = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connection_count.fetch_add(1, Ordering::Relaxed);
                let _ =
                    thread::Builder::new().stack_size(STACK_BYTES).spawn(move || converse(stream));
            }
        });
        Ok(Self { address, connections })
    }
}

fn converse(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let (say, said) = mpsc::channel::<(Instant, &'static str)>();
    let mut towards_client = stream.try_clone().ok()?;
    say.send((Instant::now() + DELAY, "220 mx\r\n")).ok()?;
    let speak = move || {
        for (due, text) in said {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if towards_client.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().stack_size(STACK_BYTES).spawn(speak).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let text = match line.get(..4)? {
            "EHLO" => "250-mx\r\n250 PIPELINING\r\n",
            "QUIT" => return None,
            _ => "250 ok\r\n",
        };
        say.send((Instant::now() + 2 * DELAY, text)).ok()?;
    }
}
