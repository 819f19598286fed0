//! Child processes that can't outlive this process.
//!
//! Every child runs under `leash.sh` in a separate process group. The leash holds the reading end of a pipe, and this
//! process the writing end. If this process ends in any way (a panic, Ctrl-C, `kill -9`, statics that are never
//! dropped), the kernel closes the writing end. The leash then ends the group.

use std::{
    fs::File,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::{Pid, geteuid},
};
use tokio::time::{Instant, sleep};

use super::{Log, Stat};

const LEASH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/process/leash.sh");
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for the kernel to end a killed process.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// A running program, its output in a file. Dropping it ends the program and everything it has
/// started.
#[derive(Debug)]
pub struct Process {
    name: String,
    leash: Child,
    /// The pipe to the leash: closing it ends the program.
    stdin: Option<ChildStdin>,
    log: Log,
    grace: Duration,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts `command`, its output (both streams) in `folder/name.log`. Only program, arguments,
    /// environment and working directory of `command` are used. When dropped, the program gets
    /// SIGTERM, and SIGKILL three seconds later.
    ///
    /// # Errors
    /// If the log cannot be created, or there is no `sh`. A missing program shows as exit code 127.
    pub fn spawn(name: &str, command: &Command, folder: &Path) -> Result<Self> {
        Self::start(name, command, folder, Duration::from_secs(3), &[])
    }

    /// Starts `command` with the given time between SIGTERM and SIGKILL.
    pub fn spawn_with_grace(
        name: &str,
        command: &Command,
        folder: &Path,
        grace: Duration,
    ) -> Result<Self> {
        Self::start(name, command, folder, grace, &[])
    }

    /// Starts `command` as root, through `sudo` if we aren't root.
    ///
    /// # Errors
    /// Like [`Process::spawn`]; if sudo asks for a password, the program ends immediately, and its log says so.
    pub fn spawn_as_root(name: &str, command: &Command, folder: &Path) -> Result<Self> {
        let wrapper: &[&str] = if geteuid().is_root() { &[] } else { &["sudo", "-n"] };
        Self::start(name, command, folder, Duration::from_secs(3), wrapper)
    }

    fn start(
        name: &str,
        command: &Command,
        folder: &Path,
        grace: Duration,
        wrapper: &[&str],
    ) -> Result<Self> {
        let log = Log::new(name, folder);
        let path = log.path();
        let output = File::create(path).with_context(|| format!("creating {}", path.display()))?;
        let tenths = grace.as_millis() / 100;
        let mut words = wrapper.iter().chain(&["sh", LEASH]);
        let mut leash = Command::new(words.next().context("no words")?);
        leash.args(words).arg(tenths.to_string()).arg(command.get_program());
        leash.args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => leash.env(key, value),
                None => leash.env_remove(key),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            leash.current_dir(dir);
        }
        leash.process_group(0).stdin(Stdio::piped());
        leash.stdout(output.try_clone()?).stderr(output);
        let mut leash = leash.spawn().with_context(|| match wrapper {
            [] => format!("starting {name}"),
            _ => format!("starting {name}: only root may, and there is no sudo"),
        })?;
        let stdin = leash.stdin.take();
        Ok(Self { name: name.to_owned(), leash, stdin, log, grace, ended: None })
    }

    /// The program's output so far.
    pub fn log(&self) -> String {
        self.log.text()
    }

    /// The path of the program's output.
    pub fn log_path(&self) -> &Path {
        self.log.path()
    }

    /// The last lines of the log, for an error message.
    pub fn last_lines(&self) -> String {
        self.log.to_string()
    }

    /// The exit status once the program has ended.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.leash.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Waits until `condition` yields a value.
    ///
    /// # Errors
    /// If the program ended first, or `limit` passed; the error shows the end of its log.
    pub async fn wait_until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        condition: impl AsyncFnMut() -> Option<T>,
    ) -> Result<T> {
        let log = self.log.clone();
        log.wait_until(what, limit, condition, || self.exited().map(|status| status.to_string()))
            .await
    }

    /// Waits for a line that contains `needle`, and returns it.
    pub async fn wait_for_line(&mut self, needle: &str, limit: Duration) -> Result<String> {
        let log = self.log.clone();
        self.wait_until(&format!("line with {needle:?}"), limit, async || log.line_with(needle))
            .await
    }

    /// Waits for the program to end.
    pub async fn wait_for_end(&mut self, limit: Duration) -> Result<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            match self.exited() {
                Some(status) => return Ok(status),
                None if Instant::now() > deadline => {
                    bail!("{} still runs after {limit:?}\n{}", self.name, self.last_lines())
                }
                None => sleep(POLL_INTERVAL).await,
            }
        }
    }

    /// The process id of a program of this name within the process's group.
    pub fn member(&self, name: &str) -> Option<u32> {
        self.members().find(|(_, stat)| stat.name == name).map(|(pid, _)| pid)
    }

    /// Waits until no process of the group is left, for `patience` at most. A killed process keeps its ports until the
    /// kernel has handled the signal.
    fn wait_for_group(&self, patience: Duration) {
        wait_at_most(patience, || self.members().all(|(_, stat)| stat.has_ended));
    }

    fn members(&self) -> impl Iterator<Item = (u32, Stat)> {
        let group = self.group_id();
        Stat::all().filter(move |(_, stat)| stat.group == group)
    }

    /// Sends SIGTERM and returns without waiting. Follow with [`Process::wait_for_end`].
    pub fn terminate(&mut self) {
        self.stdin = None;
    }

    /// Kills the program and all it has started with SIGKILL, and waits until they have ended.
    pub fn kill(&mut self) {
        self.signal_group(Signal::SIGKILL);
        self.ended = self.leash.wait().ok().or(self.ended);
        // The leash may end before the rest of the group.
        self.wait_for_group(KILL_TIMEOUT);
    }

    /// The exit code, or 128 plus the signal, as a shell reports it.
    pub fn code(status: ExitStatus) -> i32 {
        status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(-1)
    }

    fn signal_group(&self, signal: Signal) {
        // ESRCH: no process is left. EPERM: the process belongs to root, and the leash ends it.
        let _ = killpg(self.group(), signal);
    }

    /// The process group of the program and of all processes that it has started.
    pub fn group_id(&self) -> i32 {
        self.group().as_raw()
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.leash.id().cast_signed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.terminate();
        let patience = self.grace + Duration::from_secs(2);
        wait_at_most(patience, || self.exited().is_some());
        self.signal_group(Signal::SIGKILL);
        self.wait_for_group(patience);
        let _ = self.leash.try_wait();
    }
}

/// Polls `is_over` until it is true, or until the time has passed.
pub(crate) fn wait_at_most(patience: Duration, mut is_over: impl FnMut() -> bool) {
    let mut waited = Duration::ZERO;
    while !is_over() && waited < patience {
        thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
    }
}
