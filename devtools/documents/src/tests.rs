//! Each rule finds its offender, and nothing else in the same repository.

use std::{fs, path::Path};

use serde_json::json;

use crate::{Repository, citations::expand, generated::Sources};

const DESCRIPTION: &str =
    r#"{ "paths": { "/v1/quota": { "get": {} }, "/v1/me": { "get": {}, "delete": {} } } }"#;

/// Adds the required files; returns offenders.
fn check(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let always = [
        ("README.md", "# A [page](docs/security.md#what-holds)\n"),
        (
            "docs/security.md",
            "# What `holds`\n\n| A1 | so | holds |\n| A2 | so | partly |\n| A3 | so | missed |\n",
        ),
        ("docs/api.md", "## GET /quota\n"),
        ("docs/account-api.md", "| `GET /me` | |\n| `DELETE /me` | |\n"),
        ("edge/openapi-account.json", DESCRIPTION),
    ];
    for (name, text) in always.iter().chain(files) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut names: Vec<String> =
        always.iter().chain(files).map(|(name, _)| (*name).to_owned()).collect();
    names.sort();
    let repository = Repository { root: folder.path().into(), files: names.into_iter().collect() };
    repository.check().unwrap()
}

fn offenders(name: &str, text: &str) -> Vec<String> {
    check(&[(name, text)])
}

#[test]
fn a_repository_in_order_has_no_offender() {
    let page = "[a](security.md) [b](#two-words) [c](https://example.org/x) `edge/build/index.js`\n\n\
        ```md\n[d](nowhere.md)\n# Fenced\n```\n\n## Two words\n";
    let code = "//! Sums.\n\n/// Returns the sum (docs/security.md, A1–A3 and A2).\nfn sum() {}\n";
    let other = "// pages/docs/nothing.tsx is another folder's\n";
    let offenders =
        check(&[("docs/a.md", page), ("src/a.rs", code), ("edge/portal/src/a.ts", other)]);
    assert_eq!(offenders, [""; 0]);
}

#[test]
fn a_line_of_prose_has_120_columns_and_tables_and_code_have_more() {
    let (fits, wide) = ("µ".repeat(120), "a".repeat(121));
    assert_eq!(offenders("docs/a.md", &format!("{fits}\n| {wide} |\n```\n{wide}\n```\n")), [""; 0]);
    let expected = format!("docs/a.md: more than 120 columns: {}…", "a".repeat(40));
    assert_eq!(offenders("docs/a.md", &format!("{wide}\n")), [expected]);
    let cell = "b".repeat(200);
    assert_eq!(offenders("docs/a.md", &format!("| [{cell}](#c) | \\| |\n# c\n")), [""; 0]);
    let expected = format!("docs/a.md: a cell of more than 200 characters: {}…", "b".repeat(40));
    assert_eq!(offenders("docs/a.md", &format!("| a | {cell}b |\n")), [expected]);
}

#[test]
fn a_claim_is_short_and_judged() {
    let claim = "word ".repeat(25);
    let page = format!(
        "# What holds\n| A1 | {claim} | holds |\n| A2 | {claim}word | holds |\n| A3 | so | perhaps |\n"
    );
    let wrong = |name| {
        format!(
            "docs/security.md: {name} has over 25 words, or doesn't end with one of holds, partly, missed"
        )
    };
    assert_eq!(crate::markdown::claims(&page), [wrong("A2"), wrong("A3")]);
}

#[test]
fn a_page_or_claim_that_does_not_exist_is_named_with_its_line() {
    let code = "//! Sums.\n// docs/nowhere.md, docs/security.md\n// docs/security.md, A2, A4\n// security A1\n// security.md\n// Security §2\n";
    assert_eq!(
        offenders("src/a.rs", code),
        [
            "src/a.rs:2: docs/nowhere.md does not exist",
            "src/a.rs:3: A4 is no claim of docs/security.md",
            "src/a.rs:4: cites one of our documents by a section or a bare claim",
            "src/a.rs:5: a page without docs/ before it",
            "src/a.rs:6: cites one of our documents by a section or a bare claim",
        ]
    );
    let named = "//! Sums: A2.\n/// Covers A23, and D1 in =A4.\nlet a = A9;\n";
    let expected = ["src/a.rs:2: A23 is no claim of docs/security.md"];
    assert_eq!(offenders("src/a.rs", named), expected);
    assert_eq!(offenders("lab/a.rs", named), [""; 0]);
    assert_eq!(expand("A9-A11, B2 and C1"), ["A9", "A10", "A11", "B2", "C1"]);
}

#[test]
fn customers_are_not_sent_to_a_document_but_a_comment_may_cite_it() {
    let text = "// docs/security.md\nconst TEXT = \"see docs/security.md\";\n";
    let expected = "edge/portal/src/a.ts:2: customers are sent to a document of the repository";
    assert_eq!(offenders("edge/portal/src/a.ts", text), [expected]);
    assert_eq!(offenders("edge/src/other.ts", text), [""; 0]);
}

#[test]
fn a_link_file_or_test_that_does_not_exist_is_named() {
    let page = "[a](nowhere.md) [b](security.md#what-else) `tests/nothing.rs` `T edge none` `T room name`\n";
    assert_eq!(
        offenders("docs/a.md", page),
        [
            "docs/a.md: the link nowhere.md leads nowhere",
            "docs/a.md: security.md#what-else names no heading",
            "docs/a.md: there is no tests/nothing.rs",
            "docs/a.md: tests/tests/edge has no none",
        ]
    );
    let found =
        check(&[("docs/a.md", "`T edge one`\n"), ("tests/tests/edge/one.rs", "//! One.\n")]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn operations_are_described_once_served_and_no_others() {
    assert_eq!(
        offenders("docs/account-api.md", "| `GET /me` | |\n| `POST /you` | |\n"),
        ["docs/api.md: nothing about DELETE /me", "docs/api.md: POST /you is not served"]
    );
}

#[test]
fn a_phrase_is_found_in_comments_and_prose_and_an_opening_in_comments() {
    let code = "//! Sums.\n\n/// What is added.\n/// Who follows, may.\nlet s = \"whoever\"; // is told\n// whoever comes\n";
    assert_eq!(
        offenders("src/a.rs", code),
        ["src/a.rs:3: a comment that begins with What", "src/a.rs:6: \"whoever\" (docs/words.md)"]
    );
    assert_eq!(
        offenders("docs/a.md", "An owner Is Told.\n"),
        ["docs/a.md:1: \"Is Told\" (docs/words.md)"]
    );
    assert_eq!(offenders("docs/words.md", "whoever\n"), [""; 0]);
}

#[test]
fn a_long_readme_and_a_rust_file_without_a_first_comment_are_named() {
    assert_eq!(offenders("README.md", &"x\n".repeat(131)), ["README.md: 131 lines, at most 130"]);
    assert_eq!(offenders("src/a.rs", "fn main() {}\n"), ["src/a.rs: does not begin with //!"]);
}

#[test]
fn generated_parts_are_written_from_their_sources_and_an_old_one_is_named() {
    let schema = json!({ "properties": { "a": {}, "b": {} }, "required": ["a"] });
    let body = json!({ "content": { "application/json": { "schema": { "$ref": "#/x/Body" } } } });
    let operation = json!({ "operationId": "ask", "tags": ["T"], "requestBody": body,
        "responses": { "201": body, "400": {} } });
    let sources = Sources {
        description: json!({ "paths": { "/v1/ask": { "post": operation } },
            "components": { "schemas": { "Body": schema } } }),
        examples: json!({ "ask": [{ "title": "One", "status": 201,
            "request": { "a": 1 }, "body": { "long": "x".repeat(99), "b": [] } }] }),
    };
    let [recorded, table] = ["<!-- recorded: ask \"One\" -->\n", "<!-- operations: S, T -->\n"];
    let page = format!(
        "{recorded}\n```http\nold\n```\n\n{table}\n| old |\nEnd.\n{recorded}\n| kept |\n```\nkept\n```\n"
    );
    let long = "x".repeat(99);
    let call = format!(
        "```http\nPOST /v1/ask\n{{\"a\": 1}}\n\n201\n{{\n  \"b\": [],\n  \"long\": \"{long}\"\n}}\n```\n"
    );
    let rows = "| operation | body | answer |\n|---|---|---|\n| `POST /ask` | `a`, `b`? | 201 `a`, `b`? |\n";
    let expected = format!(
        "{recorded}\n{call}\n{table}\n{rows}\nEnd.\n{recorded}\n{call}\n| kept |\n```\nkept\n```\n"
    );
    assert_eq!(sources.expanded(&page).unwrap(), expected);
    assert_eq!(sources.expanded(&expected).unwrap(), expected);
    assert!(sources.expanded("<!-- recorded: ask \"Two\" -->\n").is_err());
    let found = offenders("docs/a.md", "<!-- operations: T -->\n");
    assert_eq!(found, ["docs/a.md: run `tools/check-docs --write`"]);
}
