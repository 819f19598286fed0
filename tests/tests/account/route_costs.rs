//! The cost of a call of each route for the databases: nothing with a credential that is known to have ended, and little
//! enough with a live one that no caller's fastest loop harms others (docs/security.md, B2).

use rcpt_tests::{
    Account, Edge, Reply,
    people::send,
    service::forgery::{self, session_claims},
};
use reqwest::Method;

use super::access::{FIRST_KEY, NOBODY, TABLE, body};

/// Most statements of one call. An account's sessions together, and its keys, make ten calls a second
/// (`limits/pace.rs`), so their fastest loop causes at most fifty statements a second.
const STATEMENTS_MAX: u64 = 5;

/// Routes whose calls may cost more, with their statements and what limits their calls.
#[rustfmt::skip]
const MORE_STATEMENTS: [(&str, &str, u64, &str); 16] = [
    ("GET",    "/v1/me/export",                20, "ten an hour"),
    ("DELETE", "/v1/me",                       25, "works once"),
    ("POST",   "/v1/keys/self-revoke",          8, "ends the key, and is remembered"),
    ("POST",   "/v1/auth/sign-out-everywhere",  9, "ends the session, and is remembered"),
    ("POST",   "/v1/me/stop-changes",           6, "ten calls a second; the event and what it ends in one batch"),
    ("POST",   "/v1/auth/rotate-api-key",       9, "ten calls a second; half of the statements are for its notice"),
    ("PUT",    "/v1/auth/password",            26, "a password's throttle and its hash"),
    ("POST",   "/v1/auth/show-api-key",         9, "a password's throttle and its hash"),
    ("POST",   "/v1/keys",                     16, "a password's throttle and its hash"),
    ("POST",   "/v1/keys/{id}/replace",        16, "a password's throttle and its hash"),
    ("POST",   "/v1/keys/replace-all",         16, "a password's throttle and its hash"),
    ("POST",   "/v1/auth/passkeys/options",    10, "a password's throttle and its hash"),
    ("POST",   "/v1/auth/totp/setup",           8, "a password's throttle and its hash"),
    ("POST",   "/v1/auth/register",            21, "the network's shield, one a second, and a hash"),
    ("POST",   "/v1/auth/login",               14, "the network's shield, one a second, and a hash"),
    ("POST",   "/v1/auth/forgot-password",     14, "the network's shield, one a second"),
];

/// A credential that isn't valid any more, or nobody's.
#[derive(Debug, Clone)]
enum Proof {
    Key(String),
    Session(String),
}

async fn call(account: &Account, (method, path): (&str, &str), proof: &Proof) -> Reply {
    let below = path.strip_prefix("/v1").unwrap();
    let request = account.anonymous.request(Method::try_from(method).unwrap(), below);
    let request = match proof {
        Proof::Key(key) => request.header("x-api-key", key),
        Proof::Session(token) => request.bearer_auth(token),
    };
    let request = if method == "GET" { request } else { request.json(&body(path, account)) };
    send(request).await
}

#[tokio::test]
async fn a_replaced_key_an_ended_named_key_and_an_ended_session_cost_one_look_up_on_every_route() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    edge.set_own_key(&account.email, "version = 10000").await;
    let [keys, sessions] = ["API_KEY_SECRET", "SESSION_SECRET"].map(|var| edge.key_ring(var));
    let mut wrong = Vec::new();
    for (number, (method, path, expected)) in (1..).zip(TABLE) {
        // Only routes that need a credential are meant, and the one that ends it.
        let needs_one = expected[NOBODY] == 401 && path != "/v1/auth/passkeys/sign-in";
        if !needs_one && path != "/v1/keys/self-revoke" {
            continue;
        }
        // Each route gets credentials of its own, which no other route has learnt to be dead.
        let named = forgery::key(&keys, (&id, &format!("{number:016x}")), (0xff, 0, 1));
        let session = forgery::session(&sessions, &session_claims(&id, &format!("{number:032x}")));
        let dead = [
            Proof::Key(forgery::api_key(&keys, &id, number)),
            Proof::Key(named),
            Proof::Session(session),
        ];
        for proof in dead {
            edge.counts().await;
            let first = call(&account, (method, path), &proof).await;
            let learnt = edge.counts().await.d1_trips;
            let mut replies = vec![first];
            for _ in 0..3 {
                replies.push(call(&account, (method, path), &proof).await);
            }
            let after = edge.counts().await.d1_trips;
            let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
            if learnt > 4 || after > 0 || statuses.iter().any(|status| *status >= 500) {
                wrong.push(format!(
                    "{method} {path} with {proof:?}: {statuses:?}, {learnt} trips, then {after}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_live_caller_s_call_costs_five_statements_at_most_unless_something_else_limits_the_route()
{
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let mut account = edge.account().await;
    let mut wrong = Vec::new();
    for (method, path, expected) in TABLE {
        if account.get("/me").await.status != 200 || account.quota().await.status != 200 {
            account = edge.account().await;
        }
        let proof = match expected[FIRST_KEY] {
            401 => Proof::Session(account.token.clone()),
            _ => Proof::Key(account.api_key.clone()),
        };
        edge.counts().await;
        let reply = call(&account, (method, path), &proof).await;
        let counts = edge.counts().await;
        let more = MORE_STATEMENTS.iter().find(|(on, at, ..)| (*on, *at) == (method, path));
        let most = more.map_or(STATEMENTS_MAX, |(.., statements, _)| *statements);
        println!("{method} {path}: {} of {most} statements", counts.d1_statements);
        if counts.d1_statements > most || reply.status >= 500 && reply.status != expected[FIRST_KEY]
        {
            wrong.push(format!("{method} {path}: {counts:?}, {} {}", reply.status, reply.body));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_export_beyond_ten_an_hour_is_429_and_costs_a_look() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    let account = edge.account().await;
    for n in 0..10 {
        assert_eq!(account.get("/me/export").await.status, 200, "{n}");
    }
    edge.counts().await;
    for _ in 0..5 {
        let reply = account.get("/me/export").await;
        let seconds: u64 = reply.header("retry-after").parse().unwrap();
        reply.assert_error(429, "throttled", "the eleventh");
        assert!((300..=360).contains(&seconds), "{seconds}");
    }
    let counts = edge.counts().await;
    assert!(counts.d1_statements <= 5 * 3, "{counts:?}");
    let other = edge.account().await;
    assert_eq!(other.get("/me/export").await.status, 200, "another account");
}
