//! Connections on the loopback: who is tried, from where, and whose failure it is.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use super::{Dialer, Unconnected};
use crate::{
    config::{Families, SourceAddress},
    smtp::HeloIdentity,
};

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A port that was just free refuses connections.
async fn refusing() -> SocketAddr {
    listener().await.1
}

fn dialer() -> Dialer {
    Dialer::new(Duration::from_secs(5))
}

fn from(source: Option<&str>) -> HeloIdentity {
    let source = source
        .map(|ip| SourceAddress { ip: ip.parse().unwrap(), helo_name: None })
        .into_iter()
        .collect::<Vec<_>>();
    HeloIdentity::all("probe.example.com", &source, None).remove(0)
}

#[tokio::test]
async fn the_first_address_that_accepts_wins_and_the_rest_remain() {
    let (_first, accepting) = listener().await;
    let (_second, never_tried) = listener().await;
    let mut addresses = vec![refusing().await, accepting, never_tried];
    let (stream, address) = dialer().race(&from(None), &mut addresses).await.unwrap();
    assert_eq!((address, stream.peer_addr().unwrap()), (accepting, accepting));
    assert_eq!(addresses, [never_tried]);
}

#[tokio::test]
async fn when_none_accepts_none_remains() {
    for count in [1, 3] {
        let mut addresses = Vec::new();
        for _ in 0..count {
            addresses.push(refusing().await);
        }
        assert_eq!(
            dialer().race(&from(None), &mut addresses).await.unwrap_err(),
            Unconnected::Theirs
        );
        assert!(addresses.is_empty());
    }
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
    assert_eq!(failure, Unconnected::Ours);
    let mut addresses = vec![address, refusing().await];
    let failure = dialer().race(&nowhere, &mut addresses).await.unwrap_err();
    assert_eq!(failure, Unconnected::Ours);
}

/// Accepts no connection, and answers none: its queue is full.
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
async fn a_second_address_of_a_family_waits_until_the_first_has_failed() {
    let (_held, hanging, _filling) = silent().await;
    let (second, accepting) = listener().await;
    let mut addresses = vec![hanging, accepting];
    let dialer = Dialer::new(Duration::from_secs(2));
    let identity = from(None);
    let race = dialer.race(&identity, &mut addresses);
    let early = timeout(Duration::from_millis(1_000), second.accept());
    let (won, early) = tokio::join!(race, early);
    assert!(early.is_err(), "both were dialled at once");
    assert_eq!(won.unwrap().1, accepting);
}

#[tokio::test]
async fn the_other_family_is_tried_beside_an_address_that_is_silent() {
    let (_held, hanging, _filling) = silent().await;
    let listener = TcpListener::bind("[::1]:0").await.unwrap();
    let accepting = listener.local_addr().unwrap();
    let mut addresses = vec![hanging, accepting];
    let (_stream, address) = dialer().race(&from(None), &mut addresses).await.unwrap();
    assert_eq!(address, accepting);
    assert_eq!(addresses, [hanging], "it may still answer");
}

#[tokio::test]
async fn an_address_that_we_have_no_way_to_is_our_failure_unless_the_other_family_found_it_shut() {
    // The broadcast address: the system refuses with "network is unreachable" and sends nothing.
    let no_way: SocketAddr = "255.255.255.255:25".parse().unwrap();
    let failure = dialer().connect(&from(None), no_way).await.unwrap_err();
    assert_eq!(failure, Unconnected::Ours);
    let shut = {
        let listener = TcpListener::bind("[::1]:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let failure = dialer().race(&from(None), &mut vec![no_way, shut]).await.unwrap_err();
    assert_eq!(failure, Unconnected::Theirs);
}

#[tokio::test]
async fn a_family_that_is_switched_off_is_not_dialled() {
    let (_listener, address) = listener().await;
    let v6_only = Some(Families { ipv4: false, ipv6: true });
    let identity = HeloIdentity::all("probe.example.com", &[], v6_only).remove(0);
    let failure = dialer().race(&identity, &mut vec![address]).await.unwrap_err();
    assert_eq!(failure, Unconnected::Ours);
}
