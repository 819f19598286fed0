//! Errors of operators' calls. The codes are in docs/operating/customers.md and not in the customers' API description.

use std::fmt::Display;

use axum::http::StatusCode;

use super::Error;

impl Error {
    pub fn invalid_signature() -> Self {
        let detail = "The call isn't signed with a secret of this service, or was signed more than five minutes ago.";
        Self::plain(StatusCode::FORBIDDEN, "invalid_signature", detail.to_owned())
    }

    pub fn another_host(host: &str) -> Self {
        let detail = format!("The call is signed for another host than {host}.");
        Self::plain(StatusCode::FORBIDDEN, "another_host", detail)
    }

    pub fn no_such_account() -> Self {
        Self::plain(
            StatusCode::NOT_FOUND,
            "no_such_account",
            "There is no such account.".to_owned(),
        )
    }

    pub fn no_such_plan() -> Self {
        let detail = "There is no plan of this name.";
        Self::plain(StatusCode::BAD_REQUEST, "no_such_plan", detail.to_owned())
    }

    /// The account's state doesn't allow the change; nothing has changed.
    pub fn not_possible(detail: impl Display) -> Self {
        Self::plain(StatusCode::CONFLICT, "not_possible", detail.to_string())
    }
}
