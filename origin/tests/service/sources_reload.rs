//! Source addresses of a running process: reloads change them, and the status shows them.

use std::{net::IpAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use crate::{
    harness::MailServer,
    supervision::{Folder, Origin},
};

/// Starts a server that refuses everybody, and records the source address of each recipient's probe.
async fn noting(peers: Arc<Mutex<Vec<IpAddr>>>) -> MailServer {
    MailServer::serving(move |stream, _| {
        let (peers, from) = (peers.clone(), stream.peer_addr().unwrap().ip());
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            let mut line = String::new();
            while stream.read_line(&mut line).await.unwrap_or(0) > 0 {
                let answer = if line.starts_with("RCPT") {
                    peers.lock().push(from);
                    "550 5.1.1 no such user\r\n"
                } else {
                    "250 ok\r\n"
                };
                let _ = stream.write_all(answer.as_bytes()).await;
                line.clear();
            }
        }
    })
    .await
}

async fn reply_about(origin: &Origin, recipient: &str) -> String {
    let mut text = String::new();
    origin.probe(recipient).await.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_reload_adds_and_removes_source_addresses_and_a_mistake_changes_none() {
    let folder = Folder::new("sources");
    let file = folder.file("origin.toml");
    let peers = Arc::new(Mutex::new(Vec::new()));
    let server = noting(peers.clone()).await;
    let write = |sources: &str| {
        let text = format!(
            "source_addresses = [{sources}]\n[routes]\n\"sandbox.test\" = \"{}\"\n",
            server.address
        );
        std::fs::write(&file, text).unwrap();
    };
    write("\"127.0.0.2\"");
    let mut origin = Origin::start(&[("RCPT_CONFIG", &file)]).await;
    for (number, (sources, line, from)) in [
        (None, "", 2),
        (Some("\"127.0.0.3\""), "configuration reloaded", 3),
        (Some("\"192.0.2.1\""), "not reloaded: source_addresses: cannot bind 192.0.2.1", 3),
        (Some("\"::1\""), "not reloaded: source_addresses: a family", 3),
        (Some("\"free:127.0.0.4\""), "not reloaded: source_addresses: all are free", 3),
        (Some("\"127.0.0.2\""), "configuration reloaded", 2),
    ]
    .into_iter()
    .enumerate()
    {
        if let Some(sources) = sources {
            write(sources);
            origin.signal("-HUP").await;
            origin.line(line).await;
        }
        assert!(
            reply_about(&origin, &format!("u{number}@sandbox.test"))
                .await
                .contains("no_such_mailbox")
        );
        // The session of a removed address stays open for a while, but is used for no further recipient.
        let last = *peers.lock().last().unwrap();
        assert_eq!(last, IpAddr::from([127, 0, 0, from]), "{number}");
    }
}

#[tokio::test]
async fn the_port_check_dials_from_an_address_that_a_reload_left() {
    let folder = Folder::new("port-check-source");
    let file = folder.file("origin.toml");
    let peers = Arc::new(Mutex::new(Vec::new()));
    // The server never sends a banner, so it is tried repeatedly.
    let server = MailServer::serving({
        let peers = peers.clone();
        move |stream, _| {
            peers.lock().push(stream.peer_addr().unwrap().ip());
            async move { drop(stream) }
        }
    })
    .await;
    let write =
        |source: &str| std::fs::write(&file, format!("source_addresses = [\"{source}\"]\n"));
    write("127.0.0.2").unwrap();
    let check = server.address.to_string();
    let mut origin = Origin::start(&[("RCPT_CONFIG", &file), ("RCPT_PORT_CHECK", &check)]).await;
    write("127.0.0.3").unwrap();
    origin.signal("-HUP").await;
    origin.line("configuration reloaded").await;
    let is_seen = || peers.lock().contains(&IpAddr::from([127, 0, 0, 3]));
    for _ in 0..400 {
        if is_seen() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("still from {:?}", peers.lock());
}

#[tokio::test]
async fn the_status_of_a_running_service_shows_its_source_addresses() {
    let origin = Origin::start(&[]).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    let status = command
        .arg("status")
        .env_clear()
        .envs(Origin::required())
        .env("RCPT_LISTEN", &origin.address);
    let output = status.output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("probe.example.com") && text.contains("in_use"), "{text}");
}
