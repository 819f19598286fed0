//! Random bytes and identifiers from the runtime's cryptographic generator.

use crate::error::Error;

/// `N` bytes from the runtime's cryptographic generator.
pub fn bytes<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::internal(format!("random: {error}")))?;
    Ok(bytes)
}

/// A new 128-bit identifier in 32 hexadecimal digits.
pub fn identifier() -> Result<String, Error> {
    bytes::<16>().map(hex::encode)
}
