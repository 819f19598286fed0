//! Passkeys (WebAuthn Level 3): checks what a browser sends, except for the signature, which the runtime verifies.

pub mod authenticator_data;
mod cbor;
pub mod challenge;
pub mod client_data;
pub mod public_key;

use std::fmt;

use sha2::{Digest as _, Sha256};

use self::{authenticator_data::AuthenticatorData, client_data::Ceremony, public_key::PublicKey};

#[derive(Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// The portal's host, the RP id. Browsers offer a passkey to the host for which it was created, and to its
    /// subdomains.
    pub id: String,
    pub origin: String,
}

impl RelyingParty {
    pub fn of(portal_url: &str) -> Self {
        let url = portal_url.to_ascii_lowercase();
        let (scheme, rest) = url.split_once("://").unwrap_or(("https", &url));
        let authority = rest.split('/').next().unwrap_or_default();
        // Browsers omit the scheme's default port.
        let implied = if scheme == "http" { ":80" } else { ":443" };
        let authority = authority.strip_suffix(implied).unwrap_or(authority);
        let id = authority.split(':').next().unwrap_or_default().to_owned();
        Self { id, origin: format!("{scheme}://{authority}") }
    }

    fn is_named_in(&self, data: &AuthenticatorData<'_>) -> bool {
        Sha256::digest(&self.id).as_slice() == data.rp_id_hash
    }
}

/// Identifies a passkey of an account: the first 128 bits of the hash of its credential's id, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyId(String);

impl PasskeyId {
    pub fn of(credential_id: &[u8]) -> Self {
        let mut name = hex::encode(Sha256::digest(credential_id));
        name.truncate(32);
        Self(name)
    }

    pub fn parse_shown(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("pk_")?;
        let is_id = digits.len() == 32
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_id.then(|| Self(digits.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PasskeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pk_{}", self.0)
    }
}

#[derive(Debug)]
pub struct CreatedPasskey {
    pub challenge: Vec<u8>,
    pub credential_id: Vec<u8>,
    pub public_key: PublicKey,
    pub counter: u32,
    pub is_backup_eligible: bool,
}

/// Checks a new passkey except for its challenge. Every kind of attestation is accepted and none is verified.
pub fn registration(
    party: &RelyingParty,
    client_data: &[u8],
    attestation_object: &[u8],
) -> Option<CreatedPasskey> {
    let challenge = client_data::challenge_of(client_data, Ceremony::Create, &party.origin)?;
    let data = AuthenticatorData::parse(authenticator_data::attested(attestation_object)?)?;
    let is_good = party.is_named_in(&data) && data.is_present();
    let (counter, is_backup_eligible) = (data.counter, data.is_backup_eligible());
    // Without verification of the owner, anyone who finds the device could use the key.
    let credential = data.is_verified().then_some(data.credential).flatten()?;
    is_good.then(|| CreatedPasskey {
        challenge,
        credential_id: credential.id.to_vec(),
        public_key: credential.public_key,
        counter,
        is_backup_eligible,
    })
}

#[derive(Debug)]
pub struct Assertion {
    pub challenge: Vec<u8>,
    pub counter: u32,
    pub is_verified: bool,
    pub is_backup_eligible: bool,
    pub signed: Vec<u8>,
}

/// Checks a sign-in except for its challenge and its signature.
pub fn assertion(
    party: &RelyingParty,
    client_data: &[u8],
    authenticator_data: &[u8],
) -> Option<Assertion> {
    let challenge = client_data::challenge_of(client_data, Ceremony::Get, &party.origin)?;
    let data = AuthenticatorData::parse(authenticator_data)?;
    let is_good = party.is_named_in(&data) && data.is_present();
    is_good.then(|| Assertion {
        challenge,
        counter: data.counter,
        is_verified: data.is_verified(),
        is_backup_eligible: data.is_backup_eligible(),
        signed: [authenticator_data, &Sha256::digest(client_data)].concat(),
    })
}

#[cfg(test)]
mod tests;
