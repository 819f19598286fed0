//! Malicious mail servers: slow, endless, huge, abrupt or out of turn.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

use crate::process::runtime;

/// Behaviour of a hostile server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostility {
    /// Sends nothing.
    Silent,
    /// Sends an endless banner, one byte a second.
    Dripping,
    /// Sends a banner of 10 MB in one line.
    HugeLine,
    /// Sends a banner of 10 MB in many lines.
    HugeBanner,
    /// Sends endless `250-` lines in reply to EHLO.
    Endless,
    /// Answers EHLO with an incomplete reply of the greatest length.
    Hoarding,
    /// Resets the connection (RST) after this number of replies: instead of the banner, or of a reply to
    /// EHLO, MAIL or RCPT.
    Reset(usize),
    /// Sends all replies before the first command.
    Hasty,
    /// Sends codes that belong to other commands.
    Confused,
}

impl Hostility {
    /// All behaviours.
    pub const ALL: [Self; 12] = [
        Self::Silent,
        Self::Dripping,
        Self::HugeLine,
        Self::HugeBanner,
        Self::Endless,
        Self::Hoarding,
        Self::Reset(0),
        Self::Reset(1),
        Self::Reset(2),
        Self::Reset(3),
        Self::Hasty,
        Self::Confused,
    ];

    /// Shows this behaviour until the client disconnects.
    async fn converse(self, stream: TcpStream) -> Result<()> {
        let mut stream = BufReader::new(stream);
        match self {
            Self::Silent => {}
            Self::Dripping => loop {
                stream.write_all(b"2").await?;
                sleep(Duration::from_secs(1)).await;
            },
            Self::HugeLine => {
                stream.write_all(b"220 ").await?;
                flood(&mut stream, &[b'x'; 1_000]).await?;
            }
            Self::HugeBanner => flood(&mut stream, b"220-welcome\r\n").await?,
            Self::Endless => {
                reply(&mut stream, b"220 hello\r\n").await?;
                loop {
                    stream.write_all(b"250-more\r\n").await?;
                }
            }
            Self::Hoarding => {
                reply(&mut stream, b"220 hello\r\n").await?;
                // 31 × 2,000 bytes: below origin's limits of 2,048 a line, 100 lines and 64 KiB. Decoding replaces
                // each byte that isn't UTF-8 by three.
                let line = [b"250-".as_slice(), &[0xff; 1_994], b"\r\n"].concat();
                stream.write_all(&line.repeat(31)).await?;
            }
            Self::Reset(replies) => {
                let all: [&[u8]; 3] = [b"220 hello\r\n", b"250 hello\r\n", b"250 ok\r\n"];
                for text in all.iter().take(replies) {
                    reply(&mut stream, text).await?;
                }
                stream.get_ref().set_zero_linger()?;
                return Ok(());
            }
            Self::Hasty => stream.write_all(b"220 a\r\n250 b\r\n250 c\r\n250 d\r\n").await?,
            Self::Confused => {
                for text in [b"220 a\r\n", b"354 b\r\n", b"334 c\r\n", b"220 d\r\n"] {
                    reply(&mut stream, text).await?;
                }
            }
        }
        let mut rest = Vec::new();
        while stream.read_until(b'\n', &mut rest).await? > 0 {
            rest.clear();
        }
        Ok(())
    }
}

/// Sends the text and reads a command.
async fn reply(stream: &mut BufReader<TcpStream>, text: &[u8]) -> Result<()> {
    stream.write_all(text).await?;
    stream.read_until(b'\n', &mut Vec::new()).await?;
    Ok(())
}

/// Sends the bytes repeatedly, 10 MB in total.
async fn flood(stream: &mut BufReader<TcpStream>, octets: &[u8]) -> Result<()> {
    for _ in 0..10_000_000 / octets.len() {
        stream.write_all(octets).await?;
    }
    Ok(())
}

/// A running server; dropping it closes its port.
#[derive(Debug)]
pub struct HostileServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl HostileServer {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(hostility: Hostility) -> Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let task = runtime::spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a nonblocking listener");
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                // An error means that the client has left.
                tokio::spawn(async move { hostility.converse(stream).await.ok() });
            }
        });
        Ok(Self { address, task })
    }

    /// The address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HostileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
