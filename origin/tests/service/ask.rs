//! `origin ask`: verdicts from the binary alone.

use std::process::Output;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use crate::harness::{MailServer, shut_port};

/// Runs `origin ask` with the settings of an operator who has just unpacked the binary.
async fn ask(routes: &str, arguments: &[&str]) -> (i32, String, String) {
    let shut = shut_port().await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    command.env_clear().args(["ask"]).args(arguments).kill_on_drop(true);
    command.env("RCPT_HELO_NAME", "probe.example.com").env("RCPT_MAIL_FROM", "<>");
    command.env("RCPT_NAMESERVERS", "127.0.0.1:9").env("RCPT_ROUTES", routes);
    command.env("RCPT_PORT_CHECK", shut).env("RCPT_DNS_TIMEOUT_MS", "300");
    let Output { status, stdout, stderr } = command.output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[tokio::test]
async fn a_verdict_comes_with_its_evidence_and_without_tickets() {
    let server = MailServer::answering("220 mx", "", "550 5.1.1 no such user here").await;
    let (code, out, err) =
        ask(&server.route(), &["Ann <ann@sandbox.test>", "a..b@sandbox.test"]).await;
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines[0], "Ann <ann@sandbox.test>  undeliverable", "{out}{err}");
    assert_eq!(lines[1], "    status false, reason no_such_mailbox, 127.0.0.1, at rcpt");
    assert_eq!(lines[2], "    the server said: 550 5.1.1 no such user here");
    assert_eq!(lines[3], "    confidence high, catch-all unknown");
    assert_eq!(lines[4], "a..b@sandbox.test  undeliverable");
    assert!(lines[5].contains("dot"), "{out}");
    assert_eq!((code, lines.len(), &*err), (0, 6, ""));
}

#[tokio::test]
async fn as_json_each_address_is_a_line_in_the_order_of_the_arguments() {
    let server = MailServer::answering("220 mx", "", "250 ok").await;
    let addresses = ["b@sandbox.test", "not an address", "a@sandbox.test"];
    let (code, out, err) = ask(&server.route(), &[&["--json"], &addresses[..]].concat()).await;
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("address"), addresses, "{err}");
    assert_eq!(of("status"), [true.into(), "invalid_format".into(), Value::from(true)]);
    assert_eq!(rows[0]["details"]["verdict"], "risky", "{out}");
    assert_eq!((code, &*err), (0, ""));
}

/// The server says unknown words to everybody whose name doesn't begin with `ann`.
#[tokio::test]
async fn several_addresses_are_a_list_whose_neighbours_decide_unknown_words() {
    let server = MailServer::serving(|stream, _| async move {
        let (mut stream, mut line) = (BufReader::new(stream), String::new());
        let mut reply = "220 mx";
        while stream.write_all(format!("{reply}\r\n").as_bytes()).await.is_ok() {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            let is_nobody = line.starts_with("RCPT") && !line.contains("<ann");
            reply = if is_nobody { "550 kielletty tapahtuma" } else { "250 ok" };
        }
    })
    .await;
    let addresses = ["ann1@sandbox.test", "gone@sandbox.test", "ann2@sandbox.test"];
    let (code, out, err) = ask(&server.route(), &addresses).await;
    assert!(out.contains("gone@sandbox.test  undeliverable"), "{out}{err}");
    assert!(out.contains("says the same to a name that doesn't exist"), "{out}");
    assert_eq!(code, 0, "{err}");
    let (code, out, _) = ask(&server.route(), &addresses[..2]).await;
    assert!(out.contains("gone@sandbox.test  unknown") && out.contains("undecided: "), "{out}");
    assert_eq!(code, 3);
}

#[tokio::test]
async fn where_a_question_stays_open_it_names_what_is_wrong_with_the_machine() {
    let server =
        MailServer::answering("554 no SMTP service here for 127.0.0.1", "", "250 ok").await;
    let (code, out, err) = ask(&server.route(), &["ann@sandbox.test"]).await;
    assert!(out.starts_with("ann@sandbox.test  unknown\n"), "{out}");
    assert!(err.contains("cannot be connected to"), "port 25 isn't named: {err}");
    assert!(err.contains("no nameserver answers"), "{err}");
    assert_eq!(code, 3);
}

#[tokio::test]
async fn without_an_address_or_with_a_mistake_in_the_configuration_it_says_so() {
    let (code, out, err) = ask("", &[]).await;
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("<ADDRESS>"), "{err}");
    let (code, out, err) = ask("nonsense", &["a@b.test"]).await;
    assert_eq!((code, &*out), (1, ""));
    assert!(err.starts_with("routes:") || err.contains("RCPT_ROUTES"), "{err}");
}
