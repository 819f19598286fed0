//! Validity of our own listener's certificate.

use super::Finding;
use crate::config::{Config, Standing};

const CHECK: &str = "certificate";
const ADVICE: &str = "Have its client renew it: it is taken within seconds, without a restart.";

/// `None` without a certificate: a proxy then handles TLS.
pub(super) fn certificate(config: &Config, now: u64) -> Option<Finding> {
    let certificate = config.certificate.as_ref()?;
    let Some(validity) = certificate.validity else {
        let about = format!("{}: when it expires cannot be read", config.tls_cert);
        return Some(Finding::unknown(CHECK, about, ""));
    };
    let (standing, clause) = validity.state_at(now);
    let about = format!("{} {clause}", config.tls_cert);
    Some(match standing {
        Standing::Valid => Finding::fine(CHECK, about),
        Standing::EndsSoon => Finding::warning(CHECK, about, ADVICE),
        Standing::Invalid => Finding::wrong(CHECK, about, ADVICE),
    })
}
