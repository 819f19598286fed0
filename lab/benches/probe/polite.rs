//! Number of sessions that a host sees, normally and after a refusal.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use anyhow::{Result, ensure};
use rcpt_shared::{Address, Reason};
use tokio::runtime::Runtime;

use crate::{figure::Figure, nameserver::Nameserver, origin};

/// The default limits of a machine.
const LIMITS: &[(&str, &str)] =
    &[("RCPT_MACHINE_SESSIONS", "2"), ("RCPT_SESSION_INTERVAL_MS", "500")];
const ADDRESSES: usize = 1_000;
const AFTER_REFUSAL: usize = 100;

/// Measures the concurrent sessions at a welcoming host, and the connections to another host after its 421.
pub fn measure() -> Result<Vec<Figure>> {
    Runtime::new()?.block_on(async {
        let (welcoming, nameserver) = (Host::start("220 mx\r\n")?, Nameserver::start()?);
        let state = origin::start(welcoming.address, &nameserver, LIMITS).await?;
        origin::expect_all_accepted(&state, ADDRESSES, ADDRESSES).await?;
        let most = welcoming.counters.most_open.load(Ordering::Relaxed);

        let (busy, nameserver) = (Host::start("421 4.7.0 too many\r\n")?, Nameserver::start()?);
        let state = origin::start(busy.address, &nameserver, LIMITS).await?;
        for n in 0..=AFTER_REFUSAL {
            let address = Address::parse(&format!("user{n}@example.org"))?;
            let reason = state.prober.probe(&state.prober.question(address), None).await.reason;
            let due = if n == 0 { Reason::RateLimited } else { Reason::OurLimit };
            ensure!(reason == due, "{reason:?} for number {n}");
        }
        let after = busy.counters.connections.load(Ordering::Relaxed) - 1;
        Ok(vec![
            Figure::new("sessions_at_once_1000_addresses", most as f64, "sessions", ADDRESSES),
            Figure::new("connections_after_421", after as f64, "connections", AFTER_REFUSAL),
        ])
    })
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

/// A mail server that counts its sessions.
struct Host {
    address: SocketAddr,
    counters: Arc<Seen>,
}

impl Host {
    fn start(banner: &'static str) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let (address, counters) = (listener.local_addr()?, Arc::new(Seen::default()));
        let counted = counters.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let counters = counted.clone();
                counters.connections.fetch_add(1, Ordering::Relaxed);
                let open = counters.open.fetch_add(1, Ordering::Relaxed) + 1;
                counters.most_open.fetch_max(open, Ordering::Relaxed);
                thread::spawn(move || {
                    let _ = converse(stream, banner);
                    counters.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        Ok(Self { address, counters })
    }
}

fn converse(stream: TcpStream, banner: &str) -> std::io::Result<()> {
    let mut towards_client = stream.try_clone()?;
    towards_client.set_nodelay(true)?;
    towards_client.write_all(banner.as_bytes())?;
    for line in BufReader::new(stream).lines() {
        let answer = match line?.get(..4) {
            Some("EHLO") => "250-mx\r\n250 PIPELINING\r\n",
            Some("QUIT") => return Ok(()),
            _ => "250 ok\r\n",
        };
        towards_client.write_all(answer.as_bytes())?;
    }
    Ok(())
}
