//! Creates secrets, and names them as the edge reads them.

use std::{fs::File, io::Read as _};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::DateTime;
use rcpt_shared::KeyRing;

use super::clock;

/// The rings of the edge; a value's name begins with its ring's.
pub const RINGS: [&str; 6] = [
    "SESSION_SECRET",
    "API_KEY_SECRET",
    "TICKET_SECRET",
    "ADDRESS_SECRET",
    "TOTP_SECRET",
    "SCAN_SECRET",
];

/// The secret of the operator `dev`.
pub const ADMIN: &str = "ADMIN_SECRET_DEV";

/// Returns the name of a ring's value that was made at `made` (Unix seconds).
///
/// # Panics
/// If the value isn't a secret, or the time can't be represented.
pub fn name(ring: &str, made: u64, value: &str) -> String {
    let keys = KeyRing::parse(value).expect("a secret");
    let made = i64::try_from(made).ok().and_then(|made| DateTime::from_timestamp(made, 0));
    format!("{ring}_{}_{}", made.expect("a near day").format("%Y%m%dT%H%M"), keys.signing().0)
}

/// Returns names and values of a ring, given as values with commas between: all are hours old, and the first signs.
pub fn vars(ring: &str, values: &str) -> Vec<(String, String)> {
    let ages = (1..).map(|hours| clock::now() - hours * 3_600);
    let values = ages.zip(values.split(','));
    values.map(|(made, value)| (name(ring, made, value), value.to_owned())).collect()
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
