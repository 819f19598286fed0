//! WebAuthn's published test vectors (Level 3, "Test Vectors"). Nine of the fifteen are accepted, and no bit of
//! `packed-es256` can be changed unnoticed.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;

use super::{
    PasskeyId, RelyingParty, assertion,
    authenticator_data::{AuthenticatorData, attested},
    client_data::{Ceremony, challenge_of},
    public_key::PublicKey,
    registration,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// A registration and a sign-in with its credential, in hexadecimal digits.
#[derive(Deserialize)]
struct Vector {
    name: String,
    registration: RegistrationVector,
    authentication: AuthenticationVector,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RegistrationVector {
    challenge: String,
    #[serde(rename = "credential_id")]
    credential_id: String,
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    attestation_object: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticationVector {
    challenge: String,
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    authenticator_data: String,
    signature: String,
}

fn vectors() -> Vec<Vector> {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    hex::decode(hex).unwrap()
}

fn party() -> RelyingParty {
    RelyingParty::of("https://example.org")
}

/// With `ring`, where the Worker uses the runtime.
fn verifies(key: &PublicKey, presented: &[u8], signed: &[u8]) -> bool {
    let jwk: serde_json::Value = serde_json::from_str(key.as_jwk()).unwrap();
    let part = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let Some(signature) = key.signature(presented) else { return false };
    if jwk["kty"] == "EC" {
        let point = [vec![4], part("x"), part("y")].concat();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
        return key.verify(signed, &signature).is_ok();
    }
    let key = RsaPublicKeyComponents { n: part("n"), e: part("e") };
    key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &signature).is_ok()
}

/// The portal offers none of these algorithms.
const OTHER_ALGORITHMS: [&str; 4] =
    ["packed-es384", "packed-es512", "packed-eddsa", "packed-ed448"];
/// These vectors were created within another site's page.
const ELSEWHERE: [&str; 2] = ["none-es256-crossOrigin", "none-es256-topOrigin"];

#[test]
fn every_vector_of_an_offered_algorithm_passes_and_no_other_one() {
    let mut passed = Vec::new();
    for Vector { name, registration: made, authentication: used } in vectors() {
        let object = bytes(&made.attestation_object);
        let data = AuthenticatorData::parse(attested(&object).unwrap());
        if OTHER_ALGORITHMS.contains(&name.as_str()) {
            assert!(data.is_none(), "{name}");
            continue;
        }
        let credential = data.unwrap().credential.unwrap();
        assert_eq!(hex::encode(credential.id), made.credential_id, "{name}");

        let client_data = bytes(&used.client_data);
        let authenticator_data = bytes(&used.authenticator_data);
        let asserted = assertion(&party(), &client_data, &authenticator_data);
        if ELSEWHERE.contains(&name.as_str()) {
            assert!(asserted.is_none(), "{name}");
            continue;
        }
        let asserted = asserted.unwrap();
        assert_eq!(hex::encode(&asserted.challenge), used.challenge, "{name}");
        let signature = bytes(&used.signature);
        assert!(verifies(&credential.public_key, &signature, &asserted.signed), "{name}");
        let mut other = asserted.signed.clone();
        other[40] ^= 1;
        assert!(!verifies(&credential.public_key, &signature, &other), "{name}");

        let client_data = bytes(&made.client_data);
        let challenge = challenge_of(&client_data, Ceremony::Create, "https://example.org");
        assert_eq!(challenge.map(hex::encode), Some(made.challenge), "{name}");
        // `registration` also requires that the authenticator has verified its owner.
        let is_verified = object
            .windows(33)
            .any(|part| part[..4] == [0xbf, 0xab, 0xc3, 0x74] && part[32] & 4 != 0);
        let registered = registration(&party(), &client_data, &object);
        assert_eq!(registered.is_some(), is_verified, "{name}");
        if let Some(registered) = registered {
            assert_eq!(registered.public_key, credential.public_key, "{name}");
            assert_eq!(hex::encode(registered.credential_id), made.credential_id, "{name}");
        }
        passed.push(name);
    }
    println!("{} of 15 vectors passed: {}", passed.len(), passed.join(", "));
    assert_eq!(passed.len(), 9);
}

#[test]
fn nothing_that_is_cut_off_or_goes_on_is_read() {
    for Vector { name, registration: made, authentication: used } in vectors() {
        let object = bytes(&made.attestation_object);
        for end in 0..object.len() {
            assert!(attested(&object[..end]).is_none(), "{name} cut off at {end}");
        }
        assert!(attested(&[&object[..], &[0]].concat()).is_none(), "{name}");
        let data = attested(&object).unwrap();
        for end in 0..data.len() {
            assert!(AuthenticatorData::parse(&data[..end]).is_none(), "{name} cut off at {end}");
        }
        assert!(AuthenticatorData::parse(&[data, &[0]].concat()).is_none(), "{name}");
        let data = bytes(&used.authenticator_data);
        assert!(AuthenticatorData::parse(&data[..data.len() - 1]).is_none(), "{name}");
        assert!(AuthenticatorData::parse(&[&data[..], &[0]].concat()).is_none(), "{name}");
    }
}

/// Flips every bit of a registration's id and key and of a sign-in, one at a time. Each change must fail, or result in
/// another key or another id.
#[test]
fn no_bit_can_be_changed_unnoticed() {
    let Vector { registration: made, authentication: used, .. } =
        vectors().into_iter().find(|vector| vector.name == "packed-es256").unwrap();
    let (client_data, object) = (bytes(&made.client_data), bytes(&made.attestation_object));
    let start = object.windows(4).position(|part| part == [0xbf, 0xab, 0xc3, 0x74]).unwrap();
    let read = |object: &[u8]| {
        let data = AuthenticatorData::parse(attested(object)?)?;
        let credential =
            data.credential.filter(|_| *data.rp_id_hash == object[start..start + 32])?;
        Some((credential.id.to_vec(), credential.public_key))
    };
    let good = read(&object).unwrap();
    let (mut unread, mut other) = (0, 0);
    for bit in (start + 55) * 8..object.len() * 8 {
        let mut changed = object.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        match read(&changed) {
            None => unread += 1,
            Some(read) => {
                assert_ne!(read, good, "bit {bit}");
                other += 1;
            }
        }
    }
    println!("{unread} not read, {other} another credential");

    let (client_data_used, data) = (bytes(&used.client_data), bytes(&used.authenticator_data));
    let (_, key) = good;
    for bit in 0..(data.len() + client_data_used.len()) * 8 {
        let mut both = [data.clone(), client_data_used.clone()];
        let part = usize::from(bit / 8 >= data.len());
        let at = bit / 8 - part * data.len();
        both[part][at] ^= 1 << (bit % 8);
        let [data, client_data] = both;
        let passes = assertion(&party(), &client_data, &data)
            .is_some_and(|read| verifies(&key, &bytes(&used.signature), &read.signed));
        assert!(!passes, "bit {bit}");
    }
    assert!(
        registration(&RelyingParty::of("https://example.com"), &client_data, &object).is_none()
    );
}

#[test]
fn the_portal_s_url_names_the_party() {
    for (url, id, origin) in [
        ("https://portal.example", "portal.example", "https://portal.example"),
        ("https://Portal.Example:443/app", "portal.example", "https://portal.example"),
        ("http://localhost:8787", "localhost", "http://localhost:8787"),
        ("http://localhost:80", "localhost", "http://localhost"),
        ("https://a.example:80", "a.example", "https://a.example:80"),
    ] {
        let expected = RelyingParty { id: id.to_owned(), origin: origin.to_owned() };
        assert_eq!(RelyingParty::of(url), expected, "{url}");
    }
}

#[test]
fn an_id_reads_back_as_it_is_shown() {
    let id = PasskeyId::of(b"credential");
    assert_eq!(PasskeyId::parse_shown(&id.to_string()), Some(id.clone()));
    let upper = id.to_string().to_uppercase();
    for junk in ["", "pk_", id.as_str(), &upper, "key_0123456789abcdef"] {
        assert_eq!(PasskeyId::parse_shown(junk), None, "{junk}");
    }
}
