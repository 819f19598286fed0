//! Backup hosts accept recipients that the first host would refuse. Whatever is ours, and not the first host's answer,
//! doesn't lead to them.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::harness::{
    batch, batch_verdicts,
    internet::{Internet, a, mx},
    obey, verdict, verdict_for,
};
use hickory_resolver::proto::rr::{RData, RecordType};
use rcpt_shared::{BatchLine, CatchAll, Reason, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::sleep,
};

const FIRST: &str = "127.7.1.1";
const SECOND: &str = "127.7.2.1";
const BACKUP: &str = "127.7.9.1";

/// `alone.net` has the first host only, `two.com` a backup host, and `three.com` also a second host of equal preference.
fn zone(name: &str, kind: RecordType) -> Vec<RData> {
    let (first, second, backup) = (mx(10, "first.net"), mx(10, "second.net"), mx(20, "backup.net"));
    match (name, kind) {
        ("alone.net", RecordType::MX) => vec![first],
        ("parked.com", RecordType::MX) => vec![mx(10, "nowhere.net"), backup],
        ("two.com", RecordType::MX) => vec![first, backup],
        ("three.com", RecordType::MX) => vec![first, second, backup],
        ("first.net", RecordType::A) => vec![a(FIRST)],
        ("second.net", RecordType::A) => vec![a(SECOND)],
        ("backup.net", RecordType::A) => vec![a(BACKUP)],
        _ => vec![],
    }
}

/// Behaviour of the first two hosts; the backup host accepts everybody.
#[derive(Default)]
struct Hosts {
    /// Number of sessions that the first host still refuses because of its load.
    busy: AtomicUsize,
    /// Number of milliseconds until the first host greets.
    slow_ms: AtomicUsize,
    /// 1 if the second host closes each connection.
    second_is_down: AtomicUsize,
    backup_sessions: AtomicUsize,
    /// 1 if the backup host knows its mailboxes.
    backup_knows: AtomicUsize,
}

impl Hosts {
    async fn serve(self: Arc<Self>, stream: TcpStream, dialled: IpAddr) {
        let mut stream = BufReader::new(stream);
        let dialled = dialled.to_string();
        if dialled == BACKUP {
            self.backup_sessions.fetch_add(1, Ordering::Relaxed);
            if self.backup_knows.load(Ordering::Relaxed) == 0 {
                let _ = stream.write_all(b"220 backup\r\n").await;
                obey(&mut stream, "250-PIPELINING\r\n", "250 ok", "250 2.1.5 ok").await;
                return;
            }
        }
        if dialled == SECOND && self.second_is_down.load(Ordering::Relaxed) > 0 {
            return;
        }
        let took_one = |busy: usize| busy.checked_sub(1);
        if dialled == FIRST
            && self.busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, took_one).is_ok()
        {
            let busy = b"421 4.3.2 load average too high, try again later\r\n";
            let _ = stream.write_all(busy).await;
            return;
        }
        sleep(Duration::from_millis(self.slow_ms.load(Ordering::Relaxed) as u64)).await;
        let (mut line, mut reply) = (String::new(), "220 mx");
        while stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_ok() {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            reply = match line.get(..4) {
                Some("EHLO") => "250-mx\r\n250 PIPELINING",
                Some("RCPT") if line.contains("<ann") => "250 2.1.5 ok",
                Some("RCPT") if line.contains("<late") => {
                    sleep(Duration::from_millis(2_600)).await;
                    let _ = stream.write_all(b"421 4.4.2 idle\r\n").await;
                    return;
                }
                Some("RCPT") => "550 5.1.1 no such user",
                _ => "250 ok",
            };
        }
    }
}

async fn internet() -> (Internet, Arc<Hosts>) {
    let hosts = Arc::new(Hosts::default());
    let serving = hosts.clone();
    let serve = move |stream, dialled| Hosts::serve(serving.clone(), stream, dialled);
    (Internet::start(zone, serve).await, hosts)
}

/// The first host's number of refused recipients in ten minutes is used up by a list of the domain itself.
#[tokio::test]
async fn a_number_of_our_own_ends_the_check_and_no_dead_mailbox_becomes_true() {
    let (internet, hosts) = internet().await;
    let origin = internet.origin(&[]);
    let dead = (0..60).map(|n| format!("lost{n}@two.com"));
    let existing = (0..20).map(|n| format!("ann{n}@two.com"));
    let lines = batch(&origin, &dead.chain(existing).collect::<Vec<_>>(), Some("list")).await;
    let (mut refused, mut missed) = (0, 0);
    for line in &lines {
        match line {
            BatchLine::Answer(answer) => {
                let due = if answer.index < 60 { Status::Refused } else { Status::Accepted };
                assert_eq!(answer.verdict.status, due, "{answer:?}");
                assert_eq!(answer.verdict.mx_host.as_deref(), Some("first.net"));
                refused += usize::from(due == Status::Refused);
            }
            BatchLine::NotAsked(_) => missed += 1,
            BatchLine::End(_) => {}
        }
    }
    assert!((5..=17).contains(&refused) && missed >= 43, "{refused} refused, {missed} not asked");
    for n in 0..2 {
        let outcome = verdict(&origin, &format!("gone{n}@two.com")).await;
        if outcome.status != Status::Refused {
            assert_eq!(
                (outcome.status, outcome.reason),
                (Status::FatalException, Reason::OurLimit)
            );
            assert!(outcome.retry_after.is_some_and(|seconds| (1..=600).contains(&seconds)));
        }
    }
    assert_eq!(hosts.backup_sessions.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn where_the_first_host_fails_only_a_backup_host_that_knows_its_mailboxes_is_believed() {
    let (internet, hosts) = internet().await;
    for (knows, address, status, reason, from) in [
        (0, "dead@two.com", Status::SmtpConnectError, Reason::ServerUnavailable, "first.net"),
        (0, "ann@two.com", Status::SmtpConnectError, Reason::ServerUnavailable, "first.net"),
        (1, "dead@two.com", Status::Refused, Reason::NoSuchMailbox, "backup.net"),
        (1, "ann@two.com", Status::Accepted, Reason::Accepted, "backup.net"),
        // A first host that never speaks is a habit of the domain.
        (0, "ann@parked.com", Status::Accepted, Reason::AcceptedCatchAll, "backup.net"),
    ] {
        for is_list in [false, true] {
            let origin = internet.origin(&[("RCPT_BUDGET_MS", "3000")]);
            hosts.busy.store(1, Ordering::Relaxed);
            hosts.backup_knows.store(knows, Ordering::Relaxed);
            let outcome = match is_list {
                false => verdict(&origin, address).await,
                true => batch_verdicts(&origin, &[address.to_owned()]).await.remove(0).unwrap(),
            };
            assert_eq!((outcome.status, outcome.reason), (status, reason), "{address} {is_list}");
            assert_eq!(outcome.mx_host.as_deref(), Some(from), "{address} {is_list}");
            let found = outcome.details.unwrap().catch_all;
            assert_eq!(found == CatchAll::No, status == Status::Accepted && knows == 1);
        }
    }
}

/// The check that meets the 421 is somebody else's.
#[tokio::test]
async fn a_gate_of_our_own_ends_the_check_too() {
    let (internet, hosts) = internet().await;
    let origin = internet.origin(&[("RCPT_BUDGET_MS", "3000")]);
    hosts.busy.store(1, Ordering::Relaxed);
    let met = verdict_for(&origin, "neighbour", "dead@alone.net").await;
    assert_eq!((met.status, met.reason), (Status::SmtpConnectError, Reason::ServerUnavailable));
    for n in 0..9 {
        let outcome =
            verdict_for(&origin, &format!("t{}", n % 3), &format!("dead{n}@two.com")).await;
        assert_eq!((outcome.status, outcome.reason), (Status::FatalException, Reason::OurLimit));
        assert!(outcome.retry_after.is_some_and(|seconds| (1..=20).contains(&seconds)));
    }
    assert_eq!(hosts.backup_sessions.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_host_of_equal_preference_is_asked_and_if_it_is_down_no_other_one() {
    let (internet, hosts) = internet().await;
    let origin = internet.origin(&[("RCPT_BUDGET_MS", "3000")]);
    hosts.busy.store(1, Ordering::Relaxed);
    verdict_for(&origin, "neighbour", "dead@alone.net").await;
    let equal = verdict_for(&origin, "t", "dead@three.com").await;
    assert_eq!((equal.status, equal.reason), (Status::Refused, Reason::NoSuchMailbox));
    assert_eq!(equal.mx_host.as_deref(), Some("second.net"));
    // Idle sessions would be used.
    let origin = internet.origin(&[("RCPT_BUDGET_MS", "3000")]);
    hosts.busy.store(1, Ordering::Relaxed);
    hosts.second_is_down.store(1, Ordering::Relaxed);
    verdict_for(&origin, "neighbour", "dead@alone.net").await;
    let outcome = verdict_for(&origin, "t", "dead@three.com").await;
    assert_eq!((outcome.status, outcome.reason), (Status::FatalException, Reason::OurLimit));
    assert_eq!(hosts.backup_sessions.load(Ordering::Relaxed), 0);
}

/// The check waits for the first host's only session; what is left of its time is shorter than the host's greeting.
#[tokio::test]
async fn time_that_we_spent_on_waiting_is_not_the_first_hosts_silence() {
    let (internet, hosts) = internet().await;
    let environment = [
        ("RCPT_BUDGET_MS", "4500"),
        ("RCPT_MACHINE_SESSIONS", "1"),
        ("RCPT_SESSION_INTERVAL_MS", "0"),
    ];
    let origin = internet.origin(&environment);
    let holder = origin.clone();
    let held = tokio::spawn(async move { verdict_for(&holder, "a", "late@alone.net").await });
    sleep(Duration::from_millis(300)).await;
    hosts.slow_ms.store(3_000, Ordering::Relaxed);
    let outcome = verdict_for(&origin, "b", "dead@two.com").await;
    assert_eq!((outcome.status, outcome.reason), (Status::FatalException, Reason::OurLimit));
    assert_eq!(hosts.backup_sessions.load(Ordering::Relaxed), 0);
    held.await.unwrap();
}
