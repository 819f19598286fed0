//! What each operation takes and answers.

use utoipa::ToSchema;

use super::description::Description;
use crate::{
    error::{LimitError, PlainError, ValidationError},
    quota::QuotaReport,
    routes::{
        auth, health, me, password, profile, two_factor,
        validate_email::{CheckRequest, ValidationResult},
    },
    store::accounts::Profile,
};

/// Every operation, in no particular order: the route table has the order.
pub fn describe() -> Vec<Description> {
    let areas =
        [validation(), registration(), sign_in(), passwords(), two_factor(), account(), health()];
    areas.into_iter().flatten().collect()
}

fn validation() -> Vec<Description> {
    vec![
        Description::new(
            "POST",
            "/v1/validate_email",
            "Validation",
            "validateEmail",
            "Check an address",
        )
        .details(
            "Looks up the MX records of the domain and asks the mail server. Takes up to about 10 \
                      seconds when the recipient's server is slow.",
        )
        .body::<CheckRequest>()
        .answer::<ValidationResult>(
            200,
            "The verdict, including when the address cannot receive mail",
        )
        .answer::<ValidationError>(
            400,
            "`email` is missing, empty or cannot be reduced, or the body is not JSON",
        )
        .answer::<ValidationError>(401, "The key is missing, wrong, replaced or deactivated")
        .retry::<LimitError>(429, "Daily allowance and welcome checks are used up")
        .retry::<PlainError>(502, "The validation component did not respond; not counted"),
    ]
}

fn registration() -> Vec<Description> {
    vec![
        Description::new("POST", "/v1/auth/register", "Account", "register", "Register")
            .details(
                "Mails a confirmation link, valid for 24 hours and once. Registering again before \
                      confirmation replaces the password and the link.",
            )
            .body::<auth::Credentials>()
            .answer::<auth::RegistrationResult>(
                201,
                "A mail was sent; the same answer where the address has an account",
            )
            .answer::<PlainError>(400, "Not an email address, or a password that breaks a rule")
            .throttled(),
        Description::new(
            "POST",
            "/v1/auth/verify-email",
            "Account",
            "verifyEmail",
            "Confirm an address",
        )
        .body::<auth::Confirmation>()
        .answer::<auth::SessionCredentials>(200, "Confirmed and signed in")
        .answer::<PlainError>(400, "Unknown, used, replaced or expired token"),
    ]
}

fn sign_in() -> Vec<Description> {
    vec![
        Description::new("POST", "/v1/auth/login", "Account", "login", "Sign in")
            .body::<auth::Login>()
            .answer::<auth::SessionCredentials>(200, "Signed in")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(
                401,
                "Wrong address or password; after a right one, a code is missing or wrong",
            )
            .answer::<PlainError>(
                403,
                "The address is not confirmed, or the account is deactivated",
            )
            .throttled(),
        Description::new(
            "POST",
            "/v1/auth/sign-out-everywhere",
            "Account",
            "signOutEverywhere",
            "End every session",
        )
        .empty("Every session is over, this one too")
        .answer::<PlainError>(401, "No valid session"),
    ]
}

fn passwords() -> Vec<Description> {
    vec![
        Description::new("POST", "/v1/auth/forgot-password", "Account", "forgotPassword", "Ask for a reset link")
            .body::<password::Forgotten>()
            .answer::<password::ResetMailed>(200, "The same answer whether or not the address has an account")
            .answer::<PlainError>(400, "Not an email address")
            .throttled(),
        Description::new("POST", "/v1/auth/reset-password", "Account", "resetPassword", "Set a new password by link")
            .details("Ends every session and signs in with a new one. Does not bypass two-factor authentication.")
            .body::<password::Reset>()
            .answer::<auth::SessionCredentials>(200, "Changed and signed in")
            .answer::<PlainError>(400, "Unknown, used, replaced or expired token, or a password that breaks a rule")
            .answer::<PlainError>(401, "A two-factor code is missing or wrong; the link still works")
            .throttled(),
        Description::new("PUT", "/v1/auth/password", "Account", "changePassword", "Change the password")
            .details("Ends every session and signs in with a new one.")
            .body::<password::Change>()
            .answer::<auth::SessionCredentials>(200, "Changed and signed in")
            .answer::<PlainError>(400, "A password that breaks a rule")
            .answer::<PlainError>(401, "No valid session")
            .answer::<PlainError>(403, "The current password is wrong")
            .throttled(),
    ]
}

fn two_factor() -> Vec<Description> {
    let wrong = "The password or the code is wrong";
    vec![
        Description::new("POST", "/v1/auth/totp/setup", "Two-factor", "setUpTotp", "Make a secret")
            .details(
                "Two-factor authentication stays off until `enable` is called with a valid code.",
            )
            .body::<two_factor::SetUp>()
            .answer::<two_factor::TotpSetUp>(200, "Shown once")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(401, "No valid session")
            .answer::<PlainError>(403, "The password is wrong")
            .answer::<PlainError>(409, "Two-factor authentication is on already")
            .throttled(),
        Description::new("POST", "/v1/auth/totp/enable", "Two-factor", "enableTotp", "Turn on")
            .body::<two_factor::Enable>()
            .answer::<two_factor::RecoveryCodes>(200, "Ten recovery codes, shown once")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(401, "No valid session")
            .answer::<PlainError>(403, "The code is wrong")
            .answer::<PlainError>(409, "On already, or not set up")
            .throttled(),
        Description::new("POST", "/v1/auth/totp/disable", "Two-factor", "disableTotp", "Turn off")
            .body::<two_factor::PasswordAndCode>()
            .empty("Off")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(401, "No valid session")
            .answer::<PlainError>(403, wrong)
            .answer::<PlainError>(409, "Two-factor authentication is not on")
            .throttled(),
        Description::new(
            "POST",
            "/v1/auth/totp/recovery-codes",
            "Two-factor",
            "replaceRecoveryCodes",
            "Replace the recovery codes",
        )
        .body::<two_factor::PasswordAndCode>()
        .answer::<two_factor::RecoveryCodes>(
            200,
            "Ten new codes, shown once; the old ones are void",
        )
        .answer::<PlainError>(400, "The body does not fit")
        .answer::<PlainError>(401, "No valid session")
        .answer::<PlainError>(403, wrong)
        .answer::<PlainError>(409, "Two-factor authentication is not on")
        .throttled(),
    ]
}

fn account() -> Vec<Description> {
    vec![
        Description::new(
            "POST",
            "/v1/auth/rotate-api-key",
            "Account",
            "rotateApiKey",
            "Replace the API key",
        )
        .details("The old key stops working at once.")
        .optional_body::<profile::Rotation>()
        .answer::<profile::NewApiKey>(200, "The new key")
        .answer::<PlainError>(400, "The body does not fit")
        .answer::<PlainError>(401, "No valid session")
        .answer::<PlainError>(
            403,
            "A two-factor code is missing or wrong, or the key is deactivated",
        )
        .throttled(),
        Description::new(
            "PUT",
            "/v1/auth/settings",
            "Account",
            "updateSettings",
            "Set the display name",
        )
        .body::<profile::Settings>()
        .answer::<Profile>(200, "The profile")
        .answer::<PlainError>(400, "Not 1 to 100 characters without control characters")
        .answer::<PlainError>(401, "No valid session"),
        Description::new("GET", "/v1/me", "Account", "me", "The account")
            .answer::<me::Account>(200, "The account")
            .answer::<PlainError>(401, "No valid session"),
        Description::new("DELETE", "/v1/me", "Account", "deleteAccount", "Delete the account")
            .details(
                "Removes everything that belongs to it. The API key and every session end with it.",
            )
            .body::<me::Deletion>()
            .empty("Deleted")
            .answer::<PlainError>(400, "The body does not fit")
            .answer::<PlainError>(401, "No valid session")
            .answer::<PlainError>(
                403,
                "The password is wrong, or a two-factor code is missing or wrong",
            )
            .throttled(),
        Description::new("GET", "/v1/me/quota", "Quota", "quota", "Plan and allowances")
            .answer::<QuotaReport>(200, "The report")
            .answer::<PlainError>(401, "No valid key or session"),
    ]
}

fn health() -> Vec<Description> {
    vec![
        Description::new("GET", "/v1/health", "Health", "health", "Liveness")
            .answer::<health::Health>(200, "The service runs"),
        Description::new("GET", "/v1/health/ready", "Health", "ready", "Readiness")
            .answer::<health::Readiness>(200, "Everything is up")
            .answer::<health::Readiness>(503, "Something is down"),
        Description::new("GET", "/v1/openapi.json", "Health", "openapi", "This document")
            .answer::<Document>(200, "An OpenAPI 3.1 document"),
    ]
}

/// The OpenAPI document itself, as far as this document describes it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its shape is of interest")]
struct Document {
    openapi: String,
}
