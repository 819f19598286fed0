//! The three events that touch two databases (docs/architecture.md), by the real statements: several parties at once,
//! whose round trips are interleaved in every order, with one of them cut off after any trip. Then the scheduled run
//! finishes what is left, a day passes, and it runs once more.

mod parties;
mod schedule;

use std::{collections::BTreeMap, time::Duration};

use rcpt_tests::{
    Account, Edge,
    people::PASSWORD,
    proof,
    service::shim::{Parked, Release},
};
use serde_json::{Value, json};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use self::{
    parties::{Party, Start},
    schedule::Schedule,
};
use super::email_change;

const OTHER: &str = "copper-meadow-58-lattice";
const NEWCOMERS: &str = "another-quarry-66-anchor";

/// The round trips that are interleaved: those with one of these statements. Each decides something.
const TRIPS: [&str; 9] = [
    "insert registrations",
    "update registrations",
    "delete registrations",
    "insert accounts",
    "select directory",
    "delete directory",
    "insert closed_accounts",
    "insert directory",
    "update waiting",
];

/// After the first time without a trip, it was taken for another party's; after the second, it is the one that was cut
/// off.
const PATIENCE: Duration = Duration::from_secs(5);
const ENDLESS: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

/// One run of a scenario.
struct Run<'a> {
    edge: &'a Edge,
    /// Addresses, each with the token of its link.
    links: Vec<(String, String)>,
    account: Option<Account>,
    id: String,
    reset: String,
}

/// A party under way: its task, and its round trip that waits.
struct Process {
    party: Party,
    task: JoinHandle<u16>,
    trip: Option<Parked>,
}

impl Run<'_> {
    async fn begin(edge: &Edge, start: Start) -> Run<'_> {
        for table in ["accounts", "directory", "registrations", "closed_accounts", "throttles"] {
            edge.sql(&format!("DELETE FROM {table}"), &[]).await;
        }
        let mut run =
            Run { edge, links: Vec::new(), account: None, id: String::new(), reset: String::new() };
        match start {
            Start::Registered(addresses) => {
                for pattern in addresses {
                    let unique = edge.new_email().split('@').next().unwrap().replace('.', "");
                    let unique = run.links.first().map_or(unique, |(email, _)| {
                        email.split('@').next().unwrap().split('+').next().unwrap().to_owned()
                    });
                    let email = pattern.replace('*', &unique);
                    let mail = edge.anonymous().register(&email, PASSWORD).await;
                    assert_eq!(mail.status, 201, "{}", mail.body);
                    let mail = edge.mailbox().wait_for_mail(&email).await.unwrap();
                    run.links.push((email, mail.token().unwrap().to_owned()));
                }
            }
            Start::Due => {
                let account = edge.account().await;
                let id = edge.id(&account.email).await;
                let (new, _) = email_change::agreed(edge, &account).await;
                edge.pass(&id, 3 * email_change::DAY_S).await;
                run.id = id;
                assert_eq!(account.anonymous.forgot_password(&account.email).await.status, 200);
                let title = "Set a new password";
                run.reset = email_change::link(edge, &account.email, title, 1).await;
                edge.wait_for_reset_mails().await;
                run.links = [account.email.clone(), new].map(|email| (email, String::new())).into();
                run.account = Some(account);
            }
            Start::Account | Start::Unfinished => {
                let account = edge.account().await;
                if matches!(start, Start::Unfinished) {
                    let id = edge.id(&account.email).await;
                    let hash = edge.row(&account.email, "password_hash").await;
                    let insert = "INSERT INTO registrations
                        (address, email, password_hash, token_hash, account_id, expires_at, is_entered)
                        VALUES (?1, ?1, ?2, ?3, ?3, unixepoch() + 9, 1)";
                    let row = [json!(account.email), hash["password_hash"].clone(), json!(id)];
                    edge.sql_in(0, insert, &row).await;
                }
                run.id = edge.id(&account.email).await;
                run.links.push((account.email.clone(), String::new()));
                run.account = Some(account);
            }
        }
        run
    }

    fn spawn(&self, party: Party) -> JoinHandle<u16> {
        let (anonymous, email) = (self.edge.anonymous(), self.links[0].0.clone());
        match party {
            Party::Click(link, password) => {
                let body = json!({ "token": self.links[link].1, "password": password });
                tokio::spawn(
                    async move { anonymous.post("/auth/verify-email", &body).await.status },
                )
            }
            Party::Register(password) => {
                tokio::spawn(async move { anonymous.register(&email, password).await.status })
            }
            Party::Newcomer | Party::NewcomerThere => {
                let (email, mailbox) = (self.links[party.link()].0.clone(), self.edge.mailbox());
                tokio::spawn(async move {
                    let title = "Confirm your email address";
                    let before = mailbox.mails_to(&email);
                    let before = before.iter().filter(|mail| mail.subject == title).count();
                    if anonymous.register(&email, NEWCOMERS).await.status != 201 {
                        return 503;
                    }
                    let mails = mailbox.mails_to(&email);
                    let Some(mail) = mails.iter().filter(|mail| mail.subject == title).nth(before)
                    else {
                        return 409;
                    };
                    anonymous.verify_email(mail.token().unwrap()).await.status
                })
            }
            Party::Scheduled => {
                let run = self.edge.scheduled();
                tokio::spawn(async move {
                    run.await;
                    204
                })
            }
            Party::Reset => {
                let body = json!({ "token": self.reset, "password": OTHER });
                tokio::spawn(
                    async move { anonymous.post("/auth/reset-password", &body).await.status },
                )
            }
            Party::Delete => {
                let account = self.account.clone().unwrap();
                let body = json!({ "password": PASSWORD });
                tokio::spawn(async move { account.delete("/me", &body).await.status })
            }
        }
    }

    /// Waits for the next round trip that isn't one of `others`, or for the end of the task. A trip doesn't name its
    /// party, so the task's own trip may have been taken for another party's, which then continues first.
    async fn next_trip(&self, task: &JoinHandle<u16>, others: &[u64]) -> Option<Parked> {
        let begun = Instant::now();
        loop {
            let is_over = task.is_finished();
            let parked = self.edge.parked().await;
            if let Some(trip) = parked.into_iter().find(|trip| !others.contains(&trip.trip)) {
                return Some(trip);
            }
            if is_over || (begun.elapsed() > PATIENCE && !others.is_empty()) {
                return None;
            }
            if begun.elapsed() > ENDLESS {
                // The trip that was cut off was this task's.
                task.abort();
                return None;
            }
            sleep(LOOK).await;
        }
    }

    /// Runs the parties by a schedule with at most one cut. Returns what each was answered, and what was done.
    async fn play(&self, parties: &[Party], schedule: &mut Schedule) -> (Vec<Option<u16>>, String) {
        let mut processes: Vec<Process> = Vec::new();
        for &party in parties {
            let task = self.spawn(party);
            let others = waiting(&processes);
            let trip = self.next_trip(&task, &others).await;
            processes.push(Process { party, task, trip });
        }
        let (mut is_cut, mut cut, mut story) = (false, None, String::new());
        loop {
            let live: Vec<usize> =
                (0..processes.len()).filter(|&n| processes[n].trip.is_some()).collect();
            if live.is_empty() {
                // A task whose trip was taken for another's may still be under way.
                let late = processes.iter().position(|process| !process.task.is_finished());
                let Some(index) = late else { break };
                processes[index].trip = self.next_trip(&processes[index].task, &[]).await;
                continue;
            }
            let ways: &[Release] =
                if is_cut { &[Release::Go] } else { &[Release::Go, Release::Late, Release::Never] };
            let choice = schedule.choose(live.len() * ways.len(), live.len());
            let (index, how) = (live[choice % live.len()], ways[choice / live.len()]);
            let Some(trip) = processes[index].trip.take() else { continue };
            story += &format!("{:?} {how:?} {:?}; ", processes[index].party, trip.statements);
            self.edge.release(trip.trip, how).await;
            is_cut |= how != Release::Go;
            if how == Release::Never {
                processes[index].task.abort();
                cut = Some(index);
                continue;
            }
            let others = waiting(&processes);
            processes[index].trip = self.next_trip(&processes[index].task, &others).await;
        }
        let mut answers = Vec::new();
        for (index, process) in processes.into_iter().enumerate() {
            answers.push(match process.task.await {
                _ if cut == Some(index) => None,
                Err(error) if error.is_cancelled() => None,
                answer => Some(answer.unwrap()),
            });
        }
        (answers, story)
    }

    /// Finishes the rest, and a day later once more; then looks at every promise.
    async fn check(&self, parties: &[Party], answers: &[Option<u16>], story: &str) {
        let edge = self.edge;
        for _ in 0..2 {
            edge.run_scheduled().await;
            for day in ["closed_accounts SET closed_at = closed_at", "waiting SET at = at"] {
                edge.sql(&format!("UPDATE {day} - 86400"), &[]).await;
            }
        }
        let named: BTreeMap<String, String> =
            rows(edge, "address AS a, account_id AS b", "directory").await.into_iter().collect();
        let live = rows(edge, "id AS a, lower(email) AS b", "accounts").await;
        for (id, email) in &live {
            assert_eq!(named.get(email), Some(id), "an account that can't be reached: {story}");
        }
        assert_eq!(named.len(), live.len(), "{named:?} of {live:?}: {story}");
        let mailboxes = if self.reset.is_empty() { 1 } else { 2 };
        assert!(live.len() <= mailboxes, "two accounts of one mailbox: {story}");
        assert_eq!(edge.count("registrations WHERE is_entered = 1").await, 0, "{story}");
        assert_eq!(edge.count("closed_accounts").await, 0, "{story}");
        assert_eq!(edge.count("waiting").await, 0, "{story}");
        let is_deleted = parties
            .iter()
            .zip(answers)
            .any(|(party, answer)| matches!(party, Party::Delete) && *answer == Some(204));
        let mut told = 0;
        for (party, answer) in parties.iter().zip(answers) {
            let (link, password) = match *party {
                Party::Click(_, password) => (party.link(), password),
                Party::Newcomer | Party::NewcomerThere => (party.link(), NEWCOMERS),
                _ => continue,
            };
            if *answer == Some(200) {
                told += 1;
                let reply = edge.anonymous().login(&self.links[link].0, password).await;
                assert_eq!(reply.status, 200, "signed in, and the password doesn't hold: {story}");
            }
        }
        assert!(told <= mailboxes, "two clicks got in: {story}");
        let clicks = parties.iter().filter(|party| matches!(party, Party::Click(..))).count();
        let is_replaced = parties.iter().any(|party| matches!(party, Party::Register(_)));
        let is_whole = answers.iter().all(|answer| answer.is_some_and(|status| status < 500));
        if clicks > 0 && is_whole && !is_replaced {
            assert_eq!(told, 1, "nobody got in: {story}");
        }
        if let Some(account) = &self.account {
            let own = live.iter().find(|(id, _)| *id == self.id);
            assert_eq!(account.quota().await.status == 200, own.is_some(), "{story}");
            let may_go = parties.iter().any(|party| matches!(party, Party::Delete));
            assert!(if own.is_some() { !is_deleted } else { may_go }, "{story}");
            let mut open = Vec::new();
            for (email, _) in &self.links {
                for password in [PASSWORD, OTHER] {
                    if edge.anonymous().login(email, password).await.status == 200 {
                        open.push(email);
                    }
                }
            }
            let expected = Vec::from_iter(own.map(|(_, email)| email));
            assert_eq!(open, expected, "one address and one password open it: {story}");
        }
        // Nobody is locked out of an address.
        let taken = |email: &str| live.iter().any(|(_, taken)| taken == email);
        for (email, _) in self.links.iter().filter(|(email, _)| !taken(email)) {
            let title = "Confirm your email address";
            if live.len() == 1 && self.reset.is_empty() {
                continue;
            }
            let before = edge.mailbox().mails_to(email);
            let nth = before.iter().filter(|mail| mail.subject == title).count() + 1;
            assert_eq!(edge.anonymous().register(email, PASSWORD).await.status, 201, "{story}");
            let mail = edge.mailbox().wait_for_titled(email, title, nth).await.expect(story);
            let reply = edge.anonymous().verify_email(mail.token().unwrap()).await;
            assert_eq!(reply.status, 200, "{story}: {}", reply.body);
        }
    }
}

fn waiting(processes: &[Process]) -> Vec<u64> {
    processes.iter().filter_map(|process| process.trip.as_ref()).map(|trip| trip.trip).collect()
}

async fn rows(edge: &Edge, columns: &str, table: &str) -> Vec<(String, String)> {
    let rows = edge.sql(&format!("SELECT {columns} FROM {table}"), &[]).await;
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(row, "a"), text(row, "b"))).collect()
}

/// Plays every schedule in a long proof, and otherwise some of them.
async fn hold(start: Start, parties: &[Party]) {
    let edge = Edge::builder().databases(2).var("HOMES", "*:1").shimmed().start().await.unwrap();
    let random = (!proof::is_long()).then(proof::seed);
    let (mut schedule, mut played) = (Schedule::first(random), 0);
    loop {
        let run = Run::begin(&edge, start).await;
        edge.park(&TRIPS).await;
        let (answers, story) = run.play(parties, &mut schedule).await;
        edge.park(&[]).await;
        edge.end_cut_runs().await;
        run.check(parties, &answers, &format!("{answers:?} {story}")).await;
        played += 1;
        if played == proof::count(10, usize::MAX) || !schedule.next() {
            break;
        }
    }
    println!("{start:?} {parties:?}: {played} schedules");
}

#[tokio::test]
async fn of_two_clicks_with_two_passwords_one_gets_in_and_its_password_holds() {
    let start = Start::Registered(&["*@rcpt-tests.net"]);
    hold(start, &[Party::Click(0, PASSWORD), Party::Click(0, OTHER)]).await;
}

#[tokio::test]
async fn a_click_beside_another_registration_leaves_one_account_or_a_way_to_it() {
    let start = Start::Registered(&["*@rcpt-tests.net"]);
    hold(start, &[Party::Click(0, PASSWORD), Party::Register(OTHER)]).await;
}

#[tokio::test]
async fn of_two_spellings_of_a_mailbox_one_is_confirmed() {
    let start = Start::Registered(&["*@outlook.com", "*+1@outlook.com"]);
    hold(start, &[Party::Click(0, PASSWORD), Party::Click(1, OTHER)]).await;
}

#[tokio::test]
async fn a_click_beside_the_scheduled_run_gets_in() {
    let start = Start::Registered(&["*@rcpt-tests.net"]);
    hold(start, &[Party::Click(0, PASSWORD), Party::Scheduled]).await;
}

#[tokio::test]
async fn a_deletion_beside_the_end_of_its_own_confirmation_deletes() {
    hold(Start::Unfinished, &[Party::Delete, Party::Scheduled]).await;
}

#[tokio::test]
async fn a_due_change_beside_another_run_and_a_reset_ends_in_one_address() {
    hold(Start::Due, &[Party::Scheduled, Party::Scheduled, Party::Reset]).await;
}

#[tokio::test]
async fn a_due_change_beside_a_deletion_leaves_no_address_that_cannot_register() {
    hold(Start::Due, &[Party::Scheduled, Party::Delete]).await;
}

#[tokio::test]
async fn a_due_change_beside_newcomers_at_both_addresses_ends_in_one_account_each() {
    hold(Start::Due, &[Party::Scheduled, Party::Newcomer, Party::NewcomerThere]).await;
}

#[tokio::test]
async fn whoever_registers_the_address_of_a_deletion_gets_one_account_or_none() {
    hold(Start::Account, &[Party::Delete, Party::Newcomer, Party::Scheduled]).await;
}
