//! A change that began before its account was frozen, and ends after it, does nothing (docs/security.md, A13).

use rcpt_tests::{
    Edge,
    people::{PASSWORD, send},
    service::shim::Fault,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{codes::wait_for_trips, email_change::NEW};

/// A change of what decides who can use the account: its request, the round trips before its own, and the statements of
/// its own.
struct Deed {
    name: &'static str,
    trips: u64,
    statements: &'static [&'static str],
}

const TOLD: [&str; 2] = ["insert security_events", "insert notices"];
const REPLACED: [&str; 5] = [TOLD[0], TOLD[1], "update keys", "select keys", "update accounts"];

const DEEDS: [Deed; 7] = [
    Deed {
        name: "PUT /auth/password",
        trips: 3,
        statements: &[
            TOLD[0],
            TOLD[1],
            "update former_credentials",
            "insert former_credentials",
            "update accounts",
            "delete mailed_tokens",
            "delete sessions",
            "insert sessions",
            "insert security_events",
            TOLD[0],
            TOLD[1],
            "delete recoveries",
        ],
    },
    Deed {
        name: "POST /auth/reset-password",
        trips: 2,
        statements: &[
            TOLD[0],
            TOLD[1],
            "update accounts",
            "delete mailed_tokens",
            "delete sessions",
            "insert sessions",
            "insert security_events",
            TOLD[0],
            TOLD[1],
            "delete recoveries",
            TOLD[0],
            TOLD[1],
            "update keys",
            "update passkeys",
            "delete former_credentials",
            "update accounts",
        ],
    },
    Deed { name: "POST /auth/rotate-api-key", trips: 2, statements: &REPLACED },
    Deed { name: "POST /keys/replace-all", trips: 4, statements: &REPLACED },
    Deed {
        name: "POST /auth/totp/enable",
        trips: 2,
        statements: &[
            TOLD[0],
            TOLD[1],
            "update former_credentials",
            "insert former_credentials",
            "insert recovery_codes",
            "update accounts",
            "delete sessions",
        ],
    },
    Deed {
        name: "POST /auth/totp/disable",
        trips: 4,
        statements: &[
            TOLD[0],
            TOLD[1],
            "update former_credentials",
            "insert former_credentials",
            "update accounts",
            "update accounts",
            "delete recovery_codes",
        ],
    },
    Deed {
        name: "DELETE /me",
        trips: 4,
        statements: &[
            "insert tombstones",
            "update accounts",
            "delete notices",
            "delete keys",
            "select tombstones",
        ],
    },
];

async fn state(edge: &Edge, email: &str) -> Value {
    let id = edge.id(email).await;
    let sql = "SELECT email, password_hash, totp_secret, deleted_at, state, totp_last_step,
          (SELECT count(*) FROM notices WHERE account_id = a.id) AS notices,
          (SELECT count(*) FROM security_events WHERE account_id = a.id) AS events,
          (SELECT count(*) FROM sessions WHERE account_id = a.id) AS sessions,
          (SELECT count(*) FROM recovery_codes WHERE account_id = a.id) AS codes,
          (SELECT count(*) FROM former_credentials WHERE account_id = a.id) AS former,
          (SELECT count(*) FROM mailed_tokens WHERE account_id = a.id) AS links,
          (SELECT count(*) FROM tombstones WHERE account_id = a.id) AS tombstones
        FROM accounts a WHERE id = ?1";
    edge.sql_of(&id, sql, &[json!(id)]).await.remove(0)
}

#[tokio::test]
async fn a_change_that_a_freeze_overtakes_changes_nothing_and_says_why() {
    let edge = Edge::builder().shimmed().start().await.unwrap();
    for Deed { name, trips, statements } in DEEDS {
        let account = edge.account().await;
        let (method, path) = name.split_once(' ').unwrap();
        let method: Method = method.parse().unwrap();
        let mut body = json!({ "password": PASSWORD });
        let mut request: Option<RequestBuilder> = None;
        if path == "/auth/totp/enable" {
            let authenticator = account.set_up_two_factor().await;
            body = json!({ "totp_code": authenticator.code() });
        } else {
            let (authenticator, _) = account.enable_two_factor().await;
            body["totp_code"] = json!(edge.fresh_code(&account, &authenticator).await);
        }
        match path {
            "/auth/password" => body = json!({ "current_password": PASSWORD, "new_password": NEW }),
            "/auth/reset-password" => {
                account.anonymous.forgot_password(&account.email).await;
                let title = "Set a new password";
                let mail = edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap();
                edge.wait_for_reset_mails().await;
                body["token"] = json!(mail.token());
                body["password"] = json!(NEW);
                request = Some(account.anonymous.request(method.clone(), path));
            }
            _ => {}
        }
        let request = request.unwrap_or_else(|| account.request(method, path)).json(&body);
        let before = state(&edge, &account.email).await;
        let hold = Fault { part: "d1", statements, times: 1, delay_ms: 5_000, ..Fault::default() };
        edge.fail(&[hold]).await;
        edge.counts().await;
        let deed = tokio::spawn(send(request));
        wait_for_trips(&edge, trips).await;
        if deed.is_finished() {
            panic!("{name}: nothing was held: {:?}", deed.await.unwrap().parts());
        }
        edge.set(&account.email, "frozen_until = unixepoch() + 86400").await;
        deed.await.unwrap().assert_error(403, "account_frozen", name);
        assert_eq!(state(&edge, &account.email).await, before, "{name}");
        assert_eq!(account.get("/me").await.status, 200, "{name}: the session goes on");
    }
}
