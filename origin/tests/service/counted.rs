//! Every reply to RCPT but an acceptance, and greylisting by name, counts as a refused recipient: a server's own count,
//! after which it bans us, doesn't depend on whether we understand its words.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::harness::{
    batch,
    internet::{Internet, a, mx},
    verdict, verdict_for,
};
use hickory_resolver::proto::rr::{RData, RecordType};
use rcpt_shared::{BatchLine, Deliverability, Reason, Status};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

/// All domains are at one machine without a known operator.
fn zone(_: &str, kind: RecordType) -> Vec<RData> {
    match kind {
        RecordType::MX => vec![mx(10, "mx.shared.org")],
        RecordType::A => vec![a("127.8.1.1")],
        _ => vec![],
    }
}

#[derive(Default)]
struct Counters {
    connections: AtomicUsize,
    refused: AtomicUsize,
}

/// Starts a server that accepts `ann*`, and gives all others this reply.
async fn internet(counters: &Arc<Counters>, reply: &'static str) -> Internet {
    let counters = counters.clone();
    Internet::start(zone, move |stream, _| {
        let counters = counters.clone();
        async move {
            counters.connections.fetch_add(1, Ordering::Relaxed);
            let mut stream = BufReader::new(stream);
            let (mut line, mut said, mut recipients) = (String::new(), "220 mx", 0);
            while stream.write_all(format!("{said}\r\n").as_bytes()).await.is_ok() {
                line.clear();
                if said.starts_with("421") || stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                    return;
                }
                recipients += usize::from(line.starts_with("RCPT"));
                said = match line.get(..4) {
                    Some("EHLO") => "250-mx\r\n250 PIPELINING",
                    Some("RCPT") if line.contains("@evil.") && recipients > 1 => {
                        "421 4.3.2 system busy, closing"
                    }
                    Some("RCPT") if line.contains("<ann") => "250 2.1.5 ok",
                    Some("RCPT") => {
                        counters.refused.fetch_add(1, Ordering::Relaxed);
                        reply
                    }
                    _ => "250 ok",
                };
            }
        }
    })
    .await
}

#[tokio::test]
async fn an_account_that_guesses_is_stopped_whatever_the_servers_words() {
    for reply in [
        "550 5.1.1 User unknown",
        "554 5.7.1 Relay access denied",
        "550 sorry, there is nobody called that way over here",
        "550 naslov ni pravi",
        "450 4.2.0 Recipient address rejected: try again later",
        "451 unknown local part, will not retry",
        "450 4.1.1 Recipient address rejected: unverified address",
        "450 4.7.1 rate limit exceeded for your IP",
        "550",
    ] {
        let counters = Arc::new(Counters::default());
        let internet = internet(&counters, reply).await;
        let origin =
            internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0"), ("RCPT_BUDGET_MS", "3000")]);
        let before = verdict_for(&origin, "customer", "ann@victim.org").await;
        assert_eq!(before.status, Status::Accepted, "{reply}");
        let mut last = None;
        for n in 0..20 {
            last = Some(verdict_for(&origin, "guesser", &format!("name{n}@d{n}.org")).await);
        }
        let last = last.map(|verdict| (verdict.status, verdict.reason));
        assert_eq!(last, Some((Status::FatalException, Reason::OurLimit)), "{reply}");
        // Four are the account's share. The first acceptance was followed by a control recipient, and a rate limit is
        // asked about again in a new session. An account that hears of a rate limit waits longer each time.
        let refused = counters.refused.load(Ordering::Relaxed);
        let least = if reply.contains("rate limit") { 3 } else { 4 };
        assert!((least..=7).contains(&refused), "{refused}: {reply}");
        let after = verdict_for(&origin, "customer", "ann2@victim.org").await;
        assert_eq!(after.status, Status::Accepted, "{reply}");
    }
}

/// A server that greylists expects it of every client. If it counted, a list would be asked about eight recipients in
/// ten minutes, and so would the lists of all others at the machine.
#[tokio::test]
async fn greylisting_by_name_stops_no_list() {
    let counters = Arc::new(Counters::default());
    let internet =
        internet(&counters, "450 4.2.0 Greylisted, see http://postgrey.schweikert.ch/").await;
    let origin = internet.origin(&[]);
    let list: Vec<_> = (0..60).map(|n| format!("new{n}@greylisting.org")).collect();
    let lines = batch(&origin, &list, Some("list")).await;
    let greylisted = lines.iter().filter(|line| match line {
        BatchLine::Answer(answer) => answer.verdict.reason == Reason::Greylisted,
        BatchLine::NotAsked(_) | BatchLine::End(_) => false,
    });
    assert_eq!(greylisted.count(), 60);
    let other = verdict_for(&origin, "other", "ann@other.org").await;
    assert_eq!(other.status, Status::Accepted);
}

/// A new session that accepts the recipient takes the refusal of a used one back; one that refuses it doesn't.
#[tokio::test]
async fn a_guess_that_a_used_session_refuses_counts_like_any_other() {
    let counters = Arc::new(Counters::default());
    let internet = internet(&counters, "550 5.1.1 no such user").await;
    let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
    for n in 0..12 {
        let customer = verdict_for(&origin, "customer", &format!("ann{n}@victim.org")).await;
        assert_eq!(customer.status, Status::Accepted, "{n}");
        let guess = verdict_for(&origin, "guesser", &format!("name{n}@evil.org")).await;
        // Each costs two of the account's four: a 421 at the customer's session, and a 550.
        let is_asked = (guess.status, guess.reason) == (Status::Refused, Reason::NoSuchMailbox);
        assert_eq!(is_asked, n < 2, "{n}: {:?}", guess.reason);
    }
    // The customer's control recipient was the third.
    assert_eq!(counters.refused.load(Ordering::Relaxed), 3);
}

/// One 421 in a session that had served another recipient is no limit of recipients for an hour.
#[tokio::test]
async fn after_one_421_in_a_used_session_others_have_their_evidence_in_few_sessions() {
    let counters = Arc::new(Counters::default());
    let internet = internet(&counters, "550 5.1.1 no such user").await;
    let origin = internet.origin(&[("RCPT_SESSION_INTERVAL_MS", "0")]);
    assert_eq!(verdict(&origin, "gone@first.org").await.status, Status::Refused);
    assert_eq!(verdict(&origin, "ann@evil.org").await.status, Status::Accepted, "in a new session");
    let before = counters.connections.load(Ordering::Relaxed);
    assert!(before <= 3, "{before}");
    for n in 0..5 {
        let outcome = verdict(&origin, &format!("ann@good{n}.org")).await;
        assert_eq!((outcome.status, outcome.reason), (Status::Accepted, Reason::Accepted));
        // Single checks have four control recipients in ten minutes, and evil.org's was the first.
        let due = if n < 3 { Deliverability::Deliverable } else { Deliverability::Risky };
        assert_eq!(outcome.details.unwrap().verdict, due, "{n}");
    }
    // A session ends with its third refused recipient.
    let opened = counters.connections.load(Ordering::Relaxed) - before;
    assert!(opened <= 3, "{opened} sessions for five recipients");
}
