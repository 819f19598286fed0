//! The workerd of each edge, and the Node process in which miniflare starts them all.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::Client;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::process::{Log, Process, Stat, folder, wait_at_most};

const START_TIMEOUT: Duration = Duration::from_secs(180);
/// A line is there a moment after the response that it is about; on a machine with much to do, some seconds after.
const LINE_TIMEOUT: Duration = Duration::from_secs(60);
/// Time for the kernel to end a killed process.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A running workerd. Dropping this value kills workerd, and removes miniflare's files.
#[derive(Debug)]
pub struct Workerd {
    pid: u32,
    started: u64,
    log: Log,
}

impl Workerd {
    /// Starts an edge with these settings (`edge.mjs`), except `log` and `temporary`, which are in `folder`.
    pub(super) async fn start(mut settings: Value, folder: &Path) -> Result<Self> {
        let log = Log::new("edge", folder);
        let temporary = folder.join("tmp");
        fs::create_dir_all(&temporary)?;
        settings["log"] = log.path().to_string_lossy().into();
        settings["temporary"] = temporary.to_string_lossy().into();
        let client = Client::builder().pool_max_idle_per_host(0).timeout(START_TIMEOUT).build()?;
        let (host, url) = host().await?;
        let reply = client.post(url).json(&settings).send().await;
        let reply = reply.with_context(|| format!("no edge\n{log}\n{}", host.last_lines()))?;
        let (status, text) = (reply.status(), reply.text().await?);
        ensure!(status.is_success(), "no edge: {text}\n{log}");
        let pid = text.parse().with_context(|| format!("a process id: {text}"))?;
        let stat = Stat::of(pid).with_context(|| format!("workerd has ended\n{log}"))?;
        Ok(Self { pid, started: stat.started, log })
    }

    /// Workerd's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The log so far, which names the emails that the Worker has sent.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// The path of the log.
    pub fn log_path(&self) -> &Path {
        self.log.path()
    }

    /// The last lines of the log, for an error message.
    pub fn last_lines(&self) -> String {
        self.log.to_string()
    }

    /// Waits for a line that contains `needle`, and returns it.
    ///
    /// # Panics
    /// If workerd ended first, or a minute passed; the message shows the end of its log.
    pub async fn wait_for_line(&self, needle: &str) -> String {
        let what = format!("line with {needle:?}");
        let ended = || self.has_ended().then(|| "workerd".to_owned());
        let line =
            self.log.wait_until(&what, LINE_TIMEOUT, async || self.log.line_with(needle), ended);
        line.await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Kills workerd with SIGKILL, and waits until it has ended.
    pub fn kill(&self) {
        if self.has_ended() {
            return;
        }
        // ESRCH means that workerd has just ended.
        let _ = kill(Pid::from_raw(self.pid.cast_signed()), Signal::SIGKILL);
        wait_at_most(KILL_TIMEOUT, || self.has_ended());
    }

    fn has_ended(&self) -> bool {
        Stat::of(self.pid).is_none_or(|stat| stat.has_ended || stat.started != self.started)
    }
}

impl Drop for Workerd {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The process of `host.mjs`, which ends with this process, and the URL that accepts settings.
async fn host() -> Result<&'static (Process, String)> {
    static HOST: OnceCell<(Process, String)> = OnceCell::const_new();
    HOST.get_or_try_init(start_host).await
}

async fn start_host() -> Result<(Process, String)> {
    let mut process = Process::spawn("host", &node("host.mjs"), &folder::scratch("host")?)?;
    let line = process.wait_for_line("listening ", START_TIMEOUT).await?;
    let port = line.split(' ').next_back().context("a port")?;
    let url = format!("http://127.0.0.1:{port}");
    Ok((process, url))
}

/// The command for a program beside this file. The program runs in the repository, where Node finds
/// node_modules.
pub(super) fn node(program: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/service").join(program));
    command.current_dir(folder::repository());
    command.env("WRANGLER_SEND_METRICS", "false").env("NO_COLOR", "1");
    command
}
