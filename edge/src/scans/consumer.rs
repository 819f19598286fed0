//! Works on one message of the queue. The queue delivers at least once and in any order, and the
//! Worker may be stopped at any step, so each step can be repeated:
//!
//! 1. A message whose scan's lifetime is over is dropped unopened.
//! 2. One query finds out if the scan still exists and if this round has been done already.
//! 3. A new round's addresses are checked at the origins; one transaction stores and counts the results.
//! 4. The next round is computed from the message and the stored results, so that it can be sent
//!    twice and is never lost. It is a new message, since the platform limits a message's retries.

use std::sync::Arc;

use rcpt_shared::Tenant;
use serde::Serialize;

use super::{
    LIFETIME_S,
    message::{MessagePosition, ScanMessage, WaitingAddress},
    results,
    round::{self, Clock, Gains},
    scans_sql,
};
use crate::{
    app::App,
    cf::{clock, log},
    credentials::{keyed_names, random},
    error::Error,
    meter::{Expenses, Meter, metered},
    outbound::origin_batch::{BatchCall, BatchItem, UNHURRIED_MS},
    webhooks::delivery,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Acknowledge,
    Retry,
}

/// Wait of a retry round while the account's maximum number of concurrent scans is running.
const CONCURRENCY_WAIT_S: u64 = 60;
/// Number of consecutive rounds without contact with a mail server after which a message skips overloaded origins.
const MISSES_BEFORE_SKIPPING: u32 = 3;

/// The log line has no address and no domain.
#[derive(Debug, Default, Serialize)]
struct Summary {
    answered: u32,
    again: usize,
    not_asked: usize,
    age_s: u64,
}

#[derive(Serialize)]
struct ConsumerLine<'a> {
    event: &'a str,
    /// Also sent to origins as the request id.
    id: &'a str,
    scan: &'a str,
    outcome: &'a str,
    #[serde(flatten)]
    summary: Summary,
    #[serde(flatten)]
    expenses: Expenses,
}

/// Works on a message and writes its log line.
pub async fn consume(app: &App, text: Option<&str>) -> Disposition {
    // Only the Worker writes to this queue, and retrying can't make a message readable.
    let Some(message) = text.and_then(ScanMessage::parse) else {
        log::failure("scan message", &"unreadable");
        return Disposition::Acknowledge;
    };
    let id = random::identifier().unwrap_or_default();
    let meter = Arc::new(Meter::default());
    let scan = message.position.scan.clone();
    let done = metered(&meter, work(app, message, &id)).await;
    let (outcome, summary, done) = match done {
        Ok((outcome, summary)) => (outcome, summary, Disposition::Acknowledge),
        Err(error) => {
            log::failure("scan message", &error);
            ("failed", Summary::default(), Disposition::Retry)
        }
    };
    let expenses = meter.expenses();
    log::line(&ConsumerLine {
        event: "scan message",
        id: &id,
        scan: &scan,
        outcome,
        summary,
        expenses,
    });
    done
}

async fn work(app: &App, message: ScanMessage, id: &str) -> Result<(&'static str, Summary), Error> {
    let now = clock::now();
    let age_s = now.saturating_sub(message.position.since);
    let summary = Summary { age_s, ..Summary::default() };
    // 1
    if age_s >= LIFETIME_S {
        return Ok(("too old", summary));
    }
    // 2
    let database = app.databases.of(message.position.account)?;
    let account = message.position.account.to_string();
    let position = round_position(&account, &message.position);
    let Some(stored_round) = scans_sql::begin_round(database, position).await? else {
        return Ok(("not wanted", summary));
    };
    let Ok(waiting) = message.open(&app.config.scan_secrets) else {
        return Ok(("sealed for something else", summary));
    };
    if let Some(results) = &stored_round.results {
        // An earlier delivery did this round but may have stopped before sending the next round.
        if stored_round.followed == Some(0) {
            follow(app, &message, waiting, &results::from_text(results), now).await?;
        }
        return Ok(("done before", summary));
    }
    // 3
    let due_addresses = round::due_now(&waiting, now);
    if due_addresses.is_empty() {
        again(app, &message, message.misses, &waiting, round::delay(&waiting, now), now).await?;
        return Ok(("early", summary));
    }
    if stored_round.handed == 0 && !scans_sql::hand_over(database, position.scan).await? {
        return Ok(("not wanted", summary));
    }
    // A round that was tried in vain gave up the scan's place.
    let may_run = (message.position.round == 0 && message.misses == 0)
        || scans_sql::start_asking(database, position.scan, now).await?
        || round::is_late(&due_addresses, now);
    if !may_run {
        again(app, &message, message.misses, &waiting, CONCURRENCY_WAIT_S, now).await?;
        return Ok(("no place", summary));
    }
    let outcomes = probe(app, &message, &due_addresses, &stored_round, id).await?;
    let now = clock::now();
    let until = message.position.since.saturating_add(LIFETIME_S);
    let clock = Clock { times: &app.config.scan_retries, now, until };
    let (results, gains) = round::keep(&due_addresses, &outcomes, clock, stored_round.details != 0);
    let not_asked = outcomes.iter().filter(|o| matches!(o, BatchItem::NotAsked(_))).count();
    if results.is_empty() {
        let due_at = now.saturating_add(round::wait_after_miss(&outcomes, message.misses));
        let waiting = round::postponed(waiting, now, due_at);
        let (unasked, misses) = (round::unasked(&waiting), message.misses.saturating_add(1));
        let expected_at = clock.told_at(&outcomes).max(due_at);
        let miss = scans_sql::Miss { due_at, expected_at, until, unasked, misses };
        scans_sql::miss(database, position, miss).await?;
        again(app, &message, misses, &waiting, round::delay(&waiting, now), now).await?;
        return Ok(("nobody asked", Summary { not_asked, ..summary }));
    }
    let answered = gains.counts.sum();
    let Gains { counts, by_verdict, waiting: newly_waiting, waited } = gains;
    let delta = scans_sql::Delta { counts, by_verdict, waiting: newly_waiting, waited };
    let text = results::to_text(&results);
    let retry = clock.forecast(&round::next(waiting.clone(), &results, now), &outcomes);
    let had_missed = message.misses > 0;
    let round =
        scans_sql::RoundOutcome { results: &text, delta: &delta, retry, had_missed, writer: id };
    let Some(recorded_round) = scans_sql::record(database, position, &round, now).await? else {
        return Ok(("not wanted", summary));
    };
    // 4
    let stored_results = results::from_text(&recorded_round.results);
    let again = follow(app, &message, waiting, &stored_results, now).await?;
    if recorded_round.has_ended != 0 {
        delivery::announce(app, message.position.account).await;
    }
    Ok(("asked", Summary { answered, again, not_asked, age_s }))
}

async fn probe(
    app: &App,
    message: &ScanMessage,
    due_addresses: &[WaitingAddress],
    stored_round: &scans_sql::Round,
    id: &str,
) -> Result<Vec<BatchItem>, Error> {
    let addresses: Vec<_> = due_addresses.iter().map(|waiting| waiting.address.clone()).collect();
    let urgent = message.misses >= MISSES_BEFORE_SKIPPING;
    let tenant = keyed_names::of_account(&app.config.address_secrets, message.position.account);
    let tenant = Tenant { name: &tenant, paying: stored_round.paying != 0 };
    // The one-word verdict comes with the details, and is stored even for a scan without details.
    let deadline = clock::now_ms().saturating_add(UNHURRIED_MS);
    let (awaited_until, heard) = (None, &|_: usize, _: &BatchItem| {});
    let call = BatchCall { request_id: id, tenant, urgent, deadline, awaited_until, heard };
    app.origins.probe_batch(&addresses, call).await
}

fn round_position<'a>(
    account: &'a str,
    position: &'a MessagePosition,
) -> scans_sql::RoundPosition<'a> {
    let MessagePosition { scan, part, slot, round, .. } = position;
    scans_sql::RoundPosition { account, scan, part: *part, slot: *slot, round: *round }
}

async fn again(
    app: &App,
    message: &ScanMessage,
    misses: u32,
    waiting: &[WaitingAddress],
    delay: u64,
    now: u64,
) -> Result<(), Error> {
    let position = message.position.clone();
    let message = ScanMessage::seal(&app.config.scan_secrets, position, misses, waiting)?;
    send(app, &message, delay, now).await
}

/// Drops the addresses if the scan would be over at delivery; the stored verdicts then become final.
async fn send(app: &App, message: &ScanMessage, delay: u64, now: u64) -> Result<(), Error> {
    if now.saturating_add(delay) >= message.position.since.saturating_add(LIFETIME_S) {
        return Ok(());
    }
    app.scan_queue.send(vec![message.outgoing(delay)?]).await
}

async fn follow(
    app: &App,
    message: &ScanMessage,
    waiting: Vec<WaitingAddress>,
    results: &[results::StoredResult],
    now: u64,
) -> Result<usize, Error> {
    let next = round::next(waiting, results, now);
    if next.is_empty() {
        return Ok(0);
    }
    let position = MessagePosition {
        round: message.position.round.saturating_add(1),
        ..message.position.clone()
    };
    let follower = ScanMessage::seal(&app.config.scan_secrets, position, 0, &next)?;
    let delay = round::delay(&next, now);
    send(app, &follower, delay, now).await?;
    // If unrecorded, a message delivered twice would start the next round twice.
    let account = message.position.account.to_string();
    scans_sql::set_followed(
        app.databases.of(message.position.account)?,
        round_position(&account, &message.position),
    )
    .await?;
    Ok(next.len())
}
