//! The reader of a mailbox may stop emails that others cause there; emails that the reader requests still arrive.

use rcpt_tests::{Anonymous, Edge, Reply, people::PASSWORD, service::shim::Fault};
use serde_json::json;

const NO_ACCOUNT: &str = "There is no account with this address";
const HAS_ACCOUNT: &str = "You already have an account";
const CONFIRM: &str = "Confirm your email address";
const RESET: &str = "Set a new password";

async fn stop_emails(anonymous: &Anonymous, token: &str) -> Reply {
    anonymous.post("/auth/stop-emails", &json!({ "token": token })).await
}

/// The token in the link `{PORTAL_URL}/stop-emails?token=…` of an email.
fn opt_out_token(text: &str) -> &str {
    let link = text.split_whitespace().find(|word| word.contains("/stop-emails?token="));
    link.and_then(|link| link.split_once('=')).expect("a way to opt out").1
}

/// The subjects of emails to `to`, once none is being sent.
async fn subjects(edge: &Edge, to: &str) -> Vec<String> {
    let mails = edge.mails().await;
    edge.counts().await;
    let to = mails.iter().filter(|mail| mail["to"] == to);
    to.map(|mail| mail["subject"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn for_thirty_days_a_mailbox_gets_what_its_reader_asks_for_and_nothing_that_others_cause() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let (anonymous, email) = (edge.anonymous(), edge.new_email());
    assert_eq!(anonymous.forgot_password(&email).await.status, 200);
    let note = edge.mailbox().wait_for_titled(&email, NO_ACCOUNT, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    let token = opt_out_token(&note.text);
    assert_eq!(opt_out_token(&note.html.replace('"', " ")), token);
    let handed_over = edge.mails().await;
    edge.counts().await;
    let header = handed_over.iter().find(|mail| mail["to"] == email.as_str());
    let link = format!("<{}/stop-emails?token={token}>", edge.url);
    assert_eq!(header.unwrap()["headers"]["List-Unsubscribe"], link);

    assert_eq!(stop_emails(&anonymous, token).await.status, 204);
    assert_eq!(stop_emails(&anonymous, token).await.status, 204, "a second click");
    assert_eq!(anonymous.forgot_password(&email).await.status, 200);
    edge.wait_for_reset_mails().await;
    assert_eq!(subjects(&edge, &email).await, [""; 0], "no note");

    // The reader of the mailbox registers after all.
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    let confirm = edge.mailbox().wait_for_titled(&email, CONFIRM, 1).await.unwrap();
    assert!(!confirm.text.contains("stop-emails"), "{}", confirm.text);
    assert_eq!(anonymous.verify_email(confirm.token().unwrap()).await.status, 200);
    assert_eq!(subjects(&edge, &email).await, [CONFIRM]);
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    assert_eq!(subjects(&edge, &email).await, [""; 0], "nobody is told of the account");
    assert_eq!(anonymous.forgot_password(&email).await.status, 200);
    edge.mailbox().wait_for_titled(&email, RESET, 1).await.unwrap();
    edge.wait_for_reset_mails().await;
    edge.counts().await;

    edge.sql("UPDATE throttles SET drained_at = unixepoch() WHERE key GLOB 'opt-out:*'", &[]).await;
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    assert_eq!(subjects(&edge, &email).await, [HAS_ACCOUNT], "after thirty days");
    edge.run_scheduled().await;
    assert_eq!(edge.count("throttles WHERE key GLOB 'opt-out:*'").await, 0);
}

#[tokio::test]
async fn a_token_stops_the_emails_of_its_own_mailbox_only_and_none_can_be_made_up() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let (anonymous, ann, bob) = (edge.anonymous(), edge.new_email(), edge.new_email());
    assert_eq!(anonymous.forgot_password(&ann).await.status, 200);
    let note = edge.mailbox().wait_for_titled(&ann, NO_ACCOUNT, 1).await.unwrap();
    let token = opt_out_token(&note.text);
    let (hash, mac) = token.rsplit_once('.').unwrap();
    let other = hash.replace(|c: char| c.is_ascii_digit(), "0");
    for junk in ["junk", "", ".", hash, &format!("{hash}."), &format!("{other}.{mac}")] {
        stop_emails(&anonymous, junk).await.assert_error(400, "invalid_token", junk);
    }
    assert_eq!(edge.count("throttles WHERE key GLOB 'opt-out:*'").await, 0);
    assert_eq!(stop_emails(&anonymous, token).await.status, 204);
    edge.wait_for_reset_mails().await;
    edge.counts().await;
    assert_eq!(anonymous.forgot_password(&bob).await.status, 200);
    edge.wait_for_reset_mails().await;
    assert_eq!(subjects(&edge, &bob).await, [NO_ACCOUNT]);
}

// The response has already been sent, so the registration can't be rejected any more: it is undone.
#[tokio::test]
async fn a_confirmation_that_follows_the_answer_and_fails_leaves_nothing() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let (anonymous, email) = (edge.anonymous(), edge.new_email());
    assert_eq!(anonymous.forgot_password(&email).await.status, 200);
    let note = edge.mailbox().wait_for_titled(&email, NO_ACCOUNT, 1).await.unwrap();
    assert_eq!(stop_emails(&anonymous, opt_out_token(&note.text)).await.status, 204);
    edge.wait_for_reset_mails().await;
    edge.counts().await;
    let before = edge.dump(&["throttles", "this_database"]).await;
    edge.fail(&[Fault { part: "mail", times: 1, error: "quota", ..Fault::default() }]).await;
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    assert_eq!(subjects(&edge, &email).await, [CONFIRM], "tried");
    assert_eq!(edge.dump(&["throttles", "this_database"]).await, before);
    // The response time doesn't reveal if an email was due.
    edge.fail(&[Fault { part: "mail", times: 1, delay_ms: 5_000, ..Fault::default() }]).await;
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    let confirmations =
        edge.mailbox().mails_to(&email).into_iter().filter(|mail| mail.subject == CONFIRM);
    assert_eq!(confirmations.count(), 0, "the answer waits for no email");
    edge.mailbox().wait_for_titled(&email, CONFIRM, 1).await.unwrap();
}
