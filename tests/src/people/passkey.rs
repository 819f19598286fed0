//! A person's device with a passkey: creates it and signs with it as WebAuthn Level 3 describes. Written independently
//! of the edge.

use std::{
    fmt,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const SYNCABLE: u8 = 0x08;
const ATTESTED: u8 = 0x40;

enum PrivateKey {
    P256(Box<EcdsaKeyPair>),
    Rsa(Box<RsaKeyPair>),
}

/// A device that holds one passkey.
pub struct PasskeyDevice {
    key: PrivateKey,
    pub credential_id: Vec<u8>,
    user_handle: Value,
    pub rp_id: String,
    pub origin: String,
    pub flags: u8,
    /// Number of signatures so far; `None` for a device that doesn't count, as with synced passkeys.
    pub counter: Option<AtomicU32>,
}

impl fmt::Debug for PasskeyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PasskeyDevice of {} for {}", self.user_handle, self.rp_id)
    }
}

/// The head of a CBOR item: its major type and argument.
fn head(major: u8, argument: usize) -> Vec<u8> {
    let major = major << 5;
    match argument {
        0..24 => vec![major | argument as u8],
        24..256 => vec![major | 24, argument as u8],
        _ => [&[major | 25][..], &(argument as u16).to_be_bytes()].concat(),
    }
}

fn bytes(content: &[u8]) -> Vec<u8> {
    [head(2, content.len()), content.to_vec()].concat()
}

fn text(content: &str) -> Vec<u8> {
    [head(3, content.len()), content.as_bytes().to_vec()].concat()
}

fn base64url(bytes: &[u8]) -> Value {
    json!(URL_SAFE_NO_PAD.encode(bytes))
}

impl PrivateKey {
    /// A new key for ECDSA over P-256 with SHA-256.
    fn p256() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
        let pkcs8 = pkcs8.expect("a key");
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random);
        Self::P256(Box::new(key.expect("a key")))
    }

    /// An RSA key of 2,048 bits, always the same key.
    fn rsa() -> Self {
        let pkcs8 = include_bytes!("passkey-rsa.pk8");
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(pkcs8).expect("a key")))
    }

    /// The public key in COSE form.
    fn cose(&self) -> Vec<u8> {
        match self {
            Self::P256(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = point[1..].split_at(32);
                [&[0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21][..], &bytes(x), &[0x22], &bytes(y)].concat()
            }
            Self::Rsa(key) => {
                let PublicKeyComponents { n, e }: PublicKeyComponents<Vec<u8>> =
                    key.public().into();
                let label = [0xa4, 1, 3, 3, 0x39, 0x01, 0x00, 0x20];
                [&label[..], &bytes(&n), &[0x21], &bytes(&e)].concat()
            }
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(key) => key.sign(&random, message).expect("a signature").as_ref().to_vec(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).expect("a signature");
                signature
            }
        }
    }
}

impl PasskeyDevice {
    /// Creates a device whose passkey signs with ECDSA, verifies its owner and counts signatures; returns it with the
    /// browser's answer.
    pub fn create(options: &Value, origin: &str) -> (Self, Value) {
        Self::with_key(PrivateKey::p256(), options, origin)
    }

    /// Like [`Self::create`], with RSA.
    pub fn create_rsa(options: &Value, origin: &str) -> (Self, Value) {
        Self::with_key(PrivateKey::rsa(), options, origin)
    }

    fn with_key(key: PrivateKey, options: &Value, origin: &str) -> (Self, Value) {
        let device = Self {
            key,
            credential_id: rand::random::<[u8; 20]>().to_vec(),
            user_handle: options["user"]["id"].clone(),
            rp_id: options["rp"]["id"].as_str().expect("an RP id").to_owned(),
            origin: origin.to_owned(),
            flags: PRESENT | VERIFIED,
            counter: Some(AtomicU32::new(0)),
        };
        let credential = device.attest(&options["challenge"]);
        (device, credential)
    }

    /// Makes the passkey one that is synced to several devices and doesn't count signatures.
    #[must_use]
    pub fn synced(mut self) -> Self {
        self.flags |= SYNCABLE;
        self.counter = None;
        self
    }

    /// Sets whether the device verifies its owner.
    pub const fn verify_owner(&mut self, verifies: bool) {
        self.flags = if verifies { self.flags | VERIFIED } else { self.flags & !VERIFIED };
    }

    fn client_data(&self, ceremony: &str, challenge: &Value) -> Vec<u8> {
        let data = json!({
            "type": ceremony, "challenge": challenge, "origin": self.origin, "crossOrigin": false,
        });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, flags: u8) -> Vec<u8> {
        let counter = self.counter.as_ref().map_or(0, |counter| counter.load(Relaxed));
        [&Sha256::digest(&self.rp_id)[..], &[flags], &counter.to_be_bytes()].concat()
    }

    /// The browser's answer for a new passkey of this device.
    pub fn attest(&self, challenge: &Value) -> Value {
        let length = u16::try_from(self.credential_id.len()).expect("a credential id");
        let data = [
            self.authenticator_data(self.flags | ATTESTED),
            vec![0; 16],
            length.to_be_bytes().to_vec(),
            self.credential_id.clone(),
            self.key.cose(),
        ];
        let object = [
            head(5, 3),
            text("fmt"),
            text("none"),
            text("attStmt"),
            head(5, 0),
            text("authData"),
            bytes(&data.concat()),
        ];
        json!({
            "id": base64url(&self.credential_id), "rawId": base64url(&self.credential_id),
            "type": "public-key", "clientExtensionResults": {}, "authenticatorAttachment": "platform",
            "response": {
                "clientDataJSON": base64url(&self.client_data("webauthn.create", challenge)),
                "attestationObject": base64url(&object.concat()),
                "transports": ["internal"],
            },
        })
    }

    /// Returns the browser's answer for a sign-in, and counts the signature.
    pub fn sign(&self, options: &Value) -> Value {
        if let Some(counter) = &self.counter {
            counter.fetch_add(1, Relaxed);
        }
        let client_data = self.client_data("webauthn.get", &options["challenge"]);
        let data = self.authenticator_data(self.flags);
        let signature = self.key.sign(&[&data[..], &Sha256::digest(&client_data)].concat());
        json!({
            "id": base64url(&self.credential_id), "type": "public-key", "clientExtensionResults": {},
            "response": {
                "clientDataJSON": base64url(&client_data), "authenticatorData": base64url(&data),
                "signature": base64url(&signature), "userHandle": self.user_handle,
            },
        })
    }
}
