//! A parsed address has a stable normal form and is one line on the wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rcpt_shared::{Address, reduce};
use rcpt_smtp::Command;

fuzz_target!(|text: &str| {
    let Ok(address) = reduce(text).map(Address::parse).unwrap_or_else(|_| Address::parse(text))
    else {
        return;
    };
    let again = Address::parse(address.normal()).expect("a normal form is an address");
    assert_eq!(again.normal(), address.normal());
    let mut line = Vec::new();
    Command::Rcpt(address.normal()).encode(&mut line).expect("an address fits a command line");
    let inner = line.strip_suffix(b"\r\n").expect("one line");
    assert!(!inner.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
});
