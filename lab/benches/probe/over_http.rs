//! CPU time of a check as the edge sends it: over HTTP, with a paying account's ticket and a log
//! line.

use std::{
    io::{BufRead, BufReader, Write as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use rcpt_origin::telemetry::log;
use rcpt_shared::{KeyRing, Tenant, Ticket};
use tokio::{net::TcpListener, runtime::Runtime};
use tracing::level_filters::LevelFilter;

use crate::{
    cpu::Spent,
    nameserver::Nameserver,
    origin::{self, TICKET_SECRETS},
    twin::Twin,
};

/// The argument that makes this program an origin; the addresses of mail server and nameserver
/// follow.
pub const ORIGIN: &str = "--be-origin";

/// CPU time of an origin's process for one request.
pub fn per_request(server: SocketAddr, count: usize, in_flight: usize) -> Result<Spent> {
    let nameserver = Nameserver::start()?;
    let arguments = [server.to_string(), nameserver.address.to_string()];
    let origin = Twin::start_with(ORIGIN, &arguments)?;
    let process = origin.id().to_string();
    ask_all(origin.address, 1_000, in_flight)?;
    let before = Spent::of(&process)?;
    ask_all(origin.address, count, in_flight)?;
    Ok(before.until_now(&process)?.per(count))
}

/// Runs the origin until the process ends.
pub fn be_origin(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let mut address = || arguments.next().context("no address")?.parse().context("no address");
    let (server, nameserver): (SocketAddr, SocketAddr) = (address()?, address()?);
    let _kept = log::install(LevelFilter::INFO);
    Runtime::new()?.block_on(async {
        let state = origin::start_at(server, nameserver, &[])?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!("{}", listener.local_addr()?);
        axum::serve(listener, rcpt_origin::build(state)).await?;
        Ok(())
    })
}

fn ask_all(origin: SocketAddr, count: usize, in_flight: usize) -> Result<()> {
    let ask = |worker| move || ask_some(origin, (worker..count).step_by(in_flight));
    let workers: Vec<_> = (0..in_flight).map(|worker| thread::spawn(ask(worker))).collect();
    workers.into_iter().try_for_each(|worker| worker.join().ok().context("a panic")?)
}

fn ask_some(origin: SocketAddr, numbers: impl Iterator<Item = usize>) -> Result<()> {
    let keys = KeyRing::parse(TICKET_SECRETS)?;
    let mut stream = TcpStream::connect(origin)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let payer = Some(Tenant { name: "payer", paying: true });
    for n in numbers {
        let body = format!(r#"{{"address":"user{n}@example.org"}}"#);
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let ticket =
            Ticket::issue_for(&keys, &format!("request-{n}"), body.as_bytes(), now, payer)?;
        write!(
            stream,
            "POST /v1/probe HTTP/1.1\r\nHost: origin\r\nAuthorization: Bearer {ticket}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let answer = answer(&mut reader)?;
        ensure!(answer.contains(r#""status":true"#), "{answer}");
    }
    Ok(())
}

fn answer(reader: &mut impl BufRead) -> Result<String> {
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "closed");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}
