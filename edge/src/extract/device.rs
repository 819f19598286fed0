//! Description of a session for its owner: browser, operating system and country, nothing more precise.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, header, request::Parts},
};

/// Header with the client's country (ISO 3166), set by Cloudflare.
pub const COUNTRY_HEADER: HeaderName = HeaderName::from_static("cf-ipcountry");

#[derive(Debug, Clone, Default)]
pub struct Device {
    /// For example "Firefox on Linux".
    pub browser: String,
    pub country: String,
}

impl<S: Sync> FromRequestParts<S> for Device {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

impl Device {
    pub(super) fn of(parts: &Parts) -> Self {
        let text = |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let agent = text(header::USER_AGENT).unwrap_or_default();
        let country = text(COUNTRY_HEADER).unwrap_or_default();
        let is_code = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_uppercase());
        Self {
            browser: browser_of(agent),
            country: if is_code { country.to_owned() } else { String::new() },
        }
    }
}

/// Browser and system are each the first of their list that the header contains: browsers also name their predecessors.
fn browser_of(agent: &str) -> String {
    let first = |names: &[(&str, &'static str)]| {
        names.iter().find(|(mark, _)| agent.contains(mark)).map(|(_, name)| *name)
    };
    let browser = first(&[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("FxiOS/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("CriOS/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ]);
    let system = first(&[
        ("Android", "Android"),
        ("iPhone", "iOS"),
        ("iPad", "iOS"),
        ("Windows", "Windows"),
        ("Mac OS X", "macOS"),
        ("CrOS", "ChromeOS"),
        ("Linux", "Linux"),
    ]);
    let browser = browser.unwrap_or("another client");
    system.map_or_else(|| browser.to_owned(), |system| format!("{browser} on {system}"))
}

#[cfg(test)]
mod tests {
    use super::browser_of;

    #[test]
    fn browsers_and_systems_are_told_apart() {
        for (agent, shown) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/139.0 Safari/537.36 Edg/139.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
                "Safari on iOS",
            ),
            ("curl/8.14", "curl"),
            ("<script>", "another client"),
            ("", "another client"),
        ] {
            assert_eq!(browser_of(agent), shown, "{agent}");
        }
    }
}
