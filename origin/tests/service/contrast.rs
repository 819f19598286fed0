//! A list decides refusals in unknown words by what their host says to a name that doesn't exist; servers that mislead.

use std::sync::Arc;

use crate::harness::{
    batch_verdicts,
    internet::{Internet, one_machine},
    verdict,
};
use parking_lot::Mutex;
use rcpt_shared::{Confidence, Deliverability, Reason, Status, Verdict};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// Sessions and recipients, in the order in which they were asked about, and whether each was accepted.
type Asked = Arc<Mutex<Vec<(usize, String, bool)>>>;

/// Takes the earlier questions, the session and the recipient's local part.
type Habit = fn(&[(usize, String, bool)], usize, &str) -> &'static str;

const OK: &str = "250 ok";
/// In no table of words.
const NO: &str = "550 kielletty tapahtuma";
const OTHER: &str = "550 ei onnistu";

async fn serve(stream: TcpStream, asked: Asked, habit: Habit) {
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
                let recipient = line.split(['<', '@']).nth(1).unwrap_or_default();
                let mut asked = asked.lock();
                let reply = habit(&asked, session, recipient);
                asked.push((session, recipient.to_owned(), reply == OK));
                reply
            }
            _ => "250 ok",
        };
    }
}

async fn internet(habit: Habit) -> (Internet, Asked) {
    let asked = Asked::default();
    let serving = asked.clone();
    let serve = move |stream, _| serve(stream, serving.clone(), habit);
    (Internet::start(one_machine("127.9.1.1"), serve).await, asked)
}

/// Living recipients begin with `ann`, and dead ones with `gone`.
fn is_living(name: &str) -> bool {
    name.starts_with("ann") || name == "info"
}

fn is_invented(name: &str) -> bool {
    !is_living(name) && !name.starts_with("gone")
}

fn honest(_: &[(usize, String, bool)], _: usize, name: &str) -> &'static str {
    if is_living(name) { OK } else { NO }
}

const ENVIRONMENT: &[(&str, &str)] = &[("RCPT_SESSION_INTERVAL_MS", "0")];

async fn ask(names: &[&str], habit: Habit) -> (Vec<Verdict>, Asked) {
    let (internet, asked) = internet(habit).await;
    let origin = internet.origin(ENVIRONMENT);
    let list: Vec<_> = names.iter().map(|name| format!("{name}@d.org")).collect();
    let verdicts = batch_verdicts(&origin, &list).await;
    (verdicts.into_iter().map(Option::unwrap).collect(), asked)
}

fn statuses(verdicts: &[Verdict]) -> Vec<Status> {
    verdicts.iter().map(|verdict| verdict.status).collect()
}

const ACCEPTED: Status = Status::Accepted;
const REFUSED: Status = Status::Refused;
const OPEN: Status = Status::BlockedByProvider;

#[tokio::test]
async fn who_is_refused_as_an_invented_name_is_nobody_and_it_costs_two_acceptances() {
    let (verdicts, asked) = ask(&["ann1", "gone", "ann2"], honest).await;
    assert_eq!(statuses(&verdicts), [ACCEPTED, REFUSED, ACCEPTED], "{verdicts:?}");
    let details = verdicts[1].details.as_ref().unwrap();
    assert_eq!(verdicts[1].reason, Reason::NoSuchMailbox);
    assert_eq!(
        (details.confidence, details.verdict),
        (Confidence::Medium, Deliverability::Undeliverable)
    );
    assert_eq!(details.smtp_text.as_deref(), Some("kielletty tapahtuma"));
    let living = verdicts[0].details.as_ref().unwrap();
    assert_eq!(living.verdict, Deliverability::Deliverable, "the same invention is its evidence");
    let asked = asked.lock();
    let names: Vec<_> = asked.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names.iter().filter(|name| is_invented(name)).count(), 1, "{names:?}");
    assert!((4..=6).contains(&names.len()), "{names:?}");
    // Directly before and behind the invention, the same recipient is accepted in the same session.
    let position = names.iter().position(|name| is_invented(name)).unwrap();
    assert_eq!(asked[position - 1], asked[position + 1], "{asked:?}");
    assert!(asked[position - 1].2 && asked[position - 1].0 == asked[position].0, "{asked:?}");
}

#[tokio::test]
async fn the_next_list_of_the_day_asks_only_a_neighbour_again() {
    let (internet, asked) = internet(honest).await;
    let origin = internet.origin(ENVIRONMENT);
    let list = |names: &[&str]| names.iter().map(|it| format!("{it}@d.org")).collect::<Vec<_>>();
    batch_verdicts(&origin, &list(&["ann1", "ann2"])).await;
    let before = asked.lock().len();
    let verdicts = batch_verdicts(&origin, &list(&["ann3", "gone1", "ann4"])).await;
    assert_eq!(verdicts[1].as_ref().unwrap().status, REFUSED);
    let asked = asked.lock();
    let names: Vec<_> = asked[before..].iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(is_living(names[3]), "{names:?}");
}

#[tokio::test]
async fn a_single_check_is_never_decided_by_contrast() {
    let (internet, _) = internet(honest).await;
    let origin = internet.origin(ENVIRONMENT);
    for name in ["ann1", "ann2", "ann3"] {
        assert_eq!(verdict(&origin, &format!("{name}@d.org")).await.status, ACCEPTED);
    }
    let open = verdict(&origin, "gone@d.org").await;
    assert_eq!((open.status, open.reason), (OPEN, Reason::Unclear));
}

#[tokio::test]
async fn one_neighbour_a_role_or_as_many_refused_prove_nothing() {
    for (names, due) in [
        (&["ann1", "gone"][..], vec![ACCEPTED, OPEN]),
        (&["ann1", "ann1+x", "gone"], vec![ACCEPTED, ACCEPTED, OPEN]),
        (&["ann1", "info", "gone"], vec![ACCEPTED, ACCEPTED, OPEN]),
        (&["ann1", "ann2", "gone1", "gone2"], vec![ACCEPTED, ACCEPTED, OPEN, OPEN]),
        (
            &["ann1", "ann2", "ann3", "gone1", "gone2"],
            vec![ACCEPTED, ACCEPTED, ACCEPTED, REFUSED, REFUSED],
        ),
    ] {
        let (verdicts, _) = ask(names, honest).await;
        assert_eq!(statuses(&verdicts), due, "{names:?}");
    }
}

/// Each list has three neighbours that are accepted where the server accepts anybody.
#[tokio::test]
async fn a_living_address_stays_open_at_a_server_that_misleads() {
    let habits: [(&str, Habit); 9] = [
        ("refuses us after it looks up", |_, _, name| match name {
            "ann9" => NO,
            _ if is_living(name) => OK,
            _ => "550 5.1.1 User unknown",
        }),
        ("members only", |_, _, name| match name {
            "ann9" => OTHER,
            _ => honest(&[], 0, name),
        }),
        ("refuses the invention of a session that is over", |asked, session, name| {
            let before = asked.iter().filter(|(other, ..)| *other == session).count();
            if name == "ann9" || before >= 4 { NO } else { honest(&[], 0, name) }
        }),
        ("refuses all after an unknown name", |asked, _, name| {
            let is_over = asked.iter().any(|(_, name, _)| is_invented(name));
            if name == "ann9" || is_over { NO } else { honest(&[], 0, name) }
        }),
        ("an outage that begins with the invention", |asked, _, name| {
            let began = asked.iter().position(|(_, name, _)| is_invented(name));
            let is_out = began.is_some_and(|began| asked.len() - began < 2);
            if name == "ann9" || is_out || is_invented(name) { NO } else { OK }
        }),
        ("accepts all but some", |_, _, name| if name == "ann9" { NO } else { OK }),
        ("spares as many as it refuses", |_, _, name| match name {
            "ann1" => OK,
            _ => NO,
        }),
        ("refuses all", |_, _, _| NO),
        ("one recipient a session", |asked, session, name| {
            let is_over = asked.iter().any(|(other, ..)| *other == session);
            if name == "ann9" || is_over || !is_living(name) { NO } else { OK }
        }),
    ];
    for (name, habit) in habits {
        let (verdicts, asked) = ask(&["ann1", "ann2", "ann9", "ann3"], habit).await;
        assert_eq!(verdicts[2].status, OPEN, "{name}: {:?}", asked.lock());
        assert!(verdicts.iter().all(|it| it.status != REFUSED), "{name}: {:?}", asked.lock());
    }
}

/// The words are known from earlier, and the ban has come meanwhile: nobody is accepted again.
#[tokio::test]
async fn a_ban_in_the_words_for_nobody_is_noticed_by_asking_a_neighbour_again() {
    let (internet, asked) = internet(|asked, _, name| {
        let is_banned = asked.iter().any(|(_, name, _)| name == "ann9");
        if is_banned || name == "ann9" { NO } else { honest(&[], 0, name) }
    })
    .await;
    let origin = internet.origin(ENVIRONMENT);
    let list = |names: &[&str]| names.iter().map(|it| format!("{it}@d.org")).collect::<Vec<_>>();
    batch_verdicts(&origin, &list(&["ann1", "ann2"])).await;
    // One after the other: the last is refused, and with it everybody.
    let verdicts = batch_verdicts(&origin, &list(&["ann3", "ann4", "ann5", "ann9"])).await;
    let open = verdicts[3].as_ref().unwrap();
    assert_eq!(open.status, OPEN, "{:?}", asked.lock());
}
