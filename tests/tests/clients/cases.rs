//! One table of cases (`cases.json`), which every client passes with the same results as curl.

use rcpt_tests::{
    Account, CommandLine,
    people::command::{Ran, ran},
    process::folder,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{packages, stack};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    it: String,
    r#do: Operation,
    #[serde(default)]
    email: String,
    #[serde(default)]
    domain: String,
    #[serde(default)]
    emails: Vec<String>,
    #[serde(default)]
    details: bool,
    #[serde(default)]
    r#as: Who,
    /// The `Idempotency-Key`, in place of one that the client makes up.
    #[serde(default)]
    key: String,
    #[serde(default)]
    deadline_ms: Option<u64>,
    /// Expected status over HTTP.
    status: u16,
    /// Members that the answer must have, with these values.
    #[serde(default = "nothing")]
    body: Value,
    /// Words of the error's message.
    #[serde(default)]
    message: String,
    code: Option<String>,
    /// The allowance that `RateLimit` names, and how many are left; `rcpt` does not show it.
    left: Option<(String, u64)>,
    /// Expected exit code of `rcpt`.
    exit: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Check,
    List,
    Domain,
    Quota,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Who {
    /// An account of the client's own.
    #[default]
    Owner,
    /// A key that no account has.
    Wrong,
    /// An account that has used up everything.
    Spent,
}

fn nothing() -> Value {
    json!({})
}

/// The cases, with `{client}` in place: no client is answered from another's cache.
fn cases(client: &str) -> Vec<Case> {
    let text = include_str!("cases.json").replace("{client}", client);
    serde_json::from_str(&text).expect("cases")
}

/// A client's accounts.
struct Callers {
    url: String,
    owner: Account,
    spent: Account,
}

impl Callers {
    async fn new() -> Self {
        let edge = &stack().await.edge;
        let (owner, spent) = (edge.account().await, edge.account().await);
        let used_up = "day = 99999, daily_charged = 100, welcome_left = 0";
        edge.set(&spent.email, used_up).await;
        Self { url: edge.url.clone(), owner, spent }
    }

    fn key(&self, who: Who) -> &str {
        match who {
            Who::Owner => &self.owner.api_key,
            Who::Wrong => "rcpt_live_wrong",
            Who::Spent => &self.spent.api_key,
        }
    }
}

/// Returns whether `actual` has every member of `expected`, at any depth.
fn contains(actual: &Value, expected: &Value) -> bool {
    match expected {
        Value::Array(items) => {
            let actual = actual.as_array().filter(|actual| actual.len() == items.len());
            actual.is_some_and(|actual| actual.iter().zip(items).all(|(a, item)| contains(a, item)))
        }
        Value::Object(members) => {
            members.iter().all(|(name, value)| actual.get(name).is_some_and(|a| contains(a, value)))
        }
        expected => actual == expected,
    }
}

/// Holds an answer, as an HTTP client has it, to its case.
fn compare(
    case: &Case,
    status: u64,
    body: &Value,
    (message, code): (&str, Option<&str>),
    left: Option<(String, u64)>,
) {
    let it = &case.it;
    if case.left.is_some() {
        assert_eq!(left, case.left, "{it}");
    }
    assert_eq!(status, u64::from(case.status), "{it}: {body} {message}");
    assert!(contains(body, &case.body), "{it}: {body}");
    assert!(message.contains(&case.message), "{it}: {message}");
    if case.code.is_some() {
        assert_eq!(code, case.code.as_deref(), "{it}");
    }
}

#[tokio::test]
async fn curl_passes_the_table() {
    let callers = Callers::new().await;
    for case in cases("curl") {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--write-out", "\n%{http_code}\n%header{ratelimit}", "--header"]);
        curl.arg(format!("X-API-Key: {}", callers.key(case.r#as)));
        if matches!(case.r#do, Operation::Check | Operation::List) {
            let is_list = case.r#do == Operation::List;
            let mut body = match is_list {
                true => json!({ "emails": case.emails, "details": case.details }),
                false => json!({ "email": case.email, "details": case.details }),
            };
            if let Some(deadline) = case.deadline_ms {
                body["deadline_ms"] = deadline.into();
            }
            let body = body.to_string();
            curl.args(["--header", "Content-Type: application/json", "--data", &body]);
            if !case.key.is_empty() {
                curl.args(["--header", &format!("Idempotency-Key: {}", case.key)]);
            }
            let path = if is_list { "validate_emails" } else { "validate_email" };
            curl.arg(format!("{}/v1/{path}", callers.url));
        } else if case.r#do == Operation::Domain {
            let body = json!({ "domain": case.domain }).to_string();
            curl.args(["--header", "Content-Type: application/json", "--data", &body]);
            curl.arg(format!("{}/v1/domains", callers.url));
        } else {
            curl.arg(format!("{}/v1/me/quota", callers.url));
        }
        let Ran { out, .. } = ran(curl, "").await;
        let (out, left) = out.rsplit_once('\n').expect("what is left");
        let (body, status) = out.rsplit_once('\n').expect("a status");
        // `"daily";r=91;t=3600`
        let (name, rest) = left.split_once(";r=").unwrap_or_default();
        let number = rest.split(';').next().and_then(|number| number.parse().ok());
        let limits_left = number.map(|number| (name.trim_matches('"').to_owned(), number));
        let body: Value = serde_json::from_str(body).expect("JSON");
        let detail = &body["detail"];
        let message = detail.as_str().or(detail["error"].as_str()).unwrap_or_default();
        let error = (message, body["code"].as_str());
        compare(&case, status.parse().unwrap(), &body, error, limits_left);
    }
}

#[tokio::test]
async fn the_command_passes_the_table() {
    let callers = Callers::new().await;
    for case in cases("rcpt") {
        let command = CommandLine::new(&callers.url).with_key(callers.key(case.r#as));
        let mut arguments = match case.r#do {
            Operation::Check => vec!["check", &case.email],
            Operation::List => ["check", "--together"]
                .into_iter()
                .chain(case.emails.iter().map(String::as_str))
                .collect(),
            Operation::Domain => vec!["domain", &case.domain],
            Operation::Quota => vec!["quota"],
        };
        if matches!(case.r#do, Operation::Check | Operation::List) && !case.details {
            arguments.push("--no-details");
        }
        if !case.key.is_empty() {
            arguments.extend(["--idempotency-key", &case.key]);
        }
        let deadline = case.deadline_ms.map(|ms| format!("{}.{:03}", ms / 1000, ms % 1000));
        if let Some(deadline) = &deadline {
            arguments.extend(["--deadline", deadline]);
        }
        let ran = command.run(&arguments, "").await;
        assert_eq!(ran.code, case.exit, "{}: {ran:?}", case.it);
        let lines = ran.lines();
        // A list is a line for each of its results.
        let results = case.body["results"].as_array().cloned();
        let expected = results.unwrap_or_else(|| vec![case.body.clone()]);
        for (index, expected) in expected.iter().enumerate() {
            let body = lines.get(index).cloned().unwrap_or_else(nothing);
            assert!(contains(&body, expected), "{}: {body}", case.it);
        }
        let body = lines.into_iter().next().unwrap_or_else(nothing);
        let error_text = format!("{}{}", body["error"], ran.said);
        assert!(error_text.contains(&case.message), "{}: {error_text}", case.it);
    }
}

/// Holds a program that takes cases as lines of JSON to the table.
async fn passes(client: &str, mut driver: Command) {
    let callers = Callers::new().await;
    let cases = cases(client);
    let lines = cases.iter().map(|case| {
        let operation = match case.r#do {
            Operation::Check => "check",
            Operation::List => "list",
            Operation::Domain => "domain",
            Operation::Quota => "quota",
        };
        let api_key = callers.key(case.r#as);
        let line = json!({
            "url": callers.url, "api_key": api_key, "do": operation, "email": case.email,
            "domain": case.domain, "emails": case.emails,
            "details": case.details, "key": case.key, "deadline_ms": case.deadline_ms,
        });
        format!("{line}\n")
    });
    driver.current_dir(folder::repository().join("tests/tests/clients"));
    let ran = ran(driver, &lines.collect::<String>()).await;
    assert_eq!(ran.code, 0, "{}", ran.said);
    let answers = ran.lines();
    assert_eq!(answers.len(), cases.len(), "{}", ran.said);
    for (case, answer) in cases.iter().zip(&answers) {
        let text = |name: &str| answer[name].as_str();
        let status = answer["status"].as_u64().unwrap_or_default();
        let limits_left = answer["left"].as_object();
        let limits_left = limits_left.map(|limits_left| {
            (
                limits_left["name"].as_str().unwrap().to_owned(),
                limits_left["left"].as_u64().unwrap(),
            )
        });
        let error = (text("message").unwrap_or_default(), text("code"));
        compare(case, status, &answer["body"], error, limits_left);
    }
}

#[tokio::test]
async fn the_typescript_client_passes_the_table() {
    let mut driver = Command::new("node");
    driver.arg("driver.mjs").arg(&packages::installed().await.typescript);
    passes("typescript", driver).await;
}

#[tokio::test]
async fn the_python_client_passes_the_table() {
    let mut driver = Command::new(&packages::installed().await.interpreter);
    driver.arg("driver.py");
    passes("python", driver).await;
}
