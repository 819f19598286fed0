//! Guessing is stopped, and cannot lock the owner out (docs/security.md, A3).
//!
//! - A3: of 200 wrong passwords, and of 200 wrong codes, at most 100 are evaluated; the owner gets in by a reset
//!   meanwhile.

use std::time::Duration;

use rcpt_tests::{
    Account, Edge, Reply,
    people::{PASSWORD, send, send_all},
    process::turn,
};
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::time::sleep;

const TRIES: usize = 200;
/// The owner's network address. Locally, clients may set the address in a header, which Cloudflare would overwrite.
const OWNER: &str = "198.51.100.7";
const STRANGER: &str = "203.0.113.9";

/// Starts an edge with the default waits. The approximate rate limits are off, because they would hide the waits.
async fn edge_with_waits() -> Edge {
    Edge::builder().with_waits().start().await.unwrap()
}

fn sign_in(account: &Account, from: &str, password: &str, code: &str) -> RequestBuilder {
    let body = json!({ "email": account.email, "password": password, "totp_code": code });
    let request = account.anonymous.request(Method::POST, "/auth/login").json(&body);
    request.header("cf-connecting-ip", from)
}

/// The number of evaluated attempts; the rest are proper 429s.
fn evaluated(replies: &[Reply], code: &str) -> usize {
    let (evaluated, throttled): (Vec<_>, Vec<_>) =
        replies.iter().partition(|reply| [401, 403].contains(&reply.status));
    for reply in &evaluated {
        reply.assert_error(reply.status, code, "an evaluated attempt");
    }
    for reply in throttled {
        reply.assert_error(429, "throttled", "an attempt that has to wait");
        let wait: u64 = reply.header("retry-after").parse().unwrap();
        assert!((1..=900).contains(&wait), "{wait}");
        let detail = format!("Too many attempts. Try again in {wait} seconds.");
        assert_eq!(reply.text("detail"), detail);
    }
    println!("{} tries, {} evaluated, ≤ 100 allowed", replies.len(), evaluated.len());
    assert!((1..=100).contains(&evaluated.len()), "{}", evaluated.len());
    evaluated.len()
}

/// Requests a link from the owner's own network, and signs in with it immediately.
async fn gets_in_by_mail(edge: &Edge, account: &Account, code: Option<&str>) {
    let ask = account.anonymous.request(Method::POST, "/auth/forgot-password");
    let ask = ask.header("cf-connecting-ip", OWNER).json(&json!({ "email": account.email }));
    assert_eq!(send(ask).await.status, 200);
    let (mailbox, title) = (edge.mailbox(), "Set a new password");
    let mail = mailbox.wait_for_titled(&account.email, title, 1).await.unwrap();
    let password = "copper-meadow-58-lattice";
    let mut body = json!({ "token": mail.token().unwrap(), "password": password });
    if let Some(code) = code {
        body["totp_code"] = code.into();
    }
    let reset = account.anonymous.request(Method::POST, "/auth/reset-password").json(&body);
    let reply = send(reset.header("cf-connecting-ip", OWNER)).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let account = Account::from_credentials(&account.anonymous, password, &reply);
    assert_eq!(account.get("/me").await.status, 200);
}

#[tokio::test]
async fn of_two_hundred_wrong_passwords_at_once_few_are_evaluated_and_the_owner_gets_in_by_mail() {
    let _turn = turn().await;
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let wrong = |n: usize| sign_in(&account, STRANGER, &format!("wrong-password-{n}"), "");
    evaluated(&send_all((0..TRIES).map(wrong), TRIES).await, "invalid_credentials");
    // The correct password has to wait too, so that a guesser doesn't learn it.
    let reply = send(sign_in(&account, STRANGER, PASSWORD, "")).await;
    reply.assert_error(429, "throttled", "the right password");
    let attack = {
        let requests: Vec<_> = (0..TRIES).map(wrong).collect();
        tokio::spawn(send_all(requests, 4))
    };
    gets_in_by_mail(&edge, &account, None).await;
    assert_eq!(account.quota().await.status, 200, "the key never noticed");
    for reply in attack.await.unwrap() {
        assert!([401, 429].contains(&reply.status), "{}", reply.body);
    }
}

#[tokio::test]
async fn of_two_hundred_wrong_passwords_in_turn_few_are_evaluated() {
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let wrong = |n: usize| sign_in(&account, STRANGER, &format!("wrong-password-{n}"), "");
    evaluated(&send_all((0..TRIES).map(wrong), 1).await, "invalid_credentials");
    let reply = send(wrong(0)).await;
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=900).contains(&wait), "{wait}");
    let unknown = json!({ "email": "nobody@rcpt-tests.net", "password": "wrong-password" });
    let guesses = (0..TRIES).map(|_| {
        let request = account.anonymous.request(Method::POST, "/auth/login").json(&unknown);
        request.header("cf-connecting-ip", OWNER)
    });
    evaluated(&send_all(guesses, 1).await, "invalid_credentials");
}

#[tokio::test]
async fn of_two_hundred_wrong_codes_few_are_evaluated_and_the_owner_gets_in_by_mail() {
    let _turn = turn().await;
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let (authenticator, recovery_codes) = account.enable_two_factor().await;
    let wrong = authenticator.wrong_code();
    let rotation = json!({ "totp_code": wrong });
    // Some guessers know the password, others have a session: the attempts of both count.
    let guess = |n| match n % 4 {
        0 => sign_in(&account, STRANGER, PASSWORD, &wrong),
        _ => account.request(Method::POST, "/auth/rotate-api-key").json(&rotation),
    };
    evaluated(&send_all((0..TRIES).map(guess), 20).await, "totp_invalid");
    let subject = "Wrong two-factor codes were entered";
    edge.mailbox().wait_for_titled(&account.email, subject, 1).await.unwrap();
    gets_in_by_mail(&edge, &account, Some(&recovery_codes[0])).await;
}

#[tokio::test]
async fn wrong_codes_and_passwords_within_a_session_are_throttled_too() {
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    let wrong = authenticator.wrong_code();
    for (paths, body, code) in [
        (["/auth/rotate-api-key"; 2], json!({ "totp_code": wrong }), "totp_invalid"),
        (
            // Wrong passwords at both paths count in one bucket.
            ["/auth/totp/disable", "/auth/show-api-key"],
            json!({ "password": "wrong-one", "totp_code": wrong }),
            "wrong_password",
        ),
    ] {
        let request = |n: usize| account.request(Method::POST, paths[n % 2]).json(&body);
        let replies = send_all((0..TRIES).map(request), 20).await;
        let evaluated = replies.iter().filter(|reply| reply.text("code") == code).count();
        println!("{TRIES} tries of {paths:?}: {evaluated} evaluated, ≤ 100 allowed");
        assert!((1..=100).contains(&evaluated));
        let throttled = replies.iter().filter(|reply| reply.status == 429).count();
        assert_eq!(evaluated + throttled, TRIES);
    }
}

/// Anybody can use up the guesses at sign-in. Passwords behind a session and behind an emailed link share another budget.
#[tokio::test]
async fn a_sign_in_that_strangers_have_used_up_leaves_passwords_behind_a_session_or_a_link_alone() {
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let guesses = (0..30).map(|n| {
        let network = format!("203.0.113.{}", n + 1);
        sign_in(&account, &network, "wrong-one-of-a-stranger", "")
    });
    evaluated(&send_all(guesses, 5).await, "invalid_credentials");
    let reply = send(sign_in(&account, OWNER, PASSWORD, "")).await;
    reply.assert_error(429, "throttled", "the sign-in is used up");

    let new = edge.new_email();
    assert_eq!(super::email_change::ask(&account, &new, PASSWORD).await.status, 202);
    let token = super::email_change::link(&edge, &new, super::email_change::ASKED, 1).await;
    let confirm = async |password: &str| {
        let body = json!({ "token": token, "password": password });
        account.anonymous.post("/auth/confirm-email", &body).await
    };
    assert_eq!(confirm(PASSWORD).await.status, 200);
    let show = json!({ "password": PASSWORD });
    assert_eq!(account.post("/auth/show-api-key", &show).await.status, 200);
    // The reader of a mailbox that was mistyped guesses, and uses up the session's budget alone.
    let other = edge.account().await;
    let mistyped = edge.new_email();
    assert_eq!(super::email_change::ask(&other, &mistyped, PASSWORD).await.status, 202);
    let token = super::email_change::link(&edge, &mistyped, super::email_change::ASKED, 1).await;
    let body = json!({ "token": token, "password": "wrong-one-of-a-reader" });
    let guess = |_| other.anonymous.request(Method::POST, "/auth/confirm-email").json(&body);
    evaluated(&send_all((0..30).map(guess), 5).await, "wrong_password");
    let reply = other.post("/auth/show-api-key", &show).await;
    reply.assert_error(429, "throttled", "the same budget");
    assert_eq!(send(sign_in(&other, OWNER, PASSWORD, "")).await.status, 200);
}

#[tokio::test]
async fn a_stranger_delays_the_owner_by_no_more_than_the_longest_wait() {
    let _turn = turn().await;
    let edge = Edge::builder().with_waits().var("THROTTLE_ACCOUNT_SECONDS", "1");
    let edge = edge.start().await.unwrap();
    let account = edge.account().await;
    let wrong = |n: usize| sign_in(&account, STRANGER, &format!("wrong-password-{n}"), "");
    evaluated(&send_all((0..TRIES).map(wrong), TRIES).await, "invalid_credentials");
    let mut waits = 0;
    loop {
        let reply = send(sign_in(&account, OWNER, PASSWORD, "")).await;
        if reply.status == 200 {
            break;
        }
        reply.assert_error(429, "throttled", "within the wait");
        assert_eq!(reply.header("retry-after"), "1");
        waits += 1;
        assert!(waits < 10, "the wait does not end");
        // A client that retries without waiting is soon throttled by network.
        sleep(Duration::from_secs(1)).await;
    }
    // Another account doesn't have to wait.
    let other = edge.account().await;
    assert_eq!(send(sign_in(&other, OWNER, PASSWORD, "")).await.status, 200);
}

#[tokio::test]
async fn whoever_guesses_at_many_accounts_is_stopped_by_network() {
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let guesses = (0..TRIES).map(|n| {
        let body = json!({ "email": format!("person{n}@example.org"), "password": PASSWORD });
        let request = account.anonymous.request(Method::POST, "/auth/login").json(&body);
        request.header("cf-connecting-ip", STRANGER)
    });
    let replies = send_all(guesses, 20).await;
    // 100 attempts are free for an office behind one address; then waits begin.
    let evaluated = replies.iter().filter(|reply| reply.status == 401).count();
    println!("{TRIES} accounts tried from one network: {evaluated} evaluated");
    // After these 100, one attempt is evaluated every six seconds.
    assert!((100..=150).contains(&evaluated), "{evaluated}");
    assert_eq!(send(sign_in(&account, OWNER, PASSWORD, "")).await.status, 200, "another network");
}

#[tokio::test]
async fn registering_and_signing_in_a_dozen_times_is_not_throttled() {
    let edge = Edge::builder().throttled().start().await.unwrap();
    let account = edge.account().await;
    for _ in 0..12 {
        edge.account().await;
        assert_eq!(account.anonymous.login(&account.email, PASSWORD).await.status, 200);
    }
    let email = edge.new_email();
    for n in 0..12 {
        let reply = account.anonymous.register(&email, PASSWORD).await;
        assert_eq!(reply.status, 201, "{n}: {}", reply.body);
    }
}

#[tokio::test]
async fn the_shield_turns_a_flood_away_before_any_hashing() {
    let edge = Edge::builder().throttled().shimmed().start().await.unwrap();
    let account = edge.account().await;
    edge.counts().await;
    let guesses = (0..TRIES).map(|n| sign_in(&account, OWNER, &format!("wrong-password-{n}"), ""));
    let replies = send_all(guesses, 20).await;
    let shielded = replies.iter().filter(|reply| reply.header("retry-after") == "60").count();
    let statements = edge.counts().await.d1_statements;
    println!("{TRIES} tries at once: {shielded} turned away by the shield");
    // The limit is 60 a minute; one new minute may have begun.
    assert!(shielded >= TRIES - 120, "{shielded}");
    assert!(statements <= 5 * (TRIES - shielded) as u64, "what is turned away costs nothing");
}

#[tokio::test]
async fn asking_again_and_again_for_a_reset_link_mails_once_an_hour_and_that_one_works() {
    let edge = edge_with_waits().await;
    let account = edge.account().await;
    let unknown = edge.new_email();
    let mut bodies = Vec::new();
    for n in 0..50 {
        for email in [&account.email, &unknown] {
            let request = account.anonymous.request(Method::POST, "/auth/forgot-password");
            let request = request.header("cf-connecting-ip", format!("198.51.100.{n}"));
            let reply = send(request.json(&json!({ "email": email }))).await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            bodies.push(reply.body);
        }
    }
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let mailbox = edge.mailbox();
    // An email sent to another address now arrives after all of the account's emails.
    edge.registered().await;
    let title = "Set a new password";
    let reset = mailbox.wait_for_titled(&account.email, title, 1).await.unwrap();
    mailbox.wait_for_mail(&unknown).await.unwrap();
    let mails = mailbox.mails_to(&account.email);
    let resets = mails.iter().filter(|mail| mail.subject == title).count();
    let to_unknown = mailbox.mails_to(&unknown).len();
    println!("50 requests: {resets} mails to an account, {to_unknown} to an unknown address");
    assert_eq!((resets, to_unknown), (1, 1));
    let token = reset.token().unwrap();
    let reply = account.anonymous.reset_password(token, "copper-meadow-58-lattice").await;
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// The waits that a stranger gets at an address depend only on strangers: neither the owner's sign-in nor a reset
/// shortens them (docs/security.md, B1).
#[tokio::test]
async fn a_stranger_does_not_see_that_the_owner_has_signed_in_or_reset() {
    let edge = edge_with_waits().await;
    let (signs_in, resets, away) =
        (edge.account().await, edge.account().await, edge.account().await);
    let guess = |email: &str, n: usize| {
        let body = json!({ "email": email, "password": format!("wrong-password-{n}") });
        let request = away.anonymous.request(Method::POST, "/auth/login").json(&body);
        request.header("cf-connecting-ip", format!("203.0.113.{n}"))
    };
    let emails = [&edge.new_email(), &away.email, &signs_in.email, &resets.email];
    for email in emails {
        for n in 0..18 {
            send(guess(email, n)).await.assert_error(401, "invalid_credentials", "a guess");
        }
    }
    assert_eq!(send(sign_in(&signs_in, OWNER, PASSWORD, "")).await.status, 200);
    gets_in_by_mail(&edge, &resets, None).await;
    for email in emails {
        let mut statuses = Vec::new();
        for n in 20..23 {
            statuses.push(send(guess(email, n)).await.status);
        }
        assert_eq!(statuses, [401, 401, 429], "{email}");
    }
}
