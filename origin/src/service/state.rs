//! State shared by the handlers, and its setup.

use std::{
    io,
    net::{IpAddr, UdpSocket},
    sync::Arc,
};

use arc_swap::ArcSwapOption;
use rcpt_shared::{Stage, Verdict};
use rcpt_smtp::{HeloIdentity, Tls};
use tokio::sync::{Semaphore, watch};

use crate::{
    config::{Certificate, Config, SourceAddress},
    dns::mx::guard::Guard,
    doctor::watch::Watch,
    probe::{Prober, VerdictMemory},
    service::fair_shares::FairShares,
    surroundings::Surroundings,
    telemetry::{metrics::Metrics, port_check::PortCheck, refused_tickets::RefusedTickets},
};

pub struct State {
    pub prober: Arc<Prober>,
    pub metrics: Metrics,
    /// Free permits: each probe in progress holds one.
    pub permits: Semaphore,
    /// Half of the permits: addresses of batches in progress, counted by tenant.
    pub batch_places: FairShares,
    /// Single checks and batches in progress, counted by tenant.
    pub probes: FairShares,
    pub batches: FairShares,
    pub port_check: Arc<PortCheck>,
    pub refused_tickets: RefusedTickets,
    pub verdicts: VerdictMemory,
    pub watch: Watch,
    pub certificate: ArcSwapOption<Certificate>,
    /// True while the process is stopping: batches start no further checks.
    pub stopping: watch::Sender<bool>,
}

/// Concurrent batches of a tenant that is alone; all tenants together may have twice as many, plus
/// each tenant's first batch.
const MAX_BATCHES: usize = 8;

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
    /// Shared by all probes.
    pub fn new(config: Config) -> Result<Arc<Self>, SetupError> {
        prove(&config.source_addresses)?;
        Self::untested(config)
    }

    /// Without testing the source addresses: the doctor reports missing ones and continues.
    pub fn untested(config: Config) -> Result<Arc<Self>, SetupError> {
        let own = if_addrs::get_if_addrs()?.iter().map(if_addrs::Interface::ip).collect();
        let surroundings = Surroundings::of_machine(&config)?;
        Self::within(config, surroundings, own)
    }

    /// `own` are the machine's addresses, to which we never connect.
    pub fn within(
        config: Config,
        surroundings: Surroundings,
        own: Vec<IpAddr>,
    ) -> Result<Arc<Self>, SetupError> {
        let guard = Guard::new(config.allow_networks.clone(), own);
        let permits = Semaphore::new(config.max_probes);
        let half = config.max_probes.div_ceil(2);
        let batch_places = FairShares::new(probes_of_one_tenant(half, &config), half);
        let sources = &config.source_addresses;
        let identity =
            HeloIdentity::all(&config.helo_name, sources, config.families).swap_remove(0);
        let dialer = surroundings.dialer.clone();
        let port_check =
            PortCheck::new(config.port_check.clone(), surroundings.dns.names(), dialer, identity);
        let probes = FairShares::new(probes_of_one_tenant(config.max_probes, &config), usize::MAX);
        let batches = FairShares::new(MAX_BATCHES, 2 * MAX_BATCHES);
        let certificate = config.certificate.clone().map(Arc::new);
        let prober = Prober::new(config, surroundings, guard, Tls::new()?, port_check.clone());
        let metrics = Metrics::new(prober.dns().root(), &prober.dns().metrics());
        Ok(Arc::new(Self {
            prober,
            metrics,
            permits,
            batch_places,
            probes,
            batches,
            port_check,
            refused_tickets: RefusedTickets::default(),
            verdicts: VerdictMemory::default(),
            watch: Watch::default(),
            certificate: ArcSwapOption::new(certificate),
            stopping: watch::Sender::new(false),
        }))
    }

    /// True if `verdict` reports an unreachable server while port 25 is blocked: then the failure is ours.
    pub async fn blames_port(&self, verdict: &Verdict) -> bool {
        verdict.stage == Stage::Connect
            && verdict.smtp_code.is_none()
            && !self.port_check.is_open().await
    }
}

/// Tests whether this machine has the source addresses; the error is the first that it doesn't have. Probes don't test
/// it.
pub fn prove<'a>(sources: impl IntoIterator<Item = &'a SourceAddress>) -> Result<(), SetupError> {
    for source in sources {
        UdpSocket::bind((source.ip, 0))
            .map_err(|error| SetupError::SourceAddress(source.ip, error))?;
    }
    Ok(())
}

/// The number of concurrent probes that one tenant may have, out of `max_probes`.
pub fn probes_of_one_tenant(max_probes: usize, config: &Config) -> usize {
    (max_probes as f64 * config.tenant_share).ceil() as usize
}
