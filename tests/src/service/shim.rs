//! Counts and disturbs the calls of the bindings of a Worker started with
//! [`super::edge::EdgeBuilder::shimmed`] (`shim.mjs`).

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::sleep};

use super::Edge;

/// Numbers of the calls of each binding, and of the rows and messages in the calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct Counts {
    pub d1_trips: u64,
    pub d1_statements: u64,
    /// Rows as D1 counts and bills them, including index rows.
    pub d1_rows_written: u64,
    pub d1_rows_read: u64,
    pub kv_reads: u64,
    pub kv_writes: u64,
    pub cache_reads: u64,
    pub cache_writes: u64,
    /// Calls that put messages into the queue, and the number of messages.
    pub queue_sends: u64,
    pub queue_messages: u64,
}

/// A fault of a binding: which calls it affects, and what happens to them.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// `d1`, `kv`, `cache`, `queue` or `mail`.
    pub part: &'static str,
    /// Number of the affected database; `None` for all.
    pub database: Option<u8>,
    /// The fault applies only to round trips to D1 with exactly these statements, each as a verb and a table, in any
    /// order: `["update accounts", "delete leases"]`. If empty, the fault applies to every round trip.
    pub statements: &'static [&'static str],
    /// Calls to let through before the first fault.
    pub skip: u32,
    /// Number of faulty calls.
    pub times: u32,
    pub delay_ms: u64,
    /// Error to report; empty if the call only takes longer.
    pub error: &'static str,
    /// True to fail only after the operation has taken effect.
    pub late: bool,
    /// True to report success without the effect.
    pub swallow: bool,
}

/// A round trip to D1 that waits ([`Edge::park`]).
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
pub struct Parked {
    pub trip: u64,
    /// Verb and table of each statement.
    pub statements: Vec<String>,
}

/// Fate of a parked round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    Go,
    /// It takes effect, and its reply is lost.
    Late,
    /// It never takes effect, and its request never goes on: the isolate has ended.
    Never,
}

impl Edge {
    /// From now on each round trip to D1 with one of these statements (`"insert accounts"`) waits for
    /// [`Self::release`].
    pub async fn park(&self, statements: &[&str]) {
        self.shim(&json!({ "park": statements })).await;
    }

    /// The round trips that wait, in the order in which they came.
    pub async fn parked(&self) -> Vec<Parked> {
        let counts = self.shim(&json!({})).await;
        serde_json::from_value(counts["parked"].clone()).expect("the parked trips")
    }

    /// Waits until a round trip of `task` is parked; returns its number. Panics if the task ends first.
    pub async fn parked_by<T>(&self, task: &JoinHandle<T>) -> u64 {
        loop {
            let is_over = task.is_finished();
            if let Some(parked) = self.parked().await.pop() {
                return parked.trip;
            }
            assert!(!is_over, "the task has ended, and none of its round trips was parked");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Lets a parked round trip go on.
    pub async fn release(&self, trip: u64, how: Release) {
        let release = json!({
            "trip": trip, "late": how == Release::Late, "forgotten": how == Release::Never,
        });
        self.shim(&json!({ "release": release })).await;
    }

    /// Ends the scheduled runs that were cut ([`Release::Never`]). Otherwise each would give up its database after ten
    /// seconds, and go on with the next one in the middle of what a test does by then.
    pub async fn end_cut_runs(&self) {
        self.shim(&json!({ "end": true })).await;
    }

    /// Returns the calls since the counts were last reset, or since the start, and resets the counts.
    pub async fn counts(&self) -> Counts {
        let counts = self.shim(&json!({ "reset": true })).await;
        serde_json::from_value(counts).expect("the counts")
    }

    /// Returns the round trips to the first three databases since the counts were last reset, and resets the counts.
    pub async fn trips(&self) -> [u64; 3] {
        let counts = self.shim(&json!({ "reset": true })).await;
        let trips = &counts["d1_trips_by_database"];
        ["0", "1", "2"].map(|number| trips[number].as_u64().unwrap_or_default())
    }

    /// The statements of each verb and table (`insert accounts`) since the counts were last reset, without a wait for
    /// background work.
    pub async fn operations(&self) -> BTreeMap<String, u64> {
        let counts = self.shim(&json!({})).await;
        serde_json::from_value(counts["d1_operations"].clone()).expect("the operations")
    }

    /// The number of queries for a database's own number since the counts were last reset.
    pub async fn identifications(&self) -> u64 {
        let counts = self.shim(&json!({})).await;
        counts["d1_identifications"].as_u64().unwrap_or_default()
    }

    /// The emails handed over since the counts were last reset: `to`, `subject` and `headers` of each.
    pub async fn mails(&self) -> Vec<Value> {
        let counts = self.shim(&json!({ "quiet": true })).await;
        counts["mails"].as_array().expect("the mails").clone()
    }

    /// The URLs that the cache was asked to store since the counts were last reset.
    pub async fn cache_urls(&self) -> Vec<Value> {
        let counts = self.shim(&json!({ "quiet": true })).await;
        counts["cache_urls"].as_array().expect("the URLs").clone()
    }

    /// The messages put into the queue since the counts were last reset.
    pub async fn queue_messages(&self) -> Vec<Value> {
        let counts = self.shim(&json!({ "quiet": true })).await;
        counts["messages"].as_array().expect("the messages").clone()
    }

    /// Replaces the faults of the bindings; an empty list repairs them.
    pub async fn fail(&self, faults: &[Fault]) {
        self.shim(&json!({ "faults": faults })).await;
    }

    /// Limits each database to this many statements a second; `None` lifts the limit.
    pub async fn pace(&self, statements_per_second: Option<u32>) {
        self.shim(&json!({ "statementsPerSecond": statements_per_second })).await;
    }

    /// Blocks the isolate for this time, so that nothing else runs in it, and then returns.
    pub async fn keep_busy(&self, time: Duration) {
        self.shim(&json!({ "busyMs": time.as_millis() })).await;
    }

    /// Sends a command to the shim. The path is below `/v1`, because all other paths belong to the static assets.
    async fn shim(&self, command: &Value) -> Value {
        let client = reqwest::Client::builder().pool_max_idle_per_host(0).build();
        let request =
            client.expect("a client").post(format!("{}/v1/__shim", self.url)).json(command);
        let reply = request.send().await.expect("the shim answers");
        assert!(reply.status().is_success(), "the Worker was started without its shim");
        reply.json().await.expect("the shim answers in JSON")
    }
}
