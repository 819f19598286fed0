//! The harness for tests in another language: sandbox, origin and edge, driven by JSON lines.
//!
//! The first line on standard output is `{"url": "http://localhost:…"}`. Every line on standard input is a [`Command`],
//! which may have an `id`. Once the command is done, it is answered by one line with that id: `{"id": …, "ok": …}` or
//! `{"id": …, "error": "…"}`. Commands run concurrently. The end of standard input ends everything, so nothing outlives
//! the test.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use anyhow::{Context as _, Result};
use rcpt_tests::{Authenticator, FakeWebhook, Stack};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, stdin, stdout},
    sync::{RwLock, mpsc},
    task::{JoinError, spawn_local},
};

#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    /// Creates a confirmed account, signed in: `{email, password, token, api_key}`; with two-factor authentication
    /// also `secret` and `recovery_codes`.
    Account {
        email: String,
        #[serde(default)]
        two_factor: bool,
    },
    /// An unused code of this secret.
    Code {
        secret: String,
    },
    /// Six digits that aren't a current code of this secret.
    WrongCode {
        secret: String,
    },
    /// Waits for the `nth` email to an address, counted from 1: `{from, to, subject, text, html, link}`.
    Mail {
        to: String,
        nth: usize,
    },
    /// Runs a D1 statement and returns its rows.
    Sql {
        sql: String,
        params: Vec<Value>,
    },
    /// Sets the status that the stand-in for webhook receivers returns for this host; 0 means no response.
    Webhook {
        host: String,
        status: u16,
    },
    KillOrigin {},
    RestartOrigin {},
}

struct World {
    /// The service: write-locked while a component starts or ends.
    stack: RwLock<Stack>,
    webhooks: FakeWebhook,
    authenticators: RefCell<HashMap<String, Rc<Authenticator>>>,
}

/// Starts the service and executes commands until standard input ends.
///
/// Call this within a [`tokio::task::LocalSet`].
pub async fn run() -> Result<()> {
    // Attempts on an account are throttled as in production. Attempts of a network aren't throttled,
    // because all tests share one network.
    let webhooks = FakeWebhook::start();
    let stack = Stack::builder().with_waits().webhooks(webhooks.port).on_localhost();
    let stack = stack
        .edge_var("THROTTLE_NETWORK_FREE_ATTEMPTS", "1000000")
        .edge_var("MAILS_NETWORK_FREE", "1000000")
        .try_start()
        .await?;
    say(&json!({ "url": stack.edge.url.replace("127.0.0.1", "localhost") })).await?;
    let stack = RwLock::new(stack);
    let world = Rc::new(World { stack, webhooks, authenticators: RefCell::default() });
    let mut lines = BufReader::new(stdin()).lines();
    let (done, mut answers) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            line = lines.next_line() => {
                let Some(line) = line? else { return Ok(()) };
                let (world, done) = (Rc::clone(&world), done.clone());
                spawn_local(async move {
                    // The receiver only ends together with the whole program.
                    let _ = done.send(answer(&line, world).await);
                });
            }
            Some(answer) = answers.recv() => say(&answer).await?,
        }
    }
}

async fn answer(line: &str, world: Rc<World>) -> Value {
    let mut request: Value = serde_json::from_str(line).unwrap_or_default();
    let id = request.as_object_mut().and_then(|request| request.remove("id"));
    let line = line.to_owned();
    // Runs in a separate task, since the harness panics on undocumented behaviour.
    let obeyed =
        spawn_local(
            async move { world.obey(serde_json::from_value(request).context(line)?).await },
        );
    match obeyed.await {
        Ok(Ok(value)) => json!({ "id": id, "ok": value }),
        Ok(Err(error)) => json!({ "id": id, "error": format!("{error:#}") }),
        Err(panic) => json!({ "id": id, "error": message(panic) }),
    }
}

fn message(panic: JoinError) -> String {
    let text = panic.to_string();
    let message = panic.try_into_panic().ok().and_then(|said| said.downcast::<String>().ok());
    message.map_or(text, |message| *message)
}

async fn say(line: &Value) -> Result<()> {
    let mut stdout = stdout();
    stdout.write_all(format!("{line}\n").as_bytes()).await?;
    Ok(stdout.flush().await?)
}

impl World {
    async fn obey(&self, command: Command) -> Result<Value> {
        match command {
            Command::Account { email, two_factor } => self.account(&email, two_factor).await,
            Command::Code { secret } => Ok(self.authenticator(secret).unused_code().await.into()),
            Command::WrongCode { secret } => Ok(self.authenticator(secret).wrong_code().into()),
            Command::Mail { to, nth } => {
                let mailbox = self.stack.read().await.edge.mailbox();
                let mail = mailbox.wait_for_nth_mail(&to, nth).await?;
                let link = mail.link();
                Ok(json!({
                    "from": mail.from, "to": mail.to, "subject": mail.subject, "text": mail.text,
                    "html": mail.html, "link": link,
                }))
            }
            Command::Sql { sql, params } => {
                Ok(self.stack.read().await.edge.try_sql(&sql, &params).await?.into())
            }
            Command::Webhook { host, status } => {
                self.webhooks.answer(&host, status);
                Ok(Value::Null)
            }
            Command::KillOrigin {} => {
                self.stack.write().await.origin.kill();
                Ok(Value::Null)
            }
            Command::RestartOrigin {} => {
                self.stack.write().await.origin.restart().await?;
                Ok(Value::Null)
            }
        }
    }

    async fn account(&self, email: &str, two_factor: bool) -> Result<Value> {
        let account = self.stack.read().await.edge.account_of(email).await;
        let mut reply = json!({
            "email": account.email, "password": account.password, "token": account.token,
            "api_key": account.api_key,
        });
        if two_factor {
            let (authenticator, recovery_codes) = account.enable_two_factor().await;
            reply["secret"] = authenticator.secret.clone().into();
            reply["recovery_codes"] = recovery_codes.into();
            let secret = authenticator.secret.clone();
            self.authenticators.borrow_mut().insert(secret, Rc::new(authenticator));
        }
        Ok(reply)
    }

    fn authenticator(&self, secret: String) -> Rc<Authenticator> {
        let new = || Rc::new(Authenticator::new(&secret));
        Rc::clone(self.authenticators.borrow_mut().entry(secret.clone()).or_insert_with(new))
    }
}
