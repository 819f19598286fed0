//! Fields of `/proc/<pid>/stat` (proc_pid_stat(5)).

use std::fs;

/// State of a process when it was read.
#[derive(Debug)]
pub(crate) struct Stat {
    /// Name of the process's program, at most 15 bytes.
    pub(crate) name: String,
    pub(crate) has_ended: bool,
    pub(crate) group: i32,
    /// Start time of the process, in clock ticks since the machine's start. Process ids are reused; with the start
    /// time, they are unique.
    pub(crate) started: u64,
}

impl Stat {
    /// Reads a process by its id; `None` if it doesn't exist.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // `pid (name) state parent group …`; the name may contain any character.
        let (_, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split(' ').collect();
        // A zombie has ended once its other threads have ended: they keep its files open.
        let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        Some(Self {
            name: name.to_owned(),
            has_ended: *fields.first()? == "Z" && threads() <= 1,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// All processes of the machine by id.
    pub(crate) fn all() -> impl Iterator<Item = (u32, Self)> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid| Some((pid, Self::of(pid)?)))
    }
}
