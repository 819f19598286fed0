//! Bodies of errors (docs/api.md, Errors).

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::{
    ToSchema,
    openapi::{Object, Schema, Type},
};

use super::table;

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(super) enum Body {
    Plain(PlainError),
    Validation(ValidationError),
    Limit(LimitError),
}

impl Body {
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::Plain(PlainError { code, .. })
            | Self::Validation(ValidationError { code, .. })
            | Self::Limit(LimitError { code, .. }) => code,
        }
    }

    pub(super) fn of_validation(self) -> Self {
        match self {
            Self::Plain(PlainError { detail, code, doc_url }) => {
                let detail = ValidationDetail { error: detail };
                Self::Validation(ValidationError { detail, code, doc_url })
            }
            other => other,
        }
    }

    pub(super) fn link(&mut self, portal_url: Option<&str>) {
        let link = portal_url.map(|portal| [portal, "/docs#code-", self.code()].concat());
        match self {
            Self::Plain(PlainError { doc_url, .. })
            | Self::Validation(ValidationError { doc_url, .. })
            | Self::Limit(LimitError { doc_url, .. }) => *doc_url = link,
        }
    }
}

/// Shape of most errors: `detail` for people, `code` for programs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlainError {
    /// Message for people. It may be reworded.
    pub detail: String,
    #[schema(schema_with = code_schema)]
    pub code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = link_schema)]
    pub doc_url: Option<String>,
}

/// A 400 or 401 of email validation.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ValidationError {
    pub detail: ValidationDetail,
    #[schema(schema_with = code_schema)]
    pub code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = link_schema)]
    pub doc_url: Option<String>,
}

/// `detail` of a 400 or 401 of email validation.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ValidationDetail {
    /// Message for people. It may be reworded.
    pub error: String,
}

/// A 429: an allowance is used up, too many checks are in flight, or too many requests were sent in a short time.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LimitError {
    pub detail: LimitDetail,
    #[schema(schema_with = code_schema)]
    pub code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = link_schema)]
    pub doc_url: Option<String>,
}

/// `detail` of a 429 of the allowances.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LimitDetail {
    /// Names the limit and the reset time.
    pub error: String,
    pub limit: LimitName,
    pub resets_at: DateTime<Utc>,
}

/// Name of the limit that was reached.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub enum LimitName {
    #[serde(rename = "scan")]
    Scan,
    #[serde(rename = "email check")]
    EmailCheck,
}

fn code_schema() -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some(
            "What went wrong, for programs. It stays the same; new ones may be added.",
        ))
        .enum_values(Some(table::codes()))
        .build()
        .into()
}

fn link_schema() -> Schema {
    Object::builder()
        .schema_type(Type::String)
        .description(Some("A page that explains the code."))
        .build()
        .into()
}
