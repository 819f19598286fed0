use std::fs;

use crate::Process;

/// Resident bytes of the process called `name` in the group of `process`, from `/proc`.
pub fn bytes(process: &Process, name: &str) -> Option<u64> {
    let group = process.group_id().to_string();
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // pid (comm) state ppid pgrp …; comm may hold anything but its own closing parenthesis.
        let (head, rest) = stat.rsplit_once(')')?;
        let comm = head.split_once('(')?.1;
        let is_it = comm == name && rest.split_whitespace().nth(2)? == group;
        is_it.then(|| resident(&entry.path())).flatten()
    })
}

fn resident(folder: &std::path::Path) -> Option<u64> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
