//! Accounts in several databases (docs/architecture.md): where they are created, and that a failing
//! database or an interruption at any step loses nothing.

use rcpt_shared::Status;
use rcpt_tests::{
    Account, Conduct, Edge, FakeOrigin,
    people::{PASSWORD, send},
    service::shim::Fault,
};
use reqwest::Method;
use serde_json::{Value, json};

/// Each of the [`CONTINENTS`] has its own database.
const HOMES: &str = "EU:1 NA:2 *:0";
const CONTINENTS: [&str; 3] = ["AF", "EU", "NA"];

/// A fault of every round trip to this database; `None` means all databases.
fn down(database: Option<u8>) -> Fault {
    Fault { part: "d1", database, times: 1_000_000, error: "away", ..Fault::default() }
}

async fn edge_with(origin: &FakeOrigin) -> Edge {
    let edge = Edge::builder().origins(&[&origin.url]).var("HOMES", HOMES);
    edge.shimmed().start().await.unwrap()
}

/// Registers from a continent; returns the response's status.
async fn register_from(edge: &Edge, continent: &str, email: &str) -> u16 {
    let body = json!({ "email": email, "password": PASSWORD });
    let request = edge.anonymous().request(Method::POST, "/auth/register").json(&body);
    send(request.header("continent", continent)).await.status
}

async fn account_from(edge: &Edge, continent: &str) -> Account {
    let email = edge.new_email();
    assert_eq!(register_from(edge, continent, &email).await, 201);
    confirmed(edge, &email, 1).await
}

const CONFIRMATION: &str = "Confirm your email address";

/// The number of emails with a confirmation link that an address has received.
fn confirmations(edge: &Edge, email: &str) -> usize {
    edge.mailbox().mails_to(email).iter().filter(|mail| mail.subject == CONFIRMATION).count()
}

/// Confirms with the link in the `nth` confirmation email.
async fn confirmed(edge: &Edge, email: &str, nth: usize) -> Account {
    let mail = edge.mailbox().wait_for_titled(email, CONFIRMATION, nth).await.unwrap();
    let reply = edge.anonymous().verify_email(mail.token().unwrap()).await;
    Account::from_credentials(&edge.anonymous(), PASSWORD, &reply)
}

/// The ids of the confirmed accounts of an address, and the id in the directory.
async fn ids(edge: &Edge, email: &str) -> (Vec<Value>, Vec<Value>) {
    let accounts = "SELECT id FROM accounts WHERE email = ? AND state = 'confirmed'";
    let accounts = edge.sql(accounts, &[email.into()]).await;
    let account_query = "SELECT account_id FROM directory WHERE address = ?";
    let account_rows = edge.sql(account_query, &[email.to_lowercase().into()]).await;
    let of = |rows: Vec<Value>, name: &str| rows.iter().map(|row| row[name].clone()).collect();
    (of(accounts, "id"), of(account_rows, "account_id"))
}

/// Asserts that there is exactly one account, and that the directory contains it.
async fn assert_reachable_once(edge: &Edge, email: &str, what: &str) {
    let (accounts, named) = ids(edge, email).await;
    assert_eq!((accounts.len(), &accounts), (1, &named), "{what}");
}

#[tokio::test]
async fn one_database_down_is_its_accounts_trouble_only() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let mut accounts = Vec::new();
    for (number, continent) in CONTINENTS.into_iter().enumerate() {
        let account = account_from(&edge, continent).await;
        let id = edge.id(&account.email).await;
        assert_eq!(id.get(..2), Some(format!("{number:02x}").as_str()), "{continent}");
        assert_eq!(account.check("known@databases.example").await.status, 200);
        accounts.push(account);
    }
    for broken in 0..3_u8 {
        edge.fail(&[down(Some(broken))]).await;
        for (number, account) in accounts.iter().enumerate() {
            let own = number == usize::from(broken);
            let expected = if own { 503 } else { 200 };
            let what = format!("database {number} while {broken} is down");
            assert_eq!(account.check("known@databases.example").await.status, expected, "{what}");
            let fresh = format!("fresh-{broken}-{number}@databases.example");
            assert_eq!(account.check(&fresh).await.status, expected, "{what}");
            assert_eq!(account.get("/me").await.status, expected, "{what}");
            // Signing in also needs the directory.
            let reply = account.anonymous.login(&account.email, PASSWORD).await;
            let expected = if own || broken == 0 { 503 } else { 200 };
            assert_eq!(reply.status, expected, "{what}: {}", reply.body);
        }
        let ready = edge.anonymous().get("/health/ready").await;
        assert_eq!((ready.status, ready.text("database")), (503, "down"), "{broken}");
        if broken != 0 {
            // A registration needs the first database only, wherever the account will be.
            for continent in CONTINENTS {
                let email = edge.new_email();
                assert_eq!(register_from(&edge, continent, &email).await, 201, "{broken}");
            }
        }
    }
    edge.fail(&[]).await;
    for account in &accounts {
        // One check was charged before, and two during the failure of each of the other two databases. None was charged
        // while the own database was down.
        assert_eq!(account.email_checks().await.used_today, 5);
    }
}

#[tokio::test]
async fn a_check_asks_the_database_of_its_account_and_no_other() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    for (number, continent) in CONTINENTS.into_iter().enumerate() {
        let account = account_from(&edge, continent).await;
        edge.trips().await;
        assert_eq!(account.check(&format!("x-{number}@asks.example")).await.status, 200);
        assert_eq!(account.check(&format!("x-{number}@asks.example")).await.status, 200);
        let mut expected = [0; 3];
        expected[number] = 3;
        assert_eq!(edge.identifications().await, 0, "each is known since its first use");
        assert_eq!(edge.trips().await, expected, "two for the fresh one, one for the cached one");
    }
}

/// Anyone could measure the number of round trips to each database.
#[tokio::test]
async fn an_unknown_address_asks_as_many_databases_as_a_member_s() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let account = account_from(&edge, "NA").await;
    edge.trips().await;
    let anonymous = edge.anonymous();
    let mut databases_seen = [false; 3];
    // The key of the address hashes is random, so each database is chosen sooner or later (in 100 attempts, except with
    // a probability of 1e-17).
    for n in 0.. {
        let unknown = format!("unknown-{n}@rcpt-tests.net");
        let mut each = Vec::new();
        for _ in 0..2 {
            anonymous.login(&unknown, "not-the-password").await;
            let trips = edge.trips().await;
            assert_eq!((trips.iter().sum::<u64>(), trips[0] >= 2), (4, true), "{trips:?}");
            each.push(trips);
        }
        assert_eq!(each[0], each[1], "always the same one");
        // A registration from another continent changes nothing until it is confirmed.
        assert_eq!(register_from(&edge, "EU", &unknown).await, 201);
        assert_eq!(edge.trips().await, [3, 0, 0], "the attempt, the address, the registration");
        anonymous.login(&unknown, "not-the-password").await;
        assert_eq!(edge.trips().await, each[0], "after a registration");
        for (seen, (trips, always)) in databases_seen.iter_mut().zip(each[0].iter().zip([2, 0, 0]))
        {
            *seen |= *trips > always;
        }
        if databases_seen == [true; 3] {
            break;
        }
        assert!(n < 100, "not spread: {databases_seen:?}");
    }
    anonymous.login(&account.email, "not-the-password").await;
    assert_eq!(edge.trips().await, [2, 0, 2], "a member's");
    assert_eq!(register_from(&edge, "EU", &account.email).await, 201);
    assert_eq!(edge.trips().await, [3, 0, 0], "a member's");
}

/// Cuts off an operation at each of its round trips, before or after its effect: from then on, no
/// database is reachable. The fault is repaired before `then`.
async fn cut_off<T>(
    edge: &Edge,
    prepare: impl AsyncFn() -> T,
    operation: impl AsyncFn(&T) -> u16,
    then: impl AsyncFn(T, u16, &str),
) {
    let whole = prepare().await;
    edge.counts().await;
    let status = operation(&whole).await;
    assert!(status < 300, "{status}");
    let trips = u32::try_from(edge.counts().await.d1_trips).unwrap();
    assert!(trips >= 3, "{trips}");
    for skip in 0..trips {
        for late in [false, true] {
            let what = format!("cut off at {skip} of {trips}, {late}");
            let prepared = prepare().await;
            // The first fault in the list that hasn't struck yet applies.
            let faults = if late {
                vec![Fault { skip, times: 1, late, ..down(None) }, down(None)]
            } else {
                vec![Fault { skip, ..down(None) }]
            };
            edge.fail(&faults).await;
            let status = operation(&prepared).await;
            edge.fail(&[]).await;
            then(prepared, status, &what).await;
        }
    }
}

#[tokio::test]
async fn a_registration_cut_off_anywhere_is_made_good_by_the_next() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let register = async |email: &String| register_from(&edge, "EU", email).await;
    cut_off(
        &edge,
        async || edge.new_email(),
        register,
        async |email, status, what| {
            assert!([503, 201].contains(&status), "{what}: {status}");
            if status == 201 {
                edge.mailbox().wait_for_mail(&email).await.unwrap();
            }
            // A link that was mailed before the cut may not work, and may be read after the cut.
            let mails = edge.mails().await.into_iter();
            let nth =
                mails.filter(|mail| mail["to"] == email && mail["subject"] == CONFIRMATION).count()
                    + 1;
            // The next registration comes from another continent.
            assert_eq!(register_from(&edge, "NA", &email).await, 201, "{what}");
            let account = confirmed(&edge, &email, nth).await;
            assert_eq!(account.check("x@registration.example").await.status, 200, "{what}");
            assert_eq!(account.anonymous.login(&email, PASSWORD).await.status, 200, "{what}");
            assert_reachable_once(&edge, &email, what).await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_confirmation_cut_off_anywhere_is_made_good_by_the_link_or_a_new_one() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let registered = async || {
        let email = edge.new_email();
        assert_eq!(register_from(&edge, "EU", &email).await, 201);
        let mail = edge.mailbox().wait_for_mail(&email).await.unwrap();
        (email, mail.token().unwrap().to_owned())
    };
    let verify =
        async |(_, token): &(String, String)| edge.anonymous().verify_email(token).await.status;
    cut_off(&edge, registered, verify, async |(email, token), status, what| {
        // The last trip removes the registration, and nobody waits for its success.
        assert!([503, 200].contains(&status), "{what}: {status}");
        let anonymous = edge.anonymous();
        // If the click was decided, the link is used up, and the scheduled run makes the account.
        let status = anonymous.verify_email(&token).await.status;
        assert!([200, 400].contains(&status), "{what}: {status}");
        if status == 400 {
            edge.run_scheduled().await;
        }
        assert_eq!(anonymous.login(&email, PASSWORD).await.status, 200, "{what}");
        assert_reachable_once(&edge, &email, what).await;
        assert_eq!(
            edge.count(&format!("registrations WHERE email = '{email}'")).await,
            0,
            "{what}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_deletion_cut_off_anywhere_is_made_good_and_no_id_is_used_again() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let used = async || {
        let account = account_from(&edge, "EU").await;
        assert_eq!(account.check("no address").await.status, 200);
        account
    };
    let delete = async |account: &Account| {
        account.delete("/me", &json!({ "password": PASSWORD })).await.status
    };
    // In every second case, the scheduled run precedes the next registration.
    let turn = std::cell::Cell::new(false);
    cut_off(&edge, used, delete, async |account, status, what| {
        assert!([503, 204].contains(&status), "{what}: {status}");
        let email = &account.email;
        if account.get("/me").await.status == 200 {
            assert_eq!(delete(&account).await, 204, "{what}");
        }
        turn.set(!turn.get());
        if turn.get() {
            edge.run_scheduled().await;
            let accounts = edge.count("accounts WHERE state = 'confirmed'").await;
            assert_eq!(edge.count("directory").await, accounts, "{what}");
        }
        let nth = confirmations(&edge, email) + 1;
        if edge.count(&format!("directory WHERE email = '{email}'")).await > 0 {
            // The directory wasn't told: until it is, the address is taken.
            edge.run_scheduled().await;
        }
        assert_eq!(register_from(&edge, "NA", email).await, 201, "{what}");
        let fresh = confirmed(&edge, email, nth).await;
        assert_reachable_once(&edge, email, what).await;
        assert_eq!(account.quota().await.status, 401, "{what}: the old key stays dead");
        let checks = fresh.email_checks().await;
        assert_eq!((checks.left_today, checks.welcome_left), (0, 0), "{what}: nothing is renewed");
        let id = edge.id(email).await;
        assert_eq!(id.get(..2), Some("02"), "{what}: where its owner is now");
    })
    .await;
}

/// No account is removed because the directory lacks it; the operator enters it again (`admin.rs`).
#[tokio::test]
async fn an_account_that_the_directory_has_lost_works_on_and_stays() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = edge_with(&origin).await;
    let account = account_from(&edge, "EU").await;
    edge.sql("DELETE FROM directory", &[]).await;
    for _ in 0..2 {
        edge.run_scheduled().await;
        assert_eq!(account.check("x@lost.example").await.status, 200, "its key works on");
    }
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 401);
    let id = edge.id(&account.email).await;
    let call = json!({ "enter": { "accounts": [id] } });
    assert_eq!(edge.operator().done(&call).await["entered"], json!([id]));
    assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
    assert_reachable_once(&edge, &account.email, "entered again").await;
}

#[tokio::test]
async fn a_database_is_added_to_a_running_service() {
    let mut edge = Edge::builder().databases(2).var("HOMES", "*:0,1").start().await.unwrap();
    let before = [edge.account().await, edge.account().await, edge.account().await];
    // A new database is bound first, and gets accounts only in a second deployment, when every Worker knows the
    // database.
    let bound = |builder: rcpt_tests::service::edge::EdgeBuilder| {
        builder.databases(3).variant(&[("HOMES", "*:2".to_owned())])
    };
    edge.restart_with(bound).await.unwrap();
    let new = rcpt_tests::Anonymous::new(&edge.variants[0]);
    let email = edge.new_email();
    assert_eq!(new.register(&email, PASSWORD).await.status, 201);
    let account = confirmed(&edge, &email, 1).await;
    assert_eq!(edge.id(&email).await.get(..2), Some("02"));
    for (account, anonymous) in
        before.iter().chain([&account]).zip([&new, &edge.anonymous()].into_iter().cycle())
    {
        assert_eq!(account.quota().await.status, 200);
        assert_eq!(anonymous.login(&account.email, PASSWORD).await.status, 200);
        assert_eq!(anonymous.register(&account.email, PASSWORD).await.status, 201);
        assert_reachable_once(&edge, &account.email, "an account of before").await;
    }
}

#[tokio::test]
async fn a_database_that_is_not_bound_is_a_failure_of_ours_and_no_dead_key() {
    let mut edge = Edge::builder().var("HOMES", "*:2").start().await.unwrap();
    let account = edge.account().await;
    edge.restart_with(|builder| builder.databases(2).var("HOMES", "*:0")).await.unwrap();
    account.quota().await.assert_error(503, "unavailable", "its key");
    account.get("/me").await.assert_error(503, "unavailable", "its session");
    edge.process.wait_for_line("database 2 is not bound").await;
    edge.restart_with(|builder| builder.databases(3)).await.unwrap();
    assert_eq!(account.quota().await.status, 200);
}

#[tokio::test]
async fn exchanged_databases_answer_for_nobody_until_they_are_mended() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let mut edge = edge_with(&origin).await;
    let mut accounts = Vec::new();
    for continent in CONTINENTS {
        accounts.push(account_from(&edge, continent).await);
    }
    // In the second round, the databases have lost their numbers, but not their accounts.
    for forgotten in [false, true] {
        if forgotten {
            edge.sql("DELETE FROM this_database", &[]).await;
        }
        edge.restart_with(|edge| edge.exchanged(Some([1, 2]))).await.unwrap();
        assert_eq!(accounts[0].check("x@exchanged.example").await.status, 200);
        for account in &accounts[1..] {
            account.quota().await.assert_error(503, "unavailable", "its key");
            account.get("/me").await.assert_error(503, "unavailable", "its session");
            let reply = account.anonymous.login(&account.email, PASSWORD).await;
            reply.assert_error(503, "unavailable", "signing in");
        }
        let (email, mail) = edge.registered().await;
        let taken =
            "UPDATE registrations SET account_id = '01' || substr(account_id, 3) WHERE email = ?";
        edge.sql_in(0, taken, &[email.as_str().into()]).await;
        let reply = edge.anonymous().verify_email(mail.token().unwrap()).await;
        reply.assert_error(503, "unavailable", "a confirmation there");
        let ready = edge.anonymous().get("/health/ready").await;
        assert_eq!((ready.status, ready.text("database")), (503, "down"));
        edge.run_scheduled().await;
        let own = if forgotten { "another number" } else { "2" };
        let account_query = format!("database: DB_1: 1 is bound in the place of {own}");
        edge.process.wait_for_line(&account_query).await;

        edge.restart_with(|edge| edge.exchanged(None)).await.unwrap();
        for account in &accounts {
            assert_eq!(account.check("x@exchanged.example").await.status, 200);
            assert_reachable_once(&edge, &account.email, "mended").await;
        }
    }
}

#[tokio::test]
async fn wrong_homes_are_named_and_every_request_is_503_until_they_are_mended() {
    let mut edge = Edge::builder().var("HOMES", "EU:0 *:3").start().await.unwrap();
    for path in ["/health", "/me/quota", "/nothing"] {
        assert_eq!(edge.anonymous().get(path).await.status, 503, "{path}");
    }
    let mistake = "HOMES: *:3: the databases bound have the numbers 0 to 2";
    edge.process.wait_for_line(mistake).await;
    edge.restart_with(|builder| builder.var("HOMES", "EU:0 *:2")).await.unwrap();
    assert_eq!(edge.anonymous().get("/health").await.status, 200);
}
