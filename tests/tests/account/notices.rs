//! No event waits for an email: notices are sent afterwards, retried on failure, and combined by
//! kind. Emails go to the account's own address. Housekeeping continues when one statement fails.

use std::time::Duration;

use rcpt_tests::{
    Account, Edge,
    people::{PASSWORD, send},
};
use reqwest::Method;
use serde_json::json;
use tokio::time::{sleep, timeout};

const NEW: &str = "copper-meadow-58-lattice";
const KEY: &str = "Your API key has been replaced";

fn subjects(edge: &Edge, email: &str) -> Vec<String> {
    let mut all: Vec<_> =
        edge.mailbox().mails_to(email).into_iter().map(|mail| mail.subject).collect();
    all.sort();
    all
}

/// Runs the scheduled handler as if the retries were due.
async fn run_scheduled_later(edge: &Edge) {
    edge.sql("UPDATE notices SET due_at = 0", &[]).await;
    edge.run_scheduled().await;
}

#[tokio::test]
async fn every_security_action_works_without_mail_and_is_told_of_later() {
    let mut edge = Edge::builder().start().await.unwrap();
    let (rotates, resets, protected) =
        (edge.account().await, edge.account().await, edge.account().await);
    let authenticator = rotates.set_up_two_factor().await;
    let (_, codes) = protected.enable_two_factor().await;
    assert_eq!(resets.anonymous.forgot_password(&resets.email).await.status, 200);
    let link = edge.mailbox().wait_for_nth_mail(&resets.email, 2).await.unwrap();
    edge.wait_for_reset_mails().await;

    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    assert_eq!(rotates.rotate_api_key().await.status, 200);
    assert_eq!(rotates.enable_with(&authenticator.code()).await.status, 200);
    let reply = edge.anonymous().reset_password(link.token().unwrap(), NEW).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    let login = edge.anonymous().login_with_code(&protected.email, PASSWORD, &codes[0]).await;
    assert_eq!(login.status, 200, "{}", login.body);
    let off = json!({ "password": PASSWORD, "totp_code": codes[1] });
    assert_eq!(protected.post("/auth/totp/disable", &off).await.status, 204);
    edge.run_scheduled().await;

    // The log and the mailbox start empty.
    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    run_scheduled_later(&edge).await;
    // An email is in the mailbox a moment after its hand-over.
    let told = async |email: &str, expected: &[&str]| {
        edge.mailbox().wait_for_nth_mail(email, expected.len()).await.unwrap();
        assert_eq!(subjects(&edge, email), expected);
    };
    told(&rotates.email, &["Two-factor authentication is on", KEY]).await;
    told(&resets.email, &["Your password has been changed"]).await;
    let of_protected = ["A recovery code has been used", "Two-factor authentication is off"];
    told(&protected.email, &of_protected).await;
    run_scheduled_later(&edge).await;
    assert_eq!(subjects(&edge, &protected.email).len(), 2, "told once");
}

#[tokio::test]
async fn forty_rotations_are_told_of_in_two_mails() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    for _ in 0..40 {
        assert_eq!(account.rotate_api_key().await.status, 200);
    }
    edge.mailbox().wait_for_nth_mail(&account.email, 2).await.unwrap();
    let notice_count =
        async || subjects(&edge, &account.email).iter().filter(|s| *s == KEY).count();
    edge.run_scheduled().await;
    assert_eq!(notice_count().await, 1, "the others wait");
    run_scheduled_later(&edge).await;
    edge.mailbox().wait_for_nth_mail(&account.email, 3).await.unwrap();
    run_scheduled_later(&edge).await;
    assert_eq!(notice_count().await, 2);
}

#[tokio::test]
async fn five_new_passwords_a_day_are_told_of_each_and_the_sixth_waits() {
    const SUBJECT: &str = "Your password has been changed";
    let edge = Edge::builder().start().await.unwrap();
    let mut account = edge.account().await;
    let passwords: Vec<_> = (0..7).map(|n| format!("copper-meadow-{n}-lattice")).collect();
    let mut current = PASSWORD;
    for (n, new) in passwords.iter().enumerate() {
        let body = json!({ "current_password": current, "new_password": new });
        let reply = account.put("/auth/password", &body).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        account = Account::from_credentials(&account.anonymous, new, &reply);
        current = new;
        edge.mailbox().wait_for_titled(&account.email, SUBJECT, (n + 1).min(5)).await.unwrap();
        let condition = "notices WHERE told = deeds AND attempts = 0";
        edge.wait_for_count(condition, u64::from(n < 5)).await;
    }
    edge.run_scheduled().await;
    assert_eq!(subjects(&edge, &account.email).iter().filter(|s| *s == SUBJECT).count(), 5);
    run_scheduled_later(&edge).await;
    edge.mailbox().wait_for_titled(&account.email, SUBJECT, 6).await.expect("one for both");
}

#[tokio::test]
async fn a_new_webhook_is_told_of_right_away_and_a_late_notice_has_the_time_of_its_event() {
    const SUBJECT: &str = "Your webhook has been changed";
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let set = |url: &str| json!({ "webhook_url": url });
    let reply = account.put("/notifications", &set("https://hooks.example.org/a")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    edge.mailbox().wait_for_titled(&account.email, SUBJECT, 1).await.unwrap();
    edge.wait_for_count("notices WHERE told = deeds", 1).await;
    let reply = account.put("/notifications", &set("https://hooks.example.org/b")).await;
    assert_eq!(reply.status, 200, "{}", reply.body);
    // Dates the event 7 May 2026, 08:05 UTC; then another event happens, and causes an email.
    edge.sql("UPDATE notices SET happened_at = 1778141100, noted = 0", &[]).await;
    assert_eq!(account.rotate_api_key().await.status, 200);
    edge.mailbox().wait_for_titled(&account.email, KEY, 1).await.unwrap();
    run_scheduled_later(&edge).await;
    let mail = edge.mailbox().wait_for_titled(&account.email, SUBJECT, 2).await.unwrap();
    assert!(mail.text.contains("When: 7 May 2026, 08:05 UTC\n"), "{}", mail.text);
}

#[tokio::test]
async fn a_removed_webhook_is_told_of_and_one_that_stays_is_not() {
    const SUBJECT: &str = "Your webhook has been changed";
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let deeds = async |url: &str| {
        let reply = account.put("/notifications", &json!({ "webhook_url": url })).await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        let sql = "SELECT deeds FROM notices WHERE kind = 'webhook_changed'";
        edge.sql(sql, &[]).await.first().map_or(0, |row| row["deeds"].as_u64().unwrap())
    };
    let [one, other] = ["https://hooks.example.org/a", "https://hooks.example.org/b"];
    let steps = [("", 0), (one, 1), (one, 1), (other, 2), ("", 3), ("", 3), (other, 4)];
    for (step, (url, expected)) in steps.into_iter().enumerate() {
        assert_eq!(deeds(url).await, expected, "step {step}: {url:?}");
    }
    let mail = edge.mailbox().wait_for_titled(&account.email, SUBJECT, 1).await.unwrap();
    assert!(mail.text.contains("has been set, changed or removed"), "{}", mail.text);
}

#[tokio::test]
async fn a_notice_says_when_and_from_where_also_when_it_is_late() {
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    let mut edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let rename = json!({ "display_name": "Ann" });
    assert_eq!(account.put("/auth/settings", &rename).await.status, 200);
    let rotate = account.request(Method::POST, "/auth/rotate-api-key");
    let from_firefox = rotate.header("user-agent", FIREFOX).header("cf-ipcountry", "DE");
    assert_eq!(send(from_firefox).await.status, 200);
    let notice = edge.mailbox().wait_for_titled(&account.email, KEY, 1).await.unwrap();
    let facts = "UTC\nBrowser: Firefox on Linux\nCountry: DE\n";
    assert!(notice.text.starts_with("Hi,\n") && notice.text.contains(facts), "{}", notice.text);

    let (_, codes) = account.enable_two_factor().await;
    edge.restart_with(|builder| builder.mailless(true)).await.unwrap();
    let body = json!({ "password": PASSWORD, "totp_code": codes[0] });
    let replace = account.request(Method::POST, "/auth/totp/recovery-codes").json(&body);
    assert_eq!(send(replace.header("user-agent", FIREFOX)).await.status, 200);
    // Time and place are recorded after the response.
    let behind = "SELECT kind FROM notices WHERE noted < deeds";
    let noted = async {
        while !edge.sql(behind, &[]).await.is_empty() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(30), noted).await.expect("the deed is noted");
    edge.restart_with(|builder| builder.mailless(false)).await.unwrap();
    run_scheduled_later(&edge).await;
    let replaced = "Your recovery codes have been replaced";
    let notice = edge.mailbox().wait_for_titled(&account.email, replaced, 1).await.unwrap();
    assert!(notice.text.contains("Browser: Firefox on Linux\n"), "{}", notice.text);
}

#[tokio::test]
async fn ten_wrong_codes_are_told_of_once_a_day_however_slowly_and_long_they_are_entered() {
    const SUBJECT: &str = "Wrong two-factor codes were entered";
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    let (authenticator, _) = account.enable_two_factor().await;
    let wrong = async |times| {
        for _ in 0..times {
            let login = edge.anonymous().login_with_code(&account.email, PASSWORD, "000000").await;
            login.assert_error(401, "totp_invalid", "a wrong code");
        }
    };
    // An email is in the mailbox a moment after its hand-over.
    let assert_told = async |times: usize, why: &str| {
        edge.run_scheduled().await;
        edge.mailbox().wait_for_titled(&account.email, SUBJECT, times).await.expect(why);
        let told = subjects(&edge, &account.email).iter().filter(|it| *it == SUBJECT).count();
        assert_eq!(told, times, "{why}");
    };
    wrong(9).await;
    let code = edge.fresh_code(&account, &authenticator).await;
    let login = edge.anonymous().login_with_code(&account.email, PASSWORD, &code).await;
    assert_eq!(login.status, 200);
    wrong(9).await;
    edge.run_scheduled().await;
    assert!(!subjects(&edge, &account.email).contains(&SUBJECT.to_owned()), "a right one between");
    wrong(1).await;
    assert_told(1, "ten in a row").await;
    // More than an hour passes, then a day.
    wrong(20).await;
    edge.sql("UPDATE notices SET due_at = due_at - 7200", &[]).await;
    assert_told(1, "the others wait").await;
    edge.sql("UPDATE notices SET due_at = due_at - 80000", &[]).await;
    assert_told(2, "a day later").await;
}

#[tokio::test]
async fn a_deed_that_does_not_happen_is_not_told_of() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    assert_eq!(account.post("/auth/sign-out-everywhere", &json!({})).await.status, 204);
    assert_eq!(account.rotate_api_key().await.status, 401);
    assert_eq!(edge.sql("SELECT kind FROM notices", &[]).await, [] as [serde_json::Value; 0]);
}

#[tokio::test]
async fn a_reset_link_goes_to_the_account_s_own_address() {
    let edge = Edge::builder().start().await.unwrap();
    let email = format!("kate.{}", edge.new_email());
    let anonymous = edge.anonymous();
    assert_eq!(anonymous.register(&email, PASSWORD).await.status, 201);
    let mail = edge.mailbox().wait_for_mail(&email).await.unwrap();
    assert_eq!(anonymous.verify_email(mail.token().unwrap()).await.status, 200);
    // The Kelvin sign is `k` where all letters are folded, but belongs to another mailbox: it's another address.
    let similar = email.replace('k', "\u{212a}");
    assert_eq!(anonymous.forgot_password(&similar).await.status, 200);
    edge.mailbox()
        .wait_for_titled(&similar, "There is no account with this address", 1)
        .await
        .unwrap();
    assert_eq!(anonymous.register(&similar, PASSWORD).await.status, 201);
    edge.mailbox().wait_for_titled(&similar, "Confirm your email address", 1).await.unwrap();
    let upper = email.to_uppercase();
    assert_eq!(anonymous.forgot_password(&upper).await.status, 200);
    edge.mailbox().wait_for_titled(&email, "Set a new password", 1).await.unwrap();
    assert_eq!(edge.mailbox().mails_to(&upper).len(), 0, "it goes to the account's own spelling");
}

#[tokio::test]
async fn housekeeping_goes_on_where_one_statement_fails_and_says_so() {
    let edge = Edge::builder().start().await.unwrap();
    let rows = "INSERT INTO leases (id, account_id, day, n_daily, n_welcome, expires_at)
        VALUES ('expired', ?1, 1, 1, 0, 1)";
    let account = edge.account().await;
    let id = edge.id(&account.email).await;
    edge.sql_of(&id, rows, &[id.as_str().into()]).await;
    edge.registered().await;
    edge.sql("UPDATE registrations SET expires_at = 1", &[]).await;
    edge.sql("ALTER TABLE leases RENAME TO hidden", &[]).await;
    edge.run_scheduled().await;
    edge.sql("ALTER TABLE hidden RENAME TO leases", &[]).await;
    assert_eq!((edge.count("leases").await, edge.count("registrations").await), (1, 0));
    edge.process.wait_for_line("housekeeping of leases").await;
    edge.run_scheduled().await;
    assert_eq!(edge.count("leases").await, 0);
}
