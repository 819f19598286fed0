//! Errors of the operator's programs. The codes are in docs/operating.md and not in the customers' API description.

use axum::http::StatusCode;

use super::Error;

impl Error {
    /// The Standard Webhooks headers of a call are missing, wrong, or over five minutes old.
    pub fn invalid_signature() -> Self {
        let detail = "The call isn't signed as Standard Webhooks describes it, or was signed more than five \
                      minutes ago.";
        Self::plain(StatusCode::FORBIDDEN, "invalid_signature", detail.to_owned())
    }

    /// The account of a reference doesn't exist.
    pub fn no_such_account() -> Self {
        let detail = "There is no account of this reference.";
        Self::plain(StatusCode::NOT_FOUND, "no_such_account", detail.to_owned())
    }

    pub fn no_such_plan() -> Self {
        let detail = "There is no plan of this name.";
        Self::plain(StatusCode::BAD_REQUEST, "no_such_plan", detail.to_owned())
    }
}
