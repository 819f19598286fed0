//! The operators' keys: each person signs calls with a secret of their own.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Beginning of the names of the operators' secrets; the rest, in lower case, is the person's name.
pub const PREFIX: &str = "ADMIN_SECRET_";
const SECRET_BYTES_MIN: usize = 32;

/// The operators by name, each with the key schedule of their secret.
#[derive(Clone, Default)]
pub struct AdminKeys(Vec<(String, Hmac<Sha256>)>);

impl AdminKeys {
    /// Adds the operator of a secret's name (`ADMIN_SECRET_ANN`). The value is at least 32 bytes in unpadded base64url.
    ///
    /// # Errors
    /// The mistake, without a part of the value.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), &'static str> {
        let person = name.strip_prefix(PREFIX).unwrap_or_default();
        if !(1..=32).contains(&person.len()) {
            return Err("expected a person's name of 1 to 32 characters after ADMIN_SECRET_");
        }
        let secret = URL_SAFE_NO_PAD.decode(value.trim()).ok();
        let keyed = secret
            .filter(|secret| secret.len() >= SECRET_BYTES_MIN)
            .and_then(|secret| Hmac::new_from_slice(&secret).ok())
            .ok_or("expected unpadded base64url of at least 32 bytes")?;
        self.0.push((person.to_lowercase(), keyed));
        Ok(())
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The person who has signed the body: `v1,` and base64 of HMAC-SHA-256.
    pub fn signer(&self, body: &[u8], signature: &str) -> Option<&str> {
        let signature = STANDARD.decode(signature.strip_prefix("v1,")?).ok()?;
        let has_signed = |keyed: &Hmac<Sha256>| {
            keyed.clone().chain_update(body).verify_slice(&signature).is_ok()
        };
        self.0.iter().find(|(_, keyed)| has_signed(keyed)).map(|(person, _)| person.as_str())
    }
}

impl fmt::Debug for AdminKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(person, _)| person)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::AdminKeys;

    const ANN: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";
    const BOB: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI";
    /// `{}` signed with Bob's secret by another implementation (Python's hmac).
    const OF_BOB: &str = "v1,PDYh6JxZDyITe9rN1KJ09IOtQyzMK8olNhh+iYVlK+M=";

    #[test]
    fn the_signer_is_named_and_nobody_elses_body_or_secret_counts() {
        let mut keys = AdminKeys::default();
        assert!(keys.is_empty());
        keys.add("ADMIN_SECRET_ANN", ANN).unwrap();
        keys.add("ADMIN_SECRET_BOB", BOB).unwrap();
        assert_eq!(keys.signer(b"{}", OF_BOB), Some("bob"));
        for (body, signature) in
            [("{ }", OF_BOB), ("{}", OF_BOB.trim_start_matches("v1,")), ("{}", "v1,"), ("{}", "")]
        {
            assert_eq!(keys.signer(body.as_bytes(), signature), None, "{body} {signature}");
        }
        let mut alone = AdminKeys::default();
        alone.add("ADMIN_SECRET_ANN", ANN).unwrap();
        assert_eq!(alone.signer(b"{}", OF_BOB), None);
    }

    #[test]
    fn a_value_that_is_no_secret_is_refused_and_none_is_shown() {
        let mut keys = AdminKeys::default();
        for (name, value) in
            [("ADMIN_SECRET_", ANN), ("ADMIN_SECRET_ANN", "short"), ("ADMIN_SECRET_ANN", "a=b")]
        {
            let mistake = keys.add(name, value).unwrap_err();
            assert!(mistake.starts_with("expected") && !mistake.contains(value), "{mistake}");
        }
        assert!(keys.is_empty());
        keys.add("ADMIN_SECRET_ANN", ANN).unwrap();
        assert_eq!(format!("{keys:?}"), "[\"ann\"]");
    }
}
