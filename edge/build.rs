//! Makes smaller what the Worker carries: a third of its size is text.

#![expect(
    clippy::expect_used,
    clippy::string_slice,
    reason = "runs at build time, where a panic says which file is wrong"
)]

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    pack("data/common-passwords.txt", "common-passwords.front", front_coded);
    pack("openapi.json", "openapi.json", without_whitespace);
}

fn pack(source: &str, target: &str, packed: fn(&str) -> String) {
    println!("cargo::rerun-if-changed={source}");
    let text = fs::read_to_string(source).expect("a file of this package");
    let out = env::var_os("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join(target), packed(&text)).expect("cargo's own folder");
}

/// Sorted lines, each as the number of bytes it shares with the one before (`A` is none, `Z` 25) and the
/// rest. With the lines themselves the Worker would be 8 KB larger after gzip, which is above its limit.
fn front_coded(lines: &str) -> String {
    let mut packed = String::new();
    let mut before = "";
    for line in lines.lines() {
        assert!(line.is_ascii() && before < line, "{line} does not follow {before}");
        let shared = line.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count().min(25);
        packed.push(char::from(b'A' + u8::try_from(shared).expect("at most 25")));
        packed.push_str(&line[shared..]);
        packed.push('\n');
        before = line;
    }
    packed
}

fn without_whitespace(json: &str) -> String {
    let document: serde_json::Value = serde_json::from_str(json).expect("a JSON document");
    document.to_string()
}
