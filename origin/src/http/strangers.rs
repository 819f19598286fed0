//! Connections over which no valid ticket has come yet. Their number is limited for each network and in total: one more
//! closes the oldest. A stranger can't keep out even the edge from its own network: it shows its ticket with its first
//! request, and counts no longer.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Strangers of all networks for one of a single network. With 16 KB of header and 25 KB of TLS each, 2,048 take 84 MB.
const NETWORKS: usize = 2;

/// Strangers of one network: twice `max_probes`, because an edge that opens more connections within a handshake's time
/// would close its own. Few probes leave room to its questions about our health.
pub(super) fn of_network(max_probes: usize) -> usize {
    max_probes.saturating_mul(2).max(1_024)
}

#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<ByNetwork>);

#[derive(Debug, Default)]
struct ByNetwork {
    by_network: HashMap<u64, VecDeque<(u64, Arc<Notify>)>>,
    count: usize,
    next_number: u64,
}

impl Strangers {
    /// At most `most` may be of one network.
    pub(super) fn enter(self: &Arc<Self>, ip: IpAddr, most: usize) -> Stranger {
        let (network, closed) = (network(ip), Arc::new(Notify::new()));
        let mut lists = self.0.lock();
        if lists.by_network.get(&network).is_some_and(|list| list.len() >= most) {
            lists.close_oldest(network);
        } else if lists.count >= most.saturating_mul(NETWORKS) {
            let largest = lists.largest();
            largest.into_iter().for_each(|network| lists.close_oldest(network));
        }
        let number = lists.next_number;
        lists.next_number += 1;
        lists.count += 1;
        lists.by_network.entry(network).or_default().push_back((number, closed.clone()));
        Stranger { strangers: self.clone(), network, number, closed }
    }
}

impl ByNetwork {
    fn largest(&self) -> Option<u64> {
        let networks = self.by_network.iter();
        let largest = networks.max_by_key(|(_, list)| {
            let oldest = list.front().map_or(u64::MAX, |(number, _)| *number);
            (list.len(), std::cmp::Reverse(oldest))
        });
        largest.map(|(network, _)| *network)
    }

    fn close_oldest(&mut self, network: u64) {
        let oldest = self.by_network.get(&network).and_then(|list| list.front().cloned());
        if let Some((number, closed)) = oldest {
            closed.notify_one();
            self.remove(network, number);
        }
    }

    fn remove(&mut self, network: u64, number: u64) {
        let Some(list) = self.by_network.get_mut(&network) else { return };
        let Ok(position) = list.binary_search_by_key(&number, |(number, _)| *number) else {
            return;
        };
        list.remove(position);
        self.count -= 1;
        if list.is_empty() {
            self.by_network.remove(&network);
        }
    }
}

/// A connection, counted until it leaves the strangers or is dropped.
#[derive(Debug)]
pub(super) struct Stranger {
    strangers: Arc<Strangers>,
    network: u64,
    number: u64,
    closed: Arc<Notify>,
}

impl Stranger {
    pub(super) fn leave(&self) {
        self.strangers.0.lock().remove(self.network, self.number);
    }

    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.leave();
    }
}

/// For IPv6 the /64, which belongs to one client.
fn network(ip: IpAddr) -> u64 {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.to_bits().into(),
        // No /64 below 2^32 is in use: `::/32` is reserved (RFC 4291 §2.5.5).
        IpAddr::V6(ip) => u64::try_from(ip.to_bits() >> 64).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use std::{net::IpAddr, sync::Arc};

    use futures_util::FutureExt as _;

    use super::{NETWORKS, Stranger, Strangers, of_network};

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
        let greedy: Vec<_> =
            (0..MAX_OF_NETWORK).map(|_| all.enter(ip(1), MAX_OF_NETWORK)).collect();
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
}
