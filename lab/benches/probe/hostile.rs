//! Probes of hostile mail servers: memory and time.

use std::{
    io,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use rcpt_shared::{Address, Status};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::Runtime,
    task::JoinSet,
    time::sleep,
};

use crate::{figure::Figure, memory, nameserver::Nameserver, origin, twin::Twin};

/// Arguments that make this program a hostile mail server: of the next kind for each connection, or of the kind
/// that makes us use the most memory.
pub const EVERY_KIND: &str = "--be-hostile";
pub const HOARDER: &str = "--be-hoarder";
const AT_ONCE: usize = 500;

/// Behaviour of a hostile server.
#[derive(Clone, Copy)]
pub enum Malice {
    Silent,
    OneByteASecond,
    TenMegabytesOfBanner,
    ALineWithoutEnd,
    ExtensionsWithoutEnd,
    AnAnswerWithoutEnd,
    Reset,
    RepliesBeforeCommands,
    WrongCodes,
    /// Sends a reply of the greatest length that we store, and never ends it.
    Hoard,
}

const ALL: [Malice; 10] = [
    Malice::Silent,
    Malice::OneByteASecond,
    Malice::TenMegabytesOfBanner,
    Malice::ALineWithoutEnd,
    Malice::ExtensionsWithoutEnd,
    Malice::AnAnswerWithoutEnd,
    Malice::Reset,
    Malice::RepliesBeforeCommands,
    Malice::WrongCodes,
    Malice::Hoard,
];

impl Malice {
    /// The behaviour for the `number`th connection.
    pub fn of(number: usize) -> Self {
        ALL.get(number % ALL.len()).copied().unwrap_or(Self::Silent)
    }

    pub async fn meet(self, mut stream: TcpStream) {
        // An error means that the client has given up, as intended.
        let _ = self.act(&mut stream).await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    async fn act(self, stream: &mut TcpStream) -> io::Result<()> {
        match self {
            Self::Silent => Ok(()),
            Self::OneByteASecond => loop {
                stream.write_all(b"2").await?;
                sleep(Duration::from_secs(1)).await;
            },
            Self::TenMegabytesOfBanner => flood(stream, "220-welcome\r\n").await,
            Self::ALineWithoutEnd => flood(stream, "220 welcome ").await,
            Self::ExtensionsWithoutEnd => {
                say(stream, "220 mx\r\n").await?;
                flood(stream, "250-SIZE\r\n").await
            }
            Self::AnAnswerWithoutEnd => {
                introduce(stream).await?;
                flood(stream, "250-perhaps\r\n").await
            }
            Self::Reset => stream.set_zero_linger(),
            Self::RepliesBeforeCommands => say(stream, "220 mx\r\n250 ok\r\n250 ok\r\n").await,
            Self::WrongCodes => say(stream, "999 mx\r\n").await,
            Self::Hoard => {
                introduce(stream).await?;
                // 90 lines of 690 octets: just below our limits, 100 lines and 64 KiB.
                let line = format!("250-{}\r\n", "x".repeat(684));
                say(stream, &line.repeat(90)).await
            }
        }
    }
}

async fn introduce(stream: &mut TcpStream) -> io::Result<()> {
    say(stream, "220 mx\r\n").await?;
    stream.write_all(b"250-mx\r\n250 PIPELINING\r\n").await?;
    stream.read(&mut [0; 1_024]).await.map(drop)
}

async fn say(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes()).await?;
    stream.read(&mut [0; 1_024]).await.map(drop)
}

async fn flood(stream: &mut TcpStream, text: &str) -> io::Result<()> {
    let piece = text.repeat(10_000 / text.len());
    for _ in 0..1_000 {
        stream.write_all(piece.as_bytes()).await?;
    }
    Ok(())
}

/// Measures 500 concurrent hostile servers: the peak memory they cause, and the time until the last
/// verdict.
pub fn measure() -> Result<Vec<Figure>> {
    let before = memory::resident()?;
    let (hostile, slowest) = Runtime::new()?.block_on(beset(EVERY_KIND))?;
    let (hoarding, _) = Runtime::new()?.block_on(beset(HOARDER))?;
    let added = |peak: usize| peak.saturating_sub(before) as f64;
    Ok(vec![
        Figure::new("rss_bytes_500_hostile", added(hostile), "bytes", AT_ONCE),
        Figure::new("rss_bytes_500_hoarding", added(hoarding), "bytes", AT_ONCE),
        Figure::new("slowest_verdict_500_hostile", slowest.as_secs_f64(), "s", AT_ONCE),
    ])
}

/// The peak resident memory, and the time of the last verdict.
async fn beset(role: &str) -> Result<(usize, Duration)> {
    let (server, nameserver) = (Twin::start(role)?, Nameserver::start()?);
    let state = origin::start(server.address, &nameserver, &[]).await?;
    memory::forget_peak()?;
    let started = Instant::now();
    let mut probes = JoinSet::new();
    for n in 0..AT_ONCE {
        let state = state.clone();
        let address = Address::parse(&format!("user{n}@example.org"))?;
        probes.spawn(async move {
            state.prober.probe(&state.prober.question(address), None).await.status
        });
    }
    let mut slowest = Duration::ZERO;
    while let Some(status) = probes.join_next().await {
        let status = status?;
        ensure!(!matches!(status, Status::Accepted | Status::Refused), "{status:?}");
        slowest = started.elapsed();
    }
    Ok((memory::peak()?, slowest))
}
