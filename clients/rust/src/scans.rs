//! Lists that are checked in the background.

use std::{collections::BTreeMap, thread, time::Duration};

use rcpt_shared::{Deliverability, Status};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    client::{Call, Client},
    error::Error,
};

/// Positions in a part; the last part of a list may have fewer.
pub const PART: usize = 1_000;

/// A list that is checked in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    pub id: String,
    pub name: String,
    /// `open` (parts are missing), `running`, `completed`, `cancelled` or `expired`.
    pub state: String,
    pub total: u64,
    /// Positions that the service has received.
    pub received: u64,
    /// Positions with a final verdict.
    pub answered: u64,
    /// Positions whose server has deferred them.
    pub waiting: u64,
    pub estimated_seconds_left: Option<u64>,
    /// Number of final verdicts per word: `deliverable`, `undeliverable`, `risky` and `unknown`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_verdict: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

impl Scan {
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
    /// Position in the list, from 0.
    pub position: usize,
    pub status: Status,
    pub verdict: Deliverability,
    #[serde(flatten)]
    pub further: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ScanResults {
    pub results: Vec<ScanResult>,
    /// Cursor for the next page, for [`Client::results`].
    pub next: Option<usize>,
}

/// An event, in the form that a webhook receives.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// Value of the header `webhook-id`.
    pub id: String,
    /// Body of the webhook request.
    pub event: Value,
}

/// A page of events, oldest first.
#[derive(Debug, Clone, Deserialize)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// Cursor for later events, for [`Client::events`].
    pub next: String,
}

#[derive(Debug, Clone)]
pub struct Joined<'a> {
    pub address: &'a str,
    /// The position's result, if there is one.
    pub result: Option<ScanResult>,
}

fn other_list(message: String) -> Error {
    Error::Refused { status: 409, code: None, message, details: Box::default() }
}

/// Pauses between two requests for a scan's state grow.
const LOOK: Duration = Duration::from_millis(500);
/// Longest pause between two such requests.
const LONGEST_LOOK: Duration = Duration::from_secs(10);

impl Client {
    /// Starts a scan of a list and sends all its parts. Another call with the same list and key
    /// within 24 hours returns the same scan.
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

    /// Waits until a scan has ended, calling `on_progress` with each state.
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

    /// The addresses of a scan in their original order, each with its result; [`Error::Refused`] if the list isn't the
    /// scanned one.
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
        let mut rows: Vec<_> = unanswered.collect();
        let mut after = None;
        loop {
            let page = self.results(id, after)?;
            for result in page.results {
                if let Some(row) = rows.get_mut(result.position) {
                    row.result = Some(result);
                }
            }
            // A cursor that leads back to an earlier page would loop forever.
            match page.next {
                Some(next) if after.is_none_or(|after| next > after) => after = Some(next),
                _ => return Ok(rows),
            }
        }
    }

    /// True also if it can't be determined: a part with fewer than two different addresses can't be compared.
    fn is_part(&self, id: &str, number: usize, addresses: &[&str]) -> Result<bool, Error> {
        #[derive(Deserialize)]
        struct PartMatch {
            matches: bool,
        }
        let path = format!("/scans/{id}/parts/{number}/match");
        match self.call(&Call::post(&path, json!({ "addresses": addresses }))) {
            Ok(PartMatch { matches }) => Ok(matches),
            Err(error) if error.code() == Some("nothing_to_match") => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Up to a hundred events of the last 24 hours, after the given cursor.
    pub fn events(&self, after: Option<&str>) -> Result<EventPage, Error> {
        let after = after.map(|after| format!("?after={after}")).unwrap_or_default();
        self.call(&Call::get(&format!("/events{after}")))
    }

    /// Cancels a scan. Verdicts found so far are kept.
    pub fn cancel_scan(&self, id: &str) -> Result<Scan, Error> {
        self.call(&Call::post(&format!("/scans/{id}/cancel"), json!({})))
    }

    /// Deletes a scan with its results; a running one is cancelled.
    pub fn delete_scan(&self, id: &str) -> Result<(), Error> {
        self.reply(&Call::delete(&format!("/scans/{id}"))).map(drop)
    }

    /// Creates a scan of `total` addresses, whose parts are sent later. A repeat with the same key
    /// within 24 hours returns the same scan.
    pub fn create_scan(
        &self,
        total: usize,
        name: &str,
        idempotency_key: &str,
    ) -> Result<Scan, Error> {
        let body = json!({ "total": total, "name": name, "details": true });
        self.call(&Call::post("/scans", body).under(idempotency_key))
    }

    /// Sends part `number`, from 0. Sending the same part again changes nothing.
    pub fn send_part(&self, id: &str, number: usize, addresses: &[&str]) -> Result<Scan, Error> {
        let path = format!("/scans/{id}/parts/{number}");
        self.call(&Call::put(&path, json!({ "addresses": addresses })))
    }

    /// The current state of a scan.
    pub fn scan(&self, id: &str) -> Result<Scan, Error> {
        self.call(&Call::get(&format!("/scans/{id}")))
    }

    /// Up to a hundred scans older than `before`, newest first.
    pub fn scans(&self, before: Option<&str>) -> Result<ScanPage, Error> {
        let before = before.map(|id| format!("&before={id}")).unwrap_or_default();
        self.call(&Call::get(&format!("/scans?limit=100{before}")))
    }

    /// Up to a thousand results after the position `after`.
    pub fn results(&self, id: &str, after: Option<usize>) -> Result<ScanResults, Error> {
        self.page_of_results(id, after, "")
    }

    /// Like [`Client::results`], including verdicts that may still change: they have `final:
    /// false`.
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
