//! The simulated internet: connections to machines, and a survey of all open sessions.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use rcpt_smtp::{ConnectFailure, Connection, Network};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex},
    time::sleep,
};

use crate::{
    clock::WorldClock,
    journal::Journal,
    server::{Server, Visit},
    trace::Trace,
};

/// Buffer of a connection in each direction, in bytes.
const BUFFER_BYTES: usize = 8 * 1_024;

/// A machine, known by its address.
#[derive(Clone)]
pub struct Machine {
    pub server: Arc<Server>,
    pub reach: Reach,
    /// Start and end of a time in which the machine is silent.
    pub hung: Option<(Duration, Duration)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Answers,
    /// No port is open.
    Refuses,
    /// Packets get lost.
    Silent,
}

/// Maximum numbers of open sessions of one origin with a machine and with a network, and of one source address with
/// each operator.
#[derive(Clone, Default)]
pub struct SessionLimits {
    pub machine: usize,
    pub network: usize,
    pub operators: HashMap<&'static str, usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum SessionParty {
    /// From all source addresses of one origin, to a machine or a network.
    Machine(usize, IpAddr),
    Network(usize, [u8; 3]),
    /// From one source address, to an operator.
    Operator(IpAddr, &'static str),
    /// A server's own unit: one source address with one kind of server, or with one machine.
    Kind(IpAddr, &'static str),
    Pair(IpAddr, IpAddr),
}

/// The observations of a run: time, trace, journal and open sessions.
pub struct Observations {
    pub clock: WorldClock,
    pub trace: Trace,
    pub journal: Journal,
    limits: Option<SessionLimits>,
    open: Mutex<BTreeMap<SessionParty, usize>>,
    most_open: Mutex<usize>,
}

impl Observations {
    /// Creates an empty survey; `limits`, if any, are checked at every connection.
    pub fn new(clock: WorldClock, limits: Option<SessionLimits>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            trace: Trace::default(),
            journal: Journal::default(),
            limits,
            open: Mutex::default(),
            most_open: Mutex::default(),
        })
    }

    /// Open sessions of the source with this machine or with its kind of operator, whichever are more.
    pub fn open_at(&self, source: IpAddr, kind: &'static str, machine: IpAddr) -> usize {
        let open = self.open();
        let of = |counted| open.get(&counted).copied().unwrap_or_default();
        of(SessionParty::Pair(source, machine)).max(of(SessionParty::Kind(source, kind)))
    }

    /// Number of open sessions of all origins.
    pub fn all_open(&self) -> usize {
        let open = self.open();
        let pairs = open.iter().filter(|(counted, _)| matches!(counted, SessionParty::Pair(..)));
        pairs.map(|(_, count)| count).sum()
    }

    fn enter(
        self: &Arc<Self>,
        origin: usize,
        source: IpAddr,
        machine: IpAddr,
        server: &Server,
    ) -> Presence {
        let mut parties = vec![SessionParty::Pair(source, machine)];
        if server.operator.is_some() {
            parties.push(SessionParty::Kind(source, server.kind));
        }
        match server.operator {
            Some(operator) => parties.push(SessionParty::Operator(source, operator)),
            None => {
                let [a, b, c, _] = v4(machine).octets();
                parties.push(SessionParty::Machine(origin, machine));
                parties.push(SessionParty::Network(origin, [a, b, c]));
            }
        }
        let mut open = self.open();
        for party in &parties {
            let count = open.entry(party.clone()).or_default();
            *count += 1;
            let limit = self.limits.as_ref().map_or(usize::MAX, |limits| match party {
                SessionParty::Machine(..) => limits.machine,
                SessionParty::Network(..) => limits.network,
                SessionParty::Operator(_, name) => limits.operators.get(name).copied().unwrap_or(2),
                SessionParty::Kind(..) | SessionParty::Pair(..) => usize::MAX,
            });
            if *count > limit {
                let (count, at) = (*count, self.clock.now());
                self.journal.broken(|| format!("{count} sessions with {party:?} at {at:?}"));
            }
        }
        drop(open);
        Presence { observations: Arc::clone(self), parties }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<SessionParty, usize>> {
        self.open.lock()
    }

    /// The highest number of sessions that were open at the same time.
    pub fn most_open(&self) -> usize {
        *self.most_open.lock()
    }

    fn note_most(&self) {
        let all = self.all_open();
        let mut most = self.most_open.lock();
        *most = (*most).max(all);
    }
}

/// An open session, counted for each of `parties`.
#[derive(Clone)]
struct Presence {
    observations: Arc<Observations>,
    parties: Vec<SessionParty>,
}

impl std::fmt::Debug for Presence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.parties).finish()
    }
}

impl Presence {
    fn leave(&self) {
        let mut open = self.observations.open();
        for party in &self.parties {
            if let Some(count) = open.get_mut(party) {
                *count -= 1;
                if *count == 0 {
                    open.remove(party);
                }
            }
        }
    }
}

/// Origin's end of a connection, which counts as open until it is dropped.
#[derive(Debug)]
struct OpenStream {
    stream: DuplexStream,
    presence: Presence,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.presence.leave();
    }
}

impl Connection for OpenStream {}

impl AsyncRead for OpenStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for OpenStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, octets)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// One origin's access to the internet.
pub struct Uplink {
    pub origin: usize,
    pub machines: Arc<HashMap<IpAddr, Machine>>,
    pub observations: Arc<Observations>,
}

impl Network for Uplink {
    fn connect(
        &self,
        source: Option<IpAddr>,
        address: SocketAddr,
        within: Duration,
    ) -> BoxFuture<'static, Result<Box<dyn Connection>, ConnectFailure>> {
        let machine = self.machines.get(&address.ip()).cloned();
        let (origin, observations) = (self.origin, Arc::clone(&self.observations));
        let source = source.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        Box::pin(async move {
            let Some(Machine { server, reach, hung }) = machine else {
                sleep(within).await;
                return Err(ConnectFailure::Theirs);
            };
            // The session counts from the first packet, as in the pool.
            let presence = observations.enter(origin, source, address.ip(), &server);
            observations.note_most();
            let (near, far) = duplex(BUFFER_BYTES);
            let stream = OpenStream { stream: near, presence };
            let is_hung =
                hung.is_some_and(|(from, until)| (from..until).contains(&observations.clock.now()));
            if is_hung || reach == Reach::Silent || server.round_trip > within {
                sleep(within).await;
                return Err(ConnectFailure::Theirs);
            }
            sleep(server.round_trip).await;
            if reach == Reach::Refuses {
                return Err(ConnectFailure::Theirs);
            }
            let visit = Visit { server, machine: address.ip(), source, observations, asked: 0 };
            tokio::spawn(visit.converse(far));
            let stream: Box<dyn Connection> = Box::new(stream);
            Ok(stream)
        })
    }
}

pub fn v4(ip: IpAddr) -> Ipv4Addr {
    match ip {
        IpAddr::V4(ip) => ip,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}
