//! Rebuilds the Worker when its sources change. `wrangler dev` watches the output and reloads it.

use std::{fs, path::Path, time::SystemTime};

use anyhow::Result;
use rcpt_tests::process::{Process, folder, nested_build};
use tokio::time::Instant;

use super::say;

const SOURCES: [&str; 2] = ["edge/src", "shared/src"];

pub(super) struct Rebuild {
    /// Time of the newest source in the running Worker, or in the one being built.
    built: Option<SystemTime>,
    build: Option<(Process, Instant)>,
}

impl Rebuild {
    pub fn new() -> Self {
        Self { built: newest_source(), build: None }
    }

    /// Starts a build after a change, and reports the previous build's result. A failed build
    /// leaves the Worker unchanged.
    pub fn poll(&mut self, logs: &Path) -> Result<()> {
        if let Some((make, started)) = &mut self.build {
            match make.exited() {
                None => return Ok(()),
                Some(status) if status.success() => {
                    say(&format!(
                        "the Worker has been built again in {:.1} s",
                        started.elapsed().as_secs_f64()
                    ));
                }
                Some(_) => say(&format!("the Worker doesn't build:\n{}", make.log())),
            }
            self.build = None;
        }
        let newest = newest_source();
        if newest > self.built {
            self.built = newest;
            say("a source of the Worker has changed: building it again");
            let mut command = nested_build::command("make");
            command
                .args(["--no-print-directory", "edge/build/.quick"])
                .current_dir(folder::repository());
            self.build = Some((Process::spawn("worker", &command, logs)?, Instant::now()));
        }
        Ok(())
    }
}

fn newest_source() -> Option<SystemTime> {
    SOURCES.iter().filter_map(|folder| newest(&folder::repository().join(folder))).max()
}

fn newest(path: &Path) -> Option<SystemTime> {
    if path.is_dir() {
        fs::read_dir(path).ok()?.flatten().filter_map(|entry| newest(&entry.path())).max()
    } else {
        fs::metadata(path).ok()?.modified().ok()
    }
}
