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
