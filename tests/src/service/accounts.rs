//! The accounts of an edge, from both sides: created as a person creates them, and inspected and changed in D1.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{Edge, Mail, forgery, secret};
use crate::people::{Account, Anonymous, Authenticator, Operator, PASSWORD};

impl Edge {
    /// A caller without credentials.
    pub fn anonymous(&self) -> Anonymous {
        Anonymous::new(&self.url)
    }

    /// The operator `dev`.
    pub fn operator(&self) -> Operator {
        Operator::new(self.anonymous(), self.var(secret::ADMIN))
    }

    /// An address that hasn't been registered yet.
    pub fn new_email(&self) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(1);
        format!("person-{}@rcpt-tests.net", COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// Registers a new address with [`PASSWORD`]; returns the address and the confirmation email.
    pub async fn registered(&self) -> (String, Mail) {
        let email = self.new_email();
        let mail = self.register(&email).await;
        (email, mail)
    }

    async fn register(&self, email: &str) -> Mail {
        let mut reply = self.anonymous().register(email, PASSWORD).await;
        // On a machine with much to do, a database may not answer in time.
        for _ in 0..3 {
            if reply.status != 503 {
                break;
            }
            reply = self.anonymous().register(email, PASSWORD).await;
        }
        assert_eq!(reply.status, 201, "{}\n{}", reply.body, self.process.last_lines());
        let mail = self.mailbox().wait_for_mail(email).await;
        mail.unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.last_lines()))
    }

    /// Creates an account: registers, and opens the emailed link, which signs in.
    pub async fn account(&self) -> Account {
        self.account_of(&self.new_email()).await
    }

    /// Creates a confirmed account with this address, signed in.
    pub async fn account_of(&self, email: &str) -> Account {
        let mail = self.register(email).await;
        let anonymous = self.anonymous();
        let reply = anonymous.verify_email(mail.token().expect("a token in the mail")).await;
        Account::from_credentials(&anonymous, PASSWORD, &reply)
    }

    /// Changes an account's row: `"plan = 'unlimited'"`, `"welcome_left = 0"`.
    pub async fn set(&self, email: &str, assignments: &str) {
        let sql = format!("UPDATE accounts SET {assignments} WHERE email = ? RETURNING id");
        let rows = self.sql(&sql, &[email.into()]).await;
        assert_eq!(rows.len(), 1, "{email}");
    }

    /// Changes the row of the account's own key: `"version = 7"`.
    pub async fn set_own_key(&self, email: &str, assignments: &str) {
        let id = self.id(email).await;
        let sql = format!(
            "UPDATE keys SET {assignments} WHERE account_id = ? AND id = '{}' RETURNING id",
            forgery::OWN
        );
        assert_eq!(self.sql_of(&id, &sql, &[id.as_str().into()]).await.len(), 1, "{email}");
    }

    /// Selects the version of the account's own key.
    pub async fn own_version(&self, email: &str) -> u64 {
        let version = format!(
            "(SELECT version FROM keys WHERE account_id = accounts.id AND id = '{}') AS version",
            forgery::OWN
        );
        self.row(email, &version).await.get("version").and_then(Value::as_u64).expect("a version")
    }

    /// Makes the last use of all keys of an account this many days older.
    pub async fn age_key_use(&self, email: &str, days: u64) {
        let older = format!("json_array(max(value ->> 0 - {days}, 0), value ->> 1, value ->> 2)");
        let all = format!("(SELECT json_group_object(key, {older}) FROM json_each(key_use))");
        self.set(email, &format!("key_use = {all}")).await;
    }

    /// Ends all sessions of the account directly in the database.
    pub async fn end_sessions(&self, email: &str) {
        let sql = "DELETE FROM sessions
            WHERE account_id = (SELECT id FROM accounts WHERE email = ?) RETURNING id";
        assert!(!self.sql(sql, &[email.into()]).await.is_empty(), "{email} has no session");
    }

    /// Selects `columns` (SQL) from the account's row.
    pub async fn row(&self, email: &str, columns: &str) -> Value {
        let sql = format!("SELECT {columns} FROM accounts WHERE email = ?");
        let rows = self.sql(&sql, &[email.into()]).await;
        rows.into_iter().next().unwrap_or_else(|| panic!("no account {email}"))
    }

    /// The id that the account of a registration will have.
    pub async fn registered_id(&self, email: &str) -> String {
        let sql = "SELECT account_id FROM registrations WHERE email = ? AND is_entered = 0";
        let rows = self.sql_in(0, sql, &[email.into()]).await;
        let id = rows.first().and_then(|row| row.get("account_id")?.as_str());
        id.unwrap_or_else(|| panic!("no registration of {email}")).to_owned()
    }

    /// The account's id: 16 hexadecimal digits.
    pub async fn id(&self, email: &str) -> String {
        let row = self.row(email, "id").await;
        row.get("id").and_then(Value::as_str).expect("an id").to_owned()
    }

    /// Runs one statement on the database of the account with this id.
    pub async fn sql_of(&self, account: &str, sql: &str, params: &[Value]) -> Vec<Value> {
        let number = account.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        self.sql_in(number.expect("an account's id"), sql, params).await
    }

    /// Waits until all reset emails have been sent.
    pub async fn wait_for_reset_mails(&self) {
        self.wait_for_count("mail_due", 0).await;
    }

    /// Waits until [`Self::count`] of `from` is `rows`.
    pub async fn wait_for_count(&self, from: &str, rows: u64) {
        for _ in 0..600 {
            if self.count(from).await == rows {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("not {rows} rows: {from}");
    }

    /// The number of rows in all databases; `from` is the text after `FROM`.
    pub async fn count(&self, from: &str) -> u64 {
        let rows = self.sql(&format!("SELECT count(*) AS n FROM {from}"), &[]).await;
        rows.iter().filter_map(|row| row.get("n").and_then(Value::as_u64)).sum()
    }

    /// The leases of the account, live or expired: `day`, `n_daily`, `n_welcome` and `expires_at` of
    /// each.
    pub async fn leases(&self, email: &str) -> Vec<Value> {
        let sql = "SELECT day, n_daily, n_welcome, expires_at FROM leases
                   WHERE account_id = (SELECT id FROM accounts WHERE email = ?)";
        self.sql(sql, &[email.into()]).await
    }

    /// Every table of D1 except those in `without`, each with its rows in all databases.
    pub async fn dump(&self, without: &[&str]) -> Vec<(String, Value)> {
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'
            ORDER BY name";
        let mut dump = Vec::new();
        for table in self.sql_in(0, tables, &[]).await {
            let name = table.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            if !without.contains(&name.as_str()) {
                let rows = self.sql(&format!("SELECT * FROM {name}"), &[]).await;
                dump.push((name, Value::Array(rows)));
            }
        }
        dump
    }

    /// Makes every time step of the account acceptable again, so that a test needn't wait for the next step.
    pub async fn forget_steps(&self, account: &Account) {
        let id = self.id(&account.email).await;
        let steps = "UPDATE second_factors SET last_step = 0 WHERE account_id = ?1";
        self.sql_of(&id, steps, &[id.as_str().into()]).await;
    }

    /// Returns the current code, and makes it acceptable even after the use of a later code.
    pub async fn fresh_code(&self, account: &Account, authenticator: &Authenticator) -> String {
        self.forget_steps(account).await;
        authenticator.code()
    }
    /// Waits until the emails about every change of an account were handed over. The schedule sends a recovery's, and
    /// those of a deed during the delivery of another's.
    pub async fn wait_until_told(&self, id: &str) {
        let untold = format!("changes WHERE account_id = '{id}' AND since > unixepoch()");
        for n in 1..600 {
            if self.count(&untold).await == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            if n % 20 == 0 {
                self.run_scheduled().await;
            }
        }
        panic!(
            "untold: {:?}",
            self.sql_of(id, "SELECT * FROM changes WHERE account_id = ?1", &[id.into()]).await
        );
    }

    /// Makes everything of an account this many seconds older: its changes, second factors, passkeys, keys, notices and
    /// events. A time of 0 stays, because it means that something hasn't happened.
    pub async fn pass(&self, id: &str, seconds: u64) {
        for (table, times) in [
            ("accounts", ["password_at", "reset_at"].as_slice()),
            ("changes", &["at", "since"]),
            ("second_factors", &["on_at", "off_at"]),
            ("waiting", &["at", "expires_at"]),
            ("passkeys", &["created_at"]),
            ("keys", &["created_at", "replaced_at"]),
            ("notices", &["due_at", "happened_at", "told_at", "drained_at"]),
            ("security_events", &["at"]),
            ("reset_links", &["expires_at", "next_expires_at"]),
        ] {
            let earlier: Vec<_> = times
                .iter()
                .map(|time| {
                    format!("{time} = CASE WHEN {time} > 0 THEN {time} - {seconds} ELSE {time} END")
                })
                .collect();
            let whose = if table == "accounts" { "id" } else { "account_id" };
            let sql = format!("UPDATE {table} SET {} WHERE {whose} = ?1", earlier.join(", "));
            self.sql_of(id, &sql, &[id.into()]).await;
        }
    }
}
