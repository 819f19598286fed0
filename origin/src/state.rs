use std::{
    io,
    net::{IpAddr, UdpSocket},
    sync::Arc,
};

use tokio::sync::Semaphore;

use crate::{
    config::Config, dial::Dialer, dns::Dns, metrics::Metrics, mx::guard::Guard, probe::Prober,
    smtp::Tls,
};

/// What the handlers share.
pub struct State {
    pub prober: Prober,
    pub metrics: Metrics,
    /// One permit for each probe in progress.
    pub slots: Semaphore,
}

/// The service could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("resolver: {0}")]
    Resolver(#[from] hickory_resolver::net::NetError),
    #[error("tls: {0}")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error("own addresses: {0}")]
    Interfaces(#[from] io::Error),
    #[error("source_addresses: cannot bind {0}: {1}")]
    SourceAddress(IpAddr, io::Error),
}

impl State {
    /// Builds everything that all probes share.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(config: Config) -> Result<Arc<Self>, SetupError> {
        for source in &config.source_addresses {
            // Found out now, and not by every probe failing.
            UdpSocket::bind((*source, 0))
                .map_err(|error| SetupError::SourceAddress(*source, error))?;
        }
        let own = if_addrs::get_if_addrs()?.iter().map(if_addrs::Interface::ip).collect();
        let guard = Guard::new(config.allow_networks.clone(), own);
        let dns = Dns::new(&config.nameservers, config.dns_timeout)?;
        let dialer = Dialer::new(config.connect_timeout, &config.source_addresses);
        let slots = Semaphore::new(config.max_probes);
        let prober = Prober::new(config, dns, guard, dialer, Tls::new()?);
        Ok(Arc::new(Self { prober, metrics: Metrics::default(), slots }))
    }
}
