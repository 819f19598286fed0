//! Builds a client and checks the service's URL.

use std::{fmt, net::Ipv4Addr, sync::Arc, time::Duration};

use secrecy::{ExposeSecret as _, SecretString};
use ureq::{Agent, http::Uri};

use crate::{Client, client::OnWait, error::Error, retry::Wait};

const CONNECT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Builder {
    url: String,
    api_key: Option<SecretString>,
    timeout: Duration,
    on_wait: OnWait,
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Builder {
    pub(crate) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), api_key: None, timeout: TIMEOUT, on_wait: Arc::new(|_| ()) }
    }

    #[must_use]
    pub fn api_key(mut self, api_key: SecretString) -> Self {
        self.api_key = Some(api_key);
        self
    }

    /// Sets the time limit of a whole call, including its retries and pauses; 30 seconds by
    /// default.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets a function that is called before each wait.
    #[must_use]
    pub fn on_wait(mut self, on_wait: impl Fn(&Wait) + Send + Sync + 'static) -> Self {
        self.on_wait = Arc::new(on_wait);
        self
    }

    /// The errors show neither key nor URL.
    pub fn build(self) -> Result<Client, Error> {
        let url = checked(&self.url)?;
        if let Some(api_key) = &self.api_key {
            check_key(api_key.expose_secret())?;
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Following a redirect could send the key to another host.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("rcpt-client/", env!("CARGO_PKG_VERSION")));
        let agent = config.build().into();
        let Self { api_key, timeout, on_wait, .. } = self;
        Ok(Client { agent, url, api_key, timeout, on_wait, last_rate_limit: Arc::default() })
    }
}

/// Rejects a text that is no key, such as one read with the line break of its file.
fn check_key(api_key: &str) -> Result<(), Error> {
    let refused = |message: &str| {
        let message = message.to_owned();
        Err(Error::Unauthorised { code: None, message, details: Box::default() })
    };
    if api_key.is_empty() {
        return refused("The API key is empty.");
    }
    if !api_key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return refused("The API key has characters that no key has.");
    }
    Ok(())
}

fn is_here(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
}

/// The result has neither `/v1` nor a trailing slash. Only a URL on this machine may use http or omit the scheme: a key
/// mustn't leave the machine unencrypted.
fn checked(url: &str) -> Result<String, Error> {
    let with_scheme = match url.parse::<Uri>() {
        Ok(uri) if uri.scheme().is_none() && uri.host().is_some_and(is_here) => {
            format!("http://{url}")
        }
        _ if !url.contains("://") && url.split(['/', ':']).next().is_some_and(is_here) => {
            format!("http://{url}")
        }
        _ => url.to_owned(),
    };
    let url = with_scheme.as_str();
    // The text isn't shown: it's the key where both were mixed up.
    let wrong = |why: &str| Error::Address(format!("This can't be the service's address: {why}."));
    let uri: Uri = url.parse().map_err(|_| wrong("it's not a URL"))?;
    let host = uri.host().ok_or_else(|| wrong("it has no host name"))?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(Error::Address(
            "The service's address must not contain a user name or a password.".to_owned(),
        ));
    }
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if is_here(host) => {}
        Some(scheme @ ("http" | "ftp")) => {
            return Err(wrong(&format!("it must start with https://, not with {scheme}://")));
        }
        _ => return Err(wrong("it must start with https://")),
    }
    if uri.query().is_some() {
        return Err(wrong("it has a query"));
    }
    let url = url.trim_end_matches('/');
    Ok(url.strip_suffix("/v1").unwrap_or(url).to_owned())
}

#[cfg(test)]
mod tests {
    use crate::{Client, Error};

    #[test]
    fn a_key_goes_to_this_machine_or_encrypted_and_nowhere_else() {
        let url = |url: &str| Client::new(url, "rcpt_live_x").map(|client| client.url().to_owned());
        assert_eq!(url("https://rcpt.example.net/v1/").unwrap(), "https://rcpt.example.net");
        assert_eq!(url("http://127.0.0.1:8787").unwrap(), "http://127.0.0.1:8787");
        for (here, full) in [
            ("localhost:8787", "http://localhost:8787"),
            ("localhost:8787/v1/", "http://localhost:8787"),
            ("127.0.0.1:8787", "http://127.0.0.1:8787"),
            ("localhost", "http://localhost"),
            ("[::1]:8787", "http://[::1]:8787"),
        ] {
            assert_eq!(url(here).unwrap(), full);
        }
        for wrong in [
            "",
            "rcpt.example.net",
            "http://rcpt.example.net",
            "http://127.0.0.1.example.net",
            "ftp://127.0.0.1",
            "localhost.example.net:8787",
            "localhost@rcpt.example.net",
            "https://ann:secret@rcpt.example.net",
            "https://rcpt.example.net?x=1",
        ] {
            let error = url(wrong).unwrap_err();
            assert!(matches!(error, Error::Address(_)), "{wrong}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_is_no_key_is_an_error_at_once_that_does_not_show_it() {
        for key in
            ["", "rcpt_live_secret\n", " rcpt_live_secret", "rcpt_live_se\r\ncret", "secret-ü"]
        {
            let error = Client::new("https://rcpt.example.net", key).unwrap_err();
            assert!(matches!(error, Error::Unauthorised { .. }), "{key:?}: {error:?}");
            assert!(!format!("{error} {error:?}").contains("cret"), "{error:?}");
        }
        for url in ["rcpt_live_secret", "https://rcpt_live_secret\n", "rcpt_live_secret://x"] {
            let error = Client::new(url, "rcpt_live_x").unwrap_err();
            assert!(matches!(error, Error::Address(_)), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("cret"), "{error:?}");
        }
    }
}
