//! Lower bound of a probe's cost: its one write and the replies, over Tokio, without rcpt's code.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    runtime::Runtime,
    task::JoinSet,
};

use crate::cpu::Spent;

/// CPU time of one exchange in an open session.
pub fn exchange(server: SocketAddr, count: usize, in_flight: usize) -> Result<Spent> {
    Runtime::new()?.block_on(async {
        exchange_all(server, 1_000, in_flight).await?;
        let before = Spent::of("self")?;
        exchange_all(server, count, in_flight).await?;
        Ok(before.until_now("self")?.per(count))
    })
}

async fn exchange_all(server: SocketAddr, count: usize, in_flight: usize) -> Result<()> {
    let mut workers = JoinSet::new();
    for worker in 0..in_flight {
        workers.spawn(exchange_some(server, (worker..count).step_by(in_flight)));
    }
    while let Some(done) = workers.join_next().await {
        done??;
    }
    Ok(())
}

async fn exchange_some(server: SocketAddr, numbers: impl Iterator<Item = usize>) -> Result<()> {
    let mut stream = BufReader::new(TcpStream::connect(server).await?);
    let mut reply = Vec::with_capacity(512);
    replies(&mut stream, &mut reply, 1).await?;
    stream.write_all(b"HELO probe.example.com\r\n").await?;
    replies(&mut stream, &mut reply, 1).await?;
    for n in numbers {
        let flight = format!("MAIL FROM:<>\r\nRCPT TO:<user{n}@example.org>\r\nRSET\r\n");
        stream.write_all(flight.as_bytes()).await?;
        replies(&mut stream, &mut reply, 3).await?;
    }
    Ok(())
}

async fn replies(
    stream: &mut BufReader<TcpStream>,
    reply: &mut Vec<u8>,
    count: usize,
) -> Result<()> {
    for _ in 0..count {
        reply.clear();
        stream.read_until(b'\n', reply).await?;
        reply.first().filter(|digit| **digit == b'2').context("refused")?;
    }
    Ok(())
}
