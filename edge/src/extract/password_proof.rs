//! The body of operations on keys and passkeys for which a session alone isn't enough.

use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::credentials::password::Password;

/// The account's password, and a code where two-factor authentication is on.
#[derive(Deserialize, ToSchema)]
pub struct PasswordProof {
    #[schema(value_type = String)]
    pub password: Password,
    /// Current code or recovery code, when two-factor authentication is on.
    #[schema(value_type = Option<String>)]
    pub totp_code: Option<SecretString>,
}
