//! Commands that build something inside a test.

use std::{env, path::PathBuf, process::Command, sync::OnceLock};

use anyhow::{Context as _, Error, Result, ensure};

use super::folder;

/// A value computed once per process; a failure is reported on every use.
pub type Once<T> = OnceLock<Result<T, String>>;

/// The value of `once`, computed by `make` on first use.
pub fn once<T: Clone>(once: &Once<T>, make: impl FnOnce() -> Result<T>) -> Result<T> {
    once.get_or_init(|| make().map_err(|error| format!("{error:#}"))).clone().map_err(Error::msg)
}

/// A command without the variables that cargo and make set for their children. Otherwise some build scripts
/// (ring's) see `CARGO_PKG_NAME` change, and compile again every other time.
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

/// The path of a workspace binary, built now unless it is up to date. The whole workspace
/// is named, because a single package would compile its dependencies with other features.
pub fn binary(name: &str) -> Result<PathBuf> {
    let output = command("cargo")
        .args(["build", "--quiet", "--locked", "--workspace", "--bin", name])
        .current_dir(folder::repository())
        .output()
        .context("running cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name} does not build:\n{errors}");
    Ok(folder::target().join("debug").join(name))
}
