//! Every client works with a named key, and ends it.

use rcpt_tests::CommandLine;
use serde_json::json;

use crate::{
    packages::{installed, run},
    stack,
};

const PYTHON: &str = "
import asyncio, sys
from rcpt_client import AsyncRcpt, Rcpt
url, key, last = sys.argv[1:]
with Rcpt(url, key) as rcpt:
    assert rcpt.check('accepts@sandbox.test').status is True
    rcpt.end_key()
async def end():
    async with AsyncRcpt(url, last) as rcpt:
        await rcpt.end_key()
asyncio.run(end())
";
const NODE: &str = "
import { Rcpt } from 'rcpt-client';
const [url, key] = process.argv.slice(-2);
const rcpt = new Rcpt({ url, apiKey: key });
if ((await rcpt.check('accepts@sandbox.test')).status !== true) throw new Error('not accepted');
await rcpt.endKey();
";

#[tokio::test]
async fn every_client_works_with_a_named_key_and_ends_it() {
    let edge = &stack().await.edge;
    let account = edge.account().await;
    let installed = installed().await;
    let mut keys = Vec::new();
    for name in ["rcpt", "python", "asyncio", "node"] {
        keys.push(account.named_key(&json!({ "name": name, "rights": ["checks"] })).await.0);
    }
    let alive = async || {
        let mut alive = 0;
        for key in &keys {
            let reply = account.anonymous.check_with_key(key, "no address").await;
            alive += usize::from(reply.status == 200);
        }
        alive
    };
    assert_eq!(alive().await, 4);

    let command = CommandLine::new(&edge.url);
    let sign_in = command.run(&["sign-in", "--key"], &keys[0]).await;
    assert!(sign_in.code == 0 && sign_in.stderr.contains("a named key"), "{sign_in:?}");
    let check = command.run(&["check", "accepts@sandbox.test"], "").await;
    assert_eq!(check.lines()[0]["status"], json!(true), "{check:?}");
    let ended = command.run(&["sign-out", "--end-key"], "").await;
    assert!(ended.code == 0 && ended.stderr.contains("The API key has ended"), "{ended:?}");
    assert_eq!(alive().await, 3, "by the command");

    let url = edge.url.clone();
    let [python, asyncio, node] = [&keys[1], &keys[2], &keys[3]].map(|key| key.as_str().to_owned());
    tokio::task::spawn_blocking(move || {
        let project = &installed.project;
        run(&installed.interpreter, &["-c", PYTHON, &url, &python, &asyncio], project);
        let node_arguments = ["--input-type=module", "-e", NODE, "--", &url, &node];
        run("node", &node_arguments, project);
    })
    .await
    .unwrap();
    assert_eq!(alive().await, 0);
    let left = account.get("/keys").await.body;
    let ids: Vec<_> = left["keys"].as_array().unwrap().iter().map(|key| &key["id"]).collect();
    assert_eq!(ids, ["own"]);
}
