//! One text has one meaning, whichever operation or program reads it (docs/api.md, What is read from a text).

#[path = "../../../shared/tests/rows/mod.rs"]
mod rows;

use rcpt_shared::Status;
use rcpt_tests::{Account, CommandLine, Conduct, Edge, FakeOrigin, people::send};
use reqwest::Method;
use serde_json::{Value, json};

use super::{ended, results, start};

/// Addresses of a list in one call (docs/api.md, Limits).
const LIST: usize = 100;

/// Starts an edge whose origin accepts every address, and an account without limits.
async fn accepting() -> (FakeOrigin, Edge, Account) {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    (origin, edge, account)
}

/// True for an address; the problem; the suggestion.
type Said = (bool, Option<String>, Option<String>);

fn by_the_library(text: &str) -> Said {
    match rcpt_shared::read(text) {
        Ok(address) => (true, None, address.suggestion(None)),
        Err(malformed) => (false, Some(malformed.problem()), malformed.suggestion()),
    }
}

fn by_a_result(result: &Value) -> Said {
    let text = |name: &str| result["details"][name].as_str().map(str::to_owned);
    (result["status"] != "invalid_format", text("problem"), text("suggestion"))
}

#[tokio::test]
async fn the_worker_and_the_command_read_every_text_alike() {
    let (_origin, edge, account) = accepting().await;
    let rows = rows::rows();
    let expected: Vec<_> = rows.iter().map(|row| by_the_library(&row.text)).collect();
    let by_rows: Vec<_> = rows.iter().map(|row| (row.is_address, &row.suggestion)).collect();
    let read: Vec<_> = expected.iter().map(|(is_it, _, meant)| (*is_it, meant)).collect();
    assert_eq!(read, by_rows);
    let texts: Vec<_> = rows.iter().map(|row| row.text.clone()).collect();
    for (texts, expected) in texts.chunks(LIST).zip(expected.chunks(LIST)) {
        let body = json!({ "emails": texts, "details": true });
        let reply = account.post("/validate_emails", &body).await;
        assert_eq!((reply.status, reply.body["counted"].as_u64()), (200, Some(texts.len() as u64)));
        for ((result, text), expected) in
            reply.body["results"].as_array().unwrap().iter().zip(texts).zip(expected)
        {
            assert_eq!(by_a_result(result), *expected, "{text:?}");
        }
    }

    let command = CommandLine::new(&edge.url).with_key(&account.api_key);
    let is_line = |text: &&String| !text.contains(['\n', '\0']) && !text.trim().is_empty();
    let lines: Vec<&String> = texts.iter().filter(is_line).collect();
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = command.run(&["check", "-"], &input).await;
    assert_eq!(ran.code, 1, "one is undeliverable: {}", ran.stderr);
    assert_eq!(ran.lines().len(), lines.len());
    for (answer, text) in ran.lines().iter().zip(lines) {
        assert_eq!(by_a_result(answer), by_the_library(text), "{text:?}");
    }

    let cells = texts.iter().map(|text| format!("x,\"{}\"\n", text.replace('"', "\"\"")));
    let list = format!("n,email\n{}", cells.collect::<String>());
    let ran = command.run(&["scan", "-"], &list).await;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(ran.out.as_bytes());
    let verdict = reader.headers().unwrap().iter().position(|name| name == "rcpt_verdict").unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), texts.len());
    for (row, (text, (is_address, ..))) in rows.iter().zip(texts.iter().zip(&expected)) {
        let verdict = row.get(verdict).unwrap();
        let is_empty = rcpt_shared::read(text).is_err_and(|malformed| malformed.is_empty());
        // A cell may hold several addresses, each of which is checked; an apostrophe before an address is a spreadsheet's.
        let is_read_otherwise = text.matches('@').count() > 1 || text.starts_with('\'');
        match verdict {
            "" => assert!(is_empty, "{text:?}"),
            "not_an_address" => assert!(!is_address || is_read_otherwise, "{text:?}"),
            _ => assert!(*is_address || is_read_otherwise, "{text:?}"),
        }
        assert_eq!(verdict.is_empty(), is_empty, "{text:?}");
    }
}

/// Texts, whether a single check refuses them with 400, the problem and the suggestion.
const TABLE: [(&str, bool, &str, Option<&str>); 16] = [
    ("", true, "There is nothing in it.", None),
    ("\"\"", true, "There is nothing in it.", None),
    ("\u{202a}\u{a0}", true, "There is nothing in it.", None),
    ("Ann <>", true, "There is nothing between the angle brackets.", None),
    ("x@y.test>", true, "The angle brackets in it don't match.", Some("x@y.test")),
    (
        "a <b> c <d>",
        true,
        "There are several pairs of angle brackets in it, and one is allowed.",
        None,
    ),
    (
        "a <a@y.test>, b <b@y.test>",
        true,
        "This looks like several addresses. Send one at a time.",
        None,
    ),
    (
        "Ann <x@y.test> (work)",
        true,
        "There is something after the angle brackets.",
        Some("x@y.test"),
    ),
    ("Ann <x@y.test>;", false, "There is something after the angle brackets.", Some("x@y.test")),
    ("a@y.test <b@y.test>", false, "This looks like several addresses. Send one at a time.", None),
    ("a@y.test\r\nRCPT TO:<b@y.test>", false, "There is a line break in it.", None),
    ("x\u{200b}@y.test", false, "There is an invisible character before the @.", Some("x@y.test")),
    ("x@y\u{2060}.test", false, "There is an invisible character after the @.", Some("x@y.test")),
    ("x\u{a0}@y.test", false, "There is a space in it.", Some("x@y.test")),
    ("John Smith x@y.test", false, "There is a space in it.", Some("x@y.test")),
    ("x@y,test", false, "A comma isn't allowed after the @.", Some("x@y.test")),
];

#[tokio::test]
async fn every_operation_says_the_same_of_a_text_that_is_no_address() {
    let (origin, edge, account) = accepting().await;
    let command = CommandLine::new(&edge.url).with_key(&account.api_key);
    let texts = TABLE.map(|(text, ..)| text.to_owned());
    let list = account.post("/validate_emails", &json!({ "emails": texts, "details": true })).await;
    let id = start(&account, &texts, true).await;
    ended(&account, &id).await;
    let scanned = results(&account, &id, 100).await;
    let policy = account.put("/guard", &json!({ "refuse": ["invalid"] })).await;
    assert_eq!(policy.status, 200, "{}", policy.body);
    for (index, (text, is_error, problem, suggestion)) in TABLE.into_iter().enumerate() {
        let result = &list.body["results"][index];
        let said = (false, Some(problem.to_owned()), suggestion.map(str::to_owned));
        assert_eq!(by_a_result(result), said, "{text:?} in a list");
        let row = &scanned[index];
        assert_eq!(
            (&row["status"], &row["problem"]),
            (&json!("invalid_format"), &json!(problem)),
            "{text:?} in a scan"
        );

        let single =
            account.post("/validate_email", &json!({ "email": text, "details": true })).await;
        if is_error {
            let meant = suggestion.map(|text| format!(" Did you mean {text}?")).unwrap_or_default();
            let error = format!("The 'email' field must hold one address. {problem}{meant}");
            let expected = json!({ "detail": { "error": error }, "code": "invalid_body" });
            assert_eq!(single.parts(), (400, &expected), "{text:?}");
        } else {
            assert_eq!(single.parts(), (200, result), "{text:?} alone");
        }

        let decide = account.anonymous.request(Method::POST, "/guard/decide");
        let decide = decide.header("x-api-key", &account.api_key).json(&json!({ "email": text }));
        let decision = send(decide).await;
        let said = ["decision", "reason", "suggestion"].map(|member| &decision.body[member]);
        let expected = [&json!("refuse"), &json!("invalid"), &json!(suggestion)];
        assert_eq!((decision.status, said), (200, expected), "{text:?} in the guard");

        let ran = command.run(&["check", text], "").await;
        assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{text:?} on the command line");
        assert_eq!(
            by_a_result(&ran.lines()[0]),
            by_a_result(result),
            "{text:?} on the command line"
        );
        assert_eq!(ran.lines()[0]["email"], result["email"]);
    }
    assert_eq!(origin.probes(), [], "no server was asked");
}

#[tokio::test]
async fn a_typographic_sign_is_checked_as_it_is_and_what_was_meant_is_said() {
    let (origin, _edge, account) = accepting().await;
    for (text, meant) in [
        ("first.o’last@y.test", "first.o'last@y.test"),
        ("ann–smith@y.test", "ann-smith@y.test"),
        ("ａnn@y.test", "ann@y.test"),
    ] {
        let reply =
            account.post("/validate_email", &json!({ "email": text, "details": true })).await;
        assert_eq!((reply.status, &reply.body["status"]), (200, &json!(true)), "{text}");
        assert_eq!(reply.body["details"]["suggestion"], meant, "{text}");
        assert_eq!(origin.probes_of(text), 1, "{text}");
    }
}

#[tokio::test]
async fn no_spelling_gets_past_a_blocked_domain() {
    let (origin, _edge, account) = accepting().await;
    let policy =
        json!({ "refuse": [], "allow_domains": ["ok.test"], "block_domains": ["Blocked.test."] });
    let reply = account.put("/guard", &policy).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    for text in [
        "x@blocked.test",
        "x@BLOCKED.test.",
        "x@a.blocked.test。",
        "x(comment)@blocked.test",
        "x@blocked.test(comment)",
        "x@[blocked.test]",
        "x@blocked\u{200b}.test",
        "\u{2066}x@blocked.test\u{2069}",
        "Ann <x@blocked.test> (work)",
        "a@ok.test, x@blocked.test",
    ] {
        let decide = account.anonymous.request(Method::POST, "/guard/decide");
        let decide = decide.header("x-api-key", &account.api_key).json(&json!({ "email": text }));
        let decision = send(decide).await;
        let said = ["decision", "reason"].map(|member| &decision.body[member]);
        let expected = [&json!("refuse"), &json!("blocked_domain")];
        assert_eq!((decision.status, said), (200, expected), "{text:?}");
    }
    assert_eq!(origin.probes(), [], "no server was asked");
}
