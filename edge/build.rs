//! Makes smaller what the Worker carries: a third of its size was text.

#![expect(
    clippy::expect_used,
    clippy::string_slice,
    reason = "runs at build time, where a panic is how it says that the files are wrong"
)]

use std::{env, fs, path::Path};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    for (source, target, pack) in [
        ("data/common-passwords.txt", "common-passwords.front", front_coded as fn(&str) -> String),
        ("openapi.json", "openapi.json", without_whitespace),
    ] {
        println!("cargo::rerun-if-changed={source}");
        let text = fs::read_to_string(source).expect("a file of this package");
        fs::write(out.join(target), pack(&text)).expect("cargo's own folder");
    }
    println!("cargo::rerun-if-changed=build.rs");
}

/// Sorted lines, each as the number of bytes it shares with the one before (`A` is none, `Z` 25) and the
/// rest: 8 KB less after gzip than the lines themselves.
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

/// JSON without the spaces and line ends between its tokens.
fn without_whitespace(json: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let keep = |c: &char| {
        let is_quote = *c == '"' && !is_escaped;
        is_escaped = in_string && *c == '\\' && !is_escaped;
        in_string ^= is_quote;
        in_string || is_quote || !c.is_ascii_whitespace()
    };
    json.chars().filter(keep).collect()
}
