//! A server's text as shown contains no address, no IP address and none of our names, and in the
//! log no domain.
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
        let _ = redact::redact_for_log(&text, &address, [HELO_NAME]);
        began.elapsed() < REDACTION_TIMEOUT
    };
    assert!((0..3).any(|_| is_quick()), "three times longer than {REDACTION_TIMEOUT:?}");
    let shown = redact::redact(&text, &address, [HELO_NAME]);
    let logged = redact::redact_for_log(&text, &address, [HELO_NAME]);
    assert!(shown.starts_with("[address]"), "{shown}");
    // A domain such as `a` also occurs in the placeholder, which the length limit may cut off.
    let names_domain = |word: &str| {
        !"[domain]".starts_with(word) && word.to_lowercase().contains(address.domain())
    };
    assert!(!logged.split(' ').any(names_domain), "{logged}");
    for text in [&shown, &logged] {
        assert!(text.chars().count() <= MAX_CHARS && !text.contains(['@', '\n', '\r']), "{text}");
        assert!(!text.to_lowercase().contains(HELO_NAME), "{text}");
        // A number cut off by the length limit may look like an address.
        let end = text.rfind(' ').unwrap_or(text.len());
        for part in text[..end].split(|c: char| !(c.is_ascii_hexdigit() || ".:".contains(c))) {
            assert!(part.parse::<IpAddr>().is_err(), "{part} in {text}");
        }
    }
});
