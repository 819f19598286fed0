//! The sandbox: errors of the API on request, and the bounds of test keys.

use rcpt_shared::{
    Address,
    sandbox::{http_status, is_domain},
};

use crate::{
    credentials::proof::Caller,
    error::Error,
    limits::quota::{Day, seconds_to_reset},
};

/// Requires that the caller may ask about these domains: a test key only about those of the sandbox.
///
/// # Errors
/// [`Error::test_key`].
pub fn permit<'a>(caller: Caller, domains: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
    let is_permitted = !caller.proof.is_test() || domains.into_iter().all(is_domain);
    if is_permitted { Ok(()) } else { Err(Error::test_key()) }
}

/// The error assigned to a sandbox address; `None` for all other addresses. `now` is in Unix seconds.
pub fn error_of(address: &Address, now: u64) -> Option<Error> {
    let cause = "an address of the sandbox";
    Some(match http_status(address)? {
        429 => {
            let (resets_at, seconds) = (Day::of(now).resets_at(), seconds_to_reset(now));
            Error::email_checks_used_up(DAILY_CHECKS, resets_at, seconds)
        }
        502 => Error::upstream(cause),
        _ => Error::unavailable(cause),
    })
}

/// Daily checks of the fictitious plan whose allowance is used up.
const DAILY_CHECKS: u32 = 100;
