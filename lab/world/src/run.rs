//! A run of a plan, in virtual time on one thread.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Result;
use tokio::{task::JoinSet, time::sleep};

use crate::{
    clock::{MINUTE, WorldClock},
    customers::{attacker, forms, lists, operator, slow},
    desk::{self, Desk},
    internet::{Observations, SessionLimits},
    journal::{Ban, Credit},
    memory::{MemoryBounds, total},
    plan::Plan,
    results::{ListRecord, Results, SingleRecord},
    town::Town,
};

/// Interval between checks of the pools' counts.
const CHECK_INTERVAL: Duration = MINUTE;

/// Outcome of a run.
pub struct Outcome {
    pub hash: String,
    pub events: u64,
    pub credit: Credit,
    pub by_reason: BTreeMap<String, u64>,
    pub bans: Vec<Ban>,
    /// Number of exceeded limits, and descriptions of the first of these.
    pub broken: (u64, Vec<String>),
    pub most_open: usize,
    /// Highest number of one origin's entries in memory; `not_forgotten` are those that all origins should have removed
    /// by the end.
    pub most_entries: usize,
    pub not_forgotten: usize,
    /// Number of times that servers refused us, as the pools counted since each origin's last start.
    pub refusals_of_us: u64,
    /// Numbers of the pools' sessions in use, idle sessions and waiters at the end.
    pub left: (usize, usize, usize),
    /// Number of open connections at the end.
    pub left_open: usize,
    pub singles: Vec<SingleRecord>,
    pub lists: Vec<ListRecord>,
    /// Times of the answers of each owner's lists, in order.
    pub listed_at: BTreeMap<usize, Vec<Duration>>,
    /// Addresses in lists by kind of domain: in total, and of dead mailboxes.
    pub listed: BTreeMap<&'static str, (u64, u64)>,
}

/// Runs the plan.
pub fn run(plan: &Plan) -> Result<Outcome> {
    run_surveyed(plan, desk::session_limits(plan, &desk::config(plan, 0)?)?, None)
}

/// Like [`run`], with other limits for the survey to check at every connection, and other bounds of memory.
pub fn run_surveyed(
    plan: &Plan,
    limits: Option<SessionLimits>,
    bounds: Option<MemoryBounds>,
) -> Result<Outcome> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(live(plan, limits, bounds))
}

async fn live(
    plan: &Plan,
    limits: Option<SessionLimits>,
    bounds: Option<MemoryBounds>,
) -> Result<Outcome> {
    let clock = WorldClock::start();
    let listed = plan.events.listed.map(|(from, lasts)| (from, from + lasts));
    let first = desk::sources(plan, 0).first().copied();
    let blocklist = first
        .zip(listed)
        .map(|(source, (from, until))| (source, from, until))
        .into_iter()
        .collect();
    let town = Arc::new(Town::build(plan, &Arc::new(blocklist)));
    let observations = Observations::new(clock, limits);
    let desk = Desk::open(plan, town, observations.clone())?;
    let results = Arc::new(Results::default());
    let mut people = populate(plan, &desk, &results);
    let end = clock.now() + plan.lasts;
    let usual = MemoryBounds::of(plan, &desk.town)?;
    let (bounds, mut most_entries) = (bounds.unwrap_or(usual), 0);
    while clock.now() < end {
        sleep(CHECK_INTERVAL.min(end - clock.now())).await;
        // No session may outlive its permit.
        let (open, shown) = (observations.all_open(), desk.sessions_in_status());
        if open > shown && plan.limited && !is_restarting(plan, clock) {
            let at = clock.now();
            observations
                .journal
                .broken(|| format!("{open} connections, {shown} permits at {at:?}"));
        }
        for entries in desk.entries() {
            most_entries = most_entries.max(total(entries));
            for text in bounds.exceeded(entries) {
                let at = clock.now();
                observations.journal.broken(|| format!("{text} at {at:?}"));
            }
        }
    }
    people.abort_all();
    while people.join_next().await.is_some() {}
    // Conversations and control recipients end by themselves.
    sleep(plan.quiet).await;
    let not_forgotten = desk.entries().into_iter().map(|it| bounds.not_forgotten(it)).sum();
    let refusals_of_us = desk.refusals_of_us();
    let left = desk.close().await;
    sleep(MINUTE).await;
    let (hash, events) = observations.trace.finish();
    let listed = desk.listed.lock().clone();
    Ok(Outcome {
        hash,
        events,
        credit: observations.journal.credit(),
        by_reason: observations.journal.by_reason(),
        bans: observations.journal.bans(),
        broken: observations.journal.broken_limits(),
        most_open: observations.most_open(),
        most_entries,
        not_forgotten,
        refusals_of_us,
        left,
        left_open: observations.all_open(),
        singles: results.singles(),
        lists: results.lists(),
        listed_at: results.listed_at(),
        listed,
    })
}

/// The desk doesn't see the sessions of an origin that is restarting.
fn is_restarting(plan: &Plan, clock: WorldClock) -> bool {
    plan.events.restarts_nightly && (3.0..3.1).contains(&clock.hour())
}

fn populate(plan: &Plan, desk: &Arc<Desk>, results: &Arc<Results>) -> JoinSet<()> {
    let customers = plan.customers;
    let mut people = JoinSet::new();
    let mut number = 0;
    let mut seed = || {
        number += 1;
        plan.seed.wrapping_mul(1_000_000_007).wrapping_add(number)
    };
    for form in 0..customers.forms {
        let (desk, results) = (desk.clone(), results.clone());
        people.spawn(forms::visit(desk, results, form, customers.checks_per_form, seed()));
    }
    let (least, most) = customers.dead_percent;
    for owner in 0..customers.lists {
        let part = owner as f64 / customers.lists.saturating_sub(1).max(1) as f64;
        let dead = (most.saturating_sub(least) as f64).mul_add(part, least as f64) / 100.0;
        let at = customers.lists_at + customers.lists_apart * owner as u32;
        let list = (at, customers.addresses_per_list, dead);
        // The seed is drawn even for a list that `only_list` leaves out, so that each owner's list stays the same.
        let seed = seed();
        if customers.only_list.is_none_or(|only| only == owner) {
            people.spawn(lists::own(desk.clone(), results.clone(), owner, list, seed));
        }
    }
    if customers.has_dictionary {
        people.spawn(attacker::dictionary(desk.clone(), seed()));
    }
    for one in 0..customers.crowd {
        people.spawn(attacker::one_of_crowd(desk.clone(), one, seed()));
    }
    for one in 0..customers.newcomers {
        people.spawn(attacker::newcomer(desk.clone(), one, seed()));
    }
    for owner in 0..customers.slow {
        people.spawn(slow::own(desk.clone(), owner, seed()));
    }
    if plan.events.restarts_nightly {
        people.spawn(operator::restart_nightly(desk.clone(), plan.origins));
    }
    if let Some(added) = plan.events.added {
        people.spawn(operator::add_source(desk.clone(), plan.origins, added));
    }
    people
}
