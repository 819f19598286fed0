//! `rcpt sign-in`: asks for email, password and code, and stores the API key.

use std::io::{self, IsTerminal as _, Write as _};

use rcpt_client::{Client, Error};
use secrecy::{ExposeSecret as _, SecretString};

use crate::{
    args::{Service, SignIn, SignOut},
    credentials,
    failure::{Failure, Kind, RunExit},
    scan,
};

const LIMITED: [&str; 2] = ["missing_right", "test_key"];

pub fn run(service: &Service, args: &SignIn) -> Result<RunExit, Failure> {
    let client = credentials::anonymous(service)?;
    let (whose, api_key) = if args.key {
        let api_key = secret("API key: ")?;
        let whose = match with(&client, &api_key)?.quota() {
            Ok(quota) => format!("the key of an account on plan {}", quota.plan),
            // The key is genuine but may not read the quota; its other rights show when
            // it is used.
            Err(error) if error.code().is_some_and(|code| LIMITED.contains(&code)) => {
                "a named key, which may not see the account's quota".to_owned()
            }
            Err(error) => return Err(sign_in_failure(error)),
        };
        (whose, api_key)
    } else {
        by_password(&client, args.email.clone())?
    };
    let file = credentials::keep(client.url(), &api_key)?;
    anstream::eprintln!("Signed in with {whose}. The API key is in {}.", file.display());
    Ok(RunExit::Good)
}

fn with(client: &Client, api_key: &SecretString) -> Result<Client, Failure> {
    Ok(Client::builder(client.url()).api_key(api_key.clone()).build()?)
}

fn by_password(client: &Client, email: Option<String>) -> Result<(String, SecretString), Failure> {
    let email = email.map_or_else(|| line("Email: "), Ok)?;
    let password = secret("Password: ")?;
    let signed_in = match client.sign_in(&email, &password, None) {
        Err(Error::Unauthorised { code: Some(code), .. }) if code == "totp_required" => {
            let code = line("Code of your authenticator app, or a recovery code: ")?;
            client.sign_in(&email, &password, Some(&code))
        }
        other => other,
    };
    let signed_in = signed_in.map_err(sign_in_failure)?;
    // Only the key is stored, so the session isn't needed. If it can't be ended, it expires by
    // itself.
    let _ = client.sign_out(&signed_in.token);
    Ok((signed_in.email, signed_in.api_key))
}

/// The service's usual advice to sign in again is left out, because it doesn't help during sign-in.
fn sign_in_failure(error: Error) -> Failure {
    match error {
        Error::Unauthorised { message, .. } => Failure::new(Kind::Credentials, message),
        Error::Refused { message, .. } => Failure::new(Kind::Credentials, message),
        other => other.into(),
    }
}

fn line(question: &str) -> Result<String, Failure> {
    if io::stdin().is_terminal() {
        eprint!("{question}");
        let _ = io::stderr().flush();
    }
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    let line = line.trim();
    if read.is_err() || line.is_empty() {
        let message = format!("Nothing was given for \"{}\".", question.trim_end_matches(": "));
        return Err(Failure::new(Kind::CommandLine, message));
    }
    Ok(line.to_owned())
}

fn secret(question: &str) -> Result<SecretString, Failure> {
    if !io::stdin().is_terminal() {
        return line(question).map(SecretString::from);
    }
    let secret = rpassword::prompt_password(question).map(SecretString::from);
    let secret = secret.map_err(|error| Failure::new(Kind::CommandLine, error.to_string()))?;
    if secret.expose_secret().is_empty() {
        let message = format!("Nothing was given for \"{}\".", question.trim_end_matches(": "));
        return Err(Failure::new(Kind::CommandLine, message));
    }
    Ok(secret)
}

pub fn forget(service: &Service, args: &SignOut) -> Result<RunExit, Failure> {
    if args.end_key {
        credentials::client(service, credentials::TIMEOUT)?.end_key()?;
    }
    let was_there = credentials::forget()?;
    scan::forget()?;
    let message = if args.end_key {
        "The API key has ended. It works nowhere any more."
    } else if was_there {
        "The API key has been removed from this machine. It still works elsewhere."
    } else {
        "There was no API key on this machine."
    };
    anstream::eprintln!("{message}");
    Ok(RunExit::Good)
}
