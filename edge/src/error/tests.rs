//! Tests of errors as shown to callers and in the log.

use axum::{body::to_bytes, http::header, response::IntoResponse as _};
use chrono::DateTime;
use serde_json::json;

use super::{Error, cause, outcome, write_body};

fn body(error: &Error) -> serde_json::Value {
    serde_json::to_value(&error.body).unwrap()
}

#[test]
fn validation_gives_its_400_and_401_a_shape_of_their_own() {
    let detail = "Invalid API key.";
    let plain = Error::invalid_api_key();
    assert_eq!(body(&plain), json!({"detail": detail, "code": "invalid_api_key"}));
    let shaped = json!({"detail": {"error": detail}, "code": "invalid_api_key"});
    assert_eq!(body(&plain.of_validation()), shaped);
    assert!(body(&Error::upstream("x").of_validation())["detail"].is_string());
}

#[test]
fn a_used_up_allowance_names_limit_and_reset() {
    let reset = DateTime::from_timestamp(1_795_219_200, 0).unwrap();
    let response = Error::email_checks_used_up(100, reset, 7).into_response();
    assert_eq!((response.status().as_u16(), outcome(&response)), (429, Some("used_up")));
    assert_eq!(response.headers()[header::RETRY_AFTER], "7");
    assert_eq!(response.headers()["ratelimit-policy"], "\"daily\";q=100;w=86400");
    assert_eq!(response.headers()["ratelimit"], "\"daily\";r=0;t=7");
    let shown = body(&Error::email_checks_used_up(100, reset, 7));
    assert_eq!(shown["code"], "used_up");
    let detail = &shown["detail"];
    assert_eq!(detail["limit"], "email check");
    assert_eq!(detail["resets_at"], "2026-11-21T00:00:00Z");
    assert!(detail["error"].as_str().unwrap().contains("2026-11-21T00:00:00Z"));
}

#[test]
fn too_many_checks_in_flight_may_be_tried_again_in_a_second() {
    let error = Error::too_many_in_flight(1_795_219_199);
    let shown = body(&error);
    assert_eq!(shown["code"], "too_many_in_flight");
    assert_eq!(shown["detail"]["limit"], "email check");
    assert_eq!(shown["detail"]["resets_at"], "2026-11-21T00:00:00Z");
    assert_eq!(error.into_response().headers()[header::RETRY_AFTER], "1");
}

#[test]
fn the_body_links_its_code_to_the_reference_and_names_no_place_that_is_unknown() {
    let written = |portal| {
        let mut response = Error::throttled(7).into_response();
        write_body(&mut response, portal);
        let bytes = futures_util::FutureExt::now_or_never(to_bytes(response.into_body(), 1000));
        serde_json::from_slice::<serde_json::Value>(&bytes.unwrap().unwrap()).unwrap()
    };
    let detail = "Too many attempts. Try again in 7 seconds.";
    assert_eq!(written(None), json!({"detail": detail, "code": "throttled"}));
    let link = "https://portal.example/docs#code-throttled";
    let linked = json!({"detail": detail, "code": "throttled", "doc_url": link});
    assert_eq!(written(Some("https://portal.example")), linked);
}

#[test]
fn every_code_has_its_row_in_the_api_page_and_no_other_has_one() {
    let document = include_str!("../../../docs/api.md");
    let table = document.split("| status | `code` | when |").nth(1).unwrap();
    let rows = table.split("\n\n").next().unwrap().lines().skip(2);
    let cells = rows.map(|row| row.split('|').nth(2).unwrap());
    let mut documented: Vec<&str> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let mut codes = super::table::codes();
    codes.sort_unstable();
    documented.sort_unstable();
    documented.dedup();
    assert_eq!(documented, codes);
}

#[test]
fn a_code_is_in_the_list_once() {
    let codes = super::table::codes();
    let unique: std::collections::BTreeSet<_> = codes.iter().collect();
    assert_eq!(unique.len(), codes.len());
    assert!(
        ["invalid_token", "throttled", "used_up", "upstream"].iter().all(|c| codes.contains(c))
    );
}

#[test]
fn a_cause_goes_to_the_log_and_not_to_the_caller() {
    let error = Error::unavailable("database: secret detail");
    assert!(!body(&error).to_string().contains("secret"));
    assert_eq!(cause(&error.into_response()), Some("database: secret detail"));
}
