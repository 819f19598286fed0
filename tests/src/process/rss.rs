//! Resident memory (RSS) of a child process, from `/proc/<pid>/status` (proc_pid_status(5)).

use std::fs;

use super::Process;

/// Resident bytes of the process called `name` that `process` is or has started.
pub fn bytes(process: &Process, name: &str) -> Option<u64> {
    status(process, name, "VmRSS:")
}

/// The most that it has held since it was started.
pub fn peak(process: &Process, name: &str) -> Option<u64> {
    status(process, name, "VmHWM:")
}

fn status(process: &Process, name: &str, row: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", process.member(name)?)).ok()?;
    let line = status.lines().find(|line| line.starts_with(row))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
