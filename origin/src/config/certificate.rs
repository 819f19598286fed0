//! The certificate of our own listener, loaded with the configuration.

use std::{fmt, fs, os::unix::fs::MetadataExt as _, sync::Arc};

use tokio_rustls::rustls::{
    self, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    version::{TLS12, TLS13},
};

use super::{Config, SettingMistake, Standing, Validity};

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
