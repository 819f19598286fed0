//! A mailbox has one account, however its address is spelled (docs/security.md, B8).
//!
//! - Gmail, Outlook, iCloud, Fastmail, Proton and Yandex with their domains. A second spelling gets the usual answer
//!   and no account; all spellings share their limits; a deletion renews nothing.

use rcpt_tests::{Edge, people::PASSWORD};
use serde_json::json;

const CONFIRM: &str = "Confirm your email address";
const TAKEN: &str = "You already have an account";
const RESET: &str = "Set a new password";

#[tokio::test]
async fn a_second_spelling_of_a_mailbox_is_answered_the_same_and_makes_no_account() {
    let edge = Edge::builder().start().await.unwrap();
    let anonymous = edge.anonymous();
    let ann = edge.account_of("ann.lee@gmail.com").await;
    for spelling in ["annlee@gmail.com", "ANN.LEE+1@gmail.com", "a.n.n.lee@googlemail.com"] {
        let reply = anonymous.register(spelling, PASSWORD).await;
        let message =
            "Check your email: open the link in it within 24 hours to confirm your address.";
        let expected =
            json!({ "email": spelling, "verification_required": true, "message": message });
        assert_eq!(reply.parts(), (201, &expected));
        let mail = edge.mailbox().wait_for_titled(spelling, TAKEN, 1).await.unwrap();
        assert!(!mail.text.contains("ann.lee@gmail.com"), "{}", mail.text);
        assert!(mail.text.contains("under another spelling"), "{}", mail.text);
        let reply = anonymous.login(spelling, PASSWORD).await;
        reply.assert_error(401, "invalid_credentials", "sign-in takes the exact address");
    }
    assert_eq!((edge.count("accounts").await, edge.count("directory").await), (1, 1));
    // Any spelling finds the account, and its link is sent to the stored address.
    assert_eq!(anonymous.forgot_password("annlee+x@gmail.com").await.status, 200);
    edge.mailbox().wait_for_titled(&ann.email, RESET, 1).await.unwrap();
    assert_eq!(edge.mailbox().mails_to("annlee+x@gmail.com").len(), 0);
}

#[tokio::test]
async fn the_domains_of_yandex_are_one_mailbox_and_quotes_are_no_further_one() {
    let edge = Edge::builder().start().await.unwrap();
    let anonymous = edge.anonymous();
    edge.account_of("ann@yandex.ru").await;
    for domain in ["yandex.com", "yandex.com.tr", "yandex.kz", "ya.ru"] {
        let spelling = format!("ann@{domain}");
        assert_eq!(anonymous.register(&spelling, PASSWORD).await.status, 201);
        edge.mailbox().wait_for_titled(&spelling, TAKEN, 1).await.unwrap();
    }
    edge.account_of("ann@gmail.com").await;
    for quoted in [r#""ann"@gmail.com"#, r#""a\nn"@gmail.com"#, r#""ann "@gmail.com"#] {
        anonymous.register(quoted, PASSWORD).await.assert_error(400, "invalid_email", quoted);
        anonymous.forgot_password(quoted).await.assert_error(400, "invalid_email", quoted);
    }
    assert_eq!(edge.count("accounts").await, 2);
}

#[tokio::test]
async fn elsewhere_a_tag_is_another_mailbox() {
    let edge = Edge::builder().start().await.unwrap();
    for email in ["ann@rcpt-tests.net", "ann+1@rcpt-tests.net", "a.nn@rcpt-tests.net"] {
        assert_eq!(edge.account_of(email).await.email_checks().await.welcome_left, 50, "{email}");
    }
}

#[tokio::test]
async fn of_two_unconfirmed_spellings_the_first_confirmation_wins() {
    let edge = Edge::builder().start().await.unwrap();
    let anonymous = edge.anonymous();
    let spellings = ["bob@outlook.com", "bob+1@outlook.com"];
    let mut links = Vec::new();
    for email in spellings {
        assert_eq!(anonymous.register(email, PASSWORD).await.status, 201);
        links.push(edge.mailbox().wait_for_titled(email, CONFIRM, 1).await.unwrap());
    }
    assert_eq!(anonymous.verify_email(links[1].token().unwrap()).await.status, 200);
    let reply = anonymous.verify_email(links[0].token().unwrap()).await;
    reply.assert_error(400, "invalid_token", "the mailbox has an account");
    assert_eq!(anonymous.login(spellings[1], PASSWORD).await.status, 200);
    anonymous.login(spellings[0], PASSWORD).await.assert_error(401, "invalid_credentials", "");
}

#[tokio::test]
async fn a_tag_renews_nothing_after_a_deletion() {
    let edge = Edge::builder().start().await.unwrap();
    let bob = edge.account_of("bob+1@gmail.com").await;
    let gone = bob.delete("/me", &json!({ "password": PASSWORD })).await;
    assert_eq!(gone.status, 204, "{}", gone.body);
    let again = edge.account_of("b.o.b+2@googlemail.com").await;
    assert_eq!(again.email_checks().await.welcome_left, 0);
    let gone = again.delete("/me", &json!({ "password": PASSWORD })).await;
    assert_eq!(gone.status, 204, "{}", gone.body);
    let third = edge.account_of("bob@gmail.com").await;
    assert_eq!(third.email_checks().await.welcome_left, 0);
}

#[tokio::test]
async fn an_address_that_the_operator_allowed_stands_beside_another_spelling() {
    let edge = Edge::builder().start().await.unwrap();
    let (anonymous, operator) = (edge.anonymous(), edge.operator());
    let ann = edge.account_of("a.nn@gmail.com").await;
    // Also the very text that is the mailbox of the other.
    for allowed in ["ann@gmail.com", "Ann+shop@gmail.com"] {
        operator.done(&json!({ "allow": { "email": allowed } })).await;
        let account = edge.account_of(allowed).await;
        assert_eq!(account.get("/me").await.body["email"], allowed);
        assert_eq!(account.delete("/me", &json!({ "password": PASSWORD })).await.status, 204);
        // The allowance is used.
        edge.sql("DELETE FROM throttles", &[]).await;
        assert_eq!(anonymous.register(allowed, PASSWORD).await.status, 201);
        edge.mailbox().wait_for_titled(allowed, TAKEN, 1).await.unwrap();
    }
    assert_eq!(edge.count("allowed_addresses").await, 0);
    // Its own spelling leads to each.
    assert_eq!(ann.anonymous.login(&ann.email, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn the_spellings_of_a_mailbox_share_its_limits() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let ann = edge.account_of("ann@gmail.com").await;
    let anonymous = edge.anonymous();
    for n in 0..5 {
        let reply = anonymous.forgot_password(&format!("ann+{n}@gmail.com")).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        edge.wait_for_reset_mails().await;
    }
    edge.mailbox().wait_for_titled(&ann.email, RESET, 1).await.unwrap();
    let mails = edge.mailbox().mails_to(&ann.email);
    assert_eq!(mails.iter().filter(|mail| mail.subject == RESET).count(), 1);
    for n in 0..20 {
        let reply = anonymous.login(&format!("ann+{n}@gmail.com"), "wrong-password").await;
        reply.assert_error(401, "invalid_credentials", "a guess");
    }
    anonymous.login(&ann.email, PASSWORD).await.assert_error(429, "throttled", "shared");
}
