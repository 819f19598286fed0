//! Control recipients, which don't exist: we ask about one to learn whether a domain's host accepts everything. A
//! domain's name is the same all day, so that a greylist knows it when it is asked again.

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

use crate::dns::single_flight::Flight;

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
        let host = host.to_owned();
        let control = client.invented(domain);
        async move {
            let finding = match (ours, control) {
                (Some((session, permit)), Some(control)) => {
                    catch_all(&client, &host, &control, permit, session).await
                }
                _ => CatchAll::Unknown,
            };
            client.memory.is_catch_all(&key, finding);
            finding
        }
    });
    match ours {
        Some((session, permit)) => keep_or_quit(client, host, session, permit),
        None => drop(tokio::spawn(flight.clone())),
    }
    flight
}

async fn catch_all(
    client: &Client,
    host: &str,
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
        client.note(host, &permit, signal);
    }
    let habit = habit_by(finding);
    keep_or_quit(client, host, session, permit);
    habit
}

fn habit_by(finding: Finding) -> CatchAll {
    match (finding.status, finding.reason) {
        (Status::Accepted, _) => CatchAll::Yes,
        (_, Reason::NoSuchMailbox) => CatchAll::No,
        _ => CatchAll::Unknown,
    }
}

pub(super) fn keep_or_quit(client: &Client, host: &str, session: HostSession, permit: HostPermit) {
    if !client.is_reusable(host, &session) {
        session.quit(permit);
    } else if session.is_encrypted() {
        // The session isn't shared: the name in the handshake may have selected the server.
        permit.keep(session);
    } else {
        permit.keep_for_machine(session);
    }
}
