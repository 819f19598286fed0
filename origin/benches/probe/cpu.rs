//! CPU time for a probe.

use std::{
    fs,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use tokio::runtime::Runtime;

use crate::{figure::Figure, nameserver::Nameserver, origin};

const PROBES: usize = 20_000;
const IN_FLIGHT: usize = 50;
/// Linux counts the time of processes in hundredths of a second, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

pub fn measure() -> Result<Vec<Figure>> {
    Ok(vec![
        per_probe("cpu_us_per_probe_cold", &[("RCPT_SESSION_RECIPIENTS", "1")])?,
        per_probe("cpu_us_per_probe_warm", &[])?,
    ])
}

/// CPU of this process, the kernel's part on its behalf included, for one probe. The server is another
/// process; but on the loopback it is our system call that carries each segment to its socket, so what
/// its kernel does to receive is counted as ours: a good quarter.
fn per_probe(name: &'static str, settings: &[(&str, &str)]) -> Result<Figure> {
    let (sink, nameserver) = (Sink::start()?, Nameserver::start()?);
    let spent = Runtime::new()?.block_on(async {
        let state = origin::start(sink.address, &nameserver, settings).await?;
        origin::accepted_all(&state, 1_000, IN_FLIGHT).await?;
        let before = cpu()?;
        origin::accepted_all(&state, PROBES, IN_FLIGHT).await?;
        anyhow::Ok(cpu()? - before)
    })?;
    Ok(Figure::new(name, spent * 1e6 / PROBES as f64, "µs", PROBES))
}

/// Seconds of CPU that this process has used.
fn cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name in the second field may hold spaces; utime and stime are the 14th and 15th.
    let fields = stat.rsplit_once(')').context("no name in /proc/self/stat")?.1;
    let ticks = |field: usize| fields.split_whitespace().nth(field)?.parse::<f64>().ok();
    let both = ticks(11).zip(ticks(12)).context("no times in /proc/self/stat")?;
    Ok((both.0 + both.1) / TICKS_PER_SECOND)
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
