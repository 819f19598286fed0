//! `POST /v1/probe/batch`: many addresses in one request.

mod group;
mod held;

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{self, Request},
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use parking_lot::Mutex;
use rcpt_pool::{Asker, Question, Wait};
use rcpt_shared::{
    Address, BatchAnswer, BatchEnd, BatchLine, BatchRequest, MAX_BATCH, NotAsked, Reason, Status,
    Verdict, WITHIN_HEADER, is_role, sandbox,
};
use tokio::{
    sync::{Semaphore, SemaphorePermit, mpsc},
    task::JoinSet,
    time::{Instant, timeout_at},
};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

use super::{
    Error, RequestId,
    probe::{admit, awaited_until, milliseconds_of, record},
};
use crate::{
    State,
    probe::{Manner, Told},
    service::fair_shares::Share,
};
use group::Group;
use held::{DomainLines, HeldLine, HeldLines};

/// Time limit of a whole batch, unless its header sets a shorter limit. An address that still has no session when only
/// one address's time is left is reported as not checked.
const BATCH_TIMEOUT: Duration = Duration::from_secs(60);
/// Multiple of a single check's time: nobody waits for a list, and slow servers answer.
const PATIENCE_FACTOR: u32 = 3;
/// Seconds after which the client may retry, unless a limit determines them.
const RETRY_AFTER_S: u32 = 60;
/// Seconds after which an accepted address may get the evidence for which our limits left no room: a window of the
/// limits of refused recipients.
const EVIDENCE_AFTER_S: u32 = 600;
/// Lines buffered for a slow reader.
const LINES_MAX: usize = 16;
const LOOKUPS_MAX: usize = 32;

/// Handles `POST /v1/probe/batch {addresses}`: 200 with a line of JSON for each address ([`BatchLine`]), in
/// order of completion, and a closing line. Ticket, body and errors as for a single probe; 503 when too many batches
/// are in progress and this is not the tenant's first.
///
/// Addresses are grouped by their limits: each group has a few probes in progress, and no group waits for another
/// group. Batches yield to single checks.
pub(super) async fn batch(
    extract::State(state): extract::State<Arc<State>>,
    Extension(given_id): Extension<RequestId>,
    request: Request,
) -> Result<Response, Error> {
    let within = milliseconds_of(&request, WITHIN_HEADER).unwrap_or(BATCH_TIMEOUT);
    let awaited_until = awaited_until(&request);
    let (batch, asker, id) = admit::<BatchRequest>(&state, given_id, request).await?;
    if batch.addresses.is_empty() || batch.addresses.len() > MAX_BATCH {
        return Err(Error::Malformed);
    }
    let written = ask_all(state, batch, (within, awaited_until), asker, id.clone())?;
    let written = ReceiverStream::new(written).map(|line: BatchLine| {
        serde_json::to_vec(&line).map(|mut line| {
            line.push(b'\n');
            line
        })
    });
    let mut response =
        ([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(written)).into_response();
    id.write(response.headers_mut());
    Ok(response)
}

/// The time for which a batch starts its addresses, and that for each address, of which `budget` is a single check's.
fn times(within: Duration, budget: Duration) -> (Duration, Duration) {
    let within = within.min(BATCH_TIMEOUT);
    let own = (budget * PATIENCE_FACTOR).min(budget.max(within / 2));
    (within.saturating_sub(own).max(within / 2), own)
}

/// Probes all addresses within this time, and returns their lines in order of completion. Evidence that is slow holds
/// back no accepted line at `awaited_until`.
///
/// # Errors
/// [`Error::AtCapacity`]: too many batches are in progress, and this is not the tenant's first.
pub fn ask_all(
    state: Arc<State>,
    BatchRequest { addresses }: BatchRequest,
    (within, awaited_until): (Duration, Option<Instant>),
    asker: Asker,
    id: RequestId,
) -> Result<mpsc::Receiver<BatchLine>, Error> {
    let entry = state.batches.enter(asker.fairness_group.clone()).ok_or(Error::AtCapacity)?;
    let (starting, budget) = times(within, state.prober.config().budget);
    let is_awaited = within < BATCH_TIMEOUT;
    let now = Instant::now();
    let (until, ends) = (now + starting, now + within.min(BATCH_TIMEOUT));
    let held = HeldLines::of(&addresses);
    let batch = Arc::new(Batch {
        state,
        id,
        asker,
        until,
        budget,
        is_awaited,
        awaited_until,
        ends,
        held,
        turn: tokio::sync::Mutex::default(),
    });
    let (lines, written) = mpsc::channel(LINES_MAX);
    tokio::spawn(drive(batch, addresses, lines, entry));
    Ok(written)
}

struct Batch {
    state: Arc<State>,
    id: RequestId,
    asker: Asker,
    until: Instant,
    budget: Duration,
    /// True if a person waits: accepted lines are asked as single checks, and not held.
    is_awaited: bool,
    /// See [`Manner`].
    awaited_until: Option<Instant>,
    ends: Instant,
    held: HeldLines,
    /// The address that waits for a place.
    turn: tokio::sync::Mutex<()>,
}

type Lines = Vec<(usize, BatchLine)>;

async fn drive(
    batch: Arc<Batch>,
    addresses: Vec<Address>,
    lines: mpsc::Sender<BatchLine>,
    _entry: Share,
) {
    let count = addresses.len();
    let mut all = JoinSet::new();
    let groups: Arc<Mutex<HashMap<String, Arc<Group>>>> = Arc::default();
    let planning = Arc::new(Semaphore::new(LOOKUPS_MAX));
    for (index, address) in addresses.into_iter().enumerate() {
        let (batch, groups, planning) = (batch.clone(), groups.clone(), planning.clone());
        all.spawn(async move {
            let group = {
                // The semaphore is never closed. If the semaphore were closed, the lookup would run without its limit.
                let _planning = planning.acquire().await;
                batch.group_of(&groups, &address).await
            };
            if let Some(group) = group {
                group.lock().push_back((index, address));
                batch.probe_next(&group).await
            } else {
                batch.ended(address.domain(), Some(not_asked(index, RETRY_AFTER_S))).await
            }
        });
    }
    write(all, count, &batch.id, lines).await;
}

async fn write(
    mut all: JoinSet<Lines>,
    count: usize,
    id: &RequestId,
    lines: mpsc::Sender<BatchLine>,
) {
    let mut unanswered: Vec<bool> = vec![true; count];
    let mut end = BatchEnd { answered: 0, not_asked: 0 };
    loop {
        let done = tokio::select! {
            biased;
            // Dropping the set cancels the remaining probes.
            () = lines.closed() => return,
            done = all.join_next() => match done {
                None => break,
                Some(Ok(done)) => done,
                Some(Err(_)) => {
                    tracing::error!(request_id = id.as_str(), "a probe panicked");
                    continue;
                }
            },
        };
        for (index, line) in done {
            if let Some(unanswered) = unanswered.get_mut(index) {
                *unanswered = false;
            }
            add(&line, &mut end);
            if lines.send(line).await.is_err() {
                return;
            }
        }
    }
    // An address whose task has panicked still gets a line.
    for index in (0..count).filter(|index| unanswered.get(*index) == Some(&true)) {
        let line = not_asked(index, RETRY_AFTER_S);
        add(&line, &mut end);
        if lines.send(line).await.is_err() {
            return;
        }
    }
    // Fails if the client has left after the last address.
    let _ = lines.send(BatchLine::End(end)).await;
}

const fn add(line: &BatchLine, end: &mut BatchEnd) {
    match line {
        BatchLine::Answer(_) => end.answered += 1,
        BatchLine::NotAsked(_) => end.not_asked += 1,
        BatchLine::End(_) => {}
    }
}

impl Batch {
    async fn group_of(
        &self,
        groups: &Mutex<HashMap<String, Arc<Group>>>,
        address: &Address,
    ) -> Option<Arc<Group>> {
        let planned = timeout_at(self.until, self.state.prober.plan(address)).await;
        let (key, at_once) = planned.ok()?;
        let mut groups = groups.lock();
        let group = groups.entry(key).or_insert_with(|| Arc::new(Group::new(at_once)));
        Some(Arc::clone(group))
    }

    async fn probe_next(&self, group: &Group) -> Lines {
        let mut place = timeout_at(self.until, group.at_once.acquire()).await.ok().transpose();
        let Some((index, address)) = group.lock().pop_front() else { return Lines::new() };
        let domain = address.domain().to_owned();
        let stopping = *self.state.stopping.borrow();
        if stopping || !matches!(place, Ok(Some(_))) || Instant::now() >= self.until {
            return self.ended(&domain, Some(not_asked(index, RETRY_AFTER_S))).await;
        }
        let (asker, wait) = (self.asker.clone(), Wait::InBatch(self.until));
        let question = Question { address, asker, wait };
        let invents = self.is_awaited || self.held.is_last(&domain);
        let told = self.probe(&question, invents, place.as_mut().ok()).await;
        group.count(told.is_ok());
        if let Ok(Told { verdict: Verdict { status: Status::Accepted, mx_host, .. }, .. }) = &told {
            self.held.accepted(&question, mx_host.as_deref().unwrap_or_default());
        }
        let line = match told {
            Err(after) if self.is_awaited || after <= RETRY_AFTER_S => {
                Some(not_asked(index, after))
            }
            Err(after) => Some(not_asked(index, group.turn(after))),
            Ok(Told { mut verdict, undecided, .. }) => {
                let is_open = self.state.prober.lacks_evidence(&domain, &verdict);
                if undecided.is_some() || (is_open && !self.is_awaited) {
                    self.held.hold(HeldLine { index, question, verdict, invents, undecided });
                    None
                } else {
                    if is_open {
                        verdict.retry_after = Some(EVIDENCE_AFTER_S);
                    }
                    Some(BatchLine::Answer(BatchAnswer { index, verdict }))
                }
            }
        };
        // The group's permit is kept for the invention.
        self.ended(&domain, line).await
    }

    async fn ended(&self, domain: &str, line: Option<BatchLine>) -> Lines {
        let index = |line: &BatchLine| match line {
            BatchLine::Answer(BatchAnswer { index, .. })
            | BatchLine::NotAsked(NotAsked { index, .. }) => *index,
            BatchLine::End(_) => usize::MAX,
        };
        let mut lines: Lines = line.into_iter().map(|line| (index(&line), line)).collect();
        lines.extend(self.decide(self.held.answered(domain)).await);
        lines
    }

    /// The lines of a domain whose other lines are answered. If nothing has been learnt meanwhile, one of them is asked
    /// about again, and the invention behind it, in the same session.
    async fn decide(&self, lines: DomainLines) -> Lines {
        let prober = &self.state.prober;
        let lacks =
            |line: &HeldLine| prober.lacks_evidence(line.question.address.domain(), &line.verdict);
        let of_a_person = |line: &&HeldLine| !is_role(line.question.address.local_part());
        let lacking = || lines.held.iter().filter(|line| lacks(line));
        if let Some(first) = lacking().find(of_a_person).or(lacking().next())
            && !lacking().any(|line| line.invents)
            && Instant::now() < self.until
        {
            let _ = self.probe(&first.question, true, None).await;
        }
        let nobodies = self.nobodies(&lines).await;
        let decided = lines.held.into_iter().map(|line| {
            let is_open = lacks(&line);
            let HeldLine { index, question, verdict, .. } = line;
            if nobodies.contains(&index) {
                let verdict = prober.as_nobody(&question, verdict);
                return (index, BatchLine::Answer(BatchAnswer { index, verdict }));
            }
            let mut verdict = prober.with_evidence(&question, verdict);
            if is_open {
                verdict.retry_after = Some(EVIDENCE_AFTER_S);
            }
            (index, BatchLine::Answer(BatchAnswer { index, verdict }))
        });
        decided.collect()
    }

    /// The error is the number of seconds after which to retry, if our own limits prevented a verdict. Where a person
    /// waits, the group's `place` is free for the next address while the evidence is awaited.
    async fn probe(
        &self,
        question: &Question,
        invents: bool,
        place: Option<&mut Option<SemaphorePermit<'_>>>,
    ) -> Result<Told, u32> {
        let state = &self.state;
        // Half of the permits are reserved for single checks. One address of a batch waits at a time, so that few wake
        // when a place becomes free.
        let permits = async {
            let turn = self.turn.lock().await;
            let place = state.batch_places.enter_when_free(&self.asker).await;
            drop(turn);
            state.permits.acquire().await.map(|permit| (place, permit))
        };
        let Ok(Ok(permits)) = timeout_at(self.until, permits).await else {
            return Err(RETRY_AFTER_S);
        };
        let in_flight = state.metrics.start();
        let started = Instant::now();
        let Self { budget, awaited_until, ends, .. } = *self;
        let manner = Manner { budget, invents, awaited_until, ends };
        let told = state.prober.ask(question, manner).await;
        drop(permits);
        if self.is_awaited
            && let Some(place) = place
        {
            *place = None;
        }
        let told = state.prober.with_learnt(question, manner, told).await;
        let verdict = &told.verdict;
        drop(in_flight);
        if state.blames_port(verdict).await {
            return Err(RETRY_AFTER_S);
        }
        record(state, &self.id, question, verdict, started.elapsed());
        let ours = (verdict.status, verdict.reason) == (Status::FatalException, Reason::OurLimit);
        // In the sandbox our limit is a verdict: another attempt would find it again.
        let is_sandbox = sandbox::find(&question.address).is_some();
        if ours && !is_sandbox {
            Err(verdict.retry_after.unwrap_or(RETRY_AFTER_S))
        } else {
            Ok(told)
        }
    }
}

const fn not_asked(index: usize, retry_after: u32) -> BatchLine {
    BatchLine::NotAsked(NotAsked { index, not_asked_retry_after: retry_after })
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{BatchAnswer, BatchEnd, BatchLine, NotAsked, Reason, Stage, Status, Verdict};
    use std::time::Duration;

    use tokio::{sync::mpsc, task::JoinSet};

    use super::{RETRY_AFTER_S, RequestId, times, write};

    #[test]
    fn every_address_that_has_a_session_has_its_time_within_the_batchs() {
        for (within, starting, own) in [(60, 30, 30), (3_600, 30, 30), (20, 10, 10), (12, 6, 10)] {
            let [within, starting, own] = [within, starting, own].map(Duration::from_secs);
            assert_eq!(times(within, Duration::from_secs(10)), (starting, own), "{within:?}");
        }
    }

    #[tokio::test]
    async fn an_address_whose_probe_panics_has_a_line_and_so_have_its_neighbours() {
        let mut all = JoinSet::new();
        for index in 0..3 {
            all.spawn(async move {
                assert_ne!(index, 1, "this is the panic");
                let verdict = Verdict::new(Status::Accepted, Reason::Accepted, Stage::Rcpt);
                vec![(index, BatchLine::Answer(BatchAnswer { index, verdict }))]
            });
        }
        let (lines, mut written) = mpsc::channel(8);
        write(all, 3, &RequestId::parse("r").unwrap(), lines).await;
        let (mut answered, mut not_asked, mut end) = (Vec::new(), Vec::new(), None);
        while let Some(line) = written.recv().await {
            match line {
                BatchLine::Answer(answer) => answered.push(answer.index),
                BatchLine::NotAsked(NotAsked { index, not_asked_retry_after }) => {
                    not_asked.push((index, not_asked_retry_after));
                }
                BatchLine::End(last) => end = Some(last),
            }
        }
        answered.sort_unstable();
        assert_eq!((answered, not_asked), (vec![0, 2], vec![(1, RETRY_AFTER_S)]));
        assert_eq!(end, Some(BatchEnd { answered: 2, not_asked: 1 }));
    }
}
