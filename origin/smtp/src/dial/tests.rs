//! Connections on the loopback: destination, source, and the cause of failures.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use super::{ConnectFailure, Dialer, classify};
use crate::{Families, HeloIdentity, SourceAddress};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// The port was just released, so it refuses connections.
async fn refusing() -> SocketAddr {
    listener().await.1
}

fn dialer() -> Dialer {
    Dialer::new(Duration::from_secs(5))
}

fn from(source: Option<&str>) -> HeloIdentity {
    let source = source
        .map(|ip| SourceAddress {
            ip: ip.parse().unwrap(),
            helo_name: None,
            since: None,
            is_for_free: false,
        })
        .into_iter()
        .collect::<Vec<_>>();
    HeloIdentity::all("probe.example.com", &source, None).remove(0)
}

#[tokio::test]
async fn the_first_that_accepts_wins_and_the_other_is_not_connected_to() {
    let (_first, accepting) = listener().await;
    let (second, never_tried) = listener().await;
    let race = |first, second| async move {
        let raced = dialer().race(&from(None), first, || Some(second), CONNECT_TIMEOUT).await;
        raced.map(|(_, address)| address)
    };
    assert_eq!(race(accepting, never_tried).await, Ok(accepting));
    let waited = timeout(Duration::from_millis(300), second.accept()).await;
    assert!(waited.is_err(), "the second was connected to");
    assert_eq!(race(refusing().await, accepting).await, Ok(accepting));
    assert_eq!(race(refusing().await, refusing().await).await, Err(ConnectFailure::Theirs));
}

#[tokio::test]
async fn without_another_address_the_first_alone_is_waited_for() {
    let (_held, hanging, _filling) = silent().await;
    let patience = Duration::from_millis(600);
    let alone = |first| async move { dialer().race(&from(None), first, || None, patience).await };
    for first in [refusing().await, hanging] {
        assert_eq!(alone(first).await.unwrap_err(), ConnectFailure::Theirs);
    }
    let (_listener, accepting) = listener().await;
    assert_eq!(alone(accepting).await.unwrap().1, accepting);
}

#[tokio::test]
async fn connects_from_the_address_of_the_identity() {
    let (listener, address) = listener().await;
    for source in ["127.0.0.2", "127.0.0.3"] {
        let _stream = dialer().connect(&from(Some(source)), address).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1.ip().to_string(), source);
    }
}

#[tokio::test]
async fn a_socket_that_cannot_be_had_is_our_failure() {
    let (_listener, address) = listener().await;
    let nowhere = from(Some("192.0.2.1"));
    let failure = dialer().connect(&nowhere, address).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::NoSocket);
    let other = refusing().await;
    let failure =
        dialer().race(&nowhere, address, || Some(other), CONNECT_TIMEOUT).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::NoSocket);
}

/// The listener doesn't answer, because its queue is full.
async fn silent() -> (TcpListener, SocketAddr, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut filling = Vec::new();
    while let Ok(Ok(stream)) =
        timeout(Duration::from_millis(100), TcpStream::connect(address)).await
    {
        filling.push(stream);
    }
    (listener, address, filling)
}

#[tokio::test]
async fn the_other_family_is_tried_beside_an_address_that_is_silent() {
    let (_held, hanging, _filling) = silent().await;
    let listener = TcpListener::bind("[::1]:0").await.unwrap();
    let accepting = listener.local_addr().unwrap();
    let race = dialer().race(&from(None), hanging, || Some(accepting), CONNECT_TIMEOUT).await;
    let (_stream, address) = race.unwrap();
    assert_eq!(address, accepting);
}

#[tokio::test]
async fn an_address_that_we_have_no_way_to_is_our_failure_unless_the_other_family_found_it_shut() {
    // The broadcast address: the system refuses with "network is unreachable" and sends nothing.
    let no_way: SocketAddr = "255.255.255.255:25".parse().unwrap();
    let failure = dialer().connect(&from(None), no_way).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::NoWay);
    let shut = {
        let listener = TcpListener::bind("[::1]:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let failure =
        dialer().race(&from(None), no_way, || Some(shut), CONNECT_TIMEOUT).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::Theirs);
}

#[tokio::test]
async fn a_family_that_is_switched_off_is_not_dialled() {
    let (_listener, address) = listener().await;
    let v6_only = Some(Families { ipv4: false, ipv6: true });
    let identity = HeloIdentity::all("probe.example.com", &[], v6_only).remove(0);
    let failure = dialer().race(&identity, address, || None, CONNECT_TIMEOUT).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::NoWay);
}

#[test]
fn what_a_router_says_of_the_way_is_the_servers_failure_and_what_our_system_says_is_ours() {
    use std::io::ErrorKind::{
        AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, PermissionDenied,
    };
    for (error, at_once, later) in [
        (NetworkUnreachable, ConnectFailure::NoWay, ConnectFailure::Theirs),
        (PermissionDenied, ConnectFailure::NoWay, ConnectFailure::Theirs),
        (HostUnreachable, ConnectFailure::Theirs, ConnectFailure::Theirs),
        (ConnectionRefused, ConnectFailure::Theirs, ConnectFailure::Theirs),
        (AddrNotAvailable, ConnectFailure::NoSocket, ConnectFailure::NoSocket),
    ] {
        assert_eq!((classify(error, true), classify(error, false)), (at_once, later), "{error:?}");
    }
}

#[test]
fn source_addresses_of_one_family_leave_the_other_out() {
    let of = |ips: &[&str]| {
        let source = |ip: &&str| SourceAddress {
            ip: ip.parse().unwrap(),
            helo_name: None,
            since: None,
            is_for_free: false,
        };
        Families::of(&ips.iter().map(source).collect::<Vec<_>>())
    };
    assert_eq!(of(&["192.0.2.1"]), Families { ipv4: true, ipv6: false });
    assert_eq!(of(&["2001:db8::1"]), Families { ipv4: false, ipv6: true });
    for both in [&[][..], &["192.0.2.1", "2001:db8::1"]] {
        assert_eq!(of(both), Families::BOTH, "{both:?}");
    }
}

fn identities(sources: &[(&str, Option<&str>)]) -> Vec<(String, Vec<String>)> {
    let sources: Vec<_> = sources
        .iter()
        .map(|(ip, name)| SourceAddress {
            ip: ip.parse().unwrap(),
            helo_name: name.map(ToOwned::to_owned),
            since: None,
            is_for_free: false,
        })
        .collect();
    HeloIdentity::all("one.example", &sources, None)
        .into_iter()
        .map(|identity| {
            let addresses = identity.addresses().map(|ip| ip.to_string()).collect();
            (identity.helo_name, addresses)
        })
        .collect()
}

#[test]
fn a_family_without_a_source_address_is_not_connected_to() {
    let source = |ip: &str| SourceAddress {
        ip: ip.parse().unwrap(),
        helo_name: None,
        since: None,
        is_for_free: false,
    };
    let identity = |ips: &[&str]| {
        let sources: Vec<_> = ips.iter().map(|ip| source(ip)).collect();
        HeloIdentity::all("one.example", &sources, None).remove(0)
    };
    let reaches = |identity: HeloIdentity| {
        ["192.0.2.9", "2001:db8::9"].map(|ip| identity.reaches(ip.parse().unwrap()))
    };
    assert_eq!(reaches(identity(&[])), [true, true]);
    assert_eq!(identity(&[]).label(), "one.example");
    assert_eq!(reaches(identity(&["192.0.2.1"])), [true, false]);
    assert_eq!(reaches(identity(&["2001:db8::1"])), [false, true]);
    assert_eq!(reaches(identity(&["192.0.2.1", "2001:db8::1"])), [true, true]);
}

#[test]
fn a_name_goes_with_one_address_of_each_family() {
    assert_eq!(identities(&[]), [("one.example".to_owned(), vec![])]);
    let two = Some("two.example");
    let made = identities(&[
        ("192.0.2.1", None),
        ("192.0.2.2", two),
        ("2001:db8::1", None),
        ("192.0.2.3", None),
        ("2001:db8::2", two),
    ]);
    let shown: Vec<_> =
        made.iter().map(|(name, ips)| format!("{name} {}", ips.join(" "))).collect();
    assert_eq!(
        shown,
        [
            "one.example 192.0.2.1 2001:db8::1",
            "two.example 192.0.2.2 2001:db8::2",
            "one.example 192.0.2.3"
        ]
    );
}

#[test]
fn a_name_without_an_address_of_a_family_does_not_dial_it_unless_that_is_said() {
    let source = SourceAddress {
        ip: "192.0.2.1".parse().unwrap(),
        helo_name: None,
        since: None,
        is_for_free: false,
    };
    let sources = std::slice::from_ref(&source);
    let dials = |sources: &[SourceAddress], families, peer: &str| {
        let identity = HeloIdentity::all("one.example", sources, families).remove(0);
        identity.reaches(peer.parse().unwrap())
    };
    let v6_only = Some(Families { ipv4: false, ipv6: true });
    for (sources, families, v4, v6) in [
        (&[][..], None, true, true),
        (&[][..], v6_only, false, true),
        (sources, None, true, false),
        (sources, Some(Families::BOTH), true, true),
    ] {
        assert_eq!(dials(sources, families, "198.51.100.1"), v4);
        assert_eq!(dials(sources, families, "2001:db8::2"), v6);
    }
}

#[test]
fn an_identity_says_whether_it_is_for_free_and_since_when() {
    for (is_for_free, class) in [(true, "free"), (false, "known")] {
        let ip = "192.0.2.1".parse().unwrap();
        let source = SourceAddress { ip, helo_name: None, since: Some(7), is_for_free };
        let identity = HeloIdentity::all("one.example", &[source], None).remove(0);
        let said = (identity.is_for_free(), identity.class_name(), identity.since());
        assert_eq!(said, (is_for_free, class, Some(7)));
        assert_eq!(identity.label(), "192.0.2.1");
    }
}
