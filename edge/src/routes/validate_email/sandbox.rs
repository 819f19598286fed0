//! Errors of the API on request: the responses to the addresses `http_…@sandbox.test`.

use rcpt_shared::{Address, sandbox::http_status};

use crate::{
    error::Error,
    limits::quota::{Day, seconds_to_reset},
};

/// The error of such an address; `None` for all others. `now` in unix seconds.
pub fn error_of(address: &Address, now: u64) -> Option<Error> {
    let cause = "an address of the sandbox";
    Some(match http_status(address)? {
        429 => {
            let (resets_at, seconds) = (Day::of(now).resets_at(), seconds_to_reset(now));
            Error::email_checks_used_up(ALLOWANCE, resets_at, seconds)
        }
        502 => Error::upstream(cause),
        _ => Error::unavailable(cause),
    })
}

/// Checks a day of the made-up plan that is used up.
const ALLOWANCE: u32 = 100;
