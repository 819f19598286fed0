//! `make admin` on the local D1 while the Worker uses it.

use std::process::Command;

use rcpt_tests::{Account, Edge, FakeOrigin, people::PASSWORD, process::folder};
use serde_json::json;
use tokio::{
    select,
    sync::{MappedMutexGuard, Mutex, MutexGuard},
};

/// A service on which a test runs an operator's commands. Used by one test at a time: the local database rejects a
/// Worker's reads while another process writes.
pub struct Operated {
    pub edge: Edge,
    pub origin: FakeOrigin,
}

/// Returns one of two services, whichever is free first.
pub async fn operated() -> MappedMutexGuard<'static, Operated> {
    static BOTH: [Mutex<Option<Operated>>; 2] = [Mutex::const_new(None), Mutex::const_new(None)];
    let mut free = select! {
        one = BOTH[0].lock() => one,
        other = BOTH[1].lock() => other,
    };
    if free.is_none() {
        let origin = FakeOrigin::by_name();
        let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
        *free = Some(Operated { edge, origin });
    }
    MutexGuard::map(free, |operated| operated.as_mut().unwrap())
}

/// Runs the command on the databases of a service. Returns the exit code, standard output and
/// standard error; `environment` is added to the tests' own variables.
pub async fn run_admin(
    edge: &Edge,
    environment: &[(&str, &str)],
    words: &[&str],
) -> (i32, String, String) {
    let mut command = Command::new("node");
    command.arg("devtools/operator/admin.mjs");
    command.current_dir(folder::repository()).env("NO_COLOR", "1");
    command.envs(environment.iter().copied());
    command.arg("--persist-to").arg(edge.state()).args(words);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

impl Operated {
    /// Runs an action; returns its exit code, standard output and standard error.
    pub async fn admin(&self, words: &[&str]) -> (i32, String, String) {
        self.admin_with(&[], words).await
    }

    /// Like [`Self::admin`]; `environment` is added to the tests' own variables.
    pub async fn admin_with(
        &self,
        environment: &[(&str, &str)],
        words: &[&str],
    ) -> (i32, String, String) {
        run_admin(&self.edge, environment, words).await
    }

    /// Returns the standard output of an action that must succeed.
    pub async fn output(&self, words: &[&str]) -> String {
        let (code, output, errors) = self.admin(words).await;
        assert_eq!((code, errors.as_str()), (0, ""), "{words:?}");
        output
    }

    /// Runs an action and returns the value it shows under this name.
    pub async fn shown(&self, words: &[&str], name: &str) -> String {
        let output = self.output(words).await;
        let line = output.lines().find_map(|line| line.strip_prefix(&format!("{name:<22}")));
        line.unwrap_or_else(|| panic!("no {name} in {output}")).to_owned()
    }
}

#[tokio::test]
async fn every_action_takes_effect_in_the_next_request() {
    let service = operated().await;
    let account = service.edge.account().await;
    let email = account.email.as_str();
    assert_eq!(service.shown(&["show", &email.to_uppercase()], "state").await, "confirmed");

    assert_eq!(service.shown(&["set-plan", email, "pro"], "plan").await, "pro");
    assert_eq!(account.quota().await.body["plan"], "pro");
    assert_eq!(account.email_checks().await.daily_allowance, 5000);
    let query = "SELECT deeds FROM notices WHERE kind = 'plan_changed' AND account_id = ?";
    let id = service.edge.id(email).await;
    let deeds = service.edge.sql(query, &[id.as_str().into()]).await;
    assert_eq!(deeds, [json!({ "deeds": 1 })], "the owner is told by the next scheduled run");
    let reference = account.get("/me/plan").await.text("reference").to_owned();
    let until = ["--until", "2099-01-31", "set-plan", &reference, "pro"];
    assert_eq!(service.shown(&until, "plan_until").await, "2099-01-31 00:00:00");
    assert_eq!(account.get("/me/plan").await.body["until"], "2099-01-31T00:00:00Z");
    assert_eq!(service.edge.sql(query, &[id.into()]).await, deeds, "it is the same plan");
    assert_eq!(service.shown(&["grant-scan-credits", email, "7"], "scan_credits").await, "7");
    assert_eq!(account.quota().await.body["scans"]["credits"], 7);
    assert_eq!(service.shown(&["grant-checks", email, "25"], "welcome_left").await, "75");
    assert_eq!(account.email_checks().await.welcome_left, 75);

    assert_eq!(service.shown(&["deactivate-key", email], "key_active").await, "0");
    account.quota().await.assert_error(401, "invalid_api_key", "a deactivated key");
    account.rotate_api_key().await.assert_error(403, "key_deactivated", "it cannot be replaced");
    assert_eq!(account.get("/me").await.status, 200, "the session goes on");
    assert_eq!(service.shown(&["reactivate-key", email], "key_active").await, "1");
    assert_eq!(account.quota().await.status, 200);

    assert_eq!(service.shown(&["deactivate", email], "state").await, "deactivated");
    account.quota().await.assert_error(401, "invalid_api_key", "the key");
    account.get("/me").await.assert_error(401, "invalid_session", "the session");
    let reply = account.anonymous.login(email, PASSWORD).await;
    reply.assert_error(403, "deactivated", "sign-in");
    assert_eq!(service.shown(&["reactivate", email], "state").await, "confirmed");
    account.get("/me").await.assert_error(401, "invalid_session", "old sessions stay dead");
    let reply = account.anonymous.login(email, PASSWORD).await;
    let again = Account::from_credentials(&account.anonymous, PASSWORD, &reply);
    assert_eq!((again.get("/me").await.status, again.quota().await.status), (200, 200));
}

#[tokio::test]
async fn an_unconfirmed_account_is_not_confirmed_by_reactivating_it() {
    let service = operated().await;
    let (email, _) = service.edge.registered().await;
    assert_eq!(service.shown(&["reactivate", &email], "state").await, "unconfirmed");
    let reply = service.edge.anonymous().login(&email, PASSWORD).await;
    reply.assert_error(401, "invalid_credentials", "sign-in");
}

#[tokio::test]
async fn wrong_input_is_named_and_changes_nothing() {
    let service = operated().await;
    let account = service.edge.account().await;
    let email = account.email.as_str();
    let before = service.edge.row(email, "*").await;
    let injected = "x' OR 1=1 --@example.org";
    for (words, message) in [
        (vec!["promote", email], "there is no action promote"),
        (vec!["show"], "expected show EMAIL"),
        (vec!["show", email, "1", "2"], "expected show EMAIL"),
        (vec!["show", "nobody@example.org"], "there is no account nobody@example.org"),
        (vec!["deactivate", injected], "there is no account x' OR 1=1 --@example.org"),
        (vec!["set-plan", email, "gold"], "there is no plan gold"),
        (vec!["set-plan", email], "there is no plan"),
        (vec!["--until", "2001-01-01", "set-plan", email, "pro"], "--until needs a date"),
        (vec!["--until", "soon", "set-plan", email, "pro"], "--until needs a date"),
        (vec!["--until", "2099-01-01", "show", email], "only set-plan has --until"),
        (vec!["grant-checks", email], "N must be a whole number from 1 to 999999999"),
        (vec!["grant-checks", email, "-5"], "N must be a whole number from 1 to 999999999"),
        (vec!["grant-scan-credits", email, "1e9"], "N must be a whole number from 1 to 999999999"),
    ] {
        let (code, output, errors) = service.admin(&words).await;
        assert_eq!((code, output.as_str()), (2, ""), "{words:?}");
        assert!(errors.starts_with(&format!("admin: {message}")), "{words:?}: {errors}");
    }
    assert_eq!(service.edge.row(email, "*").await, before);
}
