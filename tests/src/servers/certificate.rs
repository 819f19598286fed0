//! Self-signed certificates: mail servers don't verify each other (RFC 7435).

use std::{path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};

/// Writes `key.pem` and `certificate.pem` for `name` into `folder`.
pub fn write(folder: &Path, name: &str) -> Result<()> {
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"])
        .args(["-subj", &format!("/CN={name}"), "-keyout"])
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("certificate.pem"))
        .output()
        .context("running openssl")?;
    ensure!(output.status.success(), "openssl: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
