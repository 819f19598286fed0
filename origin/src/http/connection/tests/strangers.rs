//! Connections of strangers: the one that gives way, and to which other.

use std::{net::IpAddr, sync::Arc};

use futures_util::FutureExt as _;

use super::super::{NETWORKS, Stranger, Strangers, of_network};

const MAX_OF_NETWORK: usize = 1_024;
const MAX: usize = NETWORKS * MAX_OF_NETWORK;

fn ip(number: usize) -> IpAddr {
    IpAddr::from(u32::try_from(number).unwrap().to_be_bytes())
}

fn open(strangers: &[Stranger]) -> usize {
    strangers.iter().filter(|it| it.closed().now_or_never().is_none()).count()
}

#[test]
fn a_network_s_oldest_stranger_gives_way_to_its_newest() {
    let all = Arc::new(Strangers::default());
    let mut entered: Vec<_> =
        (0..MAX_OF_NETWORK).map(|_| all.enter(ip(1), MAX_OF_NETWORK)).collect();
    let other = all.enter(ip(2), MAX_OF_NETWORK);
    assert_eq!(open(&entered), MAX_OF_NETWORK);
    entered.push(all.enter(ip(1), MAX_OF_NETWORK));
    assert!(entered.remove(0).closed().now_or_never().is_some(), "the oldest");
    assert_eq!(open(&entered), MAX_OF_NETWORK);
    assert!(other.closed().now_or_never().is_none());
}

#[test]
fn who_has_shown_a_ticket_gives_way_to_nobody_and_leaves_its_place() {
    let all = Arc::new(Strangers::default());
    let edge: Vec<_> = (0..1_000)
        .map(|_| {
            let connection = all.enter(ip(1), MAX_OF_NETWORK);
            connection.leave();
            connection
        })
        .collect();
    let strangers: Vec<_> =
        (0..2 * MAX_OF_NETWORK).map(|_| all.enter(ip(1), MAX_OF_NETWORK)).collect();
    assert_eq!(open(&edge), edge.len());
    assert_eq!(open(&strangers), MAX_OF_NETWORK);
    drop((edge, strangers));
    let lists = all.0.lock();
    assert_eq!((lists.count, lists.by_network.len()), (0, 0));
}

#[test]
fn of_many_networks_the_one_with_most_strangers_gives_way() {
    let all = Arc::new(Strangers::default());
    let greedy: Vec<_> = (0..MAX_OF_NETWORK).map(|_| all.enter(ip(1), MAX_OF_NETWORK)).collect();
    let modest: Vec<_> =
        (0..MAX - MAX_OF_NETWORK).map(|n| all.enter(ip(100 + n), MAX_OF_NETWORK)).collect();
    let newest: Vec<_> = (0..100).map(|n| all.enter(ip(50_000 + n), MAX_OF_NETWORK)).collect();
    assert_eq!(all.0.lock().count, MAX);
    assert_eq!((open(&greedy), open(&modest)), (MAX_OF_NETWORK - 100, modest.len()));
    assert_eq!(open(&newest), newest.len());
}

#[test]
fn the_edge_s_connections_for_all_probes_are_strangers_without_closing_each_other() {
    for max_probes in [1, 512, 5_000] {
        let (all, most) = (Arc::new(Strangers::default()), of_network(max_probes));
        let edge: Vec<_> = (0..2 * max_probes).map(|_| all.enter(ip(1), most)).collect();
        assert_eq!(open(&edge), edge.len(), "{max_probes}");
    }
}

#[test]
fn an_ipv6_network_is_a_64() {
    let all = Arc::new(Strangers::default());
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let first = all.enter(ip("2001:db8::1"), MAX_OF_NETWORK);
    let others: Vec<_> = (0..MAX_OF_NETWORK)
        .map(|n| all.enter(ip(&format!("2001:db8::{:x}", n + 2)), MAX_OF_NETWORK))
        .collect();
    let neighbour = all.enter(ip("2001:db8:0:1::1"), MAX_OF_NETWORK);
    assert!(first.closed().now_or_never().is_some());
    assert_eq!(open(&others), others.len());
    assert!(neighbour.closed().now_or_never().is_none());
    drop(others);
    let mapped = [
        all.enter(ip("::ffff:192.0.2.1"), MAX_OF_NETWORK),
        all.enter(ip("192.0.2.1"), MAX_OF_NETWORK),
    ];
    assert_eq!(mapped[0].network, mapped[1].network);
}
