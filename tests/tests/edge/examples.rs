//! Every example in the OpenAPI document is a response of the running service. The test repeats each
//! operation and compares; with `WRITE_OPENAPI` (`make openapi`) it writes
//! `edge/data/examples.json`, which the document includes.

mod fixed;
mod plays;

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use rcpt_tests::{Account, Anonymous, FakeWebhook, Reply, Stack, people::send, process::folder};
use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use fixed::Fixed;

/// The recorded calls by operation, in order.
type Recorded = BTreeMap<String, Vec<Value>>;

/// A user agent that the service recognises as Firefox on Linux.
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

struct Recorder {
    stack: Stack,
    webhooks: FakeWebhook,
    fixed: Fixed,
    recorded: Recorded,
}

/// Credentials of a request.
#[derive(Clone, Copy)]
enum By<'a> {
    Nobody,
    Key(&'a Account),
    Session(&'a Account),
}

impl Recorder {
    async fn start() -> Self {
        let webhooks = FakeWebhook::start();
        let stack = Stack::builder()
            .webhooks(webhooks.port)
            .edge_var("CONTACT_EMAIL", "help@example.org")
            .edge_var("TERMS_URL", "https://example.org/terms")
            .edge_var("STATUS_URL", "https://status.example.org/")
            .edge_var("CHECKOUT_URLS", "pro=https://pay.example.org/pro?account={reference}")
            .start()
            .await;
        Self { stack, webhooks, fixed: Fixed::default(), recorded: Recorded::default() }
    }

    fn anonymous(&self) -> Anonymous {
        self.stack.edge.anonymous()
    }

    fn request(&self, by: By<'_>, method: Method, path: &str) -> RequestBuilder {
        let request = self.anonymous().request(method, path).header("user-agent", BROWSER);
        match by {
            By::Nobody => request,
            By::Key(account) => request.header("x-api-key", &account.api_key),
            By::Session(account) => request.bearer_auth(&account.token),
        }
    }

    /// Makes and records one call of an operation; `title` describes the example.
    async fn play(
        &mut self,
        operation: &str,
        title: &str,
        request: RequestBuilder,
        body: Option<Value>,
        status: u16,
    ) -> Reply {
        let request = match &body {
            Some(body) => request.json(body),
            None => request,
        };
        let reply = send(request).await;
        assert_eq!(reply.status, status, "{operation}, {title}: {}", reply.body);
        let kind = reply.header("content-type").split(';').next().unwrap_or_default().to_owned();
        let mut example = Map::new();
        example.insert("title".to_owned(), title.into());
        if let Some(body) = body {
            example.insert("request".to_owned(), body);
        }
        example.insert("status".to_owned(), status.into());
        if !kind.is_empty() && status != 204 {
            example.insert("type".to_owned(), kind.into());
            example.insert("body".to_owned(), reply.body.clone());
        }
        self.recorded.entry(operation.to_owned()).or_default().push(Value::Object(example));
        reply
    }

    /// The record, with fixed values in place of those that differ between runs.
    fn finish(self) -> String {
        let recorded: Value = json!(self.recorded);
        serde_json::to_string_pretty(&self.fixed.apply(recorded)).unwrap() + "\n"
    }
}

fn file() -> PathBuf {
    folder::repository().join("edge/data/examples.json")
}

#[tokio::test]
async fn every_example_of_the_description_is_what_the_service_answers() {
    let mut recorder = Recorder::start().await;
    let account = plays::signing_up(&mut recorder).await;
    plays::service(&mut recorder).await;
    plays::checks(&mut recorder, &account).await;
    plays::scans(&mut recorder, &account).await;
    plays::webhooks(&mut recorder, &account).await;
    plays::account(&mut recorder, account).await;
    let recorded = recorder.finish();
    if env::var_os("WRITE_OPENAPI").is_some() {
        fs::write(file(), &recorded).unwrap();
    }
    let described: Value = serde_json::from_str(&fs::read_to_string(file()).unwrap()).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    for (operation, examples) in recorded.as_object().unwrap() {
        assert_eq!(examples, &described[operation], "{operation}: run `make openapi`");
    }
    assert_eq!(recorded, described, "an operation is recorded no more: run `make openapi`");
}
