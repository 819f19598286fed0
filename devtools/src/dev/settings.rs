//! Environment variables of `make dev`.

use std::{env, net::TcpListener, path::PathBuf};

use anyhow::{Context as _, Result, bail};
use rcpt_tests::process::folder;

#[derive(Debug)]
pub(super) struct Settings {
    pub edge_port: u16,
    pub origin_port: u16,
    pub folder: PathBuf,
    /// Folder for D1, KV and the cache: wrangler's default, so that `npx wrangler dev` uses the
    /// same account.
    pub state: PathBuf,
}

impl Settings {
    /// Reads `EDGE_PORT` and `ORIGIN_PORT`, and `DEV_FOLDER` and `DEV_STATE` for a second
    /// environment.
    pub fn from_environment() -> Result<Self> {
        let path = |name: &str, default: PathBuf| env::var_os(name).map_or(default, PathBuf::from);
        Ok(Self {
            edge_port: port("EDGE_PORT", 8787)?,
            origin_port: port("ORIGIN_PORT", 8788)?,
            folder: path("DEV_FOLDER", folder::target().join("dev")),
            state: path("DEV_STATE", folder::repository().join(".wrangler/state")),
        })
    }

    pub fn edge_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.edge_port)
    }

    pub fn require_free_ports(&self) -> Result<()> {
        for (name, port) in [("EDGE_PORT", self.edge_port), ("ORIGIN_PORT", self.origin_port)] {
            if TcpListener::bind(("127.0.0.1", port)).is_err() {
                bail!(
                    "port {port} is taken: is another `make dev` running? `make dev {name}=…` uses another port"
                );
            }
        }
        Ok(())
    }
}

fn port(name: &str, default: u16) -> Result<u16> {
    env::var(name).map_or(Ok(default), |text| {
        text.parse()
            .ok()
            .filter(|port| *port > 0)
            .with_context(|| format!("{name}={text} is not a port"))
    })
}
