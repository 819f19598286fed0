//! Responses of registration, confirmation and sign-in.

use rcpt_tests::{Account, Anonymous, Mail, Reply, people::PASSWORD};
use serde_json::{Value, json};

use crate::edge;

pub const OTHER_PASSWORD: &str = "another-anchor-12-harbour";

pub fn registered(email: &str) -> Value {
    json!({
        "email": email,
        "verification_required": true,
        "message": "Check your email: open the link in it within 24 hours to confirm your address.",
    })
}

pub fn error(code: &str, detail: &str) -> Value {
    json!({ "detail": detail, "code": code })
}

pub fn invalid_token() -> Value {
    error(
        "invalid_token",
        "This confirmation link isn't valid. It may have been used, replaced by a newer one, or \
         expired. Register again to get a new link.",
    )
}

pub fn invalid_credentials() -> Value {
    error(
        "invalid_credentials",
        "The email or password is wrong, or the address hasn't been confirmed yet.",
    )
}

pub async fn mail(email: &str, nth: usize) -> Mail {
    edge().await.mailbox().wait_for_nth_mail(email, nth).await.unwrap()
}

/// Asserts session credentials: exactly three members, with an API key and a JWT of the right form.
pub fn assert_credentials(anonymous: &Anonymous, reply: &Reply, email: &str) -> Account {
    let account = Account::from_credentials(anonymous, PASSWORD, reply);
    let members: Vec<_> = reply.body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["api_key", "email", "token"]);
    assert_eq!(account.email, email);
    assert!(account.api_key.starts_with("rcpt_live_") && account.api_key.len() == 73);
    assert_eq!(account.token.split('.').count(), 3);
    account
}

// --- registration
