//! The errors, each with its constructor, status, code and text (docs/api.md, Errors).

use std::fmt::Display;

use axum::http::StatusCode;

use super::{Challenge, Error};

/// Each row is `constructor(arguments) => status, "code", "text"`. The text may name the arguments.
/// Optional parts: `after` with the seconds of `Retry-After`, `challenge` with the credentials that
/// a 401 requests, and `because` with a cause for the log.
macro_rules! errors {
    ($(
        $(#[$doc:meta])*
        $name:ident($($argument:ident: $type:ty),*) => $status:expr, $code:literal, $text:literal
            $(, after $seconds:expr)? $(, challenge $challenge:ident)? $(, because $cause:ident)?;
    )+) => {
        impl Error {$(
            $(#[$doc])*
            pub fn $name($($argument: $type),*) -> Self {
                let error = Self::plain($status, $code, format!($text));
                $(let error = error.after($seconds);)?
                $(let error = error.challenging(Challenge::$challenge);)?
                $(let error = error.because($cause.into());)?
                error
            }
        )+}

        /// Codes in the order of the table. Some occur in several rows.
        const ROWS: &[&str] = &[$($code),+];
    };
}

use StatusCode as S;

errors! {
    // --- the request

    invalid_body(detail: impl Display) => S::BAD_REQUEST, "invalid_body", "{detail}";
    body_too_large(limit: usize) =>
        S::PAYLOAD_TOO_LARGE, "body_too_large", "The request body is larger than {limit} bytes.";
    invalid_query(detail: &'static str) => S::BAD_REQUEST, "invalid_query", "{detail}";
    invalid_idempotency_key() => S::BAD_REQUEST, "invalid_idempotency_key",
        "The Idempotency-Key must have 16 to 255 printable ASCII characters without spaces.";
    /// The first request with this key has no response yet.
    idempotency_key_in_use() => S::CONFLICT, "idempotency_key_in_use",
        "A request with this Idempotency-Key is being answered. Try again in a second.", after 1;
    /// The key was sent before with another request. Nothing is charged.
    idempotency_key_reused() => S::UNPROCESSABLE_ENTITY, "idempotency_key_reused",
        "This Idempotency-Key was used for another request. Use a new one for each.";
    not_found() => S::NOT_FOUND, "not_found", "There is nothing at this path.";
    /// 404 with a text that names the intended path.
    no_such_path(detail: impl Display) => S::NOT_FOUND, "not_found", "{detail}";
    method_not_allowed() =>
        S::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed. See the Allow header.";
    /// Too many attempts; `seconds` until the next attempt is evaluated.
    throttled(seconds: u64) => S::TOO_MANY_REQUESTS, "throttled",
        "Too many attempts. Try again in {seconds} seconds.", after seconds;

    // --- the caller

    missing_api_key() => S::UNAUTHORIZED, "missing_credentials",
        "Missing API key: send it in the X-API-Key header.", challenge Either;
    missing_session() => S::UNAUTHORIZED, "missing_credentials",
        "Missing session token: sign in and send it as Authorization: Bearer <token>.";
    invalid_api_key() => S::UNAUTHORIZED, "invalid_api_key", "Invalid API key.", challenge Key;
    /// Two such headers reach the Worker as one header, with a comma between the keys.
    several_api_keys() => S::UNAUTHORIZED, "invalid_api_key",
        "More than one API key was sent: send one X-API-Key header.", challenge Key;
    invalid_session() => S::UNAUTHORIZED, "invalid_session",
        "Invalid or expired session token. Sign in again.";
    key_as_session() => S::UNAUTHORIZED, "invalid_session",
        "This is an API key: send it in the X-API-Key header. Account endpoints need a session token. \
         You get one by signing in.";
    /// A call of a hook that isn't signed with its secret, or was signed more than five minutes ago.
    invalid_hook_signature() => S::UNAUTHORIZED, "invalid_hook_signature",
        "The call isn't signed with this hook's secret, or was signed more than five minutes ago.";
    invalid_credentials() => S::UNAUTHORIZED, "invalid_credentials",
        "The email or password is wrong, or the address hasn't been confirmed yet.";
    deactivated() => S::FORBIDDEN, "deactivated", "This account has been deactivated.";
    /// The operator has deactivated the API key, and replacing it won't reactivate it.
    key_deactivated() =>
        S::FORBIDDEN, "key_deactivated", "The API key of this account has been deactivated.";
    key_expired() => S::UNAUTHORIZED, "key_expired", "This API key has expired.", challenge Key;
    missing_right(needed: impl Display) =>
        S::FORBIDDEN, "missing_right", "This API key doesn't have the right to do this: {needed}.";
    session_only() => S::FORBIDDEN, "missing_right", "API keys don't have the right to do this: sign in.";
    test_key() => S::FORBIDDEN, "test_key",
        "This is a test key: it only checks and decides about addresses and domains of the sandbox, such as \
         accepts@sandbox.test.";
    no_such_key() => S::NOT_FOUND, "no_such_key", "There is no such key. It may have been ended already.";
    invalid_key(detail: impl Display) => S::BAD_REQUEST, "invalid_key", "{detail}";
    too_many_keys() => S::CONFLICT, "too_many_keys",
        "This account has 20 keys besides its own. End one to make another.";
    passkey_refused() => S::UNAUTHORIZED, "passkey_refused",
        "This passkey didn't work: it's unknown here, or it took longer than five minutes. Try again, or sign in with \
         your password.";
    passkey_unverified() => S::UNAUTHORIZED, "passkey_unverified",
        "Your device didn't check that it's you. Unlock it with a fingerprint, your face or a PIN, or sign in with your \
         password.";
    invalid_passkey(detail: &'static str) => S::BAD_REQUEST, "invalid_passkey", "{detail}";
    no_such_passkey() => S::NOT_FOUND, "no_such_passkey",
        "There is no such passkey. It may have been removed already.";
    too_many_passkeys() => S::CONFLICT, "too_many_passkeys",
        "This account has 20 passkeys. Remove one to add another.";
    wrong_password() => S::FORBIDDEN, "wrong_password", "The password is wrong.";
    /// 401 at sign-in, 403 within a session.
    totp_required(status: StatusCode) => status, "totp_required",
        "Two-factor authentication is on. Send a current code or a recovery code in totp_code.";
    totp_invalid(status: StatusCode) => status, "totp_invalid",
        "That code isn't right: it's wrong, too old or has been used.";

    // --- the account

    invalid_email(detail: impl Display) => S::BAD_REQUEST, "invalid_email", "{detail}";
    /// The domain doesn't exist in DNS; no account is looked up before this error.
    no_such_domain(domain: &str) => S::BAD_REQUEST, "undeliverable_email",
        "The domain {domain} doesn't exist. Check the spelling of your email.";
    domain_without_mail(domain: &str) => S::BAD_REQUEST, "undeliverable_email",
        "The domain {domain} doesn't accept email. Use another address.";
    /// The list alone decides, so every address of the domain gets this error. `contact` receives
    /// reports of mistakes.
    disposable_email(domain: &str, day: &str, contact: &str) => S::BAD_REQUEST, "disposable_email",
        "{domain} is on our list of disposable domains of {day}. Use another address. If it's there by mistake, \
         tell {contact}.";
    invalid_password(detail: &'static str) => S::BAD_REQUEST, "invalid_password", "{detail}";
    invalid_display_name() => S::BAD_REQUEST, "invalid_display_name",
        "The display name must have 1 to 100 characters and no control characters.";
    /// The text is the same for unknown, used, replaced and expired links, so that it reveals nothing about an account.
    invalid_confirmation_token() => S::BAD_REQUEST, "invalid_token",
        "This confirmation link isn't valid. It may have been used, replaced by a newer one, or \
         expired. Register again to get a new link.";
    /// The text is the same for unknown, replaced, dropped and expired links.
    invalid_change_token() => S::BAD_REQUEST, "invalid_token",
        "This link isn't valid. It may have been replaced by a newer one, stopped or expired.";
    /// A password that somebody may have set by a stolen mailbox deletes no account.
    password_too_young(from: &str) => S::CONFLICT, "password_too_young",
        "The password is younger than three days. It can delete the account from {from} on.";
    too_many_factors() => S::CONFLICT, "too_many_factors",
        "Two-factor authentication was turned on, or got new recovery codes, five times in three days. Try again later.";
    /// The directory is being asked about another new address.
    change_under_way() => S::CONFLICT, "change_under_way",
        "Another change of the address is being carried out. Try again in ten minutes.";
    invalid_opt_out_token() => S::BAD_REQUEST, "invalid_token",
        "This link isn't valid. Open it again from the email, or copy all of it.";
    invalid_reset_token() => S::BAD_REQUEST, "invalid_token",
        "This link isn't valid. It may have been used, replaced by a newer one, or expired. Ask for a \
         new one.";
    no_such_session() => S::NOT_FOUND, "no_such_session",
        "There is no such session. It may have ended already.";
    totp_already_on() => S::CONFLICT, "totp_already_on",
        "Two-factor authentication is already on. Turn it off first.";
    totp_not_on() => S::CONFLICT, "totp_not_on", "Two-factor authentication isn't on.";
    totp_not_set_up() => S::CONFLICT, "totp_not_set_up", "Start two-factor setup first.";

    // --- scans

    no_such_scan() => S::NOT_FOUND, "no_such_scan", "There is no such scan.";
    invalid_scan_name() => S::BAD_REQUEST, "invalid_name",
        "The name of a scan has at most 100 characters and no control characters.";
    invalid_scan(detail: &'static str) => S::BAD_REQUEST, "invalid_scan", "{detail}";
    scan_too_large(size: u32) =>
        S::BAD_REQUEST, "scan_too_large", "A scan of this plan has at most {size} addresses.";
    too_many_scans(at_once: u32) => S::CONFLICT, "too_many_scans",
        "As many scans are running as this plan allows ({at_once}). Wait for one to end, or cancel one.";
    too_many_scans_kept(most: u32) => S::CONFLICT, "too_many_scans",
        "This account has {most} scans. Delete old ones, or wait until they're gone.";
    no_such_part(parts: u32) =>
        S::BAD_REQUEST, "no_such_part", "The scan has no such part. Parts are counted from 0, and it has {parts}.";
    part_size(expected: u32) => S::BAD_REQUEST, "part_size",
        "This part has {expected} addresses, no more and no fewer.";
    part_conflict() => S::CONFLICT, "part_conflict",
        "This part was sent before with other addresses. Nothing was changed.";
    nothing_to_match() => S::CONFLICT, "nothing_to_match",
        "This part can't be compared: it hasn't been sent, or has fewer than two different addresses.";
    matches_used_up() => S::CONFLICT, "matches_used_up",
        "This part has been compared twenty times. It can't be compared again.";
    scan_ended() => S::CONFLICT, "scan_ended",
        "This scan accepts no more addresses: it has ended, or has all of them.";

    // --- webhooks

    invalid_webhook(detail: &'static str) => S::BAD_REQUEST, "invalid_webhook", "{detail}";
    webhook_not_public() => S::BAD_REQUEST, "webhook_not_public",
        "The webhook's URL must name a server on the public Internet that isn't ours.";
    no_webhook() => S::CONFLICT, "no_webhook", "This account has no webhook.";

    // --- our side

    /// No origin returned a verdict. A restarting origin is available again within seconds.
    upstream(cause: impl Into<String>) => S::BAD_GATEWAY, "upstream",
        "Upstream error: the check couldn't be completed and wasn't counted. Retry in 5 seconds.",
        after 5, because cause;
    /// The cause is in the log under the request id. Storage usually takes longer to recover than an origin to restart.
    unavailable(cause: impl Into<String>) => S::SERVICE_UNAVAILABLE, "unavailable",
        "The service is temporarily unavailable. Try again in 10 seconds.", after 10, because cause;
    /// A broken assumption in our code; the cause is in the log under the request id.
    internal(cause: impl Into<String>) => S::INTERNAL_SERVER_ERROR, "internal",
        "Something went wrong on our side.", because cause;
}

/// Codes of the 429 errors in `limits.rs`, which have their own shape.
pub(super) const USED_UP: &str = "used_up";
pub(super) const KEY_USED_UP: &str = "key_used_up";
pub(super) const TOO_MANY_IN_FLIGHT: &str = "too_many_in_flight";
pub(super) const THROTTLED: &str = "throttled";

pub(super) fn codes() -> Vec<&'static str> {
    let mut codes: Vec<&str> = Vec::new();
    for code in ROWS.iter().copied().chain([USED_UP, KEY_USED_UP, TOO_MANY_IN_FLIGHT]) {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}
