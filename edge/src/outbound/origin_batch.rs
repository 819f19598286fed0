//! Sends many addresses to the origins. Addresses for the same origin share a request.

use std::time::Duration;

use futures_util::future::join_all;
use rcpt_shared::{AWAITED_HEADER, Address, BatchRequest, Tenant, Ticket, Verdict, WITHIN_HEADER};
use serde::Deserialize;

use super::origins::{self, LOOK_MS, Origins};
use crate::{
    cf::{
        clock::{self, timed},
        fetch::{Chunks, Reply},
    },
    error::Error,
    json,
    meter::Part,
};

/// Time limit in milliseconds of a batch without a waiting client. The origin ends the batch within
/// 60 s; the remaining time is for the last lines.
pub const UNHURRIED_MS: u64 = 75_000;
/// Milliseconds by which an origin's time limit is shorter than ours, for the transfer of its last lines.
const ON_THE_WAY_MS: u64 = 1_000;
/// Shortest delay in seconds until an address without a verdict is tried again.
const RETRY_AFTER_S: u32 = 30;
/// Longest line in bytes: details take a few hundred.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Result for one address.
#[derive(Debug, Clone)]
pub enum BatchItem {
    Verdict(Box<Verdict>),
    /// The address has no verdict; seconds until the next attempt.
    NotAsked(u32),
}

#[derive(Clone, Copy)]
pub struct BatchCall<'a> {
    pub request_id: &'a str,
    /// The account on whose behalf the batch runs.
    pub tenant: Tenant<'a>,
    /// True if an origin without free capacity is skipped, and the next origin called.
    pub urgent: bool,
    /// Deadline in milliseconds of the Worker's clock. Results that arrive later are missing.
    pub deadline: u64,
    /// When the caller takes what is known, in milliseconds of the Worker's clock.
    pub awaited_until: Option<u64>,
    /// Called for each result when it arrives, with the address's position.
    pub heard: &'a (dyn Fn(usize, &BatchItem) + Sync),
}

enum BatchAnswer {
    /// Possibly incomplete: addresses without a line have no result.
    Lines(Vec<(usize, BatchItem)>),
    /// The origin has no capacity for this many seconds.
    Busy(u32),
    /// The request failed, and another origin may be tried.
    Failed,
}

impl Origins {
    /// Checks all addresses, each at the first origin for its domain that responds. Returns a result for every address,
    /// in the order of `addresses`.
    ///
    /// # Errors
    /// [`Error::internal`] when a request cannot be made.
    pub async fn probe_batch(
        &self,
        addresses: &[Address],
        call: BatchCall<'_>,
    ) -> Result<Vec<BatchItem>, Error> {
        let mut outcomes = vec![None; addresses.len()];
        let orders: Vec<Vec<&str>> =
            addresses.iter().map(|address| self.in_order(address.domain())).collect();
        let mut open: Vec<usize> = (0..addresses.len()).collect();
        for rank in 0..self.urls().len() {
            let groups = groups(&open, &orders, rank);
            open = Vec::new();
            let batches = groups.iter().map(|(url, indexes)| async move {
                let list = indexes.iter().filter_map(|index| addresses.get(*index)).cloned();
                let heard = |position: usize, item: &BatchItem| {
                    if let Some(index) = indexes.get(position) {
                        (call.heard)(*index, item);
                    }
                };
                let call = BatchCall { heard: &heard, ..call };
                self.ask_batch(url, list.collect(), &call).await
            });
            for ((_, indexes), answer) in groups.iter().zip(join_all(batches).await) {
                match answer? {
                    BatchAnswer::Lines(lines) => {
                        let mut set = |position: usize, outcome| {
                            let index = indexes.get(position)?;
                            *outcomes.get_mut(*index)? = Some(outcome);
                            Some(())
                        };
                        for (position, outcome) in lines {
                            // Ignores a line whose position isn't in the batch.
                            let _ = set(position, outcome);
                        }
                    }
                    BatchAnswer::Busy(after) if !call.urgent => {
                        for index in indexes {
                            if let Some(outcome) = outcomes.get_mut(*index) {
                                *outcome = Some(BatchItem::NotAsked(after));
                            }
                        }
                    }
                    BatchAnswer::Busy(_) | BatchAnswer::Failed => open.extend(indexes),
                }
            }
            if open.is_empty() || clock::now_ms() >= call.deadline {
                break;
            }
        }
        let missing = BatchItem::NotAsked(RETRY_AFTER_S);
        Ok(outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| missing.clone())).collect())
    }

    async fn ask_batch(
        &self,
        origin: &str,
        addresses: Vec<Address>,
        call: &BatchCall<'_>,
    ) -> Result<BatchAnswer, Error> {
        let BatchCall { request_id, tenant, .. } = *call;
        let body = serde_json::to_string(&BatchRequest { addresses })
            .map_err(|error| Error::internal(format!("batch request: {error}")))?;
        let now = clock::now();
        let ticket =
            Ticket::issue_for(self.tickets(), request_id, body.as_bytes(), now, Some(tenant));
        let ticket = ticket.map_err(|error| Error::internal(format!("ticket: {error}")))?;
        let asking = async move {
            let url = format!("{origin}/v1/probe/batch");
            let Ok(reply) = self.first_word(origin, &url, &ticket, &body, call).await else {
                return BatchAnswer::Failed;
            };
            match reply.status() {
                200 => match reply.chunks() {
                    Some(chunks) => BatchAnswer::Lines(lines(chunks, call.heard).await),
                    None => BatchAnswer::Failed,
                },
                503 => {
                    let after = reply.header("Retry-After").and_then(|text| text.parse().ok());
                    let after = after.unwrap_or(RETRY_AFTER_S);
                    BatchAnswer::Busy(after.max(RETRY_AFTER_S))
                }
                _ => BatchAnswer::Failed,
            }
        };
        Ok(timed(Part::Origin, asking).await)
    }

    /// The head of an origin's response, which it sends before its first verdict: an origin that doesn't send the head
    /// may be hanging.
    async fn first_word(
        &self,
        origin: &str,
        url: &str,
        ticket: &str,
        body: &str,
        &BatchCall { deadline, awaited_until, .. }: &BatchCall<'_>,
    ) -> Result<Reply, String> {
        let waits = loop {
            if let Some(waits) = self.health().wait_with_batch(origin) {
                break waits;
            }
            let now = clock::now_ms();
            // Another request may have found that this origin hangs.
            if self.health().is_skipped(origin, now) {
                return Err("hung".to_owned());
            }
            if now >= deadline {
                return Err("no answer".to_owned());
            }
            clock::sleep(Duration::from_millis(LOOK_MS)).await;
        };
        let reply = async {
            let time_left = deadline.saturating_sub(clock::now_ms());
            let within = time_left.saturating_sub(ON_THE_WAY_MS).to_string();
            let patience = u32::try_from(time_left).unwrap_or(u32::MAX);
            let awaited = origins::awaited_ms(awaited_until);
            let mut headers = vec![(WITHIN_HEADER, within.as_str())];
            headers.extend(awaited.iter().map(|awaited| (AWAITED_HEADER, awaited.as_str())));
            let reply = origins::post(url, ticket, &headers, body, patience).await;
            reply.ok_or_else(|| "no answer".to_owned())
        };
        let reply = self.unless_hung(origin, reply).await;
        drop(waits);
        reply
    }
}

type Group<'a> = (&'a str, Vec<usize>);

fn groups<'a>(open: &[usize], orders: &[Vec<&'a str>], rank: usize) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for index in open {
        let Some(url) = orders.get(*index).and_then(|order| order.get(rank)) else { continue };
        match groups.iter_mut().find(|(other, _)| other == url) {
            Some((_, indexes)) => indexes.push(*index),
            None => groups.push((url, vec![*index])),
        }
    }
    groups
}

/// Any line of a response ([`BatchLine`](rcpt_shared::BatchLine)). One struct for all kinds: an
/// untagged enum would add kilobytes to the Worker.
#[derive(Deserialize)]
struct BatchLine {
    /// Absent in the closing line.
    index: Option<usize>,
    verdict: Option<Box<Verdict>>,
    not_asked_retry_after: Option<u32>,
}

async fn lines(
    mut chunks: Chunks,
    heard: &(dyn Fn(usize, &BatchItem) + Sync),
) -> Vec<(usize, BatchItem)> {
    let mut lines = Vec::new();
    let mut rest: Vec<u8> = Vec::new();
    while let Some(chunk) = chunks.next().await {
        rest.extend_from_slice(&chunk);
        let mut start = 0;
        while let Some(length) = rest.iter().skip(start).position(|byte| *byte == b'\n') {
            let line = rest.get(start..start + length).unwrap_or_default();
            start += length + 1;
            let Ok(line) = json::read::<BatchLine>(line) else { continue };
            let Some(index) = line.index else { return lines };
            let not_asked = line.not_asked_retry_after;
            let not_asked = not_asked.map(|after| BatchItem::NotAsked(after.max(RETRY_AFTER_S)));
            let outcome = line.verdict.map(BatchItem::Verdict).or(not_asked);
            if let Some(outcome) = outcome {
                heard(index, &outcome);
                lines.push((index, outcome));
            }
        }
        rest.drain(..start);
        if rest.len() > LINE_BYTES_MAX {
            break;
        }
    }
    lines
}
