//! Delivery of events to a receiver on this machine, signed with a secret that only this machine
//! has.

use std::{
    env, fs, io,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rcpt_client::sign_webhook;
use ureq::{Agent, http::Uri};

use crate::{
    credentials,
    failure::{Failure, Kind},
};

/// Time limit of a delivery, the same as the service's.
const TIMEOUT: Duration = Duration::from_secs(5);
const FILE: &str = "webhook-secret";

#[derive(Debug)]
pub struct Receiver {
    agent: Agent,
    url: String,
    pub secret: String,
}

impl Receiver {
    pub fn new(url: &str) -> Result<Self, Failure> {
        let is_http = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
        if !url.parse().is_ok_and(|uri: Uri| is_http(&uri) && uri.host().is_some()) {
            let message = format!("{url} isn't a URL such as http://localhost:3000/hook.");
            return Err(Failure::new(Kind::CommandLine, message));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(TIMEOUT))
            .user_agent(concat!("rcpt-listen/", env!("CARGO_PKG_VERSION")));
        Ok(Self { agent: config.build().into(), url: url.to_owned(), secret: secret()? })
    }

    pub fn deliver(&self, id: &str, body: &str, now: SystemTime) -> Result<u16, Failure> {
        let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signature = sign_webhook(id, seconds, body.as_bytes(), &self.secret)
            .map_err(|error| Failure::new(Kind::Credentials, error.to_string()))?;
        let request = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", seconds.to_string())
            .header("webhook-signature", signature);
        let answer = request.send(body).map_err(|error| {
            let message = match error {
                ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    format!("Nothing listens at {}. Start your receiver first.", self.url)
                }
                error => format!("{} can't be reached: {error}.", self.url),
            };
            Failure::new(Kind::Network, message)
        })?;
        Ok(answer.status().as_u16())
    }
}

/// Created once on a machine, so that the receiver's setting stays valid.
fn secret() -> Result<String, Failure> {
    if let Some(secret) = env::var("RCPT_WEBHOOK_SECRET").ok().filter(|secret| !secret.is_empty()) {
        return Ok(secret);
    }
    let file = credentials::file(FILE)?;
    match fs::read_to_string(&file) {
        Ok(secret) if secret.starts_with("whsec_") => return Ok(secret.trim().to_owned()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::new(
                Kind::Credentials,
                format!("{} can't be read: {error}.", file.display()),
            ));
        }
        _ => {}
    }
    let secret = format!("whsec_{}", BASE64.encode(rand::random::<[u8; 24]>()));
    credentials::write_private(&file, format!("{secret}\n").as_bytes())?;
    Ok(secret)
}

/// The current time, for signing events.
#[expect(clippy::disallowed_methods, reason = "the command runs natively")]
pub fn now() -> SystemTime {
    SystemTime::now()
}
