//! The built Worker in workerd, with its own D1, KV and Cache API.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use rcpt_shared::KeyRing;
use reqwest::Client;
use serde_json::{Value, json};

use super::{
    Mailbox, secret,
    workerd::{Workerd, node},
};
use crate::process::{
    folder,
    nested_build::{self, Once, once},
    port,
};

/// Vars that are raised to allow many attempts without waits, because all tests share one network.
const FREE_ATTEMPTS: [&str; 8] = [
    "THROTTLE_ACCOUNT_FREE_ATTEMPTS",
    "THROTTLE_NETWORK_FREE_ATTEMPTS",
    "MAILS_NETWORK_FREE",
    "MAILS_SITE_FREE",
    "REGISTRATION_MAILS_FREE",
    "RESET_MAILS_FREE",
    "REGISTRATION_MAILS_PER_DAY",
    "RESET_MAILS_PER_DAY",
];
/// Vars for the rate of password hashes, and of one account's requests.
const RATES: [&str; 2] = ["PASSWORD_HASHES_PER_MINUTE", "ACCOUNT_REQUESTS_PER_SECOND"];

/// Time limit of a request; no response should take that long.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Builds the Worker unless it is up to date.
pub fn build() -> Result<()> {
    static BUILT: Once<()> = Once::new();
    once(&BUILT, run_make)
}

fn run_make() -> Result<()> {
    let kind = env::var("RCPT_WORKER").unwrap_or_else(|_| "shipped".to_owned());
    let output = nested_build::command("make")
        .args(["--no-print-directory", &format!("edge/build/.{kind}")])
        .current_dir(folder::repository())
        .output()
        .context("running make")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the Worker does not build:\n{errors}");
    Ok(())
}

/// The file into which `wrangler.mjs` has converted wrangler.toml, once per process.
fn wrangler() -> Result<PathBuf> {
    static READ: Once<PathBuf> = Once::new();
    once(&READ, read_wrangler)
}

fn read_wrangler() -> Result<PathBuf> {
    let file = folder::scratch("wrangler")?.join("wrangler.json");
    let output = node("wrangler.mjs")
        .arg(folder::repository().join("wrangler.toml"))
        .arg(&file)
        .output()
        .context("running node")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "wrangler.toml cannot be read:\n{errors}");
    Ok(file)
}

fn is_of(ring: &str, name: &str) -> bool {
    name.strip_prefix(ring).is_some_and(|rest| rest.starts_with('_'))
}

/// A further Worker in the same runtime: its script, port and vars.
type Beside = (PathBuf, u16, Vec<(String, String)>);

/// Settings with which a Worker starts.
#[derive(Debug, Clone)]
pub struct EdgeBuilder {
    vars: BTreeMap<String, String>,
    shielded: bool,
    shields: BTreeMap<String, u32>,
    pages: bool,
    mailless: bool,
    shimmed: bool,
    beside: Vec<Beside>,
    variants: Vec<(BTreeMap<String, String>, u16)>,
    databases: Option<usize>,
    webhooks: Option<u16>,
    exchanged: Option<[u8; 2]>,
    port: u16,
}

impl EdgeBuilder {
    /// Sets a var or secret, overriding those of the harness and of wrangler.toml.
    pub fn var(mut self, name: &str, value: impl Into<String>) -> Self {
        self.vars.insert(name.to_owned(), value.into());
        self
    }

    /// Replaces a ring by values with commas between: all are hours old, and the first signs.
    pub fn ring(self, ring: &str, values: &str) -> Self {
        let mut builder = self.without_ring(ring);
        builder.vars.extend(secret::vars(ring, values));
        builder
    }

    /// Removes all values of a ring.
    pub fn without_ring(mut self, ring: &str) -> Self {
        self.vars.retain(|name, _| !is_of(ring, name));
        self
    }

    /// Serves the portal's pages, under a host name for which browsers allow passkeys; for an IP address they allow no
    /// passkeys.
    pub fn on_localhost(self) -> Self {
        let url = format!("http://localhost:{}", self.port);
        self.pages().var("PORTAL_URL", url)
    }

    /// Sets the origins, in no order of preference.
    pub fn origins(self, urls: &[&str]) -> Self {
        self.var("ORIGINS", urls.join(","))
    }

    /// Keeps the rate limits of wrangler.toml and the Worker's waits between attempts, which are off by default.
    pub fn throttled(mut self) -> Self {
        self.shielded = true;
        self.vars.retain(|name, _| !RATES.contains(&name.as_str()));
        self.with_waits()
    }

    /// Sets the rate limit binding of this name to `limit` requests, in a period that never ends.
    pub fn shield(mut self, name: &str, limit: u32) -> Self {
        self.shields.insert(name.to_owned(), limit);
        self
    }

    /// Keeps the Worker's default waits between attempts, but not the rate limits before them.
    pub fn with_waits(mut self) -> Self {
        self.vars.retain(|name, _| !FREE_ATTEMPTS.contains(&name.as_str()));
        self
    }

    /// Serves the portal's pages. Otherwise the Worker only reads its own files among them.
    pub fn pages(mut self) -> Self {
        self.pages = true;
        self
    }

    /// Lets the bindings be counted and made to fail: `edge.counts()`, `edge.fail(…)`.
    pub fn shimmed(mut self) -> Self {
        self.shimmed = true;
        self
    }

    /// Adds a further Worker in the same runtime, with the same D1, KV and rate limits; `vars` are further vars.
    pub fn beside(mut self, script: PathBuf, port: u16, vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.beside.push((script, port, vars.collect()));
        self
    }

    /// Adds the same Worker with other vars to the same runtime and storage, as during a deployment. The new Worker's
    /// URL is in [`Edge::variants`].
    pub fn variant(mut self, vars: &[(&str, String)]) -> Self {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        self.variants.push((vars.collect(), port::free()));
        self
    }

    /// Sets the number of databases, instead of wrangler.toml's.
    pub fn databases(mut self, count: usize) -> Self {
        self.databases = Some(count);
        self
    }

    /// Sets the port of a server that receives every `https` request, with its URL in the header `x-url`.
    pub fn webhooks(mut self, port: u16) -> Self {
        self.webhooks = Some(port);
        self
    }

    /// Swaps the bindings of the two databases with these numbers.
    pub fn exchanged(mut self, numbers: Option<[u8; 2]>) -> Self {
        self.exchanged = numbers;
        self
    }

    /// Sets whether every email is rejected.
    pub fn mailless(mut self, mailless: bool) -> Self {
        self.mailless = mailless;
        self
    }

    /// Starts the Worker and waits until it answers.
    pub async fn start(self) -> Result<Edge> {
        let folder = folder::scratch("edge")?;
        self.start_in(&folder).await
    }

    async fn start_in(self, folder: &Path) -> Result<Edge> {
        let wrangler = tokio::task::spawn_blocking(|| build().and_then(|()| wrangler())).await??;
        let [direct, control] = [port::free(), port::free()];
        let beside = self.beside.iter().map(|(script, port, vars)| {
            let vars: BTreeMap<_, _> = vars.iter().cloned().collect();
            json!({ "script": script, "port": port, "vars": vars })
        });
        let beside: Vec<_> = beside.collect();
        let variants = self.variants.iter();
        let variants: Vec<_> =
            variants.map(|(vars, port)| json!({ "vars": vars, "port": port })).collect();
        let settings = json!({
            "wrangler": wrangler,
            "port": self.port,
            "direct": direct,
            "control": control,
            "state": folder.join("state"),
            "vars": self.vars,
            "shielded": self.shielded,
            "shields": self.shields,
            "pages": self.pages,
            "mailless": self.mailless,
            "shimmed": self.shimmed,
            "beside": beside,
            "variants": variants,
            "databases": self.databases,
            "webhooks": self.webhooks,
            "exchanged": self.exchanged,
        });
        let process = Workerd::start(settings, folder).await?;
        let variant_urls = self.variants.iter();
        let variant_urls =
            variant_urls.map(|(_, port)| format!("http://127.0.0.1:{port}")).collect();
        Ok(Edge {
            process,
            url: format!("http://127.0.0.1:{}", self.port),
            direct: format!("http://127.0.0.1:{direct}"),
            control: format!("http://127.0.0.1:{control}"),
            variants: variant_urls,
            client: Client::builder().pool_max_idle_per_host(0).timeout(REQUEST_TIMEOUT).build()?,
            folder: folder.to_owned(),
            builder: self,
        })
    }
}

/// A running Worker, and access to its databases, log and emails.
#[derive(Debug)]
pub struct Edge {
    pub process: Workerd,
    /// `http://127.0.0.1:PORT`, without `/v1`.
    pub url: String,
    /// URL that bypasses miniflare's own Worker, which doesn't notice that a client leaves.
    pub direct: String,
    /// URL of each [`EdgeBuilder::variant`], without `/v1`.
    pub variants: Vec<String>,
    control: String,
    client: Client,
    folder: PathBuf,
    builder: EdgeBuilder,
}

impl Edge {
    /// Settings with fresh secrets, no origin, and no rate limits.
    pub fn builder() -> EdgeBuilder {
        let port = port::free();
        let mut vars = BTreeMap::from([
            ("ORIGINS".to_owned(), "http://127.0.0.1:1".to_owned()),
            ("PORTAL_URL".to_owned(), format!("http://127.0.0.1:{port}")),
            ("MAIL_FROM".to_owned(), "rcpt@rcpt-tests.net".to_owned()),
            ("DNS_URL".to_owned(), "off".to_owned()),
        ]);
        for name in FREE_ATTEMPTS.into_iter().chain(RATES) {
            vars.insert(name.to_owned(), "1000000000".to_owned());
        }
        for ring in secret::RINGS {
            vars.extend(secret::vars(ring, &secret::value().expect("/dev/urandom")));
        }
        vars.insert(secret::ADMIN.to_owned(), secret::value().expect("/dev/urandom"));
        EdgeBuilder {
            vars,
            shielded: false,
            shields: BTreeMap::new(),
            pages: false,
            mailless: false,
            shimmed: false,
            beside: Vec::new(),
            variants: Vec::new(),
            databases: None,
            webhooks: None,
            exchanged: None,
            port,
        }
    }

    /// Returns this ring of the Worker.
    ///
    /// # Panics
    /// If there is no ring of this name.
    pub fn key_ring(&self, ring: &str) -> KeyRing {
        let vars = self.builder.vars.iter().rev();
        let values = vars.filter(|(name, _)| is_of(ring, name)).map(|(_, value)| value.as_str());
        KeyRing::parse(&values.collect::<Vec<_>>().join(",")).expect("a key ring")
    }

    /// The value of this var of the Worker.
    pub fn var(&self, name: &str) -> &str {
        &self.builder.vars[name]
    }

    /// The emails that the Worker has sent.
    pub fn mailbox(&self) -> Mailbox {
        Mailbox::of_log(self.process.log_path())
    }

    /// Runs one statement on each database and returns all rows as objects; `params` are the values for `?`.
    pub async fn sql(&self, sql: &str, params: &[Value]) -> Vec<Value> {
        self.try_sql(sql, params).await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Like [`Self::sql`], but returns an error.
    pub async fn try_sql(&self, sql: &str, params: &[Value]) -> Result<Vec<Value>> {
        self.query("/sql", sql, params).await
    }

    /// Runs one statement on the database with this number only.
    pub async fn sql_in(&self, database: u8, sql: &str, params: &[Value]) -> Vec<Value> {
        let rows = self.query(&format!("/sql?database={database}"), sql, params).await;
        rows.unwrap_or_else(|error| panic!("{error:#}"))
    }

    async fn query(&self, path: &str, sql: &str, params: &[Value]) -> Result<Vec<Value>> {
        let body = json!({ "sql": sql, "params": params }).to_string();
        let reply = self.client.post(format!("{}{path}", self.control)).body(body).send().await?;
        let (status, text) = (reply.status(), reply.text().await?);
        ensure!(status.is_success(), "{sql}: {text}");
        serde_json::from_str(&text).with_context(|| text.clone())
    }

    /// Kills workerd (`kill -9`), and starts it with the same state, secrets and port.
    pub async fn restart(&mut self) -> Result<()> {
        self.restart_with(|builder| builder).await
    }

    /// Kills workerd (`kill -9`), and starts it with other settings on the same state. The log and the mailbox start
    /// empty.
    pub async fn restart_with(
        &mut self,
        change: impl FnOnce(EdgeBuilder) -> EdgeBuilder,
    ) -> Result<()> {
        self.process.kill();
        *self = change(self.builder.clone()).start_in(&self.folder.clone()).await?;
        Ok(())
    }

    /// The folder of D1, KV and the Cache API: wrangler's `--persist-to`.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Runs the scheduled handler once.
    pub async fn run_scheduled(&self) {
        self.schedule("/scheduled").await;
    }

    /// Runs the scheduled handler of the variant at `index` once.
    pub async fn run_scheduled_of(&self, index: usize) {
        self.schedule(&format!("/scheduled?variant={index}")).await;
    }

    /// Delivers these texts to the queue's consumer as one batch, immediately; returns the consumer's reply.
    pub async fn deliver(&self, texts: &[Value]) -> Value {
        let request = self.client.post(format!("{}/queue", self.control)).json(texts);
        request.send().await.expect("edge.mjs").json().await.expect("the queue's outcome")
    }

    /// Like [`Self::run_scheduled`], as a task of its own.
    pub fn scheduled(&self) -> impl Future<Output = ()> + Send + 'static {
        let request = self.client.post(format!("{}/scheduled", self.control));
        async move {
            // The run may be cut off.
            let _ = request.send().await;
        }
    }

    async fn schedule(&self, path: &str) {
        let url = format!("{}{path}", self.control);
        let reply = self.client.post(url).send().await.expect("edge.mjs");
        assert_eq!(reply.text().await.expect("edge.mjs"), "ok");
    }
}
