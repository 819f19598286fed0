//! Nobody can find out which addresses have accounts (docs/security.md, A1): status, headers and
//! body are the same, and one email is sent in either case. `make bench` measures the times.
//!
//! - Addresses that are unknown, unconfirmed, confirmed, with a second factor, deactivated; medians of 200 interleaved
//!   calls differ by at most 10 %.

use std::collections::BTreeMap;

use rcpt_tests::{Edge, Reply, people::PASSWORD};
use serde_json::json;

use crate::edge;

const WRONG: &str = "copper-meadow-58-lattice";

/// An address without an account, and an address with an account in each state.
async fn addresses() -> Vec<(&'static str, String)> {
    let edge = edge().await;
    let (unconfirmed, _) = edge.registered().await;
    let confirmed = edge.account().await.email;
    let protected = edge.account().await;
    protected.enable_two_factor().await;
    let deactivated = edge.account().await.email;
    edge.set(&deactivated, "state = 'deactivated'").await;
    vec![
        ("unknown", edge.new_email()),
        ("unconfirmed", unconfirmed),
        ("confirmed", confirmed),
        ("with two-factor", protected.email),
        ("deactivated", deactivated),
    ]
}

/// The number of emails with this subject; other emails may still be arriving.
fn titled(edge: &Edge, email: &str, subject: &str) -> usize {
    let mails = edge.mailbox().mails_to(email);
    mails.iter().filter(|mail| mail.subject == subject).count()
}

/// Everything in a response that could differ, without the address itself.
fn shown(reply: &Reply, email: &str) -> (u16, BTreeMap<String, String>, String) {
    let own = ["x-request-id", "date", "content-length"];
    let headers = reply.headers.iter().map(|(name, value)| (name.to_string(), value));
    let headers = headers.filter(|(name, _)| !own.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name, value.to_str().unwrap().to_owned())).collect();
    (reply.status, headers, reply.body.to_string().replace(email, "(address)"))
}

fn assert_all_alike(replies: &[(&str, String, Reply)]) {
    let (_, email, first) = &replies[0];
    for (name, address, reply) in replies {
        assert_eq!(shown(reply, address), shown(first, email), "{name}");
    }
}

#[tokio::test]
async fn registration_answers_the_same_whatever_there_is_and_mails_once() {
    let edge = edge().await;
    let mut replies = Vec::new();
    let kinds = ["Confirm your email address", "You already have an account"];
    for ((name, email), kind) in addresses().await.into_iter().zip([0, 0, 1, 1, 1]) {
        let [mails, others] = [kind, 1 - kind].map(|kind| titled(edge, &email, kinds[kind]));
        let reply = edge.anonymous().register(&email, WRONG).await;
        let message =
            "Check your email: open the link in it within 24 hours to confirm your address.";
        let expected = json!({ "email": email, "verification_required": true, "message": message });
        assert_eq!(reply.parts(), (201, &expected), "{name}");
        edge.mailbox().wait_for_titled(&email, kinds[kind], mails + 1).await.unwrap();
        assert_eq!(titled(edge, &email, kinds[1 - kind]), others, "{name}");
        replies.push((name, email, reply));
    }
    assert_all_alike(&replies);
    // The existing accounts are unchanged.
    let confirmed = &replies[2].1;
    assert_eq!(edge.anonymous().login(confirmed, PASSWORD).await.status, 200);
}

#[tokio::test]
async fn a_wrong_password_is_answered_the_same_whatever_there_is() {
    let edge = edge().await;
    let mut replies = Vec::new();
    for (name, email) in addresses().await {
        let reply = edge.anonymous().login(&email, WRONG).await;
        reply.assert_error(401, "invalid_credentials", name);
        let with_code = edge.anonymous().login_with_code(&email, WRONG, "123456").await;
        assert_eq!(with_code.parts(), reply.parts(), "{name}");
        replies.push((name, email, reply));
    }
    for no_address in ["", "not an address", "x@y@z"] {
        let reply = edge.anonymous().login(no_address, WRONG).await;
        assert_eq!(reply.parts(), replies[0].2.parts(), "{no_address}");
    }
    assert_all_alike(&replies);
}

#[tokio::test]
async fn a_forgotten_password_is_answered_the_same_whatever_there_is_and_mails_once() {
    let edge = edge().await;
    let mut replies = Vec::new();
    let subjects = [
        "There is no account with this address",
        "There is no account with this address",
        "Set a new password",
        "Set a new password",
        "There is no account with this address",
    ];
    for ((name, email), subject) in addresses().await.into_iter().zip(subjects) {
        let mails = titled(edge, &email, subject);
        let reply = edge.anonymous().forgot_password(&email).await;
        let message = "Check your email: if the address has an account, a reset link is on its way. It \
                       expires in one hour.";
        assert_eq!(reply.parts(), (200, &json!({ "message": message })), "{name}");
        edge.mailbox().wait_for_titled(&email, subject, mails + 1).await.expect(name);
        replies.push((name, email, reply));
    }
    assert_all_alike(&replies);
}
