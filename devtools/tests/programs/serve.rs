//! `serve`, on which the portal's tests are based: it reads and writes lines, and leaves no process
//! behind.

use std::process::Stdio;

use rcpt_tests::{
    Anonymous,
    service::{edge, origin},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

struct Serve {
    child: Child,
    commands: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Serve {
    async fn start() -> (Self, String) {
        tokio::task::spawn_blocking(|| edge::build().and(origin::binary().map(drop)))
            .await
            .unwrap()
            .expect("edge and origin build");
        let mut command = Command::new(env!("CARGO_BIN_EXE_serve"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let commands = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut serve = Self { child, commands, answers };
        let url = serve.answer().await["url"].as_str().expect("a URL").to_owned();
        (serve, url)
    }

    async fn answer(&mut self) -> Value {
        let line = self.answers.next_line().await.unwrap().expect("a line");
        serde_json::from_str(&line).unwrap()
    }

    async fn say(&mut self, command: Value) {
        self.commands.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }

    async fn tell(&mut self, command: Value) -> Value {
        self.say(command).await;
        self.answer().await
    }
}

#[tokio::test]
async fn commands_are_answered_side_by_side_mistakes_too_and_the_end_of_input_ends_everything() {
    let (mut serve, url) = Serve::start().await;
    let account = serve
        .tell(json!({ "do": "account", "email": "ann@rcpt-tests.net", "two_factor": true }))
        .await["ok"]
        .take();
    let api_key = account["api_key"].as_str().unwrap();
    let anonymous = Anonymous::new(&url);
    let reply = anonymous.check_with_key(api_key, "accepts@sandbox.test").await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!(true)));
    let mail = serve.tell(json!({ "do": "mail", "to": "ann@rcpt-tests.net", "nth": 1 })).await;
    assert!(mail["ok"]["link"].as_str().unwrap().contains("/verify?token="), "{mail}");

    let sql = "SELECT email FROM accounts";
    let rows = serve.tell(json!({ "do": "sql", "sql": sql, "params": [] })).await;
    assert_eq!(rows, json!({ "id": null, "ok": [{ "email": "ann@rcpt-tests.net" }] }));
    for mistake in [
        json!({ "do": "nothing" }),
        json!({ "do": "sql", "sql": "SELECT nonsense", "params": [] }),
        json!("no command"),
    ] {
        let answer = serve.tell(mistake).await;
        assert!(answer["error"].is_string(), "{answer}");
    }

    serve.say(json!({ "id": 1, "do": "mail", "to": "late@rcpt-tests.net", "nth": 1 })).await;
    let rows = serve.tell(json!({ "id": 2, "do": "sql", "sql": sql, "params": [] })).await;
    assert_eq!(rows["id"], 2, "a mail that is waited for keeps nothing else waiting: {rows}");
    serve.say(json!({ "id": 3, "do": "account", "email": "late@rcpt-tests.net" })).await;
    let mut ids = [serve.answer().await["id"].take(), serve.answer().await["id"].take()];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [1, 3]);

    let code = serve.tell(json!({ "do": "code", "secret": account["secret"] })).await["ok"].take();
    let login = anonymous.login_with_code(
        "ann@rcpt-tests.net",
        account["password"].as_str().unwrap(),
        code.as_str().unwrap(),
    );
    assert_eq!(login.await.status, 200, "a code that setting up has not used");

    assert_eq!(serve.tell(json!({ "do": "kill_origin" })).await, json!({ "id": null, "ok": null }));
    assert_eq!(anonymous.check_with_key(api_key, "rejects@sandbox.test").await.status, 502);
    assert_eq!(
        serve.tell(json!({ "do": "restart_origin" })).await,
        json!({ "id": null, "ok": null })
    );
    let reply = anonymous.check_with_key(api_key, "rejects@sandbox.test").await;
    assert_eq!((reply.status, &reply.body["status"]), (200, &json!(false)));

    drop(serve.commands);
    assert!(serve.child.wait().await.unwrap().success());
    let port = url.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    assert!(std::net::TcpListener::bind(("127.0.0.1", port)).is_ok(), "the edge is gone");
}
