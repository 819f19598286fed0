//! Inventions: a list asks its own addresses first, and invents last and little; the invented name is the same all day.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crate::harness::{
    batch, batch_verdicts,
    internet::{Internet, one_machine},
    verdict,
};
use parking_lot::Mutex;
use rcpt_shared::{BatchLine, CatchAll, Deliverability, Reason, Status};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// Recipients in the order in which they were asked about, with the number of their session.
type Asked = Arc<Mutex<Vec<(usize, String)>>>;

/// Answers each recipient, known by how often it was asked about before.
async fn serve(stream: TcpStream, asked: Asked, answer: fn(&str, usize) -> &'static str) {
    let mut stream = BufReader::new(stream);
    let session = usize::from(stream.get_ref().peer_addr().unwrap().port());
    let (mut line, mut reply) = (String::new(), "220 mx");
    while stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_ok() {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        reply = match line.get(..4) {
            Some("EHLO") => "250-mx\r\n250 PIPELINING",
            Some("RCPT") => {
                let recipient = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                let mut asked = asked.lock();
                let before = asked.iter().filter(|(_, other)| *other == recipient).count();
                let reply = answer(&recipient, before);
                asked.push((session, recipient));
                reply
            }
            _ => "250 ok",
        };
    }
}

async fn internet(answer: fn(&str, usize) -> &'static str) -> (Internet, Asked) {
    let asked = Asked::default();
    let serving = asked.clone();
    let serve = move |stream, _| serve(stream, serving.clone(), answer);
    (Internet::start(one_machine("127.9.1.1"), serve).await, asked)
}

fn by_name(recipient: &str, _: usize) -> &'static str {
    if recipient.starts_with("ann") { "250 ok" } else { "550 no such user here" }
}

fn greylisting(recipient: &str, before: usize) -> &'static str {
    match before {
        0 => "450 4.2.0 Greylisted, see http://postgrey.schweikert.ch/help/",
        _ => by_name(recipient, before),
    }
}

fn is_invented(recipient: &str) -> bool {
    !recipient.starts_with("ann") && !recipient.starts_with("gone")
}

const ENVIRONMENT: &[(&str, &str)] = &[("RCPT_SESSION_INTERVAL_MS", "0")];

#[tokio::test]
async fn a_list_invents_when_its_own_addresses_of_the_domain_are_answered_and_all_of_them_gain() {
    let (internet, asked) = internet(by_name).await;
    let origin = internet.origin(ENVIRONMENT);
    let list = ["ann1@d.org", "gone@d.org", "ann2@d.org", "ann3@d.org"].map(ToOwned::to_owned);
    let verdicts = batch_verdicts(&origin, &list).await;
    let words = verdicts.iter().flatten().map(|it| it.details.as_ref().unwrap().verdict);
    let due = ["ann1", "gone", "ann2", "ann3"].map(|name| match name {
        "gone" => Deliverability::Undeliverable,
        _ => Deliverability::Deliverable,
    });
    assert_eq!(words.collect::<Vec<_>>(), due);
    let asked = asked.lock();
    let inventions: Vec<_> =
        asked.iter().enumerate().filter(|(_, (_, it))| is_invented(it)).collect();
    let [(position, (session, _))] = inventions.as_slice() else { panic!("{asked:?}") };
    assert_eq!(*position, asked.len() - 1, "{asked:?}");
    let own = asked.iter().filter(|(other, it)| other == session && it.starts_with("ann"));
    assert!(own.count() > 0, "its session has accepted a recipient: {asked:?}");
}

#[tokio::test]
async fn a_list_invents_four_names_at_a_machine_and_what_lacks_evidence_says_when_to_ask_again() {
    let (internet, asked) = internet(by_name).await;
    let origin = internet.origin(ENVIRONMENT);
    let list: Vec<_> = (0..20).map(|n| format!("ann@d{n}.org")).collect();
    let verdicts = batch_verdicts(&origin, &list).await;
    let mut found = HashMap::new();
    for verdict in verdicts.into_iter().flatten() {
        assert_eq!(verdict.status, Status::Accepted);
        let catch_all = verdict.details.unwrap().catch_all;
        assert_eq!(verdict.retry_after, (catch_all == CatchAll::Unknown).then_some(600));
        *found.entry(catch_all).or_insert(0) += 1;
    }
    assert_eq!(found, HashMap::from([(CatchAll::No, 4), (CatchAll::Unknown, 16)]));
    // Single checks have three more.
    for n in 20..30 {
        verdict(&origin, &format!("ann@d{n}.org")).await;
    }
    let inventions = asked.lock().iter().filter(|(_, it)| is_invented(it)).count();
    assert_eq!(inventions, 7);
}

#[tokio::test]
async fn a_list_that_has_met_four_refusals_at_a_machine_invents_nothing() {
    let (internet, asked) = internet(by_name).await;
    let origin = internet.origin(ENVIRONMENT);
    let dead: Vec<_> = (0..5).map(|n| format!("gone{n}@d0.org")).collect();
    batch(&origin, &dead, Some("list")).await;
    let existing = batch_verdicts(&origin, &["ann@d1.org".to_owned()]).await.remove(0).unwrap();
    assert_eq!((existing.status, existing.retry_after), (Status::Accepted, Some(600)));
    assert_eq!(asked.lock().iter().filter(|(_, it)| is_invented(it)).count(), 0);
}

/// The second process has the same secret, as after a restart or on another machine.
#[tokio::test]
async fn the_same_name_is_invented_beside_a_greylisted_line_and_when_it_is_asked_again() {
    let (internet, asked) = internet(greylisting).await;
    let list = ["ann@d.org".to_owned()];
    let greylisted = batch_verdicts(&internet.origin(ENVIRONMENT), &list).await.remove(0).unwrap();
    assert_eq!(greylisted.reason, Reason::Greylisted);
    let answered = batch_verdicts(&internet.origin(ENVIRONMENT), &list).await.remove(0).unwrap();
    assert_eq!(answered.details.unwrap().verdict, Deliverability::Deliverable);
    let names: Vec<_> = asked.lock().iter().map(|(_, it)| it.clone()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(names[..2], names[2..]);
    assert!(is_invented(&names[1]) && names[1].len() == 16 + "@d.org".len());
}

#[tokio::test]
async fn no_session_with_an_unknown_server_serves_more_than_ten_addresses_and_an_invention() {
    let (internet, asked) = internet(by_name).await;
    let origin = internet.origin(ENVIRONMENT);
    let list: Vec<_> = (0..60).map(|n| format!("ann{n}@d.org")).collect();
    let lines = batch(&origin, &list, Some("list")).await;
    let answered = lines.iter().filter(|line| matches!(line, BatchLine::Answer(_))).count();
    assert_eq!(answered, 60);
    let asked = asked.lock();
    let sessions: HashSet<_> = asked.iter().map(|(session, _)| *session).collect();
    let of = |session| asked.iter().filter(|(other, _)| *other == session).count();
    assert!(sessions.iter().all(|session| of(*session) <= 11), "{asked:?}");
}

#[tokio::test]
async fn what_a_machine_leaves_no_room_for_is_told_its_turn_window_by_window() {
    let (internet, asked) = internet(by_name).await;
    let origin = internet.origin(ENVIRONMENT);
    let list: Vec<_> = (0..40).map(|n| format!("gone{n}@d{n}.org")).collect();
    let lines = batch(&origin, &list, Some("list")).await;
    let mut turns: Vec<_> = lines
        .iter()
        .filter_map(|line| match line {
            BatchLine::NotAsked(line) => Some(line.not_asked_retry_after),
            _ => None,
        })
        .collect();
    turns.sort_unstable();
    assert!(turns.len() > 24, "{turns:?}");
    assert!(asked.lock().len() <= 16, "{asked:?}");
    // Six to nine are answered in each window of ten minutes.
    let (first, last) = (turns[0], turns[turns.len() - 1]);
    assert!(first <= 600, "the list comes back as soon as there is room: {turns:?}");
    assert!(last > 2 * first && last <= 4_200, "{turns:?}");
}
