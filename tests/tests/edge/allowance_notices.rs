//! An owner learns when 80 % and when all of the daily checks are used: by an email and a webhook, at most once a week
//! each, and not while welcome checks are left.

use rcpt_tests::{Account, FakeWebhook, Mail, Stack, service::clock::today};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const HOST: &str = "hooks.example.com";
const NEARLY: &str = "Most of your daily checks are used";
const ALL: &str = "Your daily checks are used up";
const WEEK_S: u64 = 7 * 24 * 60 * 60;

fn mails(stack: &Stack, account: &Account) -> [usize; 2] {
    let mails = stack.edge.mailbox().mails_to(&account.email);
    [NEARLY, ALL].map(|title| mails.iter().filter(|mail| mail.subject == title).count())
}

/// Waits for the first email with this subject.
async fn mail(stack: &Stack, account: &Account, title: &str) -> Mail {
    stack.edge.mailbox().wait_for_titled(&account.email, title, 1).await.unwrap()
}

/// Leaves `left` of today's hundred checks, and no welcome checks.
async fn leave(stack: &Stack, account: &Account, left: u64) {
    let (day, used) = (today().await, 100 - left);
    let change = format!("day = {day}, daily_charged = {used}, welcome_left = 0");
    stack.edge.set(&account.email, &change).await;
}

/// The kinds of which the account's owner was told or is to be told, with how often.
async fn told(stack: &Stack, account: &Account) -> Vec<(String, u64)> {
    let sql = "SELECT kind, deeds FROM notices WHERE account_id = ? AND kind LIKE 'allowance%'
        ORDER BY kind";
    let id = stack.edge.id(&account.email).await;
    let rows = stack.edge.sql(sql, &[json!(id)]).await;
    let of = |row: &Value| {
        (row["kind"].as_str().unwrap().to_owned(), row["deeds"].as_f64().unwrap() as u64)
    };
    rows.iter().map(of).collect()
}

/// Waits until the notices of these kinds are stored.
async fn wait_until_told(stack: &Stack, account: &Account, kinds: &str) {
    let id = stack.edge.id(&account.email).await;
    let rows = format!("notices WHERE account_id = '{id}' AND kind LIKE '{kinds}'");
    stack.edge.wait_for_count(&rows, 1).await;
}

async fn check(account: &Account) -> u16 {
    account.check("accepts+allowance@sandbox.test").await.status
}

#[tokio::test]
async fn the_owner_learns_of_80_percent_and_of_the_end_once_a_week_each() {
    let server = FakeWebhook::start();
    let stack = Stack::builder().webhooks(server.port).start().await;
    let ann = stack.edge.account().await;
    let settings = json!({ "webhook_url": format!("https://{HOST}/rcpt") });
    assert_eq!(ann.put("/notifications", &settings).await.status, 200);

    // 79 are used, then 80.
    leave(&stack, &ann, 22).await;
    assert_eq!(check(&ann).await, 200);
    assert_eq!(check(&ann).await, 200);
    let text = mail(&stack, &ann, NEARLY).await.text;
    for part in ["80 %", "00:00 UTC", "/overview", "turn it off"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Browser"), "{text}");
    let event = server.wait_for(HOST, 1).await.remove(0).body();
    assert_eq!(
        (&event["type"], &event["data"]),
        (&json!("allowance.nearly_used"), &json!({ "daily_allowance": 100, "used_today": 80 }))
    );

    // The guard's answer is the last one.
    leave(&stack, &ann, 1).await;
    let reply = ann.post("/guard/decide", &json!({ "email": "rejects@sandbox.test" })).await;
    let is_last = reply.header("ratelimit").starts_with("\"daily\";r=0;");
    assert_eq!((reply.status, is_last), (200, true));
    let text = mail(&stack, &ann, ALL).await.text;
    assert!(text.contains("used_up") && text.contains("/overview"), "{text}");
    let event = server.wait_for(HOST, 2).await.remove(1).body();
    assert_eq!(
        (&event["type"], &event["data"]),
        (&json!("allowance.used_up"), &json!({ "daily_allowance": 100, "used_today": 100 }))
    );

    // Within the week nobody learns anything again; after it, again.
    for left in [21, 2, 1] {
        leave(&stack, &ann, left).await;
        assert_eq!(check(&ann).await, 200);
    }
    let age = format!(
        "UPDATE notices SET happened_at = happened_at - {WEEK_S} WHERE kind = 'allowance_nearly_used'"
    );
    stack.edge.sql(&age, &[]).await;
    leave(&stack, &ann, 21).await;
    assert_eq!(check(&ann).await, 200);
    stack.edge.mailbox().wait_for_titled(&ann.email, NEARLY, 2).await.unwrap();
    server.wait_for(HOST, 3).await;
    stack.edge.run_scheduled().await;
    assert_eq!((mails(&stack, &ann), server.events(HOST).len()), ([2, 1], 3));
    let kinds = [("allowance_nearly_used".to_owned(), 2), ("allowance_used_up".to_owned(), 1)];
    assert_eq!(told(&stack, &ann).await, kinds);
}

#[tokio::test]
async fn nobody_is_notified_while_welcome_checks_are_left_nor_without_a_limit() {
    let stack = Stack::start().await;
    let [welcome, unlimited] = [stack.edge.account().await, stack.edge.account().await];
    let day = today().await;
    for used in [79, 99] {
        stack.edge.set(&welcome.email, &format!("day = {day}, daily_charged = {used}")).await;
        assert_eq!(check(&welcome).await, 200);
    }
    stack.edge.set(&unlimited.email, "plan = 'unlimited', welcome_left = 0").await;
    assert_eq!(check(&unlimited).await, 200);
    // The last welcome check is the end.
    stack.edge.set(&welcome.email, "welcome_left = 2").await;
    assert_eq!(check(&welcome).await, 200);
    assert_eq!((told(&stack, &welcome).await, told(&stack, &unlimited).await), (vec![], vec![]));
    assert_eq!(check(&welcome).await, 200);
    mail(&stack, &welcome, ALL).await;
    assert_eq!(mails(&stack, &welcome), [0, 1]);
}

#[tokio::test]
async fn where_the_email_is_switched_off_only_the_event_is_sent_and_nothing_is_mailed_later() {
    let server = FakeWebhook::start();
    let stack = Stack::builder().webhooks(server.port).start().await;
    let ann = stack.edge.account().await;
    let off = json!({ "allowance_email": false, "webhook_url": format!("https://{HOST}/rcpt") });
    let settings = ann.put("/notifications", &off).await;
    let shown = [&settings.body["allowance_email"], &settings.body["scan_email"]];
    assert_eq!((settings.status, shown), (200, [&json!(false), &json!(true)]));
    leave(&stack, &ann, 1).await;
    assert_eq!(check(&ann).await, 200);
    let event = server.wait_for(HOST, 1).await.remove(0).body();
    assert_eq!(event["type"], "allowance.used_up");
    let on = ann.put("/notifications", &json!({ "allowance_email": true })).await;
    assert_eq!((on.status, &on.body["allowance_email"]), (200, &json!(true)));
    stack.edge.run_scheduled().await;
    assert_eq!(mails(&stack, &ann), [0, 0]);
}

#[tokio::test]
async fn a_list_that_passes_both_marks_is_announced_once_and_so_are_many_answers_at_once() {
    let stack = Stack::start().await;
    let [list, many] = [stack.edge.account().await, stack.edge.account().await];
    leave(&stack, &list, 30).await;
    let emails: Vec<_> = (0..30).map(|n| format!("accepts+{n}@sandbox.test")).collect();
    assert_eq!(list.post("/validate_emails", &json!({ "emails": emails })).await.status, 200);
    mail(&stack, &list, ALL).await;

    // The verdict is cached, so that the checks are charged at the same time.
    assert_eq!(check(&many).await, 200);
    leave(&stack, &many, 30).await;
    let mut checks = JoinSet::new();
    for _ in 0..40 {
        let many = many.clone();
        checks.spawn(async move { check(&many).await });
    }
    let statuses = checks.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 30, "{statuses:?}");
    mail(&stack, &many, ALL).await;
    stack.edge.run_scheduled().await;
    assert_eq!(mails(&stack, &list), [0, 1]);
    let [nearly, all] = mails(&stack, &many);
    assert!(nearly <= 1 && all == 1, "{nearly} {all}");
}

#[tokio::test]
async fn the_account_s_allowance_counts_whatever_the_limit_of_the_key_that_is_used() {
    let stack = Stack::start().await;
    let ann = stack.edge.account().await;
    let terms =
        json!({ "name": "shop", "password": ann.password, "rights": ["checks"], "daily_limit": 2 });
    let key = ann.post("/keys", &terms).await;
    let key = key.text("api_key").to_owned();
    // The key's limit is used up, and the account's allowance isn't.
    leave(&stack, &ann, 60).await;
    for _ in 0..2 {
        let reply = ann.anonymous.check_with_key(&key, "accepts@sandbox.test").await;
        assert_eq!(reply.status, 200);
    }
    stack.edge.run_scheduled().await;
    assert_eq!(told(&stack, &ann).await, vec![]);
    // The header tells the key's limit, and the owner learns about the account.
    stack.edge.set(&ann.email, "key_use = '{}'").await;
    leave(&stack, &ann, 21).await;
    let reply = ann.anonymous.check_with_key(&key, "accepts@sandbox.test").await;
    let is_of_key = reply.header("ratelimit").starts_with("\"daily\";r=1;");
    assert_eq!((reply.status, is_of_key), (200, true), "{}", reply.header("ratelimit"));
    wait_until_told(&stack, &ann, "allowance_nearly_used").await;
    mail(&stack, &ann, NEARLY).await;
}
