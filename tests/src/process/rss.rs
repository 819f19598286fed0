//! Resident memory (RSS) of a child process, from `/proc/<pid>/status` (proc_pid_status(5)).

use std::fs;

/// The resident bytes of the process with this id.
pub fn bytes(pid: u32) -> Option<u64> {
    status(pid, "VmRSS:")
}

/// The largest resident size of the process since its start, in bytes.
pub fn peak(pid: u32) -> Option<u64> {
    status(pid, "VmHWM:")
}

fn status(pid: u32, row: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(row))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
