//! `POST /v1/probe/batch`: many addresses in one request.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    Extension,
    body::Body,
    extract::{self, Request},
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use rcpt_shared::{Address, BatchAnswer, BatchRequest, MAX_BATCH, Reason, Stage, Status, Verdict};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{Instant, timeout_at},
};
use tokio_stream::{StreamExt as _, wrappers::ReceiverStream};

use super::{
    Error,
    probe::{admitted, record},
    request_id::RequestId,
};
use crate::State;

/// For the whole batch: 500 addresses of a server that takes a second for each, in two sessions. What
/// is not answered by then is `our_limit`.
const BUDGET: Duration = Duration::from_secs(300);
/// Lines that wait for a slow reader.
const LINES: usize = 16;

/// `POST /v1/probe/batch {addresses, details?}`: 200 with a line of JSON for each address, in order of
/// completion. Ticket, body and errors as for a single probe.
///
/// The budget of an address begins when its turn comes. Addresses of one domain share its mail host's
/// sessions, so that no more of them are under way than there may be sessions.
pub(super) async fn batch(
    extract::State(state): extract::State<Arc<State>>,
    Extension(given_id): Extension<RequestId>,
    request: Request,
) -> Result<Response, Error> {
    let (body, id) = admitted(&state, given_id, request).await?;
    let BatchRequest { addresses, details } =
        serde_json::from_slice(&body).map_err(|_| Error::Malformed)?;
    if addresses.is_empty() || addresses.len() > MAX_BATCH {
        return Err(Error::Malformed);
    }
    let (answers, lines) = mpsc::channel(LINES);
    tokio::spawn(drive(state, id.clone(), addresses, details, answers));
    let lines = ReceiverStream::new(lines).map(|answer: BatchAnswer| {
        serde_json::to_vec(&answer).map(|mut line| {
            line.push(b'\n');
            line
        })
    });
    let mut response =
        ([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response();
    id.write(response.headers_mut());
    Ok(response)
}

/// Asks about all addresses, until they are answered or the answers are not read any more.
async fn drive(
    state: Arc<State>,
    id: RequestId,
    addresses: Vec<Address>,
    details: bool,
    answers: mpsc::Sender<BatchAnswer>,
) {
    let deadline = Instant::now() + BUDGET;
    let sessions = state.prober.config().operator_sessions;
    let mut domains: HashMap<String, Arc<Semaphore>> = HashMap::new();
    let mut all = JoinSet::new();
    for (index, address) in addresses.into_iter().enumerate() {
        let turn = domains
            .entry(address.domain().to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(sessions.min(MAX_BATCH))));
        let (state, id, turn) = (state.clone(), id.clone(), turn.clone());
        all.spawn(async move {
            let asked = ask(&state, &id, &turn, &address, details);
            let verdict = timeout_at(deadline, asked).await.unwrap_or_else(|_| {
                Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Dns)
            });
            BatchAnswer { index, verdict }
        });
    }
    loop {
        tokio::select! {
            // Dropping the set ends what is still being asked.
            () = answers.closed() => return,
            answered = all.join_next() => match answered {
                None => return,
                Some(Err(_)) => tracing::error!(request_id = id.as_str(), "a probe panicked"),
                Some(Ok(answer)) => {
                    if answers.send(answer).await.is_err() {
                        return;
                    }
                }
            },
        }
    }
}

async fn ask(
    state: &State,
    id: &RequestId,
    turn: &Semaphore,
    address: &Address,
    details: bool,
) -> Verdict {
    let closed = || Verdict::new(Status::FatalException, Reason::OurLimit, Stage::Dns);
    // They are never closed; if one were, it would be our limit.
    let Ok(_turn) = turn.acquire().await else { return closed() };
    // Half the places are left to those who wait for a single answer.
    let Ok(_share) = state.batch_permits.acquire().await else { return closed() };
    let Ok(_permit) = state.permits.acquire().await else { return closed() };
    let in_flight = state.metrics.start();
    let started = Instant::now();
    let verdict = state.prober.probe(address, details).await;
    drop(in_flight);
    record(state, id, &verdict, started.elapsed());
    verdict
}
