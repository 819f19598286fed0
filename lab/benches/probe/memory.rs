//! Resident memory of this process.

use std::fs;

use anyhow::{Context as _, Result};

/// Resident memory of this process, in bytes.
pub fn resident() -> Result<usize> {
    status("VmRSS:")
}

/// The peak in bytes since [`forget_peak`].
pub fn peak() -> Result<usize> {
    status("VmHWM:")
}

pub fn forget_peak() -> Result<()> {
    // proc_pid_clear_refs(5): 5 resets the peak resident set size.
    Ok(fs::write("/proc/self/clear_refs", "5")?)
}

fn status(field: &str) -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    let kib: usize = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1_024)
}
