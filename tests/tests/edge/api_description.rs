//! Schemathesis, a property-based tester from PyPI, compares the running edge with its OpenAPI
//! document.

use std::{process::Command, time::Duration};

use rcpt_tests::{Account, FakeWebhook, Process, Stack, process::folder, proof};

const LIMIT: Duration = Duration::from_secs(300);

/// Operations that end credentials: they are tested last, and separately.
const ROTATE: &str = "/v1/auth/rotate-api-key";
const SIGN_OUT: &str = "/v1/auth/sign-out";
const SIGN_OUT_EVERYWHERE: &str = "/v1/auth/sign-out-everywhere";

/// Operations whose schema describes every rule: all input that fits the schema is accepted. Schemas of other
/// operations can't express, for example, that a token was emailed, or that an `Idempotency-Key` is new.
const ALL_SAID: [&str; 14] = [
    "cancelScan",
    "deleteScan",
    "endSession",
    "listEvents",
    "listScans",
    "listSessions",
    "me",
    "plan",
    "scanResults",
    "showNotifications",
    "showQuota",
    "showScan",
    "showSite",
    "showUsage",
];

async fn run(stack: &Stack, account: &Account, name: &str, checks: &str, arguments: &[&str]) {
    let folder = folder::scratch(name).unwrap();
    let mut command = Command::new(folder::tools().join("python/bin/schemathesis"));
    command.current_dir(&folder);
    command.args(["run", &format!("{}/v1/openapi-account.json", stack.edge.url)]);
    command.arg("--header").arg(format!("X-API-Key: {}", account.api_key));
    command.arg("--header").arg(format!("Authorization: Bearer {}", account.token));
    command.args(["--checks", checks, "--phases", "examples,coverage,fuzzing"]);
    command.args(["--generation-deterministic", "--max-examples"]);
    command.arg(proof::count(8, 30).to_string());
    command.args(["--continue-on-failure", "--no-color"]).args(arguments);
    let mut process = Process::spawn(name, &command, &folder).unwrap();
    let status = process.wait_for_end(LIMIT).await.unwrap();
    assert_eq!(Process::code(status), 0, "{}", process.log());
    // Proves that schemathesis has sent requests: it prints `N generated, N passed`.
    assert!(process.log().contains(" generated, "), "{}", process.log());
}

/// Schemathesis' checks that every operation must pass.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,negative_data_rejection,\
    missing_required_header,unsupported_method,allow_header_conformance,ignored_auth";

#[tokio::test]
async fn every_answer_is_as_the_openapi_document_says() {
    // Receives the webhooks, so that none leaves this machine.
    let webhooks = FakeWebhook::start();
    let stack = Stack::builder().webhooks(webhooks.port).start().await;
    let account = stack.edge.account().await;
    // With a used-up allowance, every response would be 429.
    stack.edge.set(&account.email, "plan = 'unlimited'").await;
    // These operations run first, because others end the session.
    let all_said = ALL_SAID.map(|operation| ["--include-operation-id", operation]);
    let all_said = all_said.as_flattened();
    run(&stack, &account, "schemathesis-accepted", "positive_data_acceptance", all_said).await;
    let others = [ROTATE, SIGN_OUT, SIGN_OUT_EVERYWHERE].map(|path| ["--exclude-path", path]);
    let others = others.as_flattened();
    run(&stack, &account, "schemathesis", CHECKS, others).await;
    run(&stack, &account, "schemathesis-rotate", CHECKS, &["--include-path", ROTATE]).await;
    let other = stack.edge.anonymous().login(&account.email, &account.password).await;
    let other = Account::from_credentials(&account.anonymous, &account.password, &other);
    run(&stack, &other, "schemathesis-sign-out", CHECKS, &["--include-path", SIGN_OUT]).await;
    let last = ["--include-path", SIGN_OUT_EVERYWHERE];
    run(&stack, &account, "schemathesis-sign-out-everywhere", CHECKS, &last).await;
}
