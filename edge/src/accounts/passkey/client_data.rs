//! The client's half of a passkey ceremony (WebAuthn Level 3 §5.8.1).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

use crate::json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ceremony {
    Create,
    Get,
}

#[derive(Deserialize)]
struct ClientData {
    r#type: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

/// The challenge that a browser answered for the portal. `None` for another ceremony or origin, and if the page was
/// embedded in another site's page.
pub fn challenge_of(json: &[u8], ceremony: Ceremony, origin: &str) -> Option<Vec<u8>> {
    let data: ClientData = json::read(json).ok()?;
    let r#type = match ceremony {
        Ceremony::Create => "webauthn.create",
        Ceremony::Get => "webauthn.get",
    };
    let is_ours = data.r#type == r#type && data.origin == origin && !data.cross_origin;
    is_ours.then(|| URL_SAFE_NO_PAD.decode(data.challenge).ok())?
}

#[cfg(test)]
mod tests {
    use super::{Ceremony, challenge_of};

    #[test]
    fn the_ceremony_the_origin_and_the_page_have_to_be_ours() {
        let data = |r#type: &str, origin: &str, more: &str| {
            format!(r#"{{"type":"{type}","challenge":"AQID","origin":"{origin}"{more}}}"#)
        };
        let read = |json: &str| challenge_of(json.as_bytes(), Ceremony::Get, "https://a.example");
        let good = data("webauthn.get", "https://a.example", r#","crossOrigin":false,"x":[1]"#);
        assert_eq!(read(&good), Some(vec![1, 2, 3]));
        assert_eq!(challenge_of(good.as_bytes(), Ceremony::Create, "https://a.example"), None);
        for wrong in [
            data("webauthn.create", "https://a.example", ""),
            data("webauthn.get", "https://a.example.evil", ""),
            data("webauthn.get", "http://a.example", ""),
            data("webauthn.get", "https://a.example:8443", ""),
            data("webauthn.get", "https://a.example", r#","crossOrigin":true"#),
            data("webauthn.get", "https://a.example", r#","crossOrigin":"false""#),
            data("webauthn.get", "https://a.example", r#","origin":"https://a.example""#),
            good.replace("AQID", "AQID="),
            good.replace("AQID", "AQ+/"),
            format!("{good} "), // Trailing white space is JSON, and fine.
        ] {
            assert_eq!(read(&wrong).is_some(), wrong.ends_with(' '), "{wrong}");
        }
    }
}
