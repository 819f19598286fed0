//! Nobody can use up others' emails, neither alone nor with accomplices (docs/security.md, B1, B5 and
//! B9).
//!
//! - B9: 300 networks ask for as many emails as they can; a fresh network's registration and a member's first reset of
//!   the day still get theirs.

use std::time::Duration;

use rcpt_tests::{
    Anonymous, Edge, Reply,
    people::{PASSWORD, send, send_all},
    proof,
    service::shim::Fault,
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

const RESET: &str = "Set a new password";

fn forgot(anonymous: &Anonymous, from: &str, email: &str) -> RequestBuilder {
    let request = anonymous.request(Method::POST, "/auth/forgot-password");
    request.json(&json!({ "email": email })).header("cf-connecting-ip", from)
}

fn register(anonymous: &Anonymous, from: &str, email: &str) -> RequestBuilder {
    let body = json!({ "email": email, "password": PASSWORD });
    let request = anonymous.request(Method::POST, "/auth/register").json(&body);
    request.header("cf-connecting-ip", from)
}

/// Leaves `remaining` of the attempts in this budget of 2,000 a day, with a burst of 1,000.
async fn leave(edge: &Edge, budget: &str, remaining: u64) {
    let sql = "INSERT OR REPLACE INTO throttles (key, drained_at, last_attempt)
        VALUES (?, unixepoch() + (1000 - ?) * 43, '')";
    edge.sql_in(0, sql, &[json!(budget), json!(remaining)]).await;
}

fn titled(edge: &Edge, to: &str, subject: &str) -> usize {
    edge.mailbox().mails_to(to).iter().filter(|mail| mail.subject == subject).count()
}

#[tokio::test]
async fn one_network_or_site_that_forgets_and_registers_without_end_stops_nobody_else() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let anonymous = edge.anonymous();
    let network = |_: usize| "203.0.113.5".to_owned();
    let site = |n: usize| format!("2001:db8:1:{n:x}::1");
    let kinds: [(&dyn Fn(usize) -> String, usize); 2] = [(&network, 60), (&site, 120)];
    for (from, most) in kinds {
        for request in [forgot, register] {
            let attack = (0..most + 40).map(|n| {
                request(&anonymous, &from(n), &format!("x{n}-{}@rcpt-tests.net", from(n).len()))
            });
            let replies = send_all(attack, 8).await;
            let refused = replies.iter().filter(|reply| ![200, 201].contains(&reply.status));
            let refused = refused.inspect(|reply| reply.assert_error(429, "throttled", "too many"));
            // Up to two attempts may have become free again in the meantime.
            assert!((38..=40).contains(&refused.count()));
        }
    }
    let email = edge.new_email();
    assert_eq!(send(register(&anonymous, "198.51.100.1", &email)).await.status, 201);
    edge.mailbox().wait_for_mail(&email).await.unwrap();
}

#[tokio::test]
async fn sixty_people_behind_one_address_register_within_an_hour() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let anonymous = edge.anonymous();
    let office = "203.0.113.9";
    let emails: Vec<_> = (0..60).map(|_| edge.new_email()).collect();
    let all = emails.iter().map(|email| register(&anonymous, office, email));
    for reply in send_all(all, 8).await {
        assert_eq!(reply.status, 201, "{}", reply.body);
    }
    for email in &emails {
        edge.mailbox().wait_for_mail(email).await.unwrap();
    }
    // Password resets have a separate limit.
    assert_eq!(send(forgot(&anonymous, office, &emails[0])).await.status, 200);
}

#[tokio::test]
async fn a_third_of_a_budget_is_for_networks_that_have_taken_nothing_today() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let anonymous = edge.anonymous();
    // Sets the state after a flood from 300 networks: two thirds of the budget are used, and one first email per
    // network.
    leave(&edge, "all-registration-mails", 333 - 300).await;
    let (first, second) = (edge.new_email(), edge.new_email());
    assert_eq!(send(register(&anonymous, "198.51.100.1", &first)).await.status, 201);
    edge.mailbox().wait_for_mail(&first).await.unwrap();
    let reply = send(register(&anonymous, "198.51.100.1", &second)).await;
    reply.assert_error(503, "unavailable", "its second one");
    // A /48 is one party, however many of its networks are used.
    assert_eq!(send(register(&anonymous, "2001:db8:1:1::1", &second)).await.status, 201);
    let reply = send(register(&anonymous, "2001:db8:1:2::1", &edge.new_email())).await;
    reply.assert_error(503, "unavailable", "another network of the same site");
    // Rejected requests haven't used any attempts.
    leave(&edge, "all-registration-mails", 0).await;
    let late = edge.new_email();
    let reply = send(register(&anonymous, "198.51.100.2", &late)).await;
    reply.assert_error(503, "unavailable", "a budget that is used up");
    leave(&edge, "all-registration-mails", 1).await;
    assert_eq!(send(register(&anonymous, "198.51.100.2", &late)).await.status, 201);
}

/// With `PROOF`, the test uses the claim's number of networks and the shipped budget, otherwise a tenth of both. The
/// networks act in the worst order: some use up the unreserved part, and then each other network uses its first email.
#[tokio::test]
async fn networks_that_take_what_they_can_leave_a_place_for_a_fresh_one_and_members_their_links() {
    const OF_NETWORK: usize = 60;
    let networks = proof::count(30, 300);
    let per_day = networks * 20 / 3;
    let edge = Edge::builder().with_waits().var("RESET_MAILS_PER_DAY", per_day.to_string());
    let edge = edge.start().await.unwrap();
    let member = edge.account().await.email;
    let anonymous = edge.anonymous();
    let unreserved = per_day / 2 - per_day / 6;
    let fillers = unreserved.div_ceil(OF_NETWORK) + 1;
    let from = |n: usize| format!("10.{}.{}.7", n / 250, n % 250);
    let calls = (0..fillers).flat_map(|n| std::iter::repeat_n(n, OF_NETWORK));
    let calls = calls.chain((fillers..networks).flat_map(|n| [n, n]));
    let calls = calls
        .enumerate()
        .map(|(call, n)| forgot(&anonymous, &from(n), &format!("stranger-{call}@rcpt-tests.net")));
    let replies = send_all(calls, 8).await;
    for reply in &replies {
        assert!([200, 429].contains(&reply.status), "{}", reply.body);
    }
    let checks = replies.iter().filter(|reply| reply.status == 200).count();
    println!("{networks} networks: {checks} emails of {} places", per_day / 2);
    // Up to four attempts may have become free again in the meantime.
    let firsts = networks - fillers;
    assert!((unreserved + firsts..=unreserved + firsts + 4).contains(&checks), "{checks}");

    let reply = send(forgot(&anonymous, "198.51.100.1", &edge.new_email())).await;
    assert_eq!(reply.status, 200, "a fresh network: {}", reply.body);
    let reply = send(forgot(&anonymous, &from(0), &member)).await;
    reply.assert_error(429, "throttled", "a member from one of those networks");
    edge.mailbox().wait_for_titled(&member, RESET, 1).await.unwrap();
}

#[tokio::test]
async fn a_member_s_first_link_of_the_day_is_sent_though_the_budget_is_used_up() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let (ann, bob) = (edge.account().await, edge.account().await);
    let anonymous = edge.anonymous();
    leave(&edge, "all-reset-mails", 0).await;
    for (n, email) in [&ann.email, &edge.new_email(), &bob.email].into_iter().enumerate() {
        let reply = send(forgot(&anonymous, &format!("198.51.100.{n}"), email)).await;
        reply.assert_error(429, "throttled", "a member and a stranger alike");
    }
    for account in [&ann, &bob] {
        let mail = edge.mailbox().wait_for_titled(&account.email, RESET, 1).await.unwrap();
        let new = "copper-meadow-58-lattice";
        let reply = anonymous.reset_password(mail.token().unwrap(), new).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
    }
    edge.wait_for_reset_mails().await;
    // A reset link beyond the budget is sent once a day per member, up to a ceiling for all members.
    let drained = "UPDATE throttles SET drained_at = 0 WHERE key LIKE 'reset-mail:%'";
    edge.sql_in(0, drained, &[]).await;
    send(forgot(&anonymous, "198.51.100.1", &ann.email)).await.assert_error(429, "throttled", "");
    let carol = edge.account().await;
    let full = "UPDATE throttles SET drained_at = unixepoch() + 1000 * 86 WHERE key = 'all-exempt-reset-mails'";
    edge.sql_in(0, full, &[]).await;
    send(forgot(&anonymous, "198.51.100.1", &carol.email)).await.assert_error(429, "throttled", "");
    let line = "the ceiling of exempt reset links";
    edge.process.wait_for_line(line).await;
    edge.registered().await;
    assert_eq!((titled(&edge, &ann.email, RESET), titled(&edge, &carol.email, RESET)), (1, 0));
}

/// Everything in a response that a stranger sees, except the seconds to wait.
fn shown(reply: &Reply, email: &str) -> (u16, String) {
    let body = reply.body.to_string().replace(email, "(address)");
    (reply.status, body.chars().filter(|letter| !letter.is_ascii_digit()).collect())
}

#[tokio::test]
async fn with_any_budget_nearly_used_up_members_and_strangers_are_answered_alike() {
    let edge = Edge::builder().with_waits().start().await.unwrap();
    let anonymous = edge.anonymous();
    let mut network = 0;
    for budget in ["all-reset-mails", "all-registration-mails", "all-exempt-reset-mails"] {
        for remaining in 0..3 {
            edge.sql_in(0, "DELETE FROM throttles", &[]).await;
            let member = edge.account().await.email;
            let mut answers = Vec::new();
            for email in [&member, &edge.new_email()] {
                leave(&edge, budget, remaining).await;
                // Removes the count of the member's own registration.
                edge.sql_in(0, "DELETE FROM throttles WHERE key LIKE '%-mail:%'", &[]).await;
                network += 1;
                let from = format!("198.51.100.{network}");
                let mut all = Vec::new();
                for request in [forgot, forgot, register, forgot, register] {
                    all.push(shown(&send(request(&anonymous, &from, email)).await, email));
                    edge.wait_for_reset_mails().await;
                }
                let reply = send(register(&anonymous, &from, &edge.new_email())).await;
                all.push((reply.status, String::new()));
                answers.push(all);
            }
            assert_eq!(answers[0], answers[1], "{budget} with {remaining} left");
        }
    }
}

#[tokio::test]
async fn an_answer_waits_for_no_mail_whether_or_not_there_is_an_account() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let ann = edge.account().await;
    let slow = Fault { part: "mail", times: 10, delay_ms: 120_000, ..Fault::default() };
    edge.fail(&[slow]).await;
    for email in [&ann.email, &edge.new_email()] {
        let begun = tokio::time::Instant::now();
        assert_eq!(edge.anonymous().forgot_password(email).await.status, 200);
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    }
}
