//! Control recipients, which don't exist: we ask about one to learn whether a domain's host accepts everything. The
//! name is the same all day, so that a greylist knows it.

use std::{sync::Arc, time::Duration};

use rcpt_pool::Signal;
use rcpt_shared::{Address, CatchAll, Reason, Stage, Status, is_role};
use rcpt_smtp::{Answer, Reply};
use rcpt_verdict::{Finding, Wording};
use tokio::time::timeout;

use super::{
    client::{Client, HostPermit, HostSession},
    memory::catch_all_key,
    treatment::signal,
};

use crate::dns::Flight;

/// Time limit of the control recipient's reply, which servers may delay by some seconds. No caller waits that long.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Heard {
    Known(CatchAll),
    /// The host refuses names that don't exist, in these words, which no rule knows.
    Nobody(Wording),
}

/// The question is asked in the background. `lead` is the recipient that the session has just accepted, if any. If a
/// control recipient is already in progress, the session is released instead.
pub(super) fn learn(
    client: &Arc<Client>,
    host: &str,
    domain: &str,
    (lead, is_list): (Option<&Address>, bool),
    (session, permit): (HostSession, HostPermit),
) -> Flight<CatchAll> {
    let key = catch_all_key(domain, host);
    let mut ours = Some((session, permit));
    let flight = client.controls.join(&key, || {
        let (client, key, ours) = (client.clone(), key.clone(), ours.take());
        let host = host.to_owned();
        let control = client.invented(domain);
        // A role may be exempt from a refusal of us.
        let lead = lead.filter(|lead| !is_role(lead.local_part())).cloned();
        async move {
            let habit = match (ours, control) {
                (Some((session, permit)), Some(control)) => {
                    habit(&client, &host, (&control, lead.as_ref()), permit, session).await
                }
                _ => Heard::Known(CatchAll::Unknown),
            };
            match habit {
                Heard::Known(found) => {
                    client.memory.is_catch_all(&key, found);
                    found
                }
                Heard::Nobody(said) => {
                    client.memory.says_to_nobody(&key, said, is_list);
                    CatchAll::No
                }
            }
        }
    });
    match ours {
        Some((session, permit)) => keep_or_quit(client, host, session, permit),
        None => drop(tokio::spawn(flight.clone())),
    }
    flight
}

async fn habit(
    client: &Client,
    host: &str,
    (control, lead): (&Address, Option<&Address>),
    // Dropped after the session, as in `HostProbe::resume`.
    permit: HostPermit,
    mut session: HostSession,
) -> Heard {
    let unknown = Heard::Known(CatchAll::Unknown);
    let asked = ask(client, host, control, &permit, &mut session).await;
    let Some((reply, finding)) = asked else { return unknown };
    let mut habit = Heard::Known(habit_by(finding));
    if let (Some(said), Some(lead)) = (client.wording(&reply, &finding, control), lead)
        && session.is_settled()
    {
        // The refusal is of neither us, the session nor the moment if the lead is accepted on both sides of it.
        let again = ask(client, host, lead, &permit, &mut session).await;
        let Some((_, again)) = again else { return unknown };
        if again.status == Status::Accepted {
            habit = Heard::Nobody(said);
        }
    }
    keep_or_quit(client, host, session, permit);
    habit
}

/// `None` if the session can't be used again.
async fn ask(
    client: &Client,
    host: &str,
    recipient: &Address,
    permit: &HostPermit,
    session: &mut HostSession,
) -> Option<(Reply, Finding)> {
    permit.count_recipient();
    session.set_patience(None);
    let envelope = client.envelope(recipient, || true);
    let mut stage = Stage::Rcpt;
    let cut = permit.cut();
    let answer = tokio::select! {
        biased;
        told = timeout(REPLY_TIMEOUT, session.ask(envelope, &mut stage)) => told,
        // Other checks wait for the session.
        () = cut => return None,
    };
    let Ok(Ok(Answer::Rcpt(reply))) = answer else { return None };
    let finding = client.judge(Stage::Rcpt, &reply, recipient);
    // Earlier recipients may have caused a 421.
    let signal = if reply.code == 421 {
        Some(Signal::Unread)
    } else {
        signal(finding, Stage::Rcpt, &reply, "")
    };
    if let Some(signal) = signal {
        client.note(host, permit, signal);
    }
    Some((reply, finding))
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
