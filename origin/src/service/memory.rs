//! Memory that survives a restart: the service manager keeps it in its file descriptor store (`FDSTORE`, sd_notify(3)),
//! and in no file. A copy contains operators' counters and domains' habits, by hashes under a secret of this origin.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::fd::AsFd as _,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use hmac::{Hmac, Mac as _};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::time::sleep;

use crate::{
    Config, State, probe::HabitMemory, service::supervisor, surroundings::clock::unix_now,
    telemetry::status::KeepingStatus,
};

/// Time from the start to the first copy. The pauses double, so that a crash loses about half of what a young process
/// has learnt. With a fixed pause of a minute, a process that crashes every minute would never store a copy.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// Greatest size of a copy in bytes.
pub const COPY_BYTES_MAX: usize = 65_536;
/// Alternating names of the copies: a new copy is stored before the previous copy is removed.
const NAMES: [&str; 2] = ["memory-a", "memory-b"];
/// Purpose of the copies' MAC: releases with another layout have another text, and reject these copies.
const LAYOUT: &[u8] = b"rcpt origin memory 2";
const TAG_BYTES: usize = 32;

/// State of the stored memory, for `origin status`.
#[derive(Debug, Default)]
pub struct Keeping {
    /// Unix time of the last copy accepted by the service manager; 0 if there was none.
    copied: AtomicU64,
    /// Unix time of the copy with which this process started; 0 if there was none.
    recalled: AtomicU64,
    /// Index of the next copy's name.
    turn: AtomicUsize,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Copy {
    /// Unix time of the copy.
    at: u64,
    pool: rcpt_pool::Memory,
    habits: Vec<HabitMemory>,
}

impl Keeping {
    pub fn status(&self) -> KeepingStatus {
        let time_of = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|it| *it > 0);
        KeepingStatus { copied_at: time_of(&self.copied), recalled_from: time_of(&self.recalled) }
    }
}

fn mac(config: &Config) -> Hmac<Sha256> {
    config.own_mac(LAYOUT)
}

/// Loads the newest copy that the service manager has returned.
pub fn recall(state: &State, copies: Vec<(String, File)>) {
    let (config, now) = (state.prober.config(), unix_now());
    let read = copies.into_iter().filter_map(|(name, file)| {
        let copy = decoded(&config, &content(file).ok()?);
        if copy.is_none() {
            tracing::warn!(name, "of another secret or release, and forgotten");
        }
        Some((name, copy?))
    });
    let Some((name, copy)) = read.max_by_key(|(_, copy)| copy.at) else { return };
    let pause = Duration::from_secs(now.saturating_sub(copy.at));
    state.prober.recall(&copy.pool, &copy.habits, pause);
    state.keeping.recalled.store(copy.at, Ordering::Relaxed);
    // The next copy gets the other name.
    state.keeping.turn.store(usize::from(name == NAMES[0]), Ordering::Relaxed);
    let (operators, domains) = (copy.pool.len(), copy.habits.len());
    tracing::info!(seconds = pause.as_secs(), operators, domains, "remembers the process before");
}

/// Stores copies with the service manager for the life of the process: soon after the start, and later every minute.
/// Returns immediately without a service manager.
pub async fn keep(state: Arc<State>) {
    if !supervisor::is_there() {
        return;
    }
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        hand_over(&state);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Stores a copy with the service manager, if there is one. If the process ends meanwhile, this copy or the previous
/// copy is available.
pub fn hand_over(state: &State) {
    if !supervisor::is_there() {
        return;
    }
    let (pool, habits) = state.prober.memory();
    let copy = Copy { at: unix_now(), pool, habits };
    let turn = state.keeping.turn.fetch_xor(1, Ordering::Relaxed);
    let [name, before] = if turn == 0 { NAMES } else { [NAMES[1], NAMES[0]] };
    let encoded = encoded(&state.prober.config(), copy);
    let handed = encoded.ok_or_else(|| io::ErrorKind::FileTooLarge.into());
    let handed = handed.and_then(|octets| seal(&octets)).and_then(|file| {
        supervisor::hand_over(name, file.as_fd())?;
        supervisor::take_back(before)
    });
    match handed {
        Ok(()) => state.keeping.copied.store(unix_now(), Ordering::Relaxed),
        Err(error) => tracing::warn!(%error, "the service manager takes no memory"),
    }
}

fn encoded(config: &Config, mut copy: Copy) -> Option<Vec<u8>> {
    loop {
        let octets = postcard::to_allocvec(&copy).ok()?;
        if octets.len() + TAG_BYTES <= COPY_BYTES_MAX {
            let tag = mac(config).chain_update(&octets).finalize().into_bytes();
            return Some([&tag[..], &octets].concat());
        }
        if copy.habits.is_empty() {
            return None;
        }
        // The habits that end soonest are last.
        copy.habits.truncate(copy.habits.len() * 3 / 4);
    }
}

fn decoded(config: &Config, content: &[u8]) -> Option<Copy> {
    let (tag, octets) = content.split_at_checked(TAG_BYTES)?;
    mac(config).chain_update(octets).verify_slice(tag).ok()?;
    postcard::from_bytes(octets).ok()
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut octets = Vec::new();
    file.take(COPY_BYTES_MAX as u64 + 1).read_to_end(&mut octets)?;
    Ok(octets)
}

fn seal(octets: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("rcpt-origin-memory", flags)?);
    file.write_all(octets)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    Ok(file)
}

/// True if a descriptor's name is that of a copy.
pub fn is_copy(name: &str) -> bool {
    NAMES.contains(&name)
}
