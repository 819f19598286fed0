//! `POST /v1/validate_email` (docs/api.md): verdicts, the cache, and malformed addresses. Callers are tested in
//! `credentials.rs`, a failing origin in `origin_faults.rs`.

use rcpt_shared::{
    Reason, Status,
    sandbox::{CASES, SandboxCase},
};
use rcpt_tests::{
    Account, Reply, Stack,
    people::send,
    service::clock::{resets_at, seconds_to_reset, today},
};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::OnceCell, task::JoinSet};

/// Maximum size of a request body in bytes.
const LIMIT: usize = 16 * 1024;

/// The stack shared by the tests of this file, with its cache: each test uses its own accounts and addresses.
/// Mail servers have four seconds instead of ten to reply, a second more than `slow@` takes.
async fn stack() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    let start = async || Stack::builder().origin_env("RCPT_BUDGET_MS", "4000").start().await;
    STACK.get_or_init(start).await
}

async fn post(account: &Account, body: impl Into<reqwest::Body>) -> Reply {
    let request = account.anonymous.request(Method::POST, "/validate_email");
    send(request.header("x-api-key", &account.api_key).body(body)).await
}

async fn used(account: &Account) -> i64 {
    account.email_checks().await.used_today
}

fn invalid(error: &str) -> Value {
    json!({ "detail": { "error": error }, "code": "invalid_body" })
}

/// The verdict about an accepted address: one domain of the sandbox accepts every recipient.
fn accepted_at(address: &str) -> &'static str {
    if address.to_lowercase().contains("@catchall.") { "risky" } else { "deliverable" }
}

/// The verdict in one word that a sandbox address leads to.
fn sandbox_verdict(case: &SandboxCase) -> &'static str {
    match (case.status, case.reason) {
        (Status::Accepted, Reason::Accepted) => "deliverable",
        (Status::Accepted, _) => "risky",
        (Status::Refused | Status::DomainNotFound | Status::NoMxRecords, _)
        | (_, Reason::NoUsableAddress | Reason::Smtputf8Unsupported) => "undeliverable",
        _ => "unknown",
    }
}

#[tokio::test]
async fn every_verdict_of_the_sandbox_comes_fresh_and_then_from_the_cache_and_counts_twice() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    // All cases together exceed the free plan's concurrent checks.
    edge.set(&account.email, "plan = 'pro'").await;
    today().await;
    let mut checks = JoinSet::new();
    let cacheable = |case: &&SandboxCase| case.status != Status::FatalException;
    let cases: Vec<&SandboxCase> = CASES.iter().filter(cacheable).collect();
    let count = cases.len() as i64;
    for case in cases {
        let account = account.clone();
        checks.spawn(async move {
            let [fresh, cached] = [account.check(case.address).await, account.check(case.address).await];
            let verdict = sandbox_verdict(case);
            let expected = |cached: bool| {
                json!({ "email": case.address, "verdict": verdict, "status": case.status, "cached": cached })
            };
            assert_eq!(fresh.parts(), (200, &expected(false)));
            assert_eq!(cached.parts(), (200, &expected(true)));
            case.status
        });
    }
    let mut statuses = checks.join_all().await;
    assert_eq!(used(&account).await, 2 * count);
    // Two statuses are missing here: `invalid_format` is decided without an origin, and
    // `fatal_exception` isn't cached.
    statuses.extend([Status::InvalidFormat, Status::FatalException]);
    statuses.sort();
    statuses.dedup();
    let mut all = Status::ALL.to_vec();
    all.sort();
    assert_eq!(statuses, all);
}

#[tokio::test]
async fn the_sandbox_fails_as_the_api_does_and_nothing_of_it_is_counted() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    today().await;
    for (address, status, retry_after) in [
        ("http_429@sandbox.test", 429, seconds_to_reset()),
        ("http_502@sandbox.test", 502, 5),
        ("http_503+again@sandbox.test", 503, 10),
    ] {
        let reply = account.check(address).await;
        assert_eq!(reply.status, status, "{}", reply.body);
        let retry_after_s: u64 = reply.header("retry-after").parse().unwrap();
        assert!(retry_after_s.abs_diff(retry_after) < 60, "{address}: {retry_after_s}");
        assert!(!reply.body["detail"].is_null(), "{}", reply.body);
        let junk = edge.anonymous().check_with_key("rcpt_live_junk", address).await;
        assert_eq!(junk.status, 401, "{address} with a wrong key");
    }
    let failed = account.check("dns_failure@sandbox.test").await;
    assert_eq!((failed.status, &failed.body["status"]), (200, &json!("fatal_exception")));
    assert_eq!(used(&account).await, 0);
    assert_eq!(edge.leases(&account.email).await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_answer_is_json_and_says_true_and_false_as_booleans() {
    let account = stack().await.edge.account().await;
    let accepted = account.check("accepts+boolean@sandbox.test").await;
    assert_eq!(accepted.header("content-type"), "application/json");
    assert_eq!(
        accepted.parts(),
        (
            200,
            &json!({"email": "accepts+boolean@sandbox.test", "verdict": "deliverable", "status": true, "cached": false})
        )
    );
    let refused = account.check("rejects+boolean@sandbox.test").await;
    assert_eq!(
        refused.parts(),
        (
            200,
            &json!({"email": "rejects+boolean@sandbox.test", "verdict": "undeliverable", "status": false, "cached": false})
        )
    );
}

#[tokio::test]
async fn a_name_and_address_is_reduced_to_the_address_with_its_case_as_given() {
    let account = stack().await.edge.account().await;
    for (given, address) in [
        ("Ann Smith <Ann.Smith@CatchAll.Sandbox.TEST>", "Ann.Smith@CatchAll.Sandbox.TEST"),
        (" \t Bea.Smith@CatchAll.Sandbox.TEST ", "Bea.Smith@CatchAll.Sandbox.TEST"),
        ("<cid@catchall.sandbox.test>", "cid@catchall.sandbox.test"),
        (r#""Doe, <Dan>" <dan@catchall.sandbox.test>"#, "dan@catchall.sandbox.test"),
    ] {
        let reply = account.check(given).await;
        let expected = json!({ "email": address, "verdict": accepted_at(address), "status": true, "cached": false });
        assert_eq!(reply.parts(), (200, &expected), "{given}");
    }
}

#[tokio::test]
async fn identical_is_the_same_local_part_byte_for_byte_and_the_same_domain_in_any_spelling() {
    let account = stack().await.edge.account().await;
    for (address, cached) in [
        ("same@catchall.sandbox.test", false),
        ("same@CATCHALL.Sandbox.test", true),
        ("Name <same@catchall.sandbox.TEST>", true),
        ("Same@catchall.sandbox.test", false),
        ("same+tag@catchall.sandbox.test", false),
        ("accepts+idn@bücher.sandbox.test", false),
        ("accepts+idn@BÜCHER.sandbox.test", true),
        ("accepts+idn@xn--bcher-kva.sandbox.test", true),
        ("accepts+idn@bucher.sandbox.test", false),
    ] {
        let reply = account.check(address).await;
        let email = address.trim_start_matches("Name <").trim_end_matches('>');
        let verdict = accepted_at(address);
        let expected =
            json!({ "email": email, "verdict": verdict, "status": true, "cached": cached });
        assert_eq!(reply.parts(), (200, &expected), "{address}");
    }
}

#[tokio::test]
async fn the_cache_is_shared_by_accounts_and_each_pays_for_its_own_answer() {
    let edge = &stack().await.edge;
    let [first, second] = [edge.account().await, edge.account().await];
    today().await;
    let address = "accepts+shared@sandbox.test";
    for (account, cached) in [(&first, false), (&second, true)] {
        let reply = account.check(address).await;
        let expected =
            json!({ "email": address, "verdict": "deliverable", "status": true, "cached": cached });
        assert_eq!(reply.parts(), (200, &expected));
        assert_eq!(used(account).await, 1);
    }
}

#[tokio::test]
async fn what_is_not_an_address_is_invalid_format_without_cached_and_counts() {
    let account = stack().await.edge.account().await;
    let day = today().await;
    let long = format!("{}@sandbox.test", "a".repeat(300));
    let addresses = [
        "plain",
        "a@b@c",
        "@sandbox.test",
        "accepts@",
        "accepts@sandbox..test",
        "accepts@[127.0.0.1]",
        "accepts@127.0.0.1",
        "accepts\r\n@sandbox.test",
        "accepts@sandbox.test\r\nRCPT TO:evil@sandbox.test",
        "accepts\0@sandbox.test",
        "two words@sandbox.test",
        "\"open@sandbox.test",
        "Name <a@b@c>",
        &long,
    ];
    for (index, given) in addresses.iter().enumerate() {
        let reply = account.check(given).await;
        let email = if *given == "Name <a@b@c>" { "a@b@c" } else { given };
        let expected =
            json!({ "email": email, "verdict": "undeliverable", "status": "invalid_format" });
        assert_eq!(reply.parts(), (200, &expected), "{given:?}");
        assert_eq!(used(&account).await, i64::try_from(index).unwrap() + 1, "{given:?}");
    }
    assert_eq!(stack().await.edge.row(&account.email, "day").await, json!({ "day": day }));
}

#[tokio::test]
async fn blanks_line_ends_and_marks_around_an_address_are_no_mistake() {
    let account = stack().await.edge.account().await;
    for (index, given) in [
        "accepts+blanks@sandbox.test\r\n",
        "\naccepts+blanks@sandbox.test",
        "\u{feff}accepts+blanks@sandbox.test\u{a0}",
        "\u{202a}accepts+blanks@sandbox.test\u{200e}",
        "Ann <\u{200f}accepts+blanks@sandbox.test\u{2069}>\u{2060}",
    ]
    .into_iter()
    .enumerate()
    {
        let reply = account.check(given).await;
        assert_eq!((reply.status, &reply.body["status"]), (200, &json!(true)), "{given:?}");
        assert_eq!(reply.body["email"], "accepts+blanks@sandbox.test");
        assert_eq!(used(&account).await, i64::try_from(index).unwrap() + 1);
    }
}

#[tokio::test]
async fn with_details_a_malformed_address_says_what_is_wrong_and_what_was_meant() {
    let account = stack().await.edge.account().await;
    let body = json!({ "email": "accepts@@sandbox.test", "details": true });
    let reply = account.post("/validate_email", &body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body["status"], "invalid_format");
    assert_eq!(reply.body.get("cached"), None);
    let details = &reply.body["details"];
    assert_eq!(details["problem"], "There are 2 @ signs in it, and an address has one.");
    assert_eq!(details["suggestion"], "accepts@sandbox.test");
    assert_eq!(
        (&details["reason"], &reply.body["verdict"]),
        (&json!("malformed"), &json!("undeliverable"))
    );
}

#[tokio::test]
async fn an_emoji_domain_is_a_domain_and_is_looked_up_or_routed_as_any_other() {
    let account = stack().await.edge.account().await;
    let reply = account.check("x@💌.test").await;
    let expected = json!({ "email": "x@💌.test", "verdict": "undeliverable", "status": "domain_not_found", "cached": false });
    assert_eq!(reply.parts(), (200, &expected));
    let reply = account.check("accepts@💌.sandbox.test").await;
    let expected = json!({ "email": "accepts@💌.sandbox.test", "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(reply.parts(), (200, &expected));
}

#[tokio::test]
async fn a_body_without_an_address_is_400_says_why_and_costs_nothing() {
    const NOT_JSON: &str = "The request body is not JSON.";
    const NOT_OBJECT: &str = "The request body must be a JSON object.";
    const MISSING: &str = "Missing 'email' field in request body.";
    const NOT_STRING: &str = "The 'email' field must be a string.";
    const EMPTY: &str = "The 'email' field must hold one address. There is nothing in it.";
    const HOLLOW: &str =
        "The 'email' field must hold one address. There is nothing between the angle brackets.";
    const UNMATCHED: &str =
        "The 'email' field must hold one address. The angle brackets in it don't match.";
    const MEANT: &str = "The 'email' field must hold one address. The angle brackets in it don't match. \
                         Did you mean accepts@sandbox.test?";
    const SEVERAL: &str = "The 'email' field must hold one address. This looks like several addresses. \
                           Send one at a time.";
    const AFTER: &str =
        "The 'email' field must hold one address. There is something after the angle brackets.";
    let account = stack().await.edge.account().await;
    const COMPRESSED: &str =
        "The request body is compressed. Send it as it is, without Content-Encoding.";
    const MARKED: &str = "The request body begins with a byte order mark. Send UTF-8 without one.";
    let nested = format!(r#"{{"email":{}"#, "[".repeat(15_000));
    let cases: [(&[u8], &str); 36] = [
        (b"\x1f\x8b\x08\0\0", COMPRESSED),
        (b"\xef\xbb\xbf{\"email\":\"accepts@sandbox.test\"}", MARKED),
        (b"email=accepts@sandbox.test", NOT_JSON),
        (b"{\"email\":\"accepts@sandbox.test\"", NOT_JSON),
        (b"{'email':'accepts@sandbox.test'}", NOT_JSON),
        (b"{\"email\":\"accepts@sandbox.test\"} {}", NOT_JSON),
        (b"{\"email\":\"\xff\xfe@sandbox.test\"}", NOT_JSON),
        (b"{\"email\":\"\\ud800@sandbox.test\"}", NOT_JSON),
        (b"{\"email\":\"accepts\r\n@sandbox.test\"}", NOT_JSON),
        (b"\0", NOT_JSON),
        (nested.as_bytes(), NOT_JSON),
        (b"[]", NOT_OBJECT),
        (b"[{\"email\":\"accepts@sandbox.test\"}]", NOT_OBJECT),
        (b"\"accepts@sandbox.test\"", NOT_OBJECT),
        (b"null", NOT_OBJECT),
        (b"1", NOT_OBJECT),
        (b"", MISSING),
        (b"{}", MISSING),
        (b"{\"Email\":\"accepts@sandbox.test\"}", MISSING),
        (b"{\"address\":\"accepts@sandbox.test\"}", MISSING),
        (b"{\"email\":1}", NOT_STRING),
        (b"{\"email\":null}", NOT_STRING),
        (b"{\"email\":true}", NOT_STRING),
        (b"{\"email\":[\"accepts@sandbox.test\"]}", NOT_STRING),
        (b"{\"email\":{\"email\":\"accepts@sandbox.test\"}}", NOT_STRING),
        (b"{\"email\":\"\"}", EMPTY),
        (b"{\"email\":\"   \"}", EMPTY),
        (b"{\"email\":\" \\t \"}", EMPTY),
        (b"{\"email\":\"\\u202a\\u2060\"}", EMPTY),
        (b"{\"email\":\"\\\"\\\"\"}", EMPTY),
        (b"{\"email\":\"Name <\"}", UNMATCHED),
        (b"{\"email\":\"Name <>\"}", HOLLOW),
        (b"{\"email\":\"Name <accepts@sandbox.test\"}", MEANT),
        (b"{\"email\":\"accepts@sandbox.test>\"}", MEANT),
        (b"{\"email\":\"A <accepts@sandbox.test>, B <rejects@sandbox.test>\"}", SEVERAL),
        (b"{\"email\":\"a\\r\\nRCPT TO:<evil@sandbox.test>@sandbox.test\"}", AFTER),
    ];
    for (body, error) in cases {
        let reply = post(&account, body.to_vec()).await;
        let shown = String::from_utf8_lossy(body.get(..80).unwrap_or(body)).into_owned();
        assert_eq!(reply.parts(), (400, &invalid(error)), "{shown}");
    }
    assert_eq!(used(&account).await, 0);
}

#[tokio::test]
async fn of_two_email_fields_the_last_one_counts() {
    let account = stack().await.edge.account().await;
    let body = r#"{"email":"rejects+twice@sandbox.test","email":"accepts+twice@sandbox.test"}"#;
    let expected = json!({ "email": "accepts+twice@sandbox.test", "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(post(&account, body).await.parts(), (200, &expected));
}

#[tokio::test]
async fn other_fields_and_a_missing_content_type_do_not_matter() {
    let account = stack().await.edge.account().await;
    let body = r#" {"id":[1,{"x":null}],"email":"accepts+other@sandbox.test"} "#;
    let expected = json!({ "email": "accepts+other@sandbox.test", "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(post(&account, body).await.parts(), (200, &expected));
}

#[tokio::test]
async fn a_body_of_16_kib_is_taken_and_a_larger_one_is_413() {
    let account = stack().await.edge.account().await;
    let json = r#"{"email":"accepts+padded@sandbox.test"}"#;
    let padded = |size: usize| json.to_owned() + &" ".repeat(size - json.len());
    let expected = json!({ "email": "accepts+padded@sandbox.test", "verdict": "deliverable", "status": true, "cached": false });
    assert_eq!(post(&account, padded(LIMIT)).await.parts(), (200, &expected));
    let too_large = json!({ "detail": "The request body is larger than 16384 bytes.", "code": "body_too_large" });
    for size in [LIMIT + 1, 1_000_000] {
        assert_eq!(post(&account, padded(size)).await.parts(), (413, &too_large), "{size}");
    }
    assert_eq!(used(&account).await, 1);
}

#[tokio::test]
async fn a_used_up_allowance_is_429_and_says_which_limit_and_until_when() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let cached = "accepts+usedup@sandbox.test";
    assert_eq!(account.check(cached).await.status, 200);
    let day = today().await;
    let exhausted = format!("day = {day}, daily_charged = 100, welcome_left = 0");
    edge.set(&account.email, &exhausted).await;
    let resets_at = resets_at(day);
    let error = format!(
        "The daily email check limit has been reached and no welcome checks are left. It resets at \
         {resets_at}."
    );
    let expected = json!({ "detail": { "error": error, "limit": "email check", "resets_at": resets_at }, "code": "used_up" });
    for address in [cached, "accepts+neverasked@sandbox.test", "not an address"] {
        let [by_key, by_session] =
            [account.check(address).await, account.check_in_session(address).await];
        for reply in [by_key, by_session] {
            assert_eq!(reply.parts(), (429, &expected), "{address}");
            let retry_after: u64 = reply.header("retry-after").parse().unwrap();
            assert!(retry_after.abs_diff(seconds_to_reset()) <= 2, "{retry_after}");
        }
    }
    let columns = "daily_charged, welcome_left";
    let row = edge.row(&account.email, columns).await;
    assert_eq!(row, json!({ "daily_charged": 100, "welcome_left": 0 }));
    let server_lines = stack().await.sandbox.server().sessions().concat();
    assert!(server_lines.iter().any(|line| line.contains("accepts+usedup@")));
    assert!(!server_lines.iter().any(|line| line.contains("neverasked")), "a 429 asks no server");
}
