//! Reloads change source addresses, and the service manager keeps origin's memory across restarts.

use std::{
    fs::File,
    io::{IoSliceMut, Write as _},
    net::IpAddr,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixDatagram,
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

/// A service manager that receives messages and descriptors.
struct Manager(UnixDatagram);

impl Manager {
    /// Returns the next message about stored descriptors, with its descriptor if it has one.
    async fn hear(&self) -> (String, Option<File>) {
        loop {
            tokio::time::timeout(Duration::from_secs(30), self.0.readable())
                .await
                .unwrap()
                .unwrap();
            let mut text = [0; 256];
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let received = self.0.try_io(tokio::io::Interest::READABLE, || {
                let parts = &mut [IoSliceMut::new(&mut text)];
                Ok(recvmsg(&self.0, parts, &mut control, RecvFlags::empty())?)
            });
            let Ok(received) = received else { continue };
            let mut file = None;
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                    file = descriptors.into_iter().next().map(File::from);
                }
            }
            let text = String::from_utf8(text[..received.bytes].to_vec()).unwrap();
            if text.contains("FDSTORE") {
                return (text, file);
            }
        }
    }

    /// Returns the name and the copy that are stored once the process has ended. Each copy is stored before the
    /// previous copy is removed.
    async fn left_by(&self, mut origin: Origin) -> (String, File) {
        let mut messages = Vec::new();
        loop {
            tokio::select! {
                biased;
                message = self.hear() => messages.push(message),
                ended = origin.child.wait() => break assert!(ended.unwrap().success()),
            }
        }
        let mut stored = None;
        for pair in messages.chunks(2) {
            let name = pair[0].0.strip_prefix("FDSTORE=1\nFDNAME=").unwrap().trim_end();
            let other = if name == "memory-a" { "memory-b" } else { "memory-a" };
            assert_eq!(pair[1].0, format!("FDSTOREREMOVE=1\nFDNAME={other}\n"));
            let before = stored.replace((name.to_owned(), pair[0].1.as_ref().unwrap()));
            assert!(before.is_none_or(|(before, _)| before == other), "in turn");
        }
        let (name, file) = stored.unwrap();
        (name, file.try_clone().unwrap())
    }

    /// Returns the next copy started after this call.
    async fn next_copy(&self) -> (String, File) {
        // Skips earlier copies, and a copy that may be half done.
        while tokio::time::timeout(Duration::from_millis(50), self.hear()).await.is_ok() {}
        let mut copies = Vec::new();
        while copies.len() < 2 {
            let (message, file) = self.hear().await;
            if let Some(name) = message.strip_prefix("FDSTORE=1\nFDNAME=") {
                copies.push((name.trim_end().to_owned(), file.unwrap()));
            }
        }
        copies.remove(1)
    }
}

/// A service manager, and a mail server that accepts everybody.
struct Machine {
    folder: Folder,
    manager: Manager,
    server: MailServer,
    /// Number of recipients that the server was asked about.
    count: Arc<AtomicUsize>,
    route: String,
    socket: String,
}

impl Machine {
    async fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let socket = folder.file("socket");
        let manager = Manager(UnixDatagram::bind(&socket).unwrap());
        let count = Arc::new(AtomicUsize::new(0));
        let server = accepting(count.clone()).await;
        let route = server.route();
        Self { folder, manager, server, count, route, socket }
    }

    fn environment(&self) -> [(&str, &str); 2] {
        [("RCPT_ROUTES", &self.route), ("NOTIFY_SOCKET", &self.socket)]
    }
}

/// Starts a server that accepts everybody, and counts recipients.
async fn accepting(recipients: Arc<AtomicUsize>) -> MailServer {
    MailServer::serving(move |stream, _| {
        let recipients = recipients.clone();
        async move {
            let mut stream = BufReader::new(stream);
            let _ = stream.write_all(b"220 mx\r\n").await;
            let mut line = String::new();
            while stream.read_line(&mut line).await.unwrap_or(0) > 0 {
                recipients.fetch_add(usize::from(line.starts_with("RCPT")), Ordering::SeqCst);
                let _ = stream.write_all(b"250 ok\r\n").await;
                line.clear();
            }
        }
    })
    .await
}

/// Starts origin as the service manager does when it passes `memory` under this name.
async fn started_with(memory: Option<(&str, File)>, environment: &[(&str, &str)]) -> Origin {
    let Some((name, file)) = memory else { return Origin::start(environment).await };
    let script = r#"LISTEN_PID=$$ exec "$0" 3<&0 </dev/null"#;
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_origin")]);
    command.env_clear().env("LISTEN_FDS", "1").env("LISTEN_FDNAMES", name);
    command.stdin(Stdio::from(file));
    Origin::start_by(command, environment).await
}

/// Probes once with details, which shows that the domain accepts everybody; returns the number of recipients that this
/// took.
async fn recipients_until_known(origin: &Origin, count: &AtomicUsize, name: &str) -> usize {
    let before = count.load(Ordering::SeqCst);
    let text = origin.probe_with_details(&format!("{name}@sandbox.test")).await;
    assert!(text.contains("accepted_catch_all"), "{text}");
    count.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn what_was_learnt_outlives_a_restart_in_a_descriptor_of_the_service_manager() {
    let machine = Machine::new("memory").await;
    let (manager, count) = (&machine.manager, &machine.count);
    let environment = machine.environment();

    let origin = Origin::start(&environment).await;
    assert_eq!(recipients_until_known(&origin, count, "first").await, 2, "one is the control");
    origin.signal("-TERM").await;
    let (name, file) = manager.left_by(origin).await;
    assert!(file.metadata().unwrap().len() <= 65_536);
    let content =
        std::fs::read(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))).unwrap();
    for name in ["sandbox", "first", &machine.server.address.to_string()] {
        assert!(!content.windows(name.len()).any(|part| part == name.as_bytes()), "{name}");
    }
    assert!(file.try_clone().unwrap().write_all(b"x").is_err(), "sealed");

    // The next process begins with this copy, and stores its own next to it.
    let again = file.try_clone().unwrap();
    let origin = started_with(Some((&name, again)), &environment).await;
    assert_eq!(recipients_until_known(&origin, count, "second").await, 1, "no control again");
    origin.signal("-TERM").await;
    manager.left_by(origin).await;

    // A copy under another secret and a damaged, cut-off or missing copy are dropped, and the process still serves.
    let mut damaged = content.clone();
    damaged[40] ^= 1;
    let secrets = ("RCPT_TICKET_SECRETS", "k1:QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE");
    let cases: [(&[u8], _); 4] = [
        (&content, ("RCPT_SOURCE_KEY", "another secret of this origin")),
        (&damaged, secrets),
        (&content[..content.len() - 1], secrets),
        (&[], secrets),
    ];
    for (octets, variable) in cases {
        let copy = machine.folder.file("copy");
        std::fs::write(&copy, octets).unwrap();
        let memory = Some(("memory-a", File::open(&copy).unwrap()));
        let environment = [environment[0], environment[1], variable];
        let origin = started_with(memory, &environment).await;
        assert_eq!(recipients_until_known(&origin, count, "third").await, 2);
    }
}

#[tokio::test]
async fn what_a_process_learnt_within_seconds_outlives_its_crash() {
    let machine = Machine::new("crash").await;
    let (manager, count) = (&machine.manager, &machine.count);
    let environment = machine.environment();

    let mut origin = Origin::start(&environment).await;
    assert_eq!(recipients_until_known(&origin, count, "first").await, 2, "one is the control");
    let (name, copy) = manager.next_copy().await;
    origin.signal("-KILL").await;
    assert!(!origin.child.wait().await.unwrap().success());

    let origin = started_with(Some((&name, copy)), &environment).await;
    assert_eq!(recipients_until_known(&origin, count, "second").await, 1, "no control again");
}

#[tokio::test]
async fn without_a_service_manager_the_status_says_that_a_restart_forgets() {
    let origin = Origin::start(&[]).await;
    let mut command = Command::new(env!("CARGO_BIN_EXE_origin"));
    let status = command
        .arg("status")
        .env_clear()
        .envs(Origin::required())
        .env("RCPT_LISTEN", &origin.address);
    let output = status.output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("A restart forgets refusals"), "{text}");
    assert!(text.contains("probe.example.com") && text.contains("in_use"), "{text}");
}
