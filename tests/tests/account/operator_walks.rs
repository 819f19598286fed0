//! An operator's walks (docs/operating/incidents.md), each step as the page has it: the Worker answers 500, a roll
//! back, the laptop is lost.

use std::fs;

use rcpt_shared::Status;
use rcpt_tests::{
    Conduct, Edge, FakeOrigin, Platform,
    people::{Operator, PASSWORD},
    service::clock,
};
use serde_json::json;

use super::secret_replacement::{of_ring, secrets, with_secrets};

const DAY_S: i64 = 24 * 60 * 60;

/// The platform's clock is behind, so that all values have ripened for the Worker.
async fn deployed(days_ago: i64) -> Platform {
    let platform = Platform::small().await.unwrap();
    let state = json!({ "state": { "later": -days_ago * DAY_S } });
    platform.order(&state).await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    platform
}

/// Publishes a version, and returns its tag and what was said.
async fn publish(platform: &Platform, version: &str) -> (String, String) {
    let script = format!("export default {{ fetch() {{ return new Response(\"{version}\") }} }}");
    fs::write(platform.folder().join("edge/build/index.js"), script).unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded && run.output.contains("rcpt is deployed\n"), "{}", run.output);
    let worker = &platform.state().await.unwrap()["workers"]["rcpt"];
    let versions = worker["versions"].as_array().unwrap();
    let now = versions.iter().find(|each| each["id"] == worker["deployed"]).unwrap();
    (now["annotations"]["workers/tag"].as_str().unwrap().to_owned(), run.output)
}

#[tokio::test]
async fn the_house_is_kept_in_order_while_every_worker_answers_500() {
    let platform = deployed(1).await;
    let state = platform.state().await.unwrap();
    let database = state["databases"][0]["uuid"].as_str().unwrap().to_owned();
    platform.insert_account(&database).await.unwrap();
    platform.bookmark(&database).await.unwrap();
    let lose = "UPDATE accounts SET display_name = 'lost'";
    platform.sql(&database, lose).await.unwrap();
    let (newer, _) = publish(&platform, "newer").await;
    let broken = platform.state().await.unwrap()["workers"]["rcpt"]["deployed"].clone();
    platform.order(&json!({ "state": { "broken": broken, "later": 0 } })).await.unwrap();

    let run = platform.admin(&["show", "ann@example.org"]).await.unwrap();
    assert!(!run.succeeded && run.output.contains(": 500"), "{}", run.output);
    let minute = i64::try_from(clock::now()).unwrap() - 60;
    let minute = chrono::DateTime::from_timestamp(minute, 0).unwrap();
    let minute = minute.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    for (words, said) in [
        (&["secret"][..], "add, when you want to replace it"),
        (&["secret", "--yes", "SCAN"], "a value is added"),
        (&["secret", "--yes", "--now", "SESSION"], "is deleted"),
        (&["directory"], "has lost it"),
        (&["restore", "--yes", "DB", &minute], "is as before"),
        (&["restore", "DB"], "accounts/0123456789abcdef  differs"),
        (&["restore", "--yes", "DB", "--take", "accounts"], "is taken"),
        (&["restore", "DB", "--end"], "is deleted"),
    ] {
        let run = platform.admin(words).await.unwrap();
        assert!(run.succeeded && run.output.contains(said), "{words:?}: {}", run.output);
    }
    let name = platform.sql(&database, "SELECT display_name FROM accounts").await.unwrap();
    assert_eq!(name, json!([{ "display_name": "" }]));
    assert_ne!(publish(&platform, "older").await.0, newer);
    let run = platform.admin(&["show", "ann@example.org"]).await.unwrap();
    assert!(!run.output.contains(": 500"), "{}", run.output);
}

#[tokio::test]
async fn a_roll_back_is_the_older_commit_with_todays_secrets() {
    let platform = deployed(3).await;
    let first = secrets(&platform).await;
    let (older, _) = publish(&platform, "older").await;
    publish(&platform, "newer").await;
    platform.order(&json!({ "state": { "later": -2 * DAY_S } })).await.unwrap();
    let run = platform.admin(&["secret", "--yes", "--now", "SESSION", "API_KEY"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let today = secrets(&platform).await;
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]);
    let mut edge = with_secrets(edge, &today).start().await.unwrap();
    let account = edge.account().await;

    // `git checkout OLDER`: a migration less, too.
    fs::remove_file(platform.folder().join("edge/migrations/0002_second.sql")).unwrap();
    let (now, said) = publish(&platform, "older").await;
    assert_eq!(now, older);
    let warning = "this version doesn't know 0002_second.sql";
    assert!(said.contains(warning), "{said}");
    let after = secrets(&platform).await;
    assert_eq!(after, today);
    for ring in ["SESSION_SECRET", "API_KEY_SECRET"] {
        assert_ne!(of_ring(&after, ring), of_ring(&first, ring));
    }
    edge.restart_with(|edge| with_secrets(edge, &after)).await.unwrap();
    assert_eq!(account.get("/me").await.status, 200);
    assert_eq!(account.check("ann@example.org").await.status, 200);
    // Keys and sessions that a thief makes with an old value are worthless.
    edge.restart_with(|edge| with_secrets(edge, &first)).await.unwrap();
    let stolen = edge.account().await;
    edge.restart_with(|edge| with_secrets(edge, &after)).await.unwrap();
    stolen.get("/me").await.assert_error(401, "invalid_session", "an old value");
    stolen.quota().await.assert_error(401, "invalid_api_key", "an old value");
}

#[tokio::test]
async fn a_lost_laptops_person_and_values_end_and_the_others_go_on() {
    let platform = deployed(3).await;
    let run = platform.admin(&["secret", "--yes", "ADMIN_SECRET_BOB"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let lost = secrets(&platform).await;
    let of = |name: &str| lost.iter().find(|(each, _)| each.starts_with(name)).unwrap().clone();
    let (own, _) = lost
        .iter()
        .find(|(name, _)| name.starts_with("ADMIN_") && name != "ADMIN_SECRET_BOB")
        .unwrap();
    let edge = Edge::builder().without_ring("ADMIN_SECRET");
    let mut edge = with_secrets(edge, &lost).start().await.unwrap();
    let account = edge.account().await;
    let show = json!({ "show": { "account": account.email } });
    let [ann, bob] =
        [own, "ADMIN_SECRET_BOB"].map(|name| Operator::new(edge.anonymous(), &of(name).1));
    for person in [&ann, &bob] {
        assert_eq!(person.call(&show).await.status, 200);
    }

    platform.order(&json!({ "state": { "later": -2 * DAY_S } })).await.unwrap();
    let words = ["secret", "--yes", "--now", "ADMIN_SECRET_BOB", "SESSION", "API_KEY"];
    let run = platform.admin(&words).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let run = platform.admin(&["secret", "--yes", "ADDRESS", "TOTP", "SCAN"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let now = secrets(&platform).await;
    let edge_now = |edge: rcpt_tests::service::edge::EdgeBuilder| {
        with_secrets(edge.without_ring("ADMIN_SECRET"), &now)
    };
    edge.restart_with(edge_now).await.unwrap();
    bob.call(&show).await.assert_error(403, "invalid_signature", "the laptop's");
    assert_eq!(ann.call(&show).await.status, 200);
    account.get("/me").await.assert_error(401, "invalid_session", "it may be a thief's");
    let login = edge.anonymous().login(&account.email, PASSWORD).await;
    assert_eq!(login.status, 200, "{}", login.body);
}
