//! `tools/admin`, on the local D1, while the Worker is running on it.

use std::{process::Command, sync::LazyLock};

use rcpt_tests::{Account, Edge, FakeOrigin, people::PASSWORD, process::folder};
use tokio::sync::{Mutex, OnceCell};

/// Held by each test: a Worker that reads while another process writes is refused by the local database.
pub static TURN: Mutex<()> = Mutex::const_new(());

pub async fn edge() -> &'static Edge {
    static EDGE: OnceCell<Edge> = OnceCell::const_new();
    let start = async || Edge::builder().origins(&[&origin().url]).start().await.unwrap();
    EDGE.get_or_init(start).await
}

pub fn origin() -> &'static FakeOrigin {
    static ORIGIN: LazyLock<FakeOrigin> = LazyLock::new(FakeOrigin::by_name);
    &ORIGIN
}

/// Exit code, standard output, standard error.
pub async fn admin(words: &[&str]) -> (i32, String, String) {
    admin_with(&[], words).await
}

/// Exit code, standard output, standard error, with `environment` beside what the tests always set.
pub async fn admin_with(environment: &[(&str, &str)], words: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(folder::repository().join("tools/admin"));
    command.current_dir(folder::repository()).env("NO_COLOR", "1");
    command.envs(environment.iter().copied());
    command.arg("--persist-to").arg(edge().await.state()).args(words);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs an action and returns the values of the account it shows, by name.
pub async fn shown(words: &[&str], name: &str) -> String {
    let (code, output, errors) = admin(words).await;
    assert_eq!((code, errors.as_str()), (0, ""), "{words:?}");
    let line = output.lines().find_map(|line| line.strip_prefix(&format!("{name:<22}")));
    line.unwrap_or_else(|| panic!("no {name} in {output}")).to_owned()
}

#[tokio::test]
async fn every_action_takes_effect_in_the_next_request() {
    let _turn = TURN.lock().await;
    let account = edge().await.account().await;
    let email = account.email.as_str();
    assert_eq!(shown(&["show", &email.to_uppercase()], "state").await, "confirmed");

    assert_eq!(shown(&["set-plan", email, "pro"], "plan").await, "pro");
    assert_eq!(account.quota().await.body["plan"], "pro");
    assert_eq!(account.email_checks().await.daily_allowance, 5000);
    assert_eq!(shown(&["grant-scan-credits", email, "7"], "scan_credits").await, "7");
    assert_eq!(account.quota().await.body["scans"]["credits"], 7);
    assert_eq!(shown(&["grant-checks", email, "25"], "welcome_left").await, "75");
    assert_eq!(account.email_checks().await.welcome_left, 75);

    assert_eq!(shown(&["deactivate-key", email], "key_active").await, "0");
    account.quota().await.assert_error(401, "invalid_api_key", "a deactivated key");
    account.rotate_api_key().await.assert_error(403, "key_deactivated", "it cannot be replaced");
    assert_eq!(account.get("/me").await.status, 200, "the session goes on");
    assert_eq!(shown(&["reactivate-key", email], "key_active").await, "1");
    assert_eq!(account.quota().await.status, 200);

    assert_eq!(shown(&["deactivate", email], "state").await, "deactivated");
    account.quota().await.assert_error(401, "invalid_api_key", "the key");
    account.get("/me").await.assert_error(401, "invalid_session", "the session");
    let reply = account.anonymous.login(email, PASSWORD).await;
    reply.assert_error(403, "deactivated", "sign-in");
    assert_eq!(shown(&["reactivate", email], "state").await, "confirmed");
    account.get("/me").await.assert_error(401, "invalid_session", "old sessions stay dead");
    let reply = account.anonymous.login(email, PASSWORD).await;
    let again = Account::from_credentials(&account.anonymous, PASSWORD, &reply);
    assert_eq!((again.get("/me").await.status, again.quota().await.status), (200, 200));
}

#[tokio::test]
async fn an_unconfirmed_account_is_not_confirmed_by_reactivating_it() {
    let _turn = TURN.lock().await;
    let (email, _) = edge().await.registered().await;
    assert_eq!(shown(&["reactivate", &email], "state").await, "unconfirmed");
    let reply = edge().await.anonymous().login(&email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "sign-in");
}

#[tokio::test]
async fn wrong_input_is_named_and_changes_nothing() {
    let _turn = TURN.lock().await;
    let account = edge().await.account().await;
    let email = account.email.as_str();
    let before = edge().await.row(email, "*").await;
    let injected = "x' OR 1=1 --@example.org";
    for (words, message) in [
        (vec!["promote", email], "there is no action promote"),
        (vec!["show"], "expected show EMAIL"),
        (vec!["show", email, "1", "2"], "expected show EMAIL"),
        (vec!["show", "nobody@example.org"], "there is no account nobody@example.org"),
        (vec!["deactivate", injected], "there is no account x' OR 1=1 --@example.org"),
        (vec!["set-plan", email, "gold"], "there is no plan gold"),
        (vec!["set-plan", email], "there is no plan"),
        (vec!["grant-checks", email], "N must be a whole number from 1 to 999999999"),
        (vec!["grant-checks", email, "-5"], "N must be a whole number from 1 to 999999999"),
        (vec!["grant-scan-credits", email, "1e9"], "N must be a whole number from 1 to 999999999"),
    ] {
        let (code, output, errors) = admin(&words).await;
        assert_eq!((code, output.as_str()), (2, ""), "{words:?}");
        assert!(errors.starts_with(&format!("admin: {message}")), "{words:?}: {errors}");
    }
    assert_eq!(edge().await.row(email, "*").await, before);
}
