//! The terms of a further key: its name, rights, daily limit and end.

use chrono::DateTime;
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::{
    ToSchema,
    openapi::{ArrayBuilder, Object, Schema, Type},
};

use crate::{
    credentials::{
        api_key::{Right, Rights},
        password::Password,
    },
    error::Error,
};

const NAME_CHARS_MAX: usize = 60;
const DAILY_LIMIT_MAX: u32 = 1_000_000_000;
/// 2100-01-01 in Unix seconds. A later expiry is a mistake.
const END_MAX: u64 = 4_102_444_800;

/// Body of `POST /keys`.
// A misspelt term would leave a key without its limit or end.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// 1 to 60 characters, no control characters.
    #[schema(min_length = 1, max_length = 60)]
    pub(super) name: String,
    #[schema(schema_with = rights_schema)]
    rights: Vec<String>,
    /// Daily limit of checks, within the account's allowance. A key with a limit can't have the right `scans`.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub(super) daily_limit: Option<u32>,
    /// When the key stops working.
    #[schema(value_type = Option<DateTime<Utc>>)]
    expires_at: Option<String>,
    #[schema(value_type = String)]
    pub(super) password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    pub(super) totp_code: Option<SecretString>,
}

pub(super) fn rights_schema() -> Schema {
    let names = Right::ALL.map(Right::as_str);
    let name = Object::builder().schema_type(Type::String).enum_values(Some(names)).build();
    ArrayBuilder::new()
        .items(name)
        .description(Some(
            "`checks`: check addresses and domains. `scans`: all of scans. `scans:read`: scans, results and events. `quota`: the \
             quota report. `guard`: decide on sign-ups. `webhooks`: events. `sandbox`: a test key, which checks and decides about \
             the sandbox alone, and never counts.",
        ))
        .build()
        .into()
}

pub(super) struct KeyTerms {
    pub(super) rights: Rights,
    pub(super) daily_limit: u32,
    pub(super) expires_at: u32,
}

impl KeyRequest {
    /// Checks everything but the credentials; `now` is in Unix seconds.
    pub(super) fn terms(&self, now: u64) -> Result<KeyTerms, Error> {
        let length = self.name.chars().count();
        if !(1..=NAME_CHARS_MAX).contains(&length)
            || self.name.trim().is_empty()
            || self.name.chars().any(char::is_control)
        {
            return Err(Error::invalid_key(
                "The name of a key has 1 to 60 characters and no control characters.",
            ));
        }
        let rights = self.rights.iter().try_fold(Rights::default(), |rights, name| {
            Right::parse(name).map(|right| rights.with(right))
        });
        let rights = rights.filter(|rights| *rights != Rights::default()).ok_or_else(|| {
            let names = Right::ALL.map(Right::as_str).join(", ");
            Error::invalid_key(format!("The 'rights' field must name at least one of: {names}."))
        })?;
        if rights.has(Right::Sandbox) && (!rights.is_test() || self.daily_limit.is_some()) {
            return Err(Error::invalid_key(
                "A test key has the right sandbox alone, and no daily limit.",
            ));
        }
        if self.daily_limit.is_some_and(|limit| !(1..=DAILY_LIMIT_MAX).contains(&limit)) {
            return Err(Error::invalid_key(
                "The 'daily_limit' field must be a whole number from 1 to 1000000000.",
            ));
        }
        if self.daily_limit.is_some() && rights.has(Right::Scans) {
            return Err(Error::invalid_key(
                "A key with a daily limit can't have the right scans: a scan isn't counted by address.",
            ));
        }
        let end = self.expires_at.as_deref().map(DateTime::parse_from_rfc3339).transpose();
        let end = end.map_err(|_| {
            Error::invalid_key(
                "The 'expires_at' field must be a time, such as 2027-01-31T00:00:00Z.",
            )
        })?;
        let end = end.map(|end| u64::try_from(end.timestamp()).unwrap_or_default());
        if end.is_some_and(|end| end <= now || end > END_MAX) {
            return Err(Error::invalid_key(
                "The 'expires_at' field must be a time in the future, before the year 2100.",
            ));
        }
        Ok(KeyTerms {
            rights,
            daily_limit: self.daily_limit.unwrap_or_default(),
            expires_at: end.and_then(|end| u32::try_from(end).ok()).unwrap_or_default(),
        })
    }
}
