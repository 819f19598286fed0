//! CPU time for a probe.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use rcpt_pool::Asker;
use rcpt_shared::Status;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader as TokioReader},
    net::TcpStream as TokioStream,
    runtime::Runtime,
};

use crate::{
    figure::Figure,
    nameserver::{Nameserver, THREE_HOSTS},
    origin, over_http,
    twin::{self, Twin},
};

/// The argument that makes this program a mail server that knows no recipient.
pub const REFUSER: &str = "--be-refuser";
const NO_SUCH_USER: &str = "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n\
    550-5.1.1 double-checking the recipient's email address for typos or\r\n\
    550-5.1.1 unnecessary spaces. For more information, go to\r\n\
    550 5.1.1  https://support.google.com/mail/?p=NoSuchUser 4fb4d7f45d1cf-5d3f0a1b2c3si1234567a12.345 - gsmtp\r\n";

const PROBES: usize = 20_000;
const IN_FLIGHT: usize = 50;
/// Linux counts the time of processes in hundredths of a second, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn measure() -> Result<Vec<Figure>> {
    let sink = Sink::start()?;
    let refuser = Twin::start(REFUSER)?;
    let (anybody, payer) = (Asker::default(), payer());
    let accepts =
        |asker, domain| Server { address: sink.address, status: Status::Accepted, asker, domain };
    let refuses = Server {
        address: refuser.address,
        status: Status::Refused,
        ..accepts(&payer, "example.org")
    };
    let one = accepts(&anybody, "example.org");
    Ok(vec![
        per_probe("cpu_us_per_probe_cold", one, &[("RCPT_SESSION_RECIPIENTS", "1")])?,
        per_probe("cpu_us_per_probe_warm", one, &[])?,
        per_probe("cpu_us_per_probe_account", accepts(&payer, "example.org"), &[])?,
        per_probe("cpu_us_per_probe_refused", refuses, &[("RCPT_REFUSED_PER_HOUR", "1000000")])?,
        per_probe("cpu_us_per_probe_three_equal_mx", accepts(&payer, THREE_HOSTS), &[])?,
        over_http::per_request("cpu_us_per_request_over_http", sink.address, PROBES, IN_FLIGHT)?,
    ])
}

fn payer() -> Asker {
    let name = Some(Arc::from("payer"));
    Asker { account: name.clone(), fairness_group: name }
}

/// A mail server, who asks about which domain there, and what it says.
#[derive(Clone, Copy)]
struct Server<'a> {
    address: SocketAddr,
    status: Status,
    asker: &'a Asker,
    domain: &'static str,
}

/// CPU of this process, the kernel's part on its behalf included, for one probe. The server is another
/// process; but on the loopback it is our system call that carries each segment to its socket, so what
/// its kernel does to receive is counted as ours: a good quarter.
fn per_probe(name: &'static str, server: Server<'_>, settings: &[(&str, &str)]) -> Result<Figure> {
    let nameserver = Nameserver::start()?;
    let Server { address, status, asker, domain } = server;
    let spent = Runtime::new()?.block_on(async {
        let state = origin::start(address, &nameserver, settings).await?;
        origin::answered_all(&state, 1_000, IN_FLIGHT, domain, asker, status).await?;
        let before = cpu("self")?;
        origin::answered_all(&state, PROBES, IN_FLIGHT, domain, asker, status).await?;
        anyhow::Ok(cpu("self")? - before)
    })?;
    Ok(Figure::new(name, spent * 1e6 / PROBES as f64, "µs", PROBES))
}

/// Seconds of CPU that a process has used.
pub fn cpu(process: &str) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name in the second field may hold spaces; utime and stime are the 14th and 15th.
    let fields = stat.rsplit_once(')').context("no name in the process's stat")?.1;
    let ticks = |field: usize| fields.split_whitespace().nth(field)?.parse::<f64>().ok();
    let both = ticks(11).zip(ticks(12)).context("no times in the process's stat")?;
    Ok((both.0 + both.1) / TICKS_PER_SECOND)
}

/// The life of a mail server that knows no recipient, in the words of the largest one.
pub fn be_refuser() -> Result<()> {
    twin::be(|stream, _| async move {
        // The client has left.
        let _ = refuse(stream).await;
    })
}

async fn refuse(mut stream: TokioStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(b"220 mx.google.com ESMTP - gsmtp\r\n").await?;
    let (reader, mut writer) = stream.split();
    let mut lines = TokioReader::new(reader).lines();
    let mut replies = String::new();
    while let Some(line) = lines.next_line().await? {
        replies.push_str(match line.get(..4) {
            Some("EHLO") => "250-mx.google.com at your service\r\n250 PIPELINING\r\n",
            Some("RCPT") => NO_SUCH_USER,
            Some("QUIT") => return Ok(()),
            _ => "250 2.1.0 OK\r\n",
        });
        // A flight is answered in one segment, as servers do.
        if line.starts_with("RCPT") || line.starts_with("EHLO") {
            writer.write_all(replies.as_bytes()).await?;
            replies.clear();
        }
    }
    Ok(())
}

/// Postfix's mail sink.
struct Sink {
    address: SocketAddr,
    process: Child,
}

impl Sink {
    fn start() -> Result<Self> {
        let free = TcpListener::bind("127.0.0.1:0")?;
        let address = free.local_addr()?;
        drop(free);
        let program = std::env::var("SMTP_SINK").unwrap_or_else(|_| "/usr/sbin/smtp-sink".into());
        let process = Command::new(&program)
            // -m: more clients at once than its default of 256.
            .args(["-u", "nobody", "-m", "1000", &address.to_string(), "1000"])
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{program}: is Debian's package postfix installed?"))?;
        let sink = Self { address, process };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            if started.elapsed() > Duration::from_secs(10) {
                bail!("{program} does not answer");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(sink)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
