//! Commands that build something inside a test.

use std::{env, process::Command};

/// A command without what cargo and make tell their own children. Some build scripts
/// (ring's) would see `CARGO_PKG_NAME` change and compile again, every other time.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_EXE_"];
        let of_make = ["MAKEFLAGS", "MAKELEVEL", "MFLAGS"];
        if of_package.iter().any(|start| text.starts_with(start)) || of_make.contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command
}
