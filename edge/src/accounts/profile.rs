//! The profile: data that the person chooses to show.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Deserialize;
use utoipa::ToSchema;

use super::profile_sql::{self, Profile};
use crate::{
    app::App,
    credentials::session::Session,
    error::{Error, PlainError},
    extract::json_body::JsonBody,
};

/// Body of `PUT /auth/settings`.
#[derive(Deserialize, ToSchema)]
pub struct Settings {
    /// 1 to 100 characters, no control characters.
    #[schema(min_length = 1, max_length = 100)]
    display_name: String,
}

/// Set the display name
///
/// A name for the portal to greet you by, of 1 to 100 characters.
#[utoipa::path(
    put, path = "/v1/auth/settings", tag = "Account", operation_id = "updateSettings",
    request_body = Settings,
    responses(
        (status = 200, description = "The profile", body = Profile),
        (status = 400, description = "Not 1 to 100 characters without control characters", body = PlainError),
    ),
    security(("Session" = [])),
)]
pub async fn update(
    State(app): State<Arc<App>>,
    session: Session,
    JsonBody(body): JsonBody<Settings>,
) -> Result<Json<Profile>, Error> {
    if !is_display_name(&body.display_name) {
        return Err(Error::invalid_display_name());
    }
    let profile =
        profile_sql::rename(app.databases.of(session.account)?, session, &body.display_name)
            .await?;
    profile.map(Json).ok_or_else(Error::invalid_session)
}

fn is_display_name(name: &str) -> bool {
    (1..=100).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::is_display_name;

    #[test]
    fn a_display_name_has_1_to_100_characters_and_no_control_characters() {
        assert!(is_display_name("A") && is_display_name(&"ψ".repeat(100)));
        for bad in ["", &"ψ".repeat(101), "a\nb", "\u{7f}"] {
            assert!(!is_display_name(bad), "{bad:?}");
        }
    }
}
