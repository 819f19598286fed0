//! NSD, a real authoritative name server, with zones that a test writes.

use std::{
    fmt::Write as _,
    fs,
    net::{Ipv4Addr, SocketAddr},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use tokio::{net::UdpSocket, time::timeout};

use crate::process::{Process, folder, port};

const START: Duration = Duration::from_secs(20);

/// A running NSD that is authoritative for its zones and refuses every other name.
#[derive(Debug)]
pub struct Nsd {
    pub process: Process,
    address: SocketAddr,
}

impl Nsd {
    /// Serves zones, each a name and its records in master file format (RFC 1035 §5); SOA and NS are added. The names
    /// in `unloadable` give SERVFAIL, because their zone files are missing. Debian installs `nsd` in `/usr/sbin`; it
    /// runs as the user of the tests.
    pub async fn start(zones: &[(&str, &str)], unloadable: &[&str]) -> Result<Self> {
        let folder = folder::scratch("nsd")?;
        let at = folder.display();
        let port = port::free();
        let mut config = format!(
            "server:\n  ip-address: 127.0.0.1@{port}\n  username: \"\"\n  chroot: \"\"\n  \
             database: \"\"\n  zonesdir: \"{at}\"\n  pidfile: \"{at}/pid\"\n  xfrdfile: \"{at}/xfrd\"\n  \
             xfrdir: \"{at}\"\n  zonelistfile: \"{at}/zonelist\"\n  server-count: 1\n  verbosity: 1\n\
             remote-control:\n  control-enable: no\n"
        );
        let names = zones.iter().map(|(name, _)| name);
        for name in names.chain(unloadable) {
            writeln!(config, "zone:\n  name: \"{name}\"\n  zonefile: \"{name}.zone\"")?;
        }
        for (name, records) in zones {
            let file = format!("{name}.zone");
            let zone = format!(
                "$ORIGIN {name}.\n$TTL 60\n@ SOA ns.{name}. hostmaster.{name}. 1 3600 600 86400 60\n\
                 @ NS ns.{name}.\nns A 127.0.0.1\n{records}\n"
            );
            fs::write(folder.join(&file), zone).with_context(|| format!("writing {file}"))?;
        }
        let config_file = folder.join("nsd.conf");
        fs::write(&config_file, config)?;

        let mut command = Command::new("/usr/sbin/nsd");
        command.arg("-d").arg("-c").arg(&config_file);
        let mut process = Process::spawn("nsd", &command, &folder)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        process.wait_until("answer", START, async || answers(address).await.ok()).await?;
        let log = process.log();
        let errors = log.lines().filter(|line| line.contains(" error: "));
        let unexpected = errors.filter(|line| !unloadable.iter().any(|name| line.contains(name)));
        ensure!(unexpected.count() == 0, "{}", process.last_lines());
        Ok(Self { process, address })
    }

    /// The address, for UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Sends a query for the root's NS records; any answer is enough.
async fn answers(address: SocketAddr) -> Result<()> {
    // RFC 1035 §4.1: id 7, no flags, one question; the root name, type NS, class IN.
    const QUERY: [u8; 17] = [0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1];
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    socket.connect(address).await?;
    socket.send(&QUERY).await?;
    timeout(Duration::from_millis(200), socket.recv(&mut [0; 512])).await??;
    Ok(())
}
