//! Control recipients, which don't exist: once a day per domain and host, we ask about one to learn whether the host
//! accepts everything.

use std::{sync::Arc, time::Duration};

use rcpt_pool::Signal;
use rcpt_shared::{Address, CatchAll, Reason, Stage, Status};
use rcpt_smtp::Answer;
use rcpt_verdict::Finding;
use tokio::time::timeout;

use super::{
    client::{Client, HostPermit, HostSession},
    host_memory::catch_all_key,
    signal::signal,
};

use crate::{dns::single_flight::Flight, surroundings::Random};

/// Time limit of the control recipient's reply, which servers may delay by some seconds. No caller waits that long.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// The question is asked in the background. If a control recipient is already in progress, the session is released
/// instead.
pub(super) fn learn(
    client: &Arc<Client>,
    host: &str,
    domain: &str,
    session: HostSession,
    permit: HostPermit,
) -> Flight<CatchAll> {
    let key = catch_all_key(domain, host);
    let mut ours = Some((session, permit));
    let flight = client.controls.join(&key, || {
        let (client, key, ours) = (client.clone(), key.clone(), ours.take());
        let control = invented(domain, &client.random);
        async move {
            let finding = match (ours, control) {
                (Some((session, permit)), Some(control)) => {
                    catch_all(&client, &control, permit, session).await
                }
                _ => CatchAll::Unknown,
            };
            client.memory.is_catch_all(&key, finding);
            finding
        }
    });
    match ours {
        Some((session, permit)) => keep_or_quit(client, session, permit),
        None => drop(tokio::spawn(flight.clone())),
    }
    flight
}

async fn catch_all(
    client: &Client,
    control: &Address,
    // Dropped after the session, as in `HostProbe::resume`.
    permit: HostPermit,
    mut session: HostSession,
) -> CatchAll {
    permit.count_recipient();
    session.set_patience(None);
    let envelope = client.envelope(control, || true);
    let mut stage = Stage::Rcpt;
    let cut = permit.cut();
    let control_reply = tokio::select! {
        biased;
        told = timeout(REPLY_TIMEOUT, session.ask(envelope, &mut stage)) => told,
        // Other checks wait for the session.
        () = cut => return CatchAll::Unknown,
    };
    let Ok(Ok(Answer::Rcpt(reply))) = control_reply else { return CatchAll::Unknown };
    let finding = client.judge(Stage::Rcpt, &reply, control);
    // Earlier recipients may have caused a 421.
    let signal = if reply.code == 421 {
        Some(Signal::Unread)
    } else {
        signal(finding, Stage::Rcpt, &reply, "")
    };
    if let Some(signal) = signal {
        permit.note(signal);
    }
    let habit = habit_by(finding);
    keep_or_quit(client, session, permit);
    habit
}

fn habit_by(finding: Finding) -> CatchAll {
    match (finding.status, finding.reason) {
        (Status::Accepted, _) => CatchAll::Yes,
        (_, Reason::NoSuchMailbox) => CatchAll::No,
        _ => CatchAll::Unknown,
    }
}

pub(super) fn keep_or_quit(client: &Client, session: HostSession, permit: HostPermit) {
    if client.is_reusable(&session) && session.is_encrypted() {
        // The session isn't shared: the name in the handshake may have selected the server.
        permit.keep(session);
    } else if client.is_reusable(&session) {
        permit.keep_for_machine(session);
    } else {
        session.quit(permit);
    }
}

fn invented(domain: &str, random: &Random) -> Option<Address> {
    // 26¹⁶ ≈ 4 × 10²²: no mailbox has such a name, and no filter knows it.
    let local_part: String = (0..16).map(|_| random.letter()).collect();
    Address::parse(&format!("{local_part}@{domain}")).ok()
}
