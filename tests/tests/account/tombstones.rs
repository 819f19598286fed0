//! Deleting an account and registering it again gives no fresh allowance, and attempts stay counted.

use rcpt_shared::Status;
use rcpt_tests::{Account, Conduct, Edge, FakeOrigin, people::PASSWORD, service::clock};
use serde_json::{Value, json};

async fn delete(account: &Account) {
    let reply = account.delete("/me", &json!({ "password": PASSWORD })).await;
    assert_eq!(reply.status, 204, "{}", reply.body);
}

pub(crate) async fn again(edge: &Edge, account: &Account) -> Account {
    const CONFIRM: &str = "Confirm your email address";
    let mails = edge.mailbox();
    let before = mails.mails_to(&account.email);
    let nth = before.iter().filter(|mail| mail.subject == CONFIRM).count() + 1;
    assert_eq!(account.anonymous.register(&account.email, PASSWORD).await.status, 201);
    let mail = mails.wait_for_titled(&account.email, CONFIRM, nth).await.unwrap();
    let reply = account.anonymous.verify_email(mail.token().unwrap()).await;
    Account::from_credentials(&account.anonymous, PASSWORD, &reply)
}

#[tokio::test]
async fn what_was_used_today_stays_used_and_welcome_checks_are_granted_once() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let today = clock::today().await;
    edge.set(&account.email, &format!("day = {today}, daily_charged = 99, welcome_left = 3")).await;
    assert_eq!(account.check("no address").await.status, 200);
    delete(&account).await;
    let account = again(&edge, &account).await;
    let checks = account.email_checks().await;
    assert_eq!((checks.used_today, checks.left_today, checks.welcome_left), (100, 0, 3));
    assert_eq!(account.check("no address").await.status, 200);
    // The checks of the second registration also count.
    delete(&account).await;
    let account = again(&edge, &account).await;
    let checks = account.email_checks().await;
    assert_eq!((checks.used_today, checks.left_today, checks.welcome_left), (100, 0, 2));
    // On another day, the daily checks are renewed; the welcome checks aren't.
    edge.set(&account.email, "day = day - 1").await;
    delete(&account).await;
    let account = again(&edge, &account).await;
    let checks = account.email_checks().await;
    assert_eq!((checks.used_today, checks.left_today, checks.welcome_left), (0, 100, 2));
    // A month later the address starts from zero.
    delete(&account).await;
    edge.sql("UPDATE tombstones SET expires_at = unixepoch()", &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.sql("SELECT * FROM tombstones", &[]).await, [] as [Value; 0]);
    assert_eq!(again(&edge, &account).await.email_checks().await.welcome_left, 50);
}

#[tokio::test]
async fn a_scan_that_was_used_today_stays_used() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    clock::today().await;
    let body = json!({ "addresses": ["no address"] });
    assert_eq!(account.post("/scans", &body).await.status, 201);
    delete(&account).await;
    let account = again(&edge, &account).await;
    let scans = account.quota().await.body["scans"].clone();
    assert_eq!((&scans["used_today"], &scans["left_today"]), (&json!(1), &json!(0)));
    assert_eq!(account.post("/scans", &body).await.status, 429);
}

#[tokio::test]
async fn a_check_in_progress_counts_as_used() {
    let origin = FakeOrigin::start(|_| Conduct::Hold);
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    clock::today().await;
    let check = origin.hold(&account, "x@held.example").await;
    delete(&account).await;
    origin.release("x@held.example", Conduct::Verdict(Status::Accepted));
    check.await.unwrap();
    assert_eq!(again(&edge, &account).await.email_checks().await.used_today, 1);
}

#[tokio::test]
async fn guesses_at_an_address_stay_counted_when_its_account_is_deleted() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let account = edge.account().await;
    account.anonymous.login(&account.email, "not-the-password").await;
    // Uses up the burst of twenty attempts, after which one attempt is allowed every 15 minutes.
    let wait =
        "UPDATE throttles SET drained_at = unixepoch() + 20 * 900 WHERE key LIKE 'sign-in:%'";
    edge.sql(wait, &[]).await;
    let reply = account.anonymous.login(&account.email, PASSWORD).await;
    assert_eq!(reply.status, 429, "{}", reply.body);
    delete(&account).await;
    let account = again(&edge, &account).await;
    let reply = account.anonymous.login(&account.email, PASSWORD).await;
    reply.assert_error(429, "throttled", "the wait goes on");
}
