//! Postgrey: greylisting as a separate service, which mail servers query for each recipient.

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::process::{Process, folder, port};

const START: Duration = Duration::from_secs(30);

/// A running postgrey, whose database is empty at the start.
#[derive(Debug)]
pub struct Postgrey {
    _process: Process,
    address: SocketAddr,
}

impl Postgrey {
    /// Starts postgrey as root, as Debian does. A sender and recipient are accepted once `delay` has passed since their
    /// first attempt.
    pub async fn start(delay: Duration) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port::free()));
        // `RUN` removes the folder, because root owns its content.
        let database = TempDir::with_prefix("rcpt-postgrey-").context("creating a folder")?.keep();
        let mut command = Command::new("sh");
        command.args(["-c", RUN]).arg(database).arg(address.to_string());
        command.arg(delay.as_secs().to_string());
        let mut process =
            Process::spawn_as_root("postgrey", &command, &folder::scratch("postgrey")?)?;
        process
            .wait_until("open port", START, async || TcpStream::connect(address).await.ok())
            .await?;
        Ok(Self { _process: process, address })
    }

    /// The address at which postgrey speaks the protocol of Postfix's policy delegation.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// `wait` returns at the signal, and again when postgrey has ended.
const RUN: &str = r#"
/usr/sbin/postgrey --inet="$1" --dbdir="$0" --delay="$2" --user=root --group=root &
postgrey=$!
trap 'kill $postgrey' TERM
wait $postgrey
wait $postgrey
rm -rf "$0"
"#;
