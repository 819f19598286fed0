//! `make admin ARGS="--remote …"` against a stand-in for Cloudflare's API: it tests the statements and their parameters, not
//! Cloudflare's behaviour.

use rcpt_tests::Platform;
use serde_json::json;

const EMAIL: &str = "ann@example.org";
/// A text that would end the statement if it weren't a parameter.
const REASON: &str = "it's \"the\" 2nd'); DELETE FROM accounts; --";

async fn output(platform: &Platform, words: &[&str]) -> String {
    let run = platform.admin(words).await.unwrap();
    assert!(run.succeeded, "{words:?}: {}", run.output);
    run.output
}

#[tokio::test]
async fn an_operator_acts_on_the_deployed_databases_and_mistakes_change_nothing() {
    let platform = Platform::start().await.unwrap();
    let run = platform.admin(&["show", EMAIL]).await.unwrap();
    let message = "DB: wrangler.toml has the example's id: make deploy creates the database";
    assert!(!run.succeeded && run.output.contains(message), "{}", run.output);
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let state = platform.state().await.unwrap();
    // The account isn't in the directory's database: the command searches all databases for accounts.
    let database = state["databases"][1]["uuid"].as_str().unwrap();
    platform.insert_account(database).await.unwrap();

    let before = platform.changes().await.unwrap();
    for (words, message) in [
        (&["show", "x' OR 1=1 --@example.org"][..], "there is no account x' OR 1=1 --@example.org"),
        (&["set-plan", EMAIL, "gold"], "there is no plan gold"),
        (&["promote", EMAIL], "there is no action promote"),
    ] {
        let run = platform.admin(words).await.unwrap();
        assert!(!run.succeeded && run.output.contains(message), "{words:?}: {}", run.output);
    }
    platform.order(&json!({ "refuse": { "path": "POST .*/query", "status": 403 } })).await.unwrap();
    let run = platform.admin(&["deactivate", EMAIL]).await.unwrap();
    assert!(!run.succeeded && run.output.contains("\"Account, D1, Edit\""), "{}", run.output);
    platform.order(&json!({})).await.unwrap();
    assert_eq!(platform.changes().await.unwrap(), before);

    let shown = output(&platform, &["show", "ANN@example.org"]).await;
    assert!(shown.contains("plan                  free"), "{shown}");
    let words =
        ["--as", "bob", "--reason", REASON, "--until", "2099-01-31", "set-plan", EMAIL, "pro"];
    let shown = output(&platform, &words).await;
    assert!(shown.contains("plan_until            2099-01-31 00:00:00"), "{shown}");
    output(&platform, &["grant-checks", EMAIL, "25"]).await;
    assert_eq!(output(&platform, &["plans"]).await.lines().count(), 4, "the databases agree");
    assert!(output(&platform, &["audit", EMAIL]).await.contains(REASON));
    let words = ["--as", "bob", "--reason", "asked for", "delete", EMAIL];
    assert!(output(&platform, &words).await.contains(EMAIL));

    let sql = "SELECT operator, action, value, reason FROM operator_actions
        WHERE action IN ('set-plan', 'delete') ORDER BY id";
    let expected = json!([
        { "operator": "bob", "action": "set-plan", "value": "pro", "reason": REASON },
        { "operator": "bob", "action": "delete", "value": "", "reason": "asked for" },
    ]);
    assert_eq!(platform.sql(database, sql).await.unwrap(), expected);
    let sql = "SELECT email, typeof(deleted_at) AS kind FROM accounts";
    let accounts = platform.sql(database, sql).await.unwrap();
    assert_eq!(accounts, json!([{ "email": "", "kind": "integer" }]));
    let sql = "SELECT welcome_left >= 25 AS has_grant, typeof(expires_at) AS kind FROM tombstones";
    let tombstones = platform.sql(database, sql).await.unwrap();
    assert_eq!(tombstones, json!([{ "has_grant": 1, "kind": "integer" }]));
}
