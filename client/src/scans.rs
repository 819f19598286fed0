//! Lists that are checked in the background.

use std::collections::BTreeMap;

use rcpt_shared::Status;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    client::{Call, Client},
    error::Error,
};

/// Positions of a part; the last one of a list has what is left.
pub const PART: usize = 1_000;

/// A list that is checked in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    pub id: String,
    pub name: String,
    /// `open` (parts are missing), `running`, `completed`, `cancelled` or `expired`.
    pub state: String,
    pub total: u64,
    /// Positions that were sent.
    pub received: u64,
    /// Positions with a final verdict.
    pub answered: u64,
    /// Positions whose server asked for patience.
    pub waiting: u64,
    pub estimated_seconds_left: Option<u64>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

impl Scan {
    /// Whether no further verdict will come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(&*self.state, "open" | "running")
    }
}

/// A page of scans, newest first.
#[derive(Debug, Clone, Deserialize)]
pub struct ScanPage {
    pub scans: Vec<Scan>,
    /// What [`Client::scans`] takes for the next page.
    pub next: Option<String>,
}

/// The result of one position.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScanResult {
    /// From 0.
    pub position: usize,
    pub status: Status,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

/// A page of results, by position.
#[derive(Debug, Clone, Deserialize)]
pub struct ScanResults {
    pub results: Vec<ScanResult>,
    /// What [`Client::results`] takes for the next page.
    pub next: Option<usize>,
}

impl Client {
    /// Starts a scan of `total` addresses, whose parts follow.
    ///
    /// # Errors
    /// See [`Error`]. Asked for again with the same key within 24 hours, it is the same scan.
    pub fn create_scan(
        &self,
        total: usize,
        name: &str,
        idempotency_key: &str,
    ) -> Result<Scan, Error> {
        let body = json!({ "total": total, "name": name, "details": true });
        self.call(&Call::post("/scans", body).under(idempotency_key))
    }

    /// Sends part `number`, from 0. The same part again changes nothing.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn send_part(&self, id: &str, number: usize, addresses: &[&str]) -> Result<Scan, Error> {
        let path = format!("/scans/{id}/parts/{number}");
        self.call(&Call::put(&path, json!({ "addresses": addresses })))
    }

    /// A scan as it is now.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn scan(&self, id: &str) -> Result<Scan, Error> {
        self.call(&Call::get(&format!("/scans/{id}")))
    }

    /// Up to a hundred scans, newest first; those before the scan `before`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn scans(&self, before: Option<&str>) -> Result<ScanPage, Error> {
        let before = before.map(|id| format!("&before={id}")).unwrap_or_default();
        self.call(&Call::get(&format!("/scans?limit=100{before}")))
    }

    /// Up to a thousand results, those after the position `after`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn results(&self, id: &str, after: Option<usize>) -> Result<ScanResults, Error> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        self.call(&Call::get(&format!("/scans/{id}/results?limit=1000{after}")))
    }
}
