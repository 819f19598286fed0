//! What the body of an error looks like (docs/interface.md, Errors).

use std::borrow::Cow;

use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{Object, Schema, Type},
};

use super::limits::{LimitDetail, LimitError, LimitName};

/// The three shapes.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Body {
    Plain(PlainError),
    Validation(ValidationError),
    Limit(LimitError),
}

impl Body {
    /// The allowance that a limit is of, as `RateLimit` calls it.
    pub(super) const fn allowance(&self) -> &'static str {
        match self {
            Self::Limit(LimitError {
                detail: LimitDetail { limit: LimitName::Scan, .. }, ..
            }) => "scans",
            _ => "daily",
        }
    }
}

/// Most errors: `detail` for people, `code` for programs.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlainError {
    /// What went wrong, for people. It may be reworded.
    pub detail: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = code_schema)]
    pub code: Option<&'static str>,
}

/// A 400 or 401 of email validation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ValidationError {
    pub detail: ValidationDetail,
}

/// `detail` of a 400 or 401 of email validation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ValidationDetail {
    pub error: Cow<'static, str>,
}

/// Every `code` of a [`PlainError`].
const CODES: [&str; 38] = [
    "invalid_body",
    "invalid_email",
    "undeliverable_email",
    "invalid_password",
    "invalid_display_name",
    "invalid_token",
    "missing_credentials",
    "invalid_api_key",
    "invalid_session",
    "invalid_credentials",
    "totp_required",
    "totp_invalid",
    "deactivated",
    "key_deactivated",
    "wrong_password",
    "no_such_session",
    "no_such_scan",
    "invalid_name",
    "invalid_scan",
    "invalid_query",
    "scan_too_large",
    "too_many_scans",
    "no_such_part",
    "part_size",
    "part_conflict",
    "scan_ended",
    "invalid_idempotency_key",
    "idempotency_key_in_use",
    "idempotency_key_reused",
    "invalid_webhook",
    "webhook_not_public",
    "no_webhook",
    "totp_already_on",
    "totp_not_on",
    "totp_not_set_up",
    "throttled",
    "internal",
    "unavailable",
];

fn code_schema() -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some(
            "What went wrong, for programs. It stays the same; new ones may be added.",
        ))
        .enum_values(Some(CODES))
        .build()
        .into()
}

#[cfg(test)]
mod tests {
    use super::CODES;

    #[test]
    fn the_described_codes_are_those_that_errors_have() {
        let source = concat!(include_str!("../error.rs"), include_str!("scans.rs"));
        let quoted = |call: &str| call.split('"').nth(1).map(str::to_owned);
        let calls = source.split("Self::account(").chain(source.split("Self::plain("));
        // The first text of a call is its code, unless the call ends before it.
        let mut used: Vec<_> = calls
            .skip(1)
            .filter_map(|rest| quoted(rest.split_inclusive(')').next()?))
            .filter(|text| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
            .collect();
        used.sort();
        used.dedup();
        let mut described = CODES.map(str::to_owned).to_vec();
        described.sort();
        assert_eq!(described, used);
    }
}
