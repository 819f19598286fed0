//! Writes the API description without its whitespace, which the Worker would otherwise carry.

#![expect(
    clippy::expect_used,
    reason = "runs at build time, where a panic says which file is wrong"
)]

use std::{env, fs, path::Path};

const SOURCE: &str = "openapi.json";

fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read_to_string(SOURCE).expect("a file of this package");
    let document: serde_json::Value = serde_json::from_str(&text).expect("a JSON document");
    let out = env::var_os("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join(SOURCE), document.to_string()).expect("cargo's own folder");
}
