//! The file with a program's output.

use std::{
    fmt::{self, Display, Formatter},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of log lines in an error about a program.
const SHOWN_LINES: usize = 30;

/// Output of a program, in a file `NAME.log`.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    path: PathBuf,
}

impl Log {
    /// The log of the program called `name`, in `folder`.
    pub(crate) fn new(name: &str, folder: &Path) -> Self {
        Self { path: folder.join(format!("{name}.log")) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The output so far.
    pub(crate) fn text(&self) -> String {
        fs::read(&self.path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    /// The first line that contains `needle`.
    pub(crate) fn line_with(&self, needle: &str) -> Option<String> {
        self.text().lines().find(|line| line.contains(needle)).map(str::to_owned)
    }

    /// Waits until `condition` yields a value; `ended` returns how the program has ended, if it has.
    ///
    /// # Errors
    /// If the program ended first, or `limit` passed; the error shows the last lines.
    pub(crate) async fn wait_until<T>(
        &self,
        what: &str,
        limit: Duration,
        mut condition: impl AsyncFnMut() -> Option<T>,
        mut ended: impl FnMut() -> Option<String>,
    ) -> Result<T> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(value) = condition().await {
                return Ok(value);
            }
            if let Some(end) = ended() {
                bail!("ended ({end}) before {what}\n{self}");
            }
            if Instant::now() > deadline {
                bail!("no {what} within {limit:?}\n{self}");
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Shows the path and the last lines, for an error message.
impl Display for Log {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let text = self.text();
        let lines: Vec<_> = text.lines().collect();
        let shown = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
        write!(formatter, "{}:\n{}", self.path.display(), shown.join("\n"))
    }
}
