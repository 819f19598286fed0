//! The built Worker in workerd, with D1, KV and Cache API of its own.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use reqwest::Client;
use serde_json::{Value, json};

use crate::{Mailbox, Process, folder, nested, port, secret};

/// How many attempts need not wait. All tests come from one network.
const FREE_ATTEMPTS: [&str; 6] = [
    "THROTTLE_ACCOUNT_FREE_ATTEMPTS",
    "THROTTLE_NETWORK_FREE_ATTEMPTS",
    "REGISTRATION_MAILS_FREE",
    "RESET_MAILS_FREE",
    "REGISTRATION_MAILS_PER_DAY",
    "RESET_MAILS_PER_DAY",
];

/// Every collection of garbage is a full one, and comes after at most a few megabytes.
const FULL_COLLECTIONS: [&str; 2] = ["--gc-global", "--max-semi-space-size=2"];

/// A test that waits longer would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);
const START: Duration = Duration::from_secs(60);

/// Builds the Worker unless it is up to date.
///
/// # Errors
/// It does not build.
pub fn build() -> Result<()> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| run_make().map_err(|error| format!("{error:#}")));
    built.clone().map_err(anyhow::Error::msg)
}

fn run_make() -> Result<()> {
    let output = nested::build("make")
        .args(["--no-print-directory", "edge/build/.built"])
        .current_dir(folder::repository())
        .output()
        .context("running make")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the Worker does not build:\n{errors}");
    Ok(())
}

/// What a Worker is started with.
#[derive(Debug, Clone)]
pub struct Builder {
    vars: BTreeMap<String, String>,
    shielded: bool,
    mailless: bool,
    shimmed: bool,
    inspector: Option<u16>,
    beside: Option<[u16; 2]>,
    v8_flags: Option<&'static [&'static str]>,
    port: u16,
}

impl Builder {
    /// A var or secret, instead of the harness's or wrangler.toml's.
    #[must_use]
    pub fn var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.vars.insert(name.to_owned(), value.into());
        self
    }

    /// The origins it asks, in no order of preference.
    #[must_use]
    pub fn origins(self, urls: &[&str]) -> Self {
        self.var("ORIGINS", urls.join(","))
    }

    /// With the rate limits of wrangler.toml and the Worker's own waits between attempts, which
    /// otherwise let everything through.
    #[must_use]
    pub fn throttled(mut self) -> Self {
        self.shielded = true;
        self.with_waits()
    }

    /// With the Worker's own waits between attempts, but without the rate limits before them.
    #[must_use]
    pub fn with_waits(mut self) -> Self {
        self.vars.retain(|name, _| !FREE_ATTEMPTS.contains(&name.as_str()));
        self
    }

    /// With bindings that can be counted and made to fail: `edge.counts()`, `edge.fail(…)`.
    #[must_use]
    pub fn shimmed(mut self) -> Self {
        self.shimmed = true;
        self
    }

    /// With the runtime's inspector on a port of its own.
    #[must_use]
    pub fn inspected(mut self, port: u16) -> Self {
        self.inspector = Some(port);
        self
    }

    /// With the two Workers of `tests/bench` in the same runtime, on ports of their own: the JavaScript
    /// one, then the empty one.
    #[must_use]
    pub fn beside(mut self, ports: [u16; 2]) -> Self {
        self.beside = Some(ports);
        self
    }

    /// With a runtime that holds next to no garbage, so that its memory is what is in use: otherwise V8
    /// lets each isolate's heap grow to some 80 MB, whatever is in it.
    #[must_use]
    pub fn without_garbage(mut self) -> Self {
        self.v8_flags = Some(&FULL_COLLECTIONS);
        self
    }

    /// Whether mails can be handed over.
    #[must_use]
    pub fn mailless(mut self, mailless: bool) -> Self {
        self.mailless = mailless;
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Errors
    /// It is not built, ends, or does not answer in time; the error shows its log.
    pub async fn start(self) -> Result<Edge> {
        let folder = folder::scratch("edge")?;
        self.start_in(&folder).await
    }

    async fn start_in(self, folder: &Path) -> Result<Edge> {
        tokio::task::spawn_blocking(build).await??;
        let root = folder::repository();
        let [direct, control] = [port::free(), port::free()];
        let settings = json!({
            "wrangler": root.join("wrangler.toml"),
            "port": self.port,
            "direct": direct,
            "control": control,
            "state": folder.join("state"),
            "vars": self.vars,
            "shielded": self.shielded,
            "mailless": self.mailless,
            "shimmed": self.shimmed,
            "inspector": self.inspector,
            "beside": self.beside,
            "v8Flags": self.v8_flags,
        });
        let file = folder.join("settings.json");
        fs::write(&file, settings.to_string())?;
        let temporary = folder.join("tmp");
        fs::create_dir_all(&temporary)?;

        let mut command = Command::new("node");
        // In tests/src, from where Node finds the repository's node_modules.
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/edge.mjs")).arg(file);
        command.current_dir(&root).env("TMPDIR", temporary);
        command.env("WRANGLER_SEND_METRICS", "false").env("NO_COLOR", "1");
        let mut process = Process::spawn("edge", &command, folder)?;
        process.wait_for_line("ready ", START).await?;
        Ok(Edge {
            process,
            url: format!("http://127.0.0.1:{}", self.port),
            direct: format!("http://127.0.0.1:{direct}"),
            control: format!("http://127.0.0.1:{control}"),
            client: Client::builder().pool_max_idle_per_host(0).timeout(PATIENCE).build()?,
            folder: folder.to_owned(),
            builder: self,
        })
    }
}

/// A running Worker.
#[derive(Debug)]
pub struct Edge {
    pub process: Process,
    /// `http://127.0.0.1:PORT`, without `/v1`.
    pub url: String,
    /// The same without miniflare's own Worker in front, which does not notice that a client leaves.
    pub direct: String,
    control: String,
    client: Client,
    folder: PathBuf,
    builder: Builder,
}

impl Edge {
    /// A Worker with fresh secrets, no origin, and no rate limits.
    ///
    /// # Panics
    /// There is no `/dev/urandom`.
    #[must_use]
    pub fn builder() -> Builder {
        let port = port::free();
        let mut vars = BTreeMap::from([
            ("ORIGINS".to_owned(), "http://127.0.0.1:1".to_owned()),
            ("PORTAL_URL".to_owned(), format!("http://127.0.0.1:{port}")),
            ("MAIL_FROM".to_owned(), "rcpt@rcpt-tests.net".to_owned()),
        ]);
        for name in FREE_ATTEMPTS {
            vars.insert(name.to_owned(), "1000000000".to_owned());
        }
        for name in secret::EDGE {
            vars.insert(name.to_owned(), secret::key_ring().expect("/dev/urandom"));
        }
        Builder {
            vars,
            shielded: false,
            mailless: false,
            shimmed: false,
            inspector: None,
            beside: None,
            v8_flags: None,
            port,
        }
    }

    /// The mails it has sent.
    #[must_use]
    pub fn mailbox(&self) -> Mailbox {
        Mailbox::of_log(self.process.log_path())
    }

    /// Runs one statement on its D1 and returns the rows, each an object; `params` fill the `?`s.
    ///
    /// # Panics
    /// D1 refuses the statement.
    pub async fn sql(&self, sql: &str, params: &[Value]) -> Vec<Value> {
        let body = json!({ "sql": sql, "params": params }).to_string();
        let reply = self
            .client
            .post(format!("{}/sql", self.control))
            .body(body)
            .send()
            .await
            .expect("edge.mjs");
        let status = reply.status();
        let text = reply.text().await.expect("edge.mjs");
        assert!(status.is_success(), "{sql}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// `kill -9` of workerd and all, then a start with the same state, secrets and port.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub async fn restart(&mut self) -> Result<()> {
        self.restart_with(|builder| builder).await
    }

    /// As [`Edge::restart`], with other settings. The log, and with it the mailbox, starts anew.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub async fn restart_with(&mut self, change: impl FnOnce(Builder) -> Builder) -> Result<()> {
        self.process.kill();
        *self = change(self.builder.clone()).start_in(&self.folder.clone()).await?;
        Ok(())
    }

    /// Where D1, KV and the Cache API are kept: wrangler's `--persist-to`.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Runs the scheduled handler once.
    ///
    /// # Panics
    /// It fails.
    pub async fn run_scheduled(&self) {
        let url = format!("{}/scheduled", self.control);
        let reply = self.client.post(url).send().await.expect("edge.mjs");
        assert_eq!(reply.text().await.expect("edge.mjs"), "ok");
    }
}
