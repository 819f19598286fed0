//! The words that all rooms share: keys, a check, its asker, the session that it needs, the answers of a rule. Keys are
//! hashes of names, and the units of shared limits: sites, and the meters within them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use rcpt_shared::{Address, FREE};
use tokio::time::Instant;

/// Keyed hash of a name or an address, stored in its place.
pub(crate) type Key = u64;

/// Secret that is hashed before each value, so that outsiders can't find values with equal hashes.
#[derive(Clone, Copy)]
pub struct HashKey([u64; 2]);

impl HashKey {
    /// The same numbers give the same hashes in all processes of one build.
    pub const fn new(secret: [u64; 2]) -> Self {
        Self(secret)
    }

    pub fn hash_one(self, value: impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0, value).hash(&mut hasher);
        hasher.finish()
    }
}

impl Default for HashKey {
    fn default() -> Self {
        Self(rand::random())
    }
}

pub type OperatorId = usize;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SiteKey {
    Operator(OperatorId, usize),
    Network(IpAddr),
    Route(Arc<str>),
}

/// Key of the meter that counts a session: a machine in a network, or `None` for the whole site. In a /64, `None`
/// counts the machines without a meter of their own.
pub(crate) type MeterKey = Option<IpAddr>;

impl SiteKey {
    pub(crate) fn network_of(machine: IpAddr) -> Self {
        Self::Network(match machine {
            IpAddr::V4(ip) => IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & (u32::MAX << 8))),
            IpAddr::V6(_) => first_of(machine, 64),
        })
    }

    /// The /48 of an IPv6 network, which is what one customer of a provider gets; other sites are their own.
    pub(crate) fn neighbourhood(&self) -> Self {
        match self {
            Self::Network(network) => Self::Network(first_of(*network, 48)),
            other => other.clone(),
        }
    }

    pub(crate) const fn is_network(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}

fn first_of(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() & (u128::MAX << (128 - bits))).into(),
    }
}

/// A check: the address, the asker, and how long to wait for a session. Built once from the ticket and the body, and
/// borrowed by all lower layers.
#[derive(Debug, Clone)]
pub struct Question {
    pub address: Address,
    pub asker: Asker,
    pub wait: Wait,
}

#[derive(Debug, Clone, Default)]
pub struct Asker {
    pub account: Option<Arc<str>>,
    /// Name of the group for fair sharing: the account itself if it pays, otherwise one group for all free accounts.
    /// `None` if the edge sends no group; then no share limits the check.
    pub fairness_group: Option<Arc<str>>,
}

impl Asker {
    pub fn class(&self) -> SourceClass {
        match self.fairness_group.as_deref() {
            Some(FREE) => SourceClass::Free,
            _ => SourceClass::Known,
        }
    }
}

/// A source address, or an IPv4 and an IPv6 address that share a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub label: Arc<str>,
    /// Unix time since which mail servers have seen the source; `None` for an established source.
    pub since: Option<u64>,
    pub class: SourceClass,
    /// False after a reload has removed the source.
    pub is_in_use: bool,
}

/// Accounts that may use a source address. The reputation of one class's addresses doesn't depend
/// on other classes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SourceClass {
    /// Paying accounts; all accounts if no address is reserved for free accounts.
    #[default]
    Known,
    /// Accounts without a plan.
    Free,
}

#[derive(Debug, Clone, Copy)]
pub enum Wait {
    /// A client waits for this single verdict.
    Interactive(Instant),
    /// An address in a list. The address's own budget starts when it gets a session.
    InBatch(Instant),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Interactive,
    /// Served after interactive checks, but gets one session in ten while both classes wait.
    Batch,
}

impl Wait {
    pub const fn class(self) -> Class {
        match self {
            Self::Interactive(_) => Class::Interactive,
            Self::InBatch(_) => Class::Batch,
        }
    }

    pub const fn deadline(self) -> Instant {
        let (Self::Interactive(deadline) | Self::InBatch(deadline)) = self;
        deadline
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    pub host: &'a str,
    /// Addresses of the host, in the order in which to try them.
    pub addresses: &'a [SocketAddr],
    pub identity: usize,
    /// True for a configured route, to which no limits apply.
    pub is_route: bool,
    /// True if the check has already passed the domain's gate.
    pub admitted: bool,
    /// Because idle sessions were unusable.
    pub afresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Party {
    /// A paying account, or all free accounts together.
    pub group: Key,
    /// Equal to `group` if the group is this one account.
    pub account: Key,
    pub domain: Key,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Past {
    /// At most a fifth of the account's recipients were refused.
    Good,
    #[default]
    Unknown,
    /// More than half of the account's recipients were refused.
    Guessing,
}

pub(crate) struct Want {
    pub party: Party,
    pub past: Past,
    pub class: Class,
    pub share: Option<f64>,
    pub site: SiteKey,
    pub meter: MeterKey,
    pub host: Arc<str>,
    pub identity: usize,
    pub address: Option<IpAddr>,
    pub latest: Instant,
    /// True if the check passes the domain's gate: not at consumer domains, and only once.
    pub has_gate: bool,
    /// True if the check has already passed the limits of its domain and account.
    pub is_admitted: bool,
    pub afresh: bool,
    pub warm_up: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// Time after which another attempt may succeed.
    pub after: Duration,
    pub cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Domain,
    /// The host's address has refused us recently; its other addresses may accept us.
    Address,
    Refusals,
    /// Our source address is new to the operator.
    WarmUp,
    Crowded,
    /// The account's sessions have made others wait.
    Slow,
    Rate,
    /// All sessions are in use, or the free ones are left to others.
    Session,
}

impl Cause {
    /// The table of who waits for what; everybody else gets the time at once.
    pub(crate) const fn is_waited_for(self, class: Class) -> bool {
        match self {
            Self::Rate | Self::Session | Self::Address | Self::Slow => true,
            Self::Domain => matches!(class, Class::Interactive),
            Self::Refusals | Self::WarmUp | Self::Crowded => false,
        }
    }
}

/// A rule's "not now": why, and when to look again; `None` if no time is known: when a session comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Not {
    pub cause: Cause,
    pub until: Option<Instant>,
}

pub(crate) type May = Result<(), Not>;

impl Cause {
    pub(crate) const fn ends_with_a_session(self) -> bool {
        matches!(self, Self::Rate | Self::Session)
    }

    pub(crate) fn from(self, time: Option<Instant>) -> May {
        time.map_or(Ok(()), |at| Err(Not { cause: self, until: Some(at) }))
    }
}

/// Both rules must allow the check. Of two answers, the later known time counts.
pub(crate) fn both(one: May, other: May) -> May {
    match (one, other) {
        (Err(a), Err(b)) => Err(if b.until > a.until { b } else { a }),
        (one, other) => one.and(other),
    }
}

pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    [one, other].into_iter().flatten().min()
}

/// A server's reaction, which affects later checks. Each reaction at RCPT but an acceptance counts as a refused
/// recipient, whatever its words: the server's own count doesn't depend on whether we understand it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal<'a> {
    Answered {
        refused: bool,
    },
    AcceptedLikeAny,
    Refused(Refusal<'a>),
    /// The server refused the recipient in words that have no further consequence.
    Unread,
}

impl Signal<'_> {
    pub(crate) const fn is_refused_recipient(self) -> bool {
        match self {
            Self::Answered { refused } => refused,
            Self::AcceptedLikeAny => false,
            Self::Refused(refusal) => !refusal.before_rcpt,
            Self::Unread => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// True before any recipient was named: the refusal is the machine's, not a domain's.
    pub before_rcpt: bool,
    pub closing: bool,
    pub about_our_address: bool,
    /// True if the words are about our rate, or if the server closes without another reason.
    pub about_our_rate: bool,
    /// True if the words are about the server's own load or trouble. A ban has other words.
    pub is_trouble: bool,
    pub hint: Option<Duration>,
    /// The reply's codes, rule and phrase of our own tables, for `origin status`: never the server's text.
    pub words: &'a str,
}
