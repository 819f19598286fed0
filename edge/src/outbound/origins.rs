//! Requests a verdict from the origins.

use std::{future::Future, pin::pin, time::Duration};

use futures_util::future::join_all;
use rcpt_shared::{
    AWAITED_HEADER, Address, CacheTimes, KeyRing, ProbeRequest, REMEMBER_HEADER, Tenant, Ticket,
    Verdict,
};
use sha2::{Digest as _, Sha256};

use super::origin_health::{Next, OriginHealth, SILENT_MS, SLOW_MS};
use crate::{
    cf::{
        clock::{self, timed},
        fetch::{OutgoingRequest, Reply},
    },
    error::Error,
    json,
    meter::{self, Part},
};

/// Milliseconds between two polls of another request's health check, or of the number of waiting
/// batches.
pub(super) const LOOK_MS: u64 = 50;
/// Silence is measured in slices of this many milliseconds, each with its own timer.
const SLICE_MS: u64 = 100;
/// Delay of a timer in milliseconds above which our own isolate is too busy. A response may be waiting too, so such a
/// slice doesn't count as silence.
const LATE_MS: u64 = 50;
/// Delay of a second health request, half of the time limit for silence: TCP repeats a lost SYN only after a second.
/// Either response counts.
const SECOND_REQUEST_DELAY: Duration = Duration::from_millis(SILENT_MS / 2);
const CHECK_MS: u32 = 10_000;
/// The check that shows whether an origin works. The sandbox answers it without a connection.
const WORKING_ADDRESS: &str = "accepts@sandbox.test";
/// Origins asked at the same time: the platform lets an invocation wait for six responses.
const CONNECTIONS_MAX: usize = 5;
/// Milliseconds by which the origin's answer comes before the caller takes what is known: its way, and the charge. At
/// most a quarter of the time left.
const SETTLED_MS: u64 = 500;
/// Divisor of the budget for the share reserved for each further origin: 1.5 s of 12 s. With
/// one further origin, an origin's own budget of 10 s fits into the remaining time.
const FURTHER_ORIGIN_DIVISOR: u64 = 8;

/// The origins and their health, with the ticket keys and the cache lifetimes for requests to them.
#[derive(Debug)]
pub struct Origins {
    urls: Vec<String>,
    tickets: KeyRing,
    remember: String,
    health: OriginHealth,
}

impl Origins {
    pub fn new(urls: &[String], tickets: &KeyRing, remember: CacheTimes) -> Self {
        let health = OriginHealth::default();
        Self {
            urls: urls.to_vec(),
            tickets: tickets.clone(),
            remember: remember.to_string(),
            health,
        }
    }

    pub(super) fn urls(&self) -> &[String] {
        &self.urls
    }

    pub(super) const fn health(&self) -> &OriginHealth {
        &self.health
    }

    /// The origins in the order for a recipient's domain; those that hung recently are last.
    pub(super) fn in_order(&self, domain: &str) -> Vec<&str> {
        let now = clock::now_ms();
        let order = in_order(&self.urls, domain).into_iter();
        let (skipped, mut order): (Vec<_>, Vec<_>) =
            order.partition(|origin| self.health.is_skipped(origin, now));
        order.extend(skipped);
        order
    }

    pub(super) const fn tickets(&self) -> &KeyRing {
        &self.tickets
    }

    /// Tries the origins for this domain in order until one returns a verdict or the deadline (milliseconds of the
    /// Worker's clock) has passed. `tenant` identifies the account. At `awaited_until` the caller takes what is known.
    /// `remembers` says whether an origin may keep the verdict and answer with an earlier one.
    ///
    /// # Errors
    /// [`Error::upstream`] when no origin returned a verdict: each was unreachable, slow, at
    /// capacity or sent an invalid response.
    pub async fn probe(
        &self,
        address: &Address,
        request_id: &str,
        tenant: Tenant<'_>,
        deadline: u64,
        awaited_until: Option<u64>,
        remembers: bool,
    ) -> Result<Verdict, Error> {
        let body = serde_json::to_string(&ProbeRequest { address: address.clone() })
            .map_err(|error| Error::internal(format!("probe request: {error}")))?;
        // The clock advances only during I/O, on which the loop below spends its time.
        let (now_s, now) = (clock::now(), clock::now_ms());
        let ticket =
            Ticket::issue_for(&self.tickets, request_id, body.as_bytes(), now_s, Some(tenant))
                .map_err(|error| Error::internal(format!("ticket: {error}")))?;
        let mut failures = Vec::new();
        let share = deadline.saturating_sub(now) / FURTHER_ORIGIN_DIVISOR;
        let mut reserve = share.saturating_mul(self.urls.len() as u64);
        for origin in self.in_order(address.domain()) {
            reserve = reserve.saturating_sub(share);
            let time_left = deadline.saturating_sub(clock::now_ms());
            if time_left == 0 {
                break;
            }
            // Each origin gets at least one share, or all the time left, regardless of the number of further origins.
            let patience = time_left.saturating_sub(reserve).max(time_left.min(share));
            let patience = u32::try_from(patience).unwrap_or(u32::MAX);
            let awaited = awaited_ms(awaited_until);
            let remember = remembers.then_some((REMEMBER_HEADER, self.remember.as_str()));
            let mut headers = Vec::from_iter(remember);
            headers.extend(awaited.iter().map(|awaited| (AWAITED_HEADER, awaited.as_str())));
            let query = timed(Part::Origin, verdict_of(origin, &ticket, &headers, &body, patience));
            match self.unless_hung(origin, query).await {
                Ok(verdict) => return Ok(verdict),
                Err(failure) => failures.push(format!("{}: {failure}", host_of(origin))),
            }
        }
        if self.urls.is_empty() {
            failures.push("ORIGINS is empty".to_owned());
        } else if failures.is_empty() {
            failures.push("no time was left to ask".to_owned());
        }
        Err(Error::upstream(failures.join("; ")))
    }

    /// Fails if the origin turns out to hang.
    pub(super) async fn unless_hung<T>(
        &self,
        origin: &str,
        request: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        let mut answer_future = pin!(request);
        let mut wait = SLOW_MS;
        loop {
            let answer = clock::within(Duration::from_millis(wait), answer_future.as_mut()).await;
            if let Some(answer) = answer {
                return self.record_response(origin, answer);
            }
            wait = match self.health.next(origin, clock::now_ms()) {
                Next::Wait => SLOW_MS,
                Next::Look => LOOK_MS,
                Next::Leave => return Err("hung".to_owned()),
                // If the response arrives first, the health check is dropped.
                Next::Check => {
                    let checked = self.check_health(origin);
                    if let Some(answer) = clock::before(checked, answer_future.as_mut()).await {
                        return self.record_response(origin, answer);
                    }
                    0
                }
            };
        }
    }

    fn record_response<T>(&self, origin: &str, answer: Result<T, String>) -> Result<T, String> {
        if answer.is_ok() {
            self.health.record_response(origin, clock::now_ms());
            meter::note(|party| party.origin = Some(host_of(origin).to_owned()));
        }
        answer
    }

    /// Any response counts: `/ready` says if the origin can work. A failed connection isn't silence either; the probe's
    /// own connection fails as well.
    async fn check_health(&self, origin: &str) {
        let again = async {
            clock::sleep(SECOND_REQUEST_DELAY).await;
            is_alive(origin, CHECK_MS).await;
        };
        let mut alive = pin!(clock::before(again, is_alive(origin, CHECK_MS)));
        let mut silent_ms = 0;
        while silent_ms < SILENT_MS {
            let started = clock::now_ms();
            self.health.record_check(origin, started);
            let slice = Duration::from_millis(SLICE_MS);
            if clock::within(slice, alive.as_mut()).await.is_some() {
                return self.health.record_response(origin, clock::now_ms());
            }
            if clock::now_ms().saturating_sub(started) <= SLICE_MS + LATE_MS {
                silent_ms += SLICE_MS;
            }
        }
        self.health.record_silence(origin, clock::now_ms());
    }

    /// The number of origins that answer a check of the sandbox, with a ticket, within `timeout_ms` each, and the
    /// number of all. An origin that can't work, or doesn't accept our tickets, doesn't answer it.
    ///
    /// # Errors
    /// [`Error::internal`], which doesn't occur.
    pub async fn count_working(
        &self,
        request_id: &str,
        timeout_ms: u32,
    ) -> Result<(usize, usize), Error> {
        let internal = |error| Error::internal(format!("sandbox: {error}"));
        let address = Address::parse(WORKING_ADDRESS).map_err(|_| internal("address"))?;
        let body =
            serde_json::to_string(&ProbeRequest { address }).map_err(|_| internal("body"))?;
        let ticket = Ticket::issue(&self.tickets, request_id, body.as_bytes(), clock::now())
            .map_err(|_| internal("ticket"))?;
        let mut working = 0;
        for origins in self.urls.chunks(CONNECTIONS_MAX) {
            let asked =
                origins.iter().map(|origin| verdict_of(origin, &ticket, &[], &body, timeout_ms));
            working += join_all(asked).await.iter().filter(|verdict| verdict.is_ok()).count();
        }
        Ok((working, self.urls.len()))
    }
}

pub(super) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

async fn is_alive(origin: &str, timeout_ms: u32) -> bool {
    let url = &format!("{origin}/health");
    let reply = OutgoingRequest { url, headers: &[], body: None, timeout_ms }.send().await;
    reply.is_some_and(|reply| reply.status() == 200)
}

/// The error is for the log and never contains the origin's own text.
async fn verdict_of(
    origin: &str,
    ticket: &str,
    headers: &[(&str, &str)],
    body: &str,
    timeout_ms: u32,
) -> Result<Verdict, String> {
    let url = format!("{origin}/v1/probe");
    let reply = post(&url, ticket, headers, body, timeout_ms).await.ok_or("no answer")?;
    match reply.status() {
        200 => {
            let text = reply.text().await.ok_or("half an answer")?;
            json::read(text.as_bytes()).map_err(|_| "an answer that is not a verdict".to_owned())
        }
        status => Err(format!("status {status}")),
    }
}

pub(super) fn awaited_ms(awaited_until: Option<u64>) -> Option<String> {
    let left = awaited_until?.saturating_sub(clock::now_ms());
    Some((left - SETTLED_MS.min(left / 4)).to_string())
}

/// The ticket was issued for this body.
pub(super) async fn post(
    url: &str,
    ticket: &str,
    further: &[(&str, &str)],
    body: &str,
    timeout_ms: u32,
) -> Option<Reply> {
    let authorization = format!("Bearer {ticket}");
    let mut headers =
        vec![("Authorization", authorization.as_str()), ("Content-Type", "application/json")];
    headers.extend(further);
    OutgoingRequest { url, headers: &headers, body: Some(body), timeout_ms }.send().await
}

/// Rendezvous hashing keeps one domain's connections and caches at one origin, and an added or removed origin affects
/// only its own domains.
fn in_order<'a>(origins: &'a [String], domain: &str) -> Vec<&'a str> {
    if let [only] = origins {
        return vec![only];
    }
    let mut heaviest_first = Vec::new();
    for origin in origins {
        let weighted = (weight(origin, domain), origin.as_str());
        let place = heaviest_first.partition_point(|other| *other > weighted);
        heaviest_first.insert(place, weighted);
    }
    heaviest_first.into_iter().map(|(_, origin)| origin).collect()
}

fn weight(origin: &str, domain: &str) -> [u8; 32] {
    Sha256::new().chain_update(origin).chain_update([0]).chain_update(domain).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::in_order;

    fn origins(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("https://origin-{n}.example")).collect()
    }

    #[test]
    fn a_domain_keeps_its_origin_and_domains_are_spread_evenly() {
        let origins = origins(4);
        let mut counts = [0; 4];
        for n in 0..4000 {
            let domain = format!("domain-{n}.example");
            let order = in_order(&origins, &domain);
            assert_eq!(order, in_order(&origins, &domain));
            assert_eq!(order.len(), 4);
            counts[origins.iter().position(|origin| origin == order[0]).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_lost_origin_moves_only_its_own_domains() {
        let all = origins(4);
        let remaining = &all[..3];
        for n in 0..1000 {
            let domain = format!("domain-{n}.example");
            let before = in_order(&all, &domain);
            let after = in_order(remaining, &domain);
            let survivors: Vec<_> = before.into_iter().filter(|o| *o != all[3]).collect();
            assert_eq!(survivors, after);
        }
    }
}
