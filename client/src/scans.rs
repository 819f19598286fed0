//! Lists that are checked in the background.

use std::{collections::BTreeMap, thread, time::Duration};

use rcpt_shared::Status;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    client::{Call, Client},
    error::Error,
};

/// Positions in a part; the last part of a list holds the rest.
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
    /// Final verdicts in one word: `deliverable`, `undeliverable`, `risky` and `unknown`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_verdict: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

impl Scan {
    /// Returns true if no further verdict will come.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !matches!(&*self.state, "open" | "running")
    }
}

/// A page of scans, newest first.
#[derive(Debug, Clone, Deserialize)]
pub struct ScanPage {
    pub scans: Vec<Scan>,
    /// Cursor for the next page, for [`Client::scans`].
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
    /// Cursor for the next page, for [`Client::results`].
    pub next: Option<usize>,
}

/// An event, in the form that a webhook receives.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// The `webhook-id`.
    pub id: String,
    /// The body of the webhook.
    pub event: Value,
}

/// A page of events, oldest first.
#[derive(Debug, Clone, Deserialize)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Cursor that [`Client::events`] takes for later ones.
    pub next: String,
}

/// An address of a list, and its result.
#[derive(Debug, Clone)]
pub struct Joined<'a> {
    pub address: &'a str,
    /// `None` if there is none.
    pub result: Option<ScanResult>,
}

fn other_list(message: String) -> Error {
    Error::Refused { status: 409, code: None, message, details: Box::default() }
}

/// Between two looks at a scan: it grows from the one to the other.
const LOOK: Duration = Duration::from_millis(500);
const LONGEST_LOOK: Duration = Duration::from_secs(10);

impl Client {
    /// Starts a scan of a list, and sends all of it. Called again with the same list and key within 24 hours,
    /// it is the same scan.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn start_scan(
        &self,
        addresses: &[&str],
        name: &str,
        idempotency_key: &str,
    ) -> Result<Scan, Error> {
        let mut scan = self.create_scan(addresses.len(), name, idempotency_key)?;
        for (number, part) in addresses.chunks(PART).enumerate() {
            scan = self.send_part(&scan.id, number, part)?;
        }
        Ok(scan)
    }

    /// Waits until a scan has ended, and shows it to `on_progress` at each look.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn wait_for_scan(
        &self,
        id: &str,
        mut on_progress: impl FnMut(&Scan),
    ) -> Result<Scan, Error> {
        let (mut look, mut answered) = (LOOK, None);
        loop {
            let scan = self.scan(id)?;
            on_progress(&scan);
            if scan.is_over() {
                return Ok(scan);
            }
            let has_grown = answered.is_none_or(|answered| scan.answered > answered);
            look = if has_grown { LOOK } else { (look * 2).min(LONGEST_LOOK) };
            answered = Some(scan.answered);
            thread::sleep(look);
        }
    }

    /// The addresses of a scan, in the order in which they were sent, each with its result.
    ///
    /// # Errors
    /// [`Error::Refused`] where the list is not the one that was scanned, and others.
    pub fn join_scan<'a>(&self, id: &str, addresses: &[&'a str]) -> Result<Vec<Joined<'a>>, Error> {
        let total = self.scan(id)?.total;
        if total != addresses.len() as u64 {
            let count = addresses.len();
            return Err(other_list(format!(
                "The scan is of {total} addresses, and the list has {count}."
            )));
        }
        for (number, part) in addresses.chunks(PART).enumerate() {
            if !self.is_part(id, number, part)? {
                let (first, last) = (number * PART + 1, number * PART + part.len());
                return Err(other_list(format!(
                    "This isn't the list that was scanned, or not in its order: addresses {first} to {last} differ."
                )));
            }
        }
        let unanswered = addresses.iter().map(|address| Joined { address, result: None });
        let mut joined: Vec<_> = unanswered.collect();
        let mut after = None;
        loop {
            let page = self.results(id, after)?;
            for result in page.results {
                if let Some(row) = joined.get_mut(result.position) {
                    row.result = Some(result);
                }
            }
            // A page that leads back would never end.
            match page.next {
                Some(next) if after.is_none_or(|after| next > after) => after = Some(next),
                _ => return Ok(joined),
            }
        }
    }

    /// Returns whether these are the addresses of part `number`, as far as the service knows: an older service compares
    /// nothing, and a part with fewer than two different addresses can't be compared.
    fn is_part(&self, id: &str, number: usize, addresses: &[&str]) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct PartMatch {
            matches: bool,
        }
        let path = format!("/scans/{id}/parts/{number}/match");
        match self.call(&Call::post(&path, json!({ "addresses": addresses }))) {
            Ok(PartMatch { matches }) => Ok(matches),
            Err(error) if error.code() == Some("nothing_to_match") => Ok(true),
            Err(Error::Refused { status: 404 | 405, .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Returns up to a hundred events of the last 24 hours, after the given cursor.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn events(&self, after: Option<&str>) -> Result<EventPage, Error> {
        let after = after.map(|after| format!("?after={after}")).unwrap_or_default();
        self.call(&Call::get(&format!("/events{after}")))
    }

    /// Stops a scan. Verdicts known by then stay.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn cancel_scan(&self, id: &str) -> Result<Scan, Error> {
        self.call(&Call::post(&format!("/scans/{id}/cancel"), json!({})))
    }

    /// Removes a scan with its results, and stops it if it is under way.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn delete_scan(&self, id: &str) -> Result<(), Error> {
        self.reply(&Call::delete(&format!("/scans/{id}"))).map(drop)
    }

    /// Starts a scan of `total` addresses, whose parts follow.
    ///
    /// # Errors
    /// See [`Error`]. A repeat with the same key within 24 hours returns the same scan.
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
        self.page_of_results(id, after, "")
    }

    /// The same with verdicts that may change: they have `final: false`.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn interim_results(&self, id: &str, after: Option<usize>) -> Result<ScanResults, Error> {
        self.page_of_results(id, after, "&interim=true")
    }

    fn page_of_results(
        &self,
        id: &str,
        after: Option<usize>,
        further: &str,
    ) -> Result<ScanResults, Error> {
        let after = after.map(|after| format!("&after={after}")).unwrap_or_default();
        self.call(&Call::get(&format!("/scans/{id}/results?limit=1000{after}{further}")))
    }
}
