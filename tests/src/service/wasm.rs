//! Linear memory of the Worker's wasm, which reveals a leak because it never shrinks.

use std::{
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Edge;

/// Bytes read from the end of the log, more than its longest line.
const TAIL_BYTES: u64 = 64 * 1024;

/// The bytes of the Worker's linear memory according to its last log line.
pub fn wasm_bytes(edge: &Edge) -> Result<u64> {
    let mut log = File::open(edge.process.log_path())?;
    let length = log.metadata()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    log.read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let lines = tail.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let bytes = lines.filter_map(|line| line["wasm_bytes"].as_u64()).next();
    bytes.context("no wasm_bytes in the log")
}
