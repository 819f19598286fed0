//! The authenticator's half of a passkey ceremony (WebAuthn Level 3 §6.1).

use super::{cbor::CborReader, public_key::PublicKey};

/// Greatest length of a credential id in bytes (WebAuthn Level 3 §4).
pub const CREDENTIAL_ID_MAX: usize = 1_023;

#[derive(Debug)]
pub struct AuthenticatorData<'a> {
    pub rp_id_hash: &'a [u8; 32],
    flags: u8,
    /// Number of signatures so far; always 0 if the authenticator doesn't count.
    pub counter: u32,
    pub credential: Option<AttestedCredential<'a>>,
}

#[derive(Debug)]
pub struct AttestedCredential<'a> {
    pub id: &'a [u8],
    pub public_key: PublicKey,
}

impl<'a> AuthenticatorData<'a> {
    /// Parses the whole input; `None` if a byte is missing or left over, or the form is wrong.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (rp_id_hash, rest) = bytes.split_first_chunk::<32>()?;
        let ([flags, counter @ ..], rest) = rest.split_first_chunk::<5>()?;
        let mut data = Self {
            rp_id_hash,
            flags: *flags,
            counter: u32::from_be_bytes(*counter),
            credential: None,
        };
        let mut reader = CborReader(rest);
        if data.has(0x40) {
            // The model of the authenticator, which isn't used.
            let (_, rest) = rest.split_first_chunk::<16>()?;
            let (length, rest) = rest.split_first_chunk::<2>()?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (id, rest) = rest.split_at_checked(length)?;
            if !(1..=CREDENTIAL_ID_MAX).contains(&length) {
                return None;
            }
            reader = CborReader(rest);
            let public_key = PublicKey::read(&mut reader)?;
            data.credential = Some(AttestedCredential { id, public_key });
        }
        if data.has(0x80) {
            let mut extensions = reader;
            extensions.map()?;
            reader.skip()?;
        }
        // A credential that isn't eligible for backup can't be backed up.
        let is_sound = reader.0.is_empty() && (data.is_backup_eligible() || !data.has(0x10));
        is_sound.then_some(data)
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub fn is_present(&self) -> bool {
        self.has(0x01)
    }

    pub fn is_verified(&self) -> bool {
        self.has(0x04)
    }

    /// True if the passkey can be on several devices, which never changes.
    pub fn is_backup_eligible(&self) -> bool {
        self.has(0x08)
    }
}

/// The authenticator data within an attestation object. The attestation statement is skipped: it identifies the
/// authenticator's model, and every model is accepted.
pub fn attested(object: &[u8]) -> Option<&[u8]> {
    let mut reader = CborReader(object);
    let pairs = reader.map()?;
    let (mut format, mut statement, mut data) = (None, None, None);
    for _ in 0..pairs {
        let old = match reader.text()? {
            "fmt" => format.replace(reader.text()?).is_some(),
            "attStmt" => statement.replace(reader.skip()?).is_some(),
            "authData" => data.replace(reader.bytes()?).is_some(),
            _ => return None,
        };
        if old {
            return None;
        }
    }
    let is_all = reader.0.is_empty() && format.is_some() && statement.is_some();
    data.filter(|_| is_all)
}
