//! A server's text as shown contains no address, no IP address and none of our names.
#![no_main]

use std::{
    net::IpAddr,
    time::{Duration, Instant},
};

use libfuzzer_sys::fuzz_target;
use rcpt_shared::Address;

#[path = "../../src/probe/redact.rs"]
#[allow(dead_code, reason = "its tests use more of it")]
mod redact;

const HELO_NAME: &str = "probe.example.net";
/// Time limit with the sanitizer on a busy machine; normally a reply takes microseconds.
const REDACTION_TIMEOUT: Duration = Duration::from_millis(100);
const MAX_CHARS: usize = 512;

fuzz_target!(|input: (&str, &str)| {
    let (address, words) = input;
    let Ok(address) = Address::parse(address) else { return };
    let local_part = address.local_part();
    let words: String = words.chars().take(8_192).collect();
    let text = format!("<{local_part}> {words} {HELO_NAME} {}", address.normal());
    // The machine may pause the process, but hardly three times in succession.
    let is_quick = || {
        let began = Instant::now();
        let _ = redact::redact(&text, &address, [HELO_NAME]);
        began.elapsed() < REDACTION_TIMEOUT
    };
    assert!((0..3).any(|_| is_quick()), "three times longer than {REDACTION_TIMEOUT:?}");
    let shown = redact::redact(&text, &address, [HELO_NAME]);
    assert!(shown.starts_with("[address]"), "{shown}");
    assert!(shown.chars().count() <= MAX_CHARS && !shown.contains(['@', '\n', '\r']), "{shown}");
    assert!(!shown.to_lowercase().contains(HELO_NAME), "{shown}");
    // A number cut off by the length limit may look like an address.
    let end = shown.rfind(' ').unwrap_or(shown.len());
    for part in shown[..end].split(|c: char| !(c.is_ascii_hexdigit() || ".:".contains(c))) {
        assert!(part.parse::<IpAddr>().is_err(), "{part} in {shown}");
    }
});
