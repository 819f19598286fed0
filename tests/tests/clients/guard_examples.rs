//! The examples for Auth0 and Better Auth, run as those services run them.

use rcpt_tests::{people::command::ran, process::folder};
use serde_json::{Value, json};
use tokio::process::Command;

use super::stack;

async fn run(url: &str, key: &str, emails: &str) -> Vec<Value> {
    let repository = folder::repository();
    let empty = folder::scratch("guard-examples").unwrap();
    let mut node = Command::new("node");
    node.arg(repository.join("tests/tests/clients/guard-examples.mjs"));
    node.arg(repository.join("docs/examples")).arg(empty);
    node.env("RCPT_URL", url).env("RCPT_API_KEY", key);
    let ran = ran(node, emails).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.lines()
}

#[tokio::test]
async fn the_examples_refuse_what_the_policy_refuses_and_let_the_others_sign_up() {
    let edge = &stack().await.edge;
    let ann = edge.account().await;
    let messages = run(
        &edge.url,
        &ann.api_key,
        "accepts@sandbox.test\naccepts@disposable.sandbox.test\naccepts@snadbox.test\n",
    )
    .await;
    let disposable = "Throw-away addresses can't be used here. Use another one.";
    let misspelt = "This address can't receive email. Check it for typing mistakes. Did you mean accepts@sandbox.test?";
    assert_eq!(
        messages,
        [json!([null, null]), json!([disposable, disposable]), json!([misspelt, misspelt])]
    );
    // Two examples check three addresses each; sign-ins aren't checked.
    assert_eq!(ann.email_checks().await.used_today, 6);
}

#[tokio::test]
async fn without_an_answer_the_examples_turn_nobody_away() {
    let edge = &stack().await.edge;
    let email = "accepts@disposable.sandbox.test\n";
    assert_eq!(run(&edge.url, "rcpt_live_wrong", email).await, [json!([null, null])]);
    assert_eq!(run("http://127.0.0.1:9", "rcpt_live_wrong", email).await, [json!([null, null])]);
}
