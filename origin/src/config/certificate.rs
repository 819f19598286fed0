//! The certificate of our own listener, loaded with the configuration, and warnings about its validity.

use std::{fmt, fs, os::unix::fs::MetadataExt as _, sync::Arc};

use tokio_rustls::rustls::{
    self, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};
use x509_parser::parse_x509_certificate;

use super::{Config, SettingMistake};

#[derive(Clone)]
pub struct Certificate {
    pub tls: Arc<ServerConfig>,
    /// Of the chain's first certificate, which is ours.
    pub validity: Option<Validity>,
    /// State of the files before they were read, so that later changes are noticed.
    pub files: Files,
}

/// Paths of files, each with a mark that changes when the file does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(Vec<(String, Option<Mark>)>);

/// Length, inode, and time of the last change in seconds and nanoseconds.
type Mark = (u64, u64, i64, i64);

impl Files {
    pub(super) fn at<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mark = |path: &str| {
            let file = fs::metadata(path).ok()?;
            Some((file.len(), file.ino(), file.mtime(), file.mtime_nsec()))
        };
        Self(paths.into_iter().map(|path| (path.to_owned(), mark(path))).collect())
    }

    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    #[must_use]
    pub fn now(&self) -> Self {
        Self::at(self.0.iter().map(|(path, _)| path.as_str()))
    }
}

impl Certificate {
    pub(super) fn read(cert: &str, key: &str) -> Result<Option<Self>, SettingMistake> {
        match (cert, key) {
            ("", "") => return Ok(None),
            ("", _) => {
                return Err(SettingMistake::new("tls_cert", "missing, although tls_key is set"));
            }
            (_, "") => {
                return Err(SettingMistake::new("tls_key", "missing, although tls_cert is set"));
            }
            _ => {}
        }
        let files = Files::at([cert, key]);
        let wrong = |name, path, error: &dyn fmt::Display| {
            SettingMistake::new(name, &format!("{path}: {error}"))
        };
        let chain: Vec<_> = CertificateDer::pem_file_iter(cert)
            .and_then(Iterator::collect)
            .map_err(|error| wrong("tls_cert", cert, &error))?;
        let Some(first) = chain.first() else {
            return Err(wrong("tls_cert", cert, &"no certificate in it"));
        };
        let validity = Validity::of(first);
        let secret =
            PrivateKeyDer::from_pem_file(key).map_err(|error| wrong("tls_key", key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|error| wrong("tls_key", key, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Some(Self { tls: Arc::new(config), validity, files }))
    }
}

impl Config {
    pub fn certificate_warning(&self, now: u64) -> Option<String> {
        let (standing, clause) = self.certificate.as_ref()?.validity?.state_at(now);
        (standing != Standing::Valid).then(|| format!("tls_cert: {} {clause}", self.tls_cert))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate")
    }
}

/// First and last second in which a certificate is valid, in Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: i64,
    pub not_after: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Valid,
    /// The certificate's renewal is overdue.
    EndsSoon,
    /// Clients reject the certificate.
    Invalid,
}

const DAY_S: i64 = 86_400;
/// Certificates are normally renewed with a third of their lifetime left, or half of a lifetime of
/// a few days. With less than a sixth left, renewal must have failed; the warning comes at most two
/// weeks before the end.
const LIFETIME_DIVISOR: i64 = 6;
const REMAINING_MAX_S: i64 = 14 * DAY_S;

impl Validity {
    /// `certificate` is DER. `None` if it can't be parsed; it is served anyway.
    fn of(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = parse_x509_certificate(certificate).ok()?;
        let validity = certificate.validity();
        Some(Self {
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
        })
    }

    /// The state at `now` (Unix seconds), and a clause that describes it.
    pub fn state_at(self, now: u64) -> (Standing, String) {
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let Self { not_before, not_after } = self;
        let time_left = not_after.saturating_sub(now);
        if now < not_before {
            let clause =
                format!("is not valid for another {}", span(not_before.saturating_sub(now)));
            return (Standing::Invalid, clause);
        }
        if time_left < 0 {
            return (
                Standing::Invalid,
                format!("expired {} ago", span(time_left.saturating_neg())),
            );
        }
        let clause = format!("expires in {}", span(time_left));
        let alarming =
            (not_after.saturating_sub(not_before) / LIFETIME_DIVISOR).min(REMAINING_MAX_S);
        (if time_left < alarming { Standing::EndsSoon } else { Standing::Valid }, clause)
    }
}

fn span(seconds: i64) -> String {
    let (count, unit) = if seconds >= 2 * DAY_S {
        (seconds / DAY_S, "days")
    } else if seconds >= 7_200 {
        (seconds / 3_600, "hours")
    } else {
        (seconds / 60, "minutes")
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::{DAY_S, Standing, Validity};

    #[test]
    fn the_end_is_near_when_a_renewal_is_overdue() {
        use Standing::{EndsSoon, Invalid, Valid};
        // Days of validity, days since its start, state, and the expected clause.
        for (days, since, standing, clause) in [
            (90, 0, Valid, "expires in 90 days"),
            (90, 75, Valid, "expires in 15 days"),
            (90, 77, EndsSoon, "expires in 13 days"),
            (365, 350, Valid, "expires in 15 days"),
            (365, 352, EndsSoon, "expires in 13 days"),
            // A six-day certificate, renewed every three days.
            (6, 4, Valid, "expires in 2 days"),
            (12, 11, EndsSoon, "expires in 24 hours"),
            (90, 90, EndsSoon, "expires in 0 minutes"),
            (90, 93, Invalid, "expired 3 days ago"),
            (90, -1, Invalid, "is not valid for another 24 hours"),
        ] {
            let validity =
                Validity { not_before: 1_000 * DAY_S, not_after: (1_000 + days) * DAY_S };
            let now = u64::try_from((1_000 + since) * DAY_S).unwrap();
            let standing_and_clause = validity.state_at(now);
            assert_eq!(
                standing_and_clause,
                (standing, clause.to_owned()),
                "{days} days, after {since}"
            );
        }
    }

    #[test]
    fn no_time_is_out_of_bounds() {
        let extreme = Validity { not_before: i64::MIN, not_after: i64::MAX };
        for now in [0, u64::MAX] {
            extreme.state_at(now);
            Validity { not_before: i64::MAX, not_after: i64::MIN }.state_at(now);
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        assert_eq!(Validity::of(b"no certificate"), None);
    }
}
