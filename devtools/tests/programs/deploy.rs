//! `make deploy` with the real wrangler, against a stand-in for Cloudflare's API: it tests the
//! calls, not Cloudflare's behaviour.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _};

use rcpt_tests::{Platform, proof};
use serde_json::{Value, json};

const SECRETS: [&str; 6] = ["SESSION", "API_KEY", "TICKET", "ADDRESS", "TOTP", "SCAN"];

fn secrets_on_disk(platform: &Platform) -> BTreeMap<String, String> {
    let text = fs::read_to_string(platform.secrets_file()).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Everything exists once and is bound correctly, and no secret ever had another value than in the file.
async fn assert_whole(platform: &Platform, databases: usize) {
    let state = platform.state().await.unwrap();
    let count = |member: &str| state[member].as_array().map_or(0, Vec::len);
    assert_eq!(count("databases"), databases, "{state}");
    assert_eq!((count("namespaces"), count("queues"), count("domains")), (1, 1, 1), "{state}");
    let worker = &state["workers"]["rcpt"];
    let ids = |list: &Value, id: &str| -> Vec<Value> {
        list.as_array().unwrap().iter().map(|each| each[id].clone()).collect()
    };
    let bound = |kind: &str, id: &str| -> Vec<Value> {
        let bindings = worker["bindings"].as_array().unwrap().iter();
        bindings.filter(|each| each["type"] == *kind).map(|each| each[id].clone()).collect()
    };
    assert_eq!(bound("d1", "id"), ids(&state["databases"], "uuid"), "{worker}");
    assert_eq!(bound("kv_namespace", "namespace_id"), ids(&state["namespaces"], "id"));
    assert_eq!(bound("queue", "queue_name"), [json!("rcpt-scans")]);
    let settings = &state["queues"][0]["settings"];
    assert_eq!(settings["message_retention_period"], 86_400, "{settings}");
    assert_eq!(state["queues"][0]["consumers"].as_array().map(Vec::len), Some(1), "{state}");
    assert_eq!(worker["crons"], json!(["*/5 * * * *"]));
    assert_eq!(state["domains"][0]["service"], "rcpt");
    let secrets = secrets_on_disk(platform);
    for ring in SECRETS
        .map(|name| format!("{name}_SECRET_"))
        .into_iter()
        .chain(["ADMIN_SECRET_".to_owned()])
    {
        assert_eq!(secrets.keys().filter(|name| name.starts_with(&ring)).count(), 1, "{ring}");
    }
    assert_eq!(secrets.len(), SECRETS.len() + 1, "{:?}", secrets.keys());
    for name in secrets.keys() {
        // Deploy never sends a second value, even after a lost call.
        let sent_secrets = worker["secrets"][name].as_array().unwrap();
        assert!(
            !sent_secrets.is_empty() && sent_secrets.iter().all(|value| *value == secrets[name]),
            "{name}"
        );
    }
}

#[tokio::test]
async fn an_empty_account_has_the_service_after_one_command_and_a_second_changes_nothing() {
    let platform = Platform::start().await.unwrap();
    // No origin runs yet: the first deployment is a success, and says what is left.
    let ready = r#"{"status":"down","database":"up","origins":"down"}"#;
    platform.order(&json!({ "state": { "ready": ready } })).await.unwrap();
    let run = platform.deploy(&[("JURISDICTION", "eu")]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let answers = format!("https://rcpt.acme.test/v1/health/ready answers: 503 {ready}");
    for said in [answers.as_str(), "npx wrangler secret put ORIGINS"] {
        assert!(run.output.contains(said), "{said}: {}", run.output);
    }
    platform.order(&json!({ "state": { "ready": null } })).await.unwrap();
    assert!(run.output.contains("Onboard acme.test for email sending"), "{}", run.output);
    assert_whole(&platform, 3).await;
    let state = platform.state().await.unwrap();
    for database in state["databases"].as_array().unwrap() {
        assert_eq!(database["jurisdiction"], "eu");
    }
    // The person who has deployed is an operator: the secret is in the file, and is found there.
    let run = platform.admin(&["directory"]).await.unwrap();
    assert_eq!(run.output, "every account is in the directory\n");
    let run = platform.admin(&["show", "ann@example.org"]).await.unwrap();
    assert!(!run.succeeded && run.output.starts_with("admin: "), "{}", run.output);
    assert!(!run.output.contains("ADMIN_SECRET"), "{}", run.output);
    let mode = fs::metadata(platform.secrets_file()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // No secret value appears in the output or in another file.
    let configuration = fs::read_to_string(platform.configuration()).unwrap();
    for (name, value) in secrets_on_disk(&platform) {
        assert!(!run.output.contains(&value) && !configuration.contains(&value), "{name}");
    }

    let changes = platform.changes().await.unwrap();
    for variables in [&[][..], &[("PORTAL_URL", ""), ("MAIL_FROM", "")]] {
        let again = platform.deploy(variables).await.unwrap();
        assert!(again.succeeded, "{}", again.output);
        assert!(again.output.contains("Nothing has changed"), "{}", again.output);
    }
    assert_eq!(platform.changes().await.unwrap(), changes);
    assert_eq!(fs::read_to_string(platform.configuration()).unwrap(), configuration);

    let other = platform.deploy(&[("JURISDICTION", "fedramp")]).await.unwrap();
    assert!(!other.succeeded, "{}", other.output);
    let message = "JURISDICTION is fedramp, and the database rcpt has eu";
    assert!(other.output.contains(message), "{}", other.output);
    assert_eq!(platform.changes().await.unwrap(), changes);

    // A new version is deployed, and existing resources stay.
    let index = platform.folder().join("edge/build/index.js");
    fs::write(index, "export default { fetch() { return new Response() } }").unwrap();
    let newer = platform.deploy(&[]).await.unwrap();
    assert!(newer.succeeded && newer.output.contains("rcpt is deployed\n"), "{}", newer.output);
    assert_whole(&platform, 3).await;
}

/// Cuts off the run at each change, once before and once after it takes effect; in the short form, at two such points.
/// The change's reply and all later calls are lost.
#[tokio::test]
async fn a_run_that_is_cut_off_anywhere_goes_on_where_it_was() {
    let whole = Platform::small().await.unwrap();
    let run = whole.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let changes = whole.changes().await.unwrap();
    assert!(changes >= 10, "{changes} changes: the stand-in doesn't count");
    drop(whole);
    let cuts = (1..=changes).flat_map(|after| [(after, false), (after, true)]);
    let apart = proof::count(changes, 1);
    for (after, before) in cuts.step_by(apart) {
        let platform = Platform::small().await.unwrap();
        platform.order(&json!({"cut": {"after": after, "before": before}})).await.unwrap();
        let run = platform.deploy(&[]).await.unwrap();
        assert!(!run.succeeded, "cut at {after}: {}", run.output);
        platform.order(&json!({})).await.unwrap();
        let again = platform.deploy(&[]).await.unwrap();
        assert!(again.succeeded, "cut at {after} ({before}): {}\n{}", run.output, again.output);
        assert_whole(&platform, 1).await;
        let changes = platform.changes().await.unwrap();
        let third = platform.deploy(&[]).await.unwrap();
        assert!(third.output.contains("Nothing has changed"), "{after}: {}", third.output);
        assert_eq!(platform.changes().await.unwrap(), changes);
    }
}

#[tokio::test]
async fn a_secret_is_never_made_anew_where_there_are_accounts() {
    let platform = Platform::small().await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    // Somebody registers; then the Worker loses a secret, and the operator's copy is gone.
    let state = platform.state().await.unwrap();
    let id = state["databases"][0]["uuid"].as_str().unwrap().to_owned();
    platform.insert_account(&id).await.unwrap();
    let mut workers = state["workers"].clone();
    let bindings = workers["rcpt"]["bindings"].as_array_mut().unwrap();
    bindings.retain(|each| !each["name"].as_str().unwrap().starts_with("ADDRESS_SECRET_"));
    platform.order(&json!({"state": {"workers": workers}})).await.unwrap();
    let secrets_text = fs::read_to_string(platform.secrets_file()).unwrap();
    fs::remove_file(platform.secrets_file()).unwrap();
    let changes = platform.changes().await.unwrap();

    let run = platform.deploy(&[]).await.unwrap();
    assert!(!run.succeeded, "{}", run.output);
    assert!(run.output.contains("ADDRESS_SECRET: the Worker lacks it"), "{}", run.output);
    assert_eq!(platform.changes().await.unwrap(), changes);
    assert!(!platform.secrets_file().exists());

    // Even if the whole Worker is lost, no new secrets are made.
    platform.order(&json!({"state": {"workers": {}, "domains": []}})).await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(!run.succeeded && run.output.contains("the Worker lacks them"), "{}", run.output);
    assert_eq!(platform.changes().await.unwrap(), changes);

    // With the copy, the secret is restored unchanged.
    fs::write(platform.secrets_file(), secrets_text).unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert_whole(&platform, 1).await;
}

/// While wrangler migrates, the platform may close our idle connections.
#[tokio::test]
async fn a_version_with_a_further_migration_is_deployed_in_one_run() {
    let platform = Platform::small().await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    let migration = platform.folder().join("edge/migrations/0003_further.sql");
    fs::write(migration, "CREATE TABLE further (number INTEGER) STRICT;").unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert!(run.output.contains("the database rcpt has 1 more migrations"), "{}", run.output);
    assert_whole(&platform, 1).await;
}

#[tokio::test]
async fn a_token_without_a_right_is_told_which_one_and_nothing_is_half_done() {
    let platform = Platform::small().await.unwrap();
    for (path, right) in [
        ("GET /accounts/.*/d1", "Account, D1, Edit"),
        ("GET /accounts/.*/storage", "Account, Workers KV Storage, Edit"),
        ("GET /accounts/.*/queues", "Account, Queues, Edit"),
        ("GET /accounts/.*/workers/scripts", "Account, Workers Scripts, Edit"),
        ("GET /zones$", "Zone, Zone, Read"),
        ("GET /zones/.*/dns_records", "Zone, DNS, Read"),
    ] {
        platform.order(&json!({"refuse": {"path": path, "status": 403}})).await.unwrap();
        let run = platform.deploy(&[]).await.unwrap();
        let message = format!("it needs the permission \"{right}\"");
        assert!(!run.succeeded && run.output.contains(&message), "{path}: {}", run.output);
        assert!(!platform.secrets_file().exists());
    }
    assert_eq!(platform.changes().await.unwrap(), 0);
    // A token that may not create queues ends the run there, and the next run continues.
    platform.order(&json!({"refuse": {"path": "POST .*/queues", "status": 403}})).await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(!run.succeeded && run.output.contains("\"Account, Queues, Edit\""), "{}", run.output);
    platform.order(&json!({})).await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert_whole(&platform, 1).await;
}

#[tokio::test]
async fn a_name_that_belongs_to_something_else_is_left_alone() {
    let platform = Platform::small().await.unwrap();
    let other = json!([{"id": "x", "hostname": "rcpt.acme.test", "service": "shop"}]);
    let consumer = json!([{"type": "worker", "script": "shop"}]);
    let queue = json!([{"queue_id": "q", "queue_name": "rcpt-scans", "consumers": consumer}]);
    let worker = json!({"bindings": [{"type": "d1", "name": "DB", "id": "else"}], "versions": []});
    for (state, said) in [
        (json!({"domains": other}), "rcpt.acme.test is taken: it leads to the Worker shop"),
        (json!({"domains": [], "records": [{"name": "rcpt.acme.test"}]}), "it has a DNS record"),
        (json!({"records": [], "zones": []}), "the account has no zone for rcpt.acme.test"),
        (json!({"zones": ["acme.test"], "queues": queue}), "rcpt-scans is taken: shop reads it"),
        (json!({"queues": [], "workers": {"rcpt": worker}}), "the name rcpt is taken"),
    ] {
        platform.order(&json!({"state": state})).await.unwrap();
        let run = platform.deploy(&[]).await.unwrap();
        assert!(!run.succeeded && run.output.contains(said), "{said}: {}", run.output);
    }
    platform.order(&json!({"state": {"workers": {}}})).await.unwrap();
    platform.insert_foreign_database("rcpt").await.unwrap();
    let before = platform.changes().await.unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.output.contains("the database has tables of something else"), "{}", run.output);
    assert_eq!(platform.changes().await.unwrap(), before);
    assert!(!run.succeeded && !platform.secrets_file().exists());
}

#[tokio::test]
async fn secrets_are_on_the_disk_before_anything_changes_or_the_run_ends() {
    let platform = Platform::small().await.unwrap();
    let tree = platform.folder().join("tree");
    fs::create_dir_all(tree.join(".git")).unwrap();
    let inside = tree.join("sub/rcpt.secrets");
    for (file, said) in [
        (inside.to_str().unwrap(), "lies in the git work tree"),
        ("/proc/rcpt.secrets", "the secrets can't be written to /proc/rcpt.secrets"),
    ] {
        let run = platform.deploy(&[("SECRETS_FILE", file)]).await.unwrap();
        assert!(!run.succeeded && run.output.contains(said), "{}", run.output);
    }
    assert_eq!(platform.changes().await.unwrap(), 0);
    // All missing values are named before the first call to the account.
    let run = Platform::small().await.unwrap();
    let run = run.deploy(&[("PORTAL_URL", ""), ("CONTACT_EMAIL", "")]).await.unwrap();
    assert!(!run.succeeded, "{}", run.output);
    for name in ["PORTAL_URL:", "CONTACT_EMAIL:"] {
        assert!(run.output.contains(name), "{}", run.output);
    }
    assert!(!run.output.contains("MAIL_FROM"), "{}", run.output);
    // All wrong values are named too.
    let wrong = [("PORTAL_URL", "http://acme.test"), ("CONTACT_EMAIL", "nobody")];
    let run = Platform::small().await.unwrap().deploy(&wrong).await.unwrap();
    for said in ["PORTAL_URL: \"http://acme.test\" isn't", "CONTACT_EMAIL: \"nobody\" isn't"] {
        assert!(!run.succeeded && run.output.contains(said), "{said}: {}", run.output);
    }
}

/// The steps are those of docs/operating/deploy.md.
#[tokio::test]
async fn a_service_that_is_taken_down_leaves_nothing_and_can_begin_anew() {
    let platform = Platform::small().await.unwrap();
    let example = fs::read_to_string(platform.configuration()).unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    for run in platform.follow("deploy.md", "Take it down").await.unwrap() {
        assert!(run.succeeded, "{}", run.output);
    }
    let state = platform.state().await.unwrap();
    for member in ["databases", "namespaces", "queues", "domains"] {
        assert_eq!(state[member], json!([]), "{member}");
    }
    assert_eq!(state["workers"], json!({}));
    fs::remove_file(platform.secrets_file()).unwrap();
    fs::write(platform.configuration(), example).unwrap();
    let run = platform.deploy(&[]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert_whole(&platform, 1).await;
}
