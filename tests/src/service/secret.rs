//! Creates secrets, and lists the vars that contain the edge's secrets.

use std::{fs::File, io::Read as _};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// The secrets of the edge, by the names of their vars; each is a key ring.
pub const EDGE: [&str; 6] = [
    "SESSION_SECRETS",
    "API_KEY_SECRETS",
    "TICKET_SECRETS",
    "ADDRESS_SECRETS",
    "TOTP_SECRETS",
    "SCAN_SECRETS",
];

/// The secret of the operator `dev`.
pub const ADMIN: &str = "ADMIN_SECRET_DEV";

/// A key ring with one new 256-bit secret, as `kid:secret`.
pub fn key_ring() -> Result<String> {
    Ok(format!("dev1:{}", value()?))
}

/// A new 256-bit secret in base64url.
pub fn value() -> Result<String> {
    Ok(URL_SAFE_NO_PAD.encode(random::<32>()?))
}

/// A new password that satisfies all password rules.
pub fn password() -> Result<String> {
    Ok(format!("dev-{}", URL_SAFE_NO_PAD.encode(random::<18>()?)))
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("reading /dev/urandom")?;
    Ok(bytes)
}
