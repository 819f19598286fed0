//! An address that is read has a stable normal form and is one line on the wire; what isn't one has a problem, and a
//! suggestion is an address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rcpt_shared::{Address, read};
use rcpt_smtp::Command;

fuzz_target!(|text: &str| {
    let address = match read(text) {
        Ok(address) => address,
        Err(malformed) => {
            assert!(malformed.problem().ends_with('.'));
            assert!(malformed.suggestion().is_none_or(|text| Address::parse(&text).is_ok()));
            assert!(malformed.domains().iter().all(|domain| domain.is_ascii()));
            return;
        }
    };
    let again = Address::parse(address.normal()).expect("a normal form is an address");
    assert_eq!(again.normal(), address.normal());
    let mut line = Vec::new();
    Command::Rcpt(address.normal()).encode(&mut line).expect("an address fits a command line");
    let inner = line.strip_suffix(b"\r\n").expect("one line");
    assert!(!inner.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
});
