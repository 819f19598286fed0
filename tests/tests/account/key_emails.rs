//! When the secret of all keys is replaced, every owner gets one email, wherever a run is cut
//! (docs/operating/incidents.md, Replace a secret).

use rcpt_tests::{Edge, Platform};
use serde_json::{Value, json};

use super::secret_replacement::{of_ring, secrets};

const ENDED: &str = "Your API keys have stopped working";
const TO_END: &str = "Your API keys will stop working";
const EMAILS: &str = "SELECT account_id, kind, deeds, due_at - happened_at AS wait FROM notices ORDER BY account_id, kind";

struct World {
    platform: Platform,
    databases: Vec<String>,
    later: i64,
}

impl World {
    async fn start() -> Self {
        let platform = Platform::start().await.unwrap();
        let run = platform.deploy(&[]).await.unwrap();
        assert!(run.succeeded, "{}", run.output);
        let state = platform.state().await.unwrap();
        let databases = state["databases"].as_array().unwrap().iter();
        let databases = databases.map(|each| each["uuid"].as_str().unwrap().to_owned()).collect();
        let mut world = Self { platform, databases, later: 0 };
        world.wait(3_600).await;
        world
    }

    async fn wait(&mut self, seconds: i64) {
        self.later += seconds;
        self.platform.order(&json!({ "state": { "later": self.later } })).await.unwrap();
    }

    async fn register(&self, database: usize, id: &str, state: &str) {
        let row = format!("('{id}', '{id}@example.org', 'phc', 0, '{state}')");
        let sql = format!(
            "INSERT INTO accounts (id, email, password_hash, created_at, state) VALUES {row}"
        );
        self.platform.sql(&self.databases[database], &sql).await.unwrap();
    }

    async fn emails(&self) -> Vec<(String, String, u64, u64)> {
        let mut all = Vec::new();
        for database in &self.databases {
            let rows = self.platform.sql(database, EMAILS).await.unwrap();
            let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
            let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
            all.extend(rows.as_array().unwrap().iter().map(|row| {
                (
                    text(row, "account_id"),
                    text(row, "kind"),
                    number(row, "deeds"),
                    number(row, "wait"),
                )
            }));
        }
        all
    }

    async fn keys(&self) -> Vec<String> {
        let secrets = secrets(&self.platform).await;
        of_ring(&secrets, "API_KEY_SECRET").into_iter().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn each_owner_gets_one_email_about_a_leaked_value_wherever_the_run_is_cut_and_however_late_it_goes_on()
 {
    let mut world = World::start().await;
    for (database, id) in [(0, "ann"), (0, "bob"), (2, "carl")] {
        world.register(database, id, "confirmed").await;
    }
    world.register(1, "abuser", "deactivated").await;
    for n in 10..37 {
        world.register(1, &format!("n{n}"), "confirmed").await;
    }
    let leaked = world.keys().await;
    let words = ["secret", "--yes", "--now", "API_KEY"];
    // Each call is once the last that takes effect: two add a value, three write emails, one deletes.
    let cuts =
        [(1, false, 2), (2, false, 3), (2, false, 3), (3, false, 3), (4, false, 2), (4, true, 2)];
    for (n, (after, before, values)) in cuts.into_iter().enumerate() {
        let cut = json!({ "cut": { "after": after, "before": before } });
        world.platform.order(&cut).await.unwrap();
        let run = world.platform.admin(&words).await.unwrap();
        assert!(!run.succeeded, "{n}: {}", run.output);
        let now = world.keys().await;
        assert_eq!((now.len(), &now[0]), (values, &leaked[0]), "{n}: {now:?}");
        // The next run begins when the added value signs, and somebody has registered meanwhile.
        world.wait(3_600).await;
        world.register(0, &format!("late{n}"), "confirmed").await;
    }
    assert_eq!(world.emails().await.len(), 3 + 27 + 5, "all but who registered last");
    let run = world.platform.admin(&words).await.unwrap();
    assert!(run.succeeded && run.output.contains("36 owners by email"), "{}", run.output);
    let after = world.keys().await;
    assert!(after.len() == 1 && after != leaked, "{after:?}");
    let emails = world.emails().await;
    assert_eq!(emails.len(), 3 + 27 + 6);
    assert!(
        emails.iter().all(|(_, kind, deeds, _)| kind == "keys_ended" && *deeds == 1),
        "{emails:?}"
    );
    // They leave the Worker's run some of its fifty emails: thirteen a run of each database.
    let wait = |name: &str| emails.iter().find(|(id, ..)| id == name).unwrap().3;
    assert_eq!(["n10", "n22", "n23", "n36"].map(wait), [900, 900, 1_200, 1_500]);
    // Another leak causes another email.
    world.wait(3_600).await;
    let run = world.platform.admin(&words).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert!(world.emails().await.iter().all(|(_, _, deeds, _)| *deeds == 2));
}

#[tokio::test]
async fn nothing_ends_before_its_owners_were_told_for_thirty_days_unless_it_leaks() {
    let mut world = World::start().await;
    world.register(0, "ann", "confirmed").await;
    let first = world.keys().await;
    let words = ["secret", "--yes", "API_KEY"];
    let run = async |world: &World| world.platform.admin(&words).await.unwrap().output;
    assert!(run(&world).await.contains("a value is added"));
    // An account that registers before the new value signs has a key of the old one.
    world.register(2, "carl", "confirmed").await;
    assert!(run(&world).await.contains("its owners can be told from"));
    world.wait(40 * 86_400).await;
    assert!(run(&world).await.contains("2 owners by email"));
    assert!(run(&world).await.contains("can be deleted from"));
    let emails = world.emails().await;
    let expected = ["ann", "carl"].map(|id| (id.to_owned(), "keys_end".to_owned(), 1, 900));
    assert_eq!(emails, expected);
    world.wait(29 * 86_400).await;
    assert!(run(&world).await.contains("can be deleted from"));
    assert_eq!(world.keys().await[..1], first[..]);
    // After a leak, no email about a coming end is left.
    let run = world.platform.admin(&["secret", "--yes", "--now", "API_KEY"]).await.unwrap();
    assert!(run.succeeded, "{}", run.output);
    assert_eq!(world.keys().await.len(), 1);
    assert_eq!(world.emails().await.len(), 4);
    for database in &world.databases {
        let open = "SELECT account_id FROM notices WHERE kind = 'keys_end' AND told < deeds";
        assert_eq!(world.platform.sql(database, open).await.unwrap(), json!([]));
    }
}

#[tokio::test]
async fn an_owner_reads_until_when_the_keys_work_or_that_they_have_ended() {
    let edge = Edge::builder().start().await.unwrap();
    let account = edge.account().await;
    for (kind, subject, said) in [
        ("keys_end", TO_END, "from before will stop working on 6 June 2026, 08:05 UTC."),
        ("keys_ended", ENDED, "from before have stopped working."),
    ] {
        let sql = "INSERT INTO notices (account_id, kind, due_at, happened_at) SELECT id, ?, 0, 1778141100 FROM accounts WHERE email = ?";
        edge.sql(sql, &[json!(kind), json!(account.email)]).await;
        edge.run_scheduled().await;
        let mail = edge.mailbox().wait_for_titled(&account.email, subject, 1).await.unwrap();
        let text = mail.text.replace('\n', " ");
        assert!(text.contains(said) && !text.contains("If this wasn't you"), "{text}");
    }
    edge.wait_for_count("notices WHERE told = deeds AND attempts = 0", 2).await;
    edge.sql("UPDATE notices SET due_at = 0", &[]).await;
    edge.run_scheduled().await;
    let titles = edge.mailbox().mails_to(&account.email).into_iter().map(|mail| mail.subject);
    assert_eq!(titles.filter(|title| title.starts_with("Your API keys")).count(), 2);
}
