//! The port check against servers on the loopback.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rcpt_smtp::{Dialer, HeloIdentity};
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpListener,
    time::{Instant, advance},
};

use crate::{config::Families, dns::Dns};

use super::{BLOCKED_INTERVAL, OPEN_LIFETIME, PortCheck, Server, Unheard};

fn check(servers: &[SocketAddr]) -> Arc<PortCheck> {
    with(servers.iter().map(server).collect())
}

fn with(servers: Vec<Server>) -> Arc<PortCheck> {
    let dialer = Dialer::new(Duration::from_secs(5));
    let dns =
        Dns::new(&["127.0.0.1:1".parse().unwrap()], Duration::from_millis(200), Families::BOTH);
    PortCheck::new(
        servers,
        dns.unwrap().names(),
        dialer,
        HeloIdentity::unbound("probe.example.com"),
    )
}

fn server(address: &SocketAddr) -> Server {
    Server { host: address.ip().to_string(), port: address.port() }
}

/// The address of a server that sends `banner` to each client, and the number of its clients.
async fn saying(banner: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let clients = Arc::new(AtomicUsize::new(0));
    let counted = clients.clone();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = stream.write_all(banner.as_bytes()).await;
            open.push(stream);
            if !banner.is_empty() {
                open.clear();
            }
        }
    });
    (address, clients)
}

async fn shut() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn one_server_that_greets_is_enough_and_none_configured_is_no_alarm() {
    assert!(check(&[]).is_open().await);
    for banner in ["220 mx\r\n", "554 we do not like you\r\n", "421 later\r\n"] {
        let checked = check(&[shut().await, saying(banner).await.0]);
        assert!(checked.is_open().await && !checked.is_known_shut(), "{banner}");
    }
    let checked = check(&[shut().await, shut().await]);
    assert!(!checked.is_known_shut(), "nobody was asked yet");
    assert!(!checked.is_open().await && checked.is_known_shut());
}

#[tokio::test]
async fn a_server_that_is_silent_holds_up_no_other() {
    let (silent, _) = saying("").await;
    let (greeting, _) = saying("220 mx\r\n").await;
    let began = Instant::now();
    assert!(check(&[silent, silent, greeting]).is_open().await);
    assert!(began.elapsed() < Duration::from_secs(3), "they are asked one after the other");
}

#[tokio::test]
async fn says_why_a_server_was_not_heard() {
    let checked = check(&[]);
    assert_eq!(checked.greets(&server(&shut().await)).await, Err(Unheard::Unconnected));
    let (garbled, _) = saying("SSH-2.0-x\r\n").await;
    assert_eq!(checked.greets(&server(&garbled)).await, Err(Unheard::NoBanner));
    let nowhere = Server { host: "nowhere.invalid".to_owned(), port: 25 };
    assert_eq!(checked.greets(&nowhere).await, Err(Unheard::NoAddress));
    // Without an address nothing was tried: DNS fails, and the port isn't blamed.
    let unresolved = with(vec![nowhere]);
    assert!(unresolved.is_open().await && !unresolved.is_known_shut());
}

#[tokio::test]
async fn what_is_known_stands_a_while_and_a_banner_ends_the_alarm() {
    let (greeting, clients) = saying("220 mx\r\n").await;
    let checked = check(&[greeting]);
    assert!(checked.is_open().await && checked.is_open().await);
    assert_eq!(clients.load(Ordering::Relaxed), 1, "told from memory");

    let checked = check(&[shut().await]);
    assert!(!checked.is_open().await);
    checked.banner_seen();
    assert!(!checked.is_known_shut() && checked.is_open().await, "an ordinary probe was greeted");

    tokio::time::pause();
    advance(OPEN_LIFETIME).await;
    tokio::time::resume();
    assert!(!checked.is_open().await, "a minute later it is asked again");
    assert!(BLOCKED_INTERVAL < OPEN_LIFETIME);
}
