//! Deleting an account and registering it again gives no fresh allowance, and attempts stay counted.

use rcpt_tests::{Account, Edge, people::PASSWORD, service::clock};
use serde_json::json;

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
async fn a_new_account_of_the_mailbox_begins_with_the_days_allowance_used_and_no_welcome_checks() {
    let edge = Edge::builder().start().await.unwrap();
    let mut account = edge.account().await;
    assert_eq!(account.check("no address").await.status, 200);
    for _ in 0..2 {
        clock::today().await;
        delete(&account).await;
        account = again(&edge, &account).await;
        let checks = account.email_checks().await;
        assert_eq!((checks.used_today, checks.left_today, checks.welcome_left), (100, 0, 0));
        assert_eq!(account.check("no address").await.status, 429);
        let scans = account.quota().await.body["scans"].clone();
        assert_eq!((&scans["used_today"], &scans["left_today"]), (&json!(1), &json!(0)));
        let body = json!({ "addresses": ["no address"] });
        assert_eq!(account.post("/scans", &body).await.status, 429);
        assert_eq!(account.get("/me/usage").await.status, 200, "the chart shows it");
    }
    // On another day, the daily checks are renewed; the welcome checks aren't.
    edge.set(&account.email, "day = day - 1").await;
    let checks = account.email_checks().await;
    assert_eq!((checks.used_today, checks.left_today, checks.welcome_left), (0, 100, 0));
    // A month later the address starts from zero.
    delete(&account).await;
    let expire = "UPDATE throttles SET drained_at = unixepoch() WHERE key LIKE 'former:%'";
    edge.sql(expire, &[]).await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("throttles WHERE key LIKE 'former:%'").await, 0);
    let checks = again(&edge, &account).await.email_checks().await;
    assert_eq!((checks.used_today, checks.welcome_left), (0, 50));
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
