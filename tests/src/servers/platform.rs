//! A stand-in for Cloudflare's API (`platform.mjs`), and an operator's folder from which `make deploy` and
//! `tools/admin` work against it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::process::{Process, folder};

const START: Duration = Duration::from_secs(60);
/// Time limit of a deployment with wrangler on a busy machine.
const RUN: Duration = Duration::from_secs(300);
/// URL of the deployed Worker; the stand-in answers there.
const PORTAL: &str = "https://rcpt.acme.test";

/// A running stand-in with an empty account, and a folder with the repository's wrangler.toml beside a small Worker.
#[derive(Debug)]
pub struct Platform {
    process: Process,
    folder: PathBuf,
    /// Folder of the secrets, which must be outside any git work tree.
    home: TempDir,
    url: String,
}

/// Whether a run of an operator's program succeeded, and the program's output.
#[derive(Debug)]
pub struct Run {
    pub succeeded: bool,
    pub output: String,
}

impl Platform {
    /// Starts the stand-in, and fills the operator's folder.
    pub async fn start() -> Result<Self> {
        let folder = folder::scratch("platform")?;
        let repository = folder::repository();
        fs::create_dir_all(folder.join("edge/build"))?;
        fs::create_dir_all(folder.join("edge/portal/dist"))?;
        symlink(repository.join("edge/migrations"), folder.join("edge/migrations"))?;
        fs::copy(repository.join("wrangler.toml"), folder.join("wrangler.toml"))?;
        fs::write(folder.join("edge/build/index.js"), "export default { fetch() {} }")?;
        fs::write(folder.join("edge/portal/dist/index.html"), "<!doctype html>")?;
        let state = folder.join("state.json");
        fs::write(&state, "{}")?;
        let mut command = std::process::Command::new("node");
        command.arg(repository.join("tests/src/servers/platform.mjs")).arg(&state);
        command.current_dir(&repository);
        let mut process = Process::spawn("platform", &command, &folder)?;
        let line = process.wait_for_line("listening ", START).await?;
        let port = line.split(' ').next_back().context("a port")?;
        let url = format!("http://127.0.0.1:{port}");
        let preload = format!(
            "const real = fetch; globalThis.fetch = (url, options) => String(url).startsWith(\"{PORTAL}/\") \
             ? real(\"{url}\" + new URL(url).pathname, options) : real(url, options);"
        );
        fs::write(folder.join("preload.mjs"), preload)?;
        Ok(Self { process, folder, home: tempfile::tempdir()?, url })
    }

    /// Starts the stand-in with one database and two migrations, for fewer calls.
    pub async fn small() -> Result<Self> {
        let platform = Self::start().await?;
        let migrations = platform.folder.join("edge/migrations");
        let all = fs::canonicalize(&migrations)?;
        fs::remove_file(&migrations)?;
        fs::create_dir(&migrations)?;
        fs::copy(all.join("0001.sql"), migrations.join("0001.sql"))?;
        let second = "CREATE TABLE second (number INTEGER) STRICT;";
        fs::write(migrations.join("0002_second.sql"), second)?;
        platform.edit(|text| {
            let start = text.find("[[d1_databases]]\nbinding = \"DB_1\"").expect("DB_1");
            let end =
                text.find("# `make deploy` creates the namespace and").expect("the namespace");
            format!("{}{}", &text[..start], &text[end..]).replace("*:0,1,2", "*:0")
        })?;
        Ok(platform)
    }

    /// Replaces the text of the operator's wrangler.toml by the result of `change`.
    pub fn edit(&self, change: impl FnOnce(String) -> String) -> Result<()> {
        Ok(fs::write(self.configuration(), change(fs::read_to_string(self.configuration())?))?)
    }

    pub fn configuration(&self) -> PathBuf {
        self.folder.join("wrangler.toml")
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the operator's copy of the secrets.
    pub fn secrets_file(&self) -> PathBuf {
        self.home.path().join("kept/rcpt.secrets")
    }

    /// Runs `make deploy` with the three values that it needs, and these variables (an empty variable is removed).
    pub async fn deploy(&self, variables: &[(&str, &str)]) -> Result<Run> {
        let mut command = self.program("deploy.mjs");
        command
            .env("NODE_OPTIONS", self.preload())
            .env("SECRETS_FILE", self.secrets_file())
            .env("PORTAL_URL", PORTAL)
            .env("MAIL_FROM", "rcpt@acme.test")
            .env("CONTACT_EMAIL", "help@acme.test");
        for (name, value) in variables {
            if value.is_empty() {
                command.env_remove(name)
            } else {
                command.env(name, value)
            };
        }
        Self::run(&mut command).await
    }

    /// Runs `tools/admin` on the deployed service.
    pub async fn admin(&self, words: &[&str]) -> Result<Run> {
        let mut command = self.program("admin.mjs");
        command.env("SECRETS_FILE", self.secrets_file()).env("NODE_OPTIONS", self.preload());
        command.env("SETTLE_MS", "0");
        Self::run(command.args(words)).await
    }

    /// Runs the lines `npx wrangler …` of a page's section, such as `deploy.md`, "Take it down", without their
    /// comments.
    ///
    /// # Errors
    /// If the section has no such line, or a program can't be started.
    pub async fn follow(&self, page: &str, section: &str) -> Result<Vec<Run>> {
        let repository = folder::repository();
        let page = fs::read_to_string(repository.join("docs/operating").join(page))?;
        let (_, text) = page.split_once(&format!("\n## {section}\n")).context("the section")?;
        let text = text.split("\n## ").next().unwrap_or_default();
        let mut runs = Vec::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("npx wrangler ")) {
            let words = line.split_whitespace().take_while(|word| *word != "#");
            let mut command = Command::new(repository.join("node_modules/.bin/wrangler"));
            command.args(words).arg("--config").arg(self.configuration()).kill_on_drop(true);
            command
                .env("CLOUDFLARE_ACCOUNT_ID", "a".repeat(32))
                .env("WRANGLER_SEND_METRICS", "false");
            runs.push(Self::run(self.account(&mut command)).await?);
        }
        ensure!(!runs.is_empty(), "{section} has no command");
        Ok(runs)
    }

    /// The command for one of the operator's programs, with this account and its wrangler.toml.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(folder::repository().join("devtools/operator").join(name));
        command.arg("--config").arg(self.configuration()).kill_on_drop(true);
        self.account(&mut command);
        command
    }

    fn account<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env("CLOUDFLARE_API_BASE_URL", &self.url)
            .env("CLOUDFLARE_API_TOKEN", "token")
            .env("NO_COLOR", "1")
            .env("XDG_CONFIG_HOME", self.folder.join("home"))
    }

    /// Leads requests for the portal to the stand-in.
    fn preload(&self) -> String {
        format!("--import {}", self.folder.join("preload.mjs").display())
    }

    async fn run(command: &mut Command) -> Result<Run> {
        command.stdin(std::process::Stdio::null());
        let output = tokio::time::timeout(RUN, command.output()).await??;
        let text = [output.stdout, output.stderr].concat();
        Ok(Run {
            succeeded: output.status.success(),
            output: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    /// Sends a command to the stand-in: its `cut` and `refuse` replace those of earlier commands, and `state` is
    /// merged.
    pub async fn order(&self, order: &Value) -> Result<()> {
        let reply = reqwest::Client::new()
            .post(format!("{}/control", self.url))
            .json(order)
            .send()
            .await
            .with_context(|| format!("no stand-in\n{}", self.process.last_lines()))?;
        ensure!(reply.status().is_success(), "{}", reply.text().await?);
        Ok(())
    }

    /// The state of the account.
    pub async fn state(&self) -> Result<Value> {
        self.control("/state").await
    }

    /// The number of calls that changed something.
    pub async fn changes(&self) -> Result<usize> {
        let calls = self.control("/calls").await?;
        let calls = calls.as_array().context("calls")?;
        Ok(calls.iter().filter(|call| call["changes"] == json!(true)).count())
    }

    /// Inserts an account into the database with this id.
    pub async fn insert_account(&self, database: &str) -> Result<()> {
        let values = "('0123456789abcdef', 'ann@example.org', 'phc', 0)";
        let columns = "id, email, password_hash, created_at";
        self.sql(database, &format!("INSERT INTO accounts ({columns}) VALUES {values}")).await?;
        Ok(())
    }

    /// Creates a database of this name with a table that isn't ours.
    pub async fn insert_foreign_database(&self, name: &str) -> Result<()> {
        let accounts = format!("{}/accounts/{}/d1/database", self.url, "a".repeat(32));
        let body = json!({ "name": name }).to_string();
        let reply = reqwest::Client::new().post(accounts).body(body).send().await?.text().await?;
        let reply: Value = serde_json::from_str(&reply)?;
        let id = reply["result"]["uuid"].as_str().context("an id")?;
        self.sql(id, "CREATE TABLE orders (number INTEGER)").await?;
        Ok(())
    }

    /// Notes the present state of a database, by its id, as time travel does each minute.
    ///
    /// # Errors
    /// If the stand-in doesn't answer.
    pub async fn bookmark(&self, database: &str) -> Result<()> {
        let account = format!("{}/accounts/{}", self.url, "a".repeat(32));
        let url = format!("{account}/d1/database/{database}/time_travel/bookmark");
        reqwest::get(url).await?.error_for_status()?;
        Ok(())
    }

    /// Runs a statement in a database, by its id, and returns the rows.
    pub async fn sql(&self, database: &str, sql: &str) -> Result<Value> {
        let account = format!("{}/accounts/{}", self.url, "a".repeat(32));
        let body = json!({ "sql": sql }).to_string();
        let query = format!("{account}/d1/database/{database}/query");
        let reply = reqwest::Client::new().post(query).body(body).send().await?;
        let (succeeded, text) = (reply.status().is_success(), reply.text().await?);
        ensure!(succeeded, "{text}");
        let reply: Value = serde_json::from_str(&text)?;
        Ok(reply["result"][0]["results"].clone())
    }

    async fn control(&self, member: &str) -> Result<Value> {
        let reply = reqwest::get(format!("{}/control", self.url)).await?;
        let reply: Value = serde_json::from_str(&reply.text().await?)?;
        Ok(reply.pointer(&format!("/result{member}")).cloned().unwrap_or_default())
    }
}
