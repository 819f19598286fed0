//! CPU time of a probe.

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
    bare,
    figure::Figure,
    nameserver::{AT_OPERATOR, Nameserver, THREE_HOSTS},
    origin, over_http,
    twin::{self, Twin},
};

/// The argument that makes this program a mail server that refuses every recipient.
pub const REFUSER: &str = "--be-refuser";
const NO_SUCH_USER: &str = "550-5.1.1 The email account that you tried to reach does not exist. Please try\r\n\
    550-5.1.1 double-checking the recipient's email address for typos or\r\n\
    550-5.1.1 unnecessary spaces. For more information, go to\r\n\
    550 5.1.1  https://support.google.com/mail/?p=NoSuchUser 4fb4d7f45d1cf-5d3f0a1b2c3si1234567a12.345 - gsmtp\r\n";

const PROBES: usize = 40_000;
const IN_FLIGHT: usize = 50;
/// Linux counts the time of processes in hundredths of a second, regardless of the kernel's own tick.
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
        ..accepts(&payer, AT_OPERATOR)
    };
    let one = accepts(&anybody, "example.org");
    let bare = bare::exchange(sink.address, PROBES, IN_FLIGHT)?;
    let figure = |name, spent: Spent| Figure::new(name, spent.all_us(), "µs", PROBES);
    let warm = per_probe(one, &[])?;
    let account = per_probe(accepts(&payer, "example.org"), &[])?;
    let refused = per_probe(refuses, &[("RCPT_REFUSED_PER_HOUR", "1000000")])?;
    let three = per_probe(accepts(&payer, THREE_HOSTS), &[])?;
    let http = over_http::per_request(sink.address, PROBES, IN_FLIGHT)?;
    let times = |name, spent: Spent| {
        Figure::new(name, spent.all_us() / bare.all_us(), "times bare", PROBES)
    };
    Ok(vec![
        figure("cpu_us_per_probe_cold", per_probe(one, &[("RCPT_SESSION_RECIPIENTS", "1")])?),
        figure("cpu_us_per_probe_warm", warm),
        Figure::new("cpu_us_per_probe_warm_in_user_mode", warm.user_us, "µs", PROBES),
        figure("cpu_us_per_probe_account", account),
        figure("cpu_us_per_probe_refused", refused),
        figure("cpu_us_per_probe_three_equal_mx", three),
        figure("cpu_us_per_request_over_http", http),
        figure("cpu_us_per_bare_exchange", bare),
        times("cpu_probe_warm_to_bare_exchange", warm).at_most(2.5),
        times("cpu_probe_account_to_bare_exchange", account).at_most(2.5),
        times("cpu_probe_refused_to_bare_exchange", refused).at_most(9.0),
        times("cpu_probe_three_equal_mx_to_bare_exchange", three).at_most(3.0),
        times("cpu_request_over_http_to_bare_exchange", http).at_most(12.0),
    ])
}

fn payer() -> Asker {
    let name = Some(Arc::from("payer"));
    Asker { account: name.clone(), fairness_group: name }
}

#[derive(Clone, Copy)]
struct Server<'a> {
    address: SocketAddr,
    status: Status,
    asker: &'a Asker,
    domain: &'static str,
}

/// CPU time of this process for one probe, including the kernel's work on its behalf. The server is another process,
/// but on the loopback our system call also does the kernel's work of receiving: over a quarter of the figure.
fn per_probe(server: Server<'_>, settings: &[(&str, &str)]) -> Result<Spent> {
    let nameserver = Nameserver::start()?;
    let Server { address, status, asker, domain } = server;
    Runtime::new()?.block_on(async {
        let state = origin::start(address, &nameserver, settings).await?;
        origin::expect_all(&state, 1_000, IN_FLIGHT, domain, asker, status).await?;
        let before = Spent::of("self")?;
        origin::expect_all(&state, PROBES, IN_FLIGHT, domain, asker, status).await?;
        Ok(before.until_now("self")?.per(PROBES))
    })
}

/// CPU time used by a process, in microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    pub user_us: f64,
    pub system_us: f64,
}

impl Spent {
    pub fn of(process: &str) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        // The name in the second field may contain spaces; utime and stime are the 14th and 15th.
        let fields = stat.rsplit_once(')').context("no name in the process's stat")?.1;
        let micros = |field: usize| {
            let ticks = fields.split_whitespace().nth(field)?.parse::<f64>().ok()?;
            Some(ticks * 1e6 / TICKS_PER_SECOND)
        };
        let both = micros(11).zip(micros(12)).context("no times in the process's stat")?;
        Ok(Self { user_us: both.0, system_us: both.1 })
    }

    /// The process's usage since `self`.
    pub fn until_now(self, process: &str) -> Result<Self> {
        let now = Self::of(process)?;
        Ok(Self { user_us: now.user_us - self.user_us, system_us: now.system_us - self.system_us })
    }

    pub fn per(self, count: usize) -> Self {
        let count = count as f64;
        Self { user_us: self.user_us / count, system_us: self.system_us / count }
    }

    pub fn all_us(self) -> f64 {
        self.user_us + self.system_us
    }
}

/// Runs as a mail server that refuses every recipient, with Google's texts.
pub fn be_refuser() -> Result<()> {
    twin::be(|stream, _| async move {
        // An error means that the client has left.
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
        // Pipelined commands get one segment of replies, as from real servers.
        if line.starts_with("RSET") || line.starts_with("EHLO") {
            writer.write_all(replies.as_bytes()).await?;
            replies.clear();
        }
    }
    Ok(())
}

/// A running `smtp-sink`, Postfix's mail server for benchmarks.
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
            // -m: more concurrent clients than the default of 256.
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
