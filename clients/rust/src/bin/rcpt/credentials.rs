//! The API key and its service: from options, the environment, or the file written by `rcpt
//! sign-in`.

use std::{
    env, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use etcetera::{BaseStrategy as _, choose_base_strategy};
use rcpt_client::{Builder, Client};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::{
    args::Service,
    failure::{Failure, Kind},
};

const BUILT_IN: Option<&str> = option_env!("RCPT_DEFAULT_URL");

pub const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct StoredCredentials {
    url: String,
    api_key: SecretString,
}

/// The key is a plain string only here.
#[derive(Serialize)]
struct SerialisedCredentials<'a> {
    url: &'a str,
    api_key: &'a str,
}

pub fn client(service: &Service, timeout: Duration) -> Result<Client, Failure> {
    let credentials = stored_credentials()?;
    let builder = builder(service, credentials.as_ref(), timeout)?;
    // A wrong URL is reported before a missing key.
    builder.clone().build()?;
    // As it is: a line break at its end is a mistake that any other program would stumble over.
    if let Some(api_key) = env::var_os("RCPT_API_KEY").filter(|key| !key.is_empty()) {
        return Ok(builder.api_key(api_key.to_string_lossy().into_owned().into()).build()?);
    }
    let Some(credentials) = credentials else {
        return Err(Failure::new(
            Kind::Credentials,
            "There's no API key on this machine yet. Run `rcpt sign-in`, or set RCPT_API_KEY.",
        ));
    };
    let client = builder.api_key(credentials.api_key).build()?;
    // A key is only sent to the service it belongs to.
    if client.url() == credentials.url {
        return Ok(client);
    }
    let message = format!(
        "You've signed in at {}, not at {}. Run `rcpt sign-in --url {1}`, or set RCPT_API_KEY.",
        credentials.url,
        client.url()
    );
    Err(Failure::new(Kind::Credentials, message))
}

pub fn anonymous(service: &Service) -> Result<Client, Failure> {
    Ok(builder(service, stored_credentials().ok().flatten().as_ref(), TIMEOUT)?.build()?)
}

fn builder(
    service: &Service,
    stored: Option<&StoredCredentials>,
    timeout: Duration,
) -> Result<Builder, Failure> {
    let url = service.url.clone().or_else(|| variable("RCPT_URL"));
    let url = url.or_else(|| stored.map(|stored| stored.url.clone()));
    let url = url.or_else(|| BUILT_IN.map(str::to_owned)).ok_or_else(|| {
        let message = "Which service? Set its address with --url or RCPT_URL.";
        Failure::new(Kind::CommandLine, message)
    })?;
    let timeout = service.timeout.unwrap_or(timeout);
    Ok(Client::builder(&url).timeout(timeout).on_wait(|wait| {
        let why = wait.why.trim_end_matches('.');
        let seconds = wait.pause.as_secs_f64().ceil();
        anstream::eprintln!("rcpt: {why}. Trying again in {seconds} s.");
    }))
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

const FILE: &str = "credentials.json";

pub fn file(name: &str) -> Result<PathBuf, Failure> {
    let strategy = choose_base_strategy().map_err(|_| {
        let message =
            "Your home folder isn't known, so there's no place for the key. Set RCPT_API_KEY.";
        Failure::new(Kind::Credentials, message)
    })?;
    Ok(strategy.config_dir().join("rcpt").join(name))
}

fn stored_credentials() -> Result<Option<StoredCredentials>, Failure> {
    let Ok(file) = file(FILE) else { return Ok(None) };
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("{} can't be read: {error}.", file.display());
            return Err(Failure::new(Kind::Credentials, message));
        }
    };
    warn_if_open(&file);
    let credentials = serde_json::from_slice(&text).map_err(|_| {
        let message = format!("{} isn't what `rcpt sign-in` writes. Run it again.", file.display());
        Failure::new(Kind::Credentials, message)
    })?;
    Ok(Some(credentials))
}

#[cfg(unix)]
fn warn_if_open(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).map_or(0, |data| data.permissions().mode());
    if mode & 0o077 != 0 {
        let name = file.display();
        anstream::eprintln!("rcpt: others can read {name}. Run: chmod 600 {name}");
    }
}

#[cfg(not(unix))]
fn warn_if_open(_: &Path) {}

pub fn keep(url: &str, api_key: &SecretString) -> Result<PathBuf, Failure> {
    let file = file(FILE)?;
    let serialised = SerialisedCredentials { url, api_key: api_key.expose_secret() };
    let text = serde_json::to_string_pretty(&serialised).unwrap_or_default();
    write_private(&file, format!("{text}\n").as_bytes())?;
    Ok(file)
}

/// Completely or not at all, readable by its owner only.
pub fn write_private(file: &Path, content: &[u8]) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        // `tempfile` creates files with mode 0600.
        let mut new = NamedTempFile::new_in(folder)?;
        new.write_all(content)?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    };
    write().map_err(|error| Failure::of_output(file.display(), &error))
}

pub fn forget() -> Result<bool, Failure> {
    let file = file(FILE)?;
    match fs::remove_file(&file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::of_output(file.display(), &error)),
    }
}
