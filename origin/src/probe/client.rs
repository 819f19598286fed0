//! Speaks with mail hosts: identity, encryption, and the memory of their capabilities.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use hmac::{Hmac, Mac as _};
use rcpt_pool::{
    HashKey, Limits, Permit, Refusal, Settings, Signal, Source, SourceClass, operators::Operators,
};
use rcpt_shared::{Address, CatchAll, Stage};
use rcpt_smtp::{Answer, Connection, Dialer, Envelope, HeloIdentity, Reply, Session, Tls};
use rcpt_verdict::{Finding, Parties, Wording};
use sha2::Sha256;

use super::{
    memory::{HostMemory, Offers},
    treatment::{Place, RefusedBy, Stops},
};

use crate::{
    config::{Config, StartTls},
    dns::SingleFlight,
    surroundings::Clock,
    telemetry::port_check::PortCheck,
};

/// Longest idle time of a session: enough for a batch's next address, and a tenth of what servers should wait (RFC 5321
/// §4.5.3.2.7).
const MAX_IDLE: Duration = Duration::from_secs(30);

/// A session with a mail host. Boxed, because each step of a probe holds it.
pub(super) type HostSession = Box<Session<Box<dyn Connection>>>;

pub(super) type HostPermit = Permit<HostSession>;

pub(super) struct Client {
    identities: ArcSwap<Identities>,
    reverse_path: String,
    pub(super) starttls: StartTls,
    session_recipients: usize,
    pub(super) dialer: Dialer,
    pub(super) tls: Tls,
    operators: ArcSwap<Operators>,
    pub(super) port_check: Arc<PortCheck>,
    pub(super) memory: HostMemory,
    pub(super) stops: Stops,
    pub(super) controls: SingleFlight<CatchAll>,
    unix_now: Clock,
    /// MAC of which a domain's invented name of the day is made.
    invented_names: Hmac<Sha256>,
}

pub(super) struct HostAnswer {
    pub answer: Answer,
    pub finding: Finding,
    pub session: HostSession,
    pub took: Duration,
}

impl Client {
    pub(super) fn new(
        config: &Config,
        dialer: Dialer,
        tls: Tls,
        port_check: Arc<PortCheck>,
        unix_now: Clock,
        keys: HashKey,
    ) -> Arc<Self> {
        Arc::new(Self {
            identities: ArcSwap::from_pointee(Identities::new(config)),
            reverse_path: config.mail_from.clone(),
            starttls: config.starttls,
            session_recipients: config.session_recipients,
            dialer,
            tls,
            operators: ArcSwap::new(config.operators.clone()),
            port_check,
            memory: HostMemory::new(keys),
            stops: Stops::new(keys),
            controls: SingleFlight::default(),
            unix_now,
            invented_names: config.own_mac(b"invented names"),
        })
    }

    pub(super) fn reload(&self, config: &Config) {
        self.operators.store(config.operators.clone());
        self.identities.store(Arc::new(self.identities.load().with(config)));
    }

    pub(super) fn identities(&self) -> Arc<Identities> {
        self.identities.load_full()
    }

    /// Permits of the pool contain the identity's number.
    pub(super) fn identity(&self, number: usize) -> Arc<HeloIdentity> {
        self.identities.load().get(number)
    }

    pub(super) fn place(&self, host: &str, address: Option<IpAddr>) -> Option<Place> {
        let operator = self.operators.load().of_host(host);
        operator.map(Place::Operator).or(address.map(Place::Machine))
    }

    pub(super) fn note(&self, host: &str, permit: &HostPermit, signal: Signal<'_>) {
        permit.note(signal);
        let Some(place) = self.place(host, permit.address()) else { return };
        match signal {
            Signal::Answered { .. } | Signal::AcceptedLikeAny => self.stops.answered(place),
            Signal::Refused(Refusal {
                before_rcpt: true,
                is_trouble: false,
                about_our_address,
                ..
            }) => {
                // A machine that says "too many connections" bans us too, an operator's host has its own reasons.
                if about_our_address || matches!(place, Place::Machine(_)) {
                    self.stops.refused(place, RefusedBy::Words);
                }
            }
            Signal::Refused(_) | Signal::Unread => {}
        }
    }

    /// A connection failed or broke. For the pool, a machine that answered just now has banned us.
    pub(super) fn note_silence(&self, host: &str, permit: &HostPermit) {
        let Some(place) = self.place(host, permit.address()) else { return };
        if self.stops.refused(place, RefusedBy::Silence) {
            permit.note(Signal::Refused(Refusal {
                before_rcpt: true,
                closing: false,
                about_our_address: false,
                about_our_rate: false,
                is_trouble: false,
                hint: None,
                words: "",
            }));
        }
    }

    /// The name that doesn't exist by which we learn whether the domain's host accepts everything. It is the domain's
    /// name of the day, for each process with the same secret, and nobody else can compute it.
    pub(super) fn invented(&self, domain: &str) -> Option<Address> {
        let day = (self.unix_now)() / (24 * 3_600);
        let mac = self.invented_names.clone().chain_update(day.to_be_bytes());
        let tag = mac.chain_update(domain).finalize().into_bytes();
        // 26¹⁶ ≈ 4 × 10²²: no mailbox has such a name, and no filter knows it.
        let letter = |octet: &u8| char::from(b'a' + octet % 26);
        let local_part: String = tag.iter().take(16).map(letter).collect();
        Address::parse(&format!("{local_part}@{domain}")).ok()
    }

    pub(super) fn has_row(&self, host: &str) -> bool {
        self.operators.load().of_host(host).is_some()
    }

    pub(super) fn is_informative(&self, host: &str) -> bool {
        let operators = self.operators.load();
        let row = operators.of_host(host).and_then(|id| operators.get(id));
        row.and_then(|row| row.informative) != Some(false)
    }

    pub(super) fn is_reusable(&self, host: &str, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients(host))
    }

    pub(super) fn takes_control(&self, host: &str, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients(host) + 1)
    }

    fn session_recipients(&self, host: &str) -> usize {
        let operators = self.operators.load();
        let row = operators.of_host(host).and_then(|id| operators.get(id));
        row.and_then(|row| row.session_recipients).unwrap_or(self.session_recipients)
    }

    pub(super) fn judge(&self, stage: Stage, reply: &Reply, recipient: &Address) -> Finding {
        rcpt_verdict::judge(stage, reply, &self.parties(&self.identities(), recipient))
    }

    pub(super) fn wording(
        &self,
        reply: &Reply,
        finding: &Finding,
        recipient: &Address,
    ) -> Option<Wording> {
        let identities = self.identities();
        let parties = self.parties(&identities, recipient);
        Wording::of(reply, finding, &parties, |text| self.memory.hash(text))
    }

    fn parties<'a>(&'a self, identities: &'a Identities, recipient: &'a Address) -> Parties<'a> {
        Parties {
            recipient: recipient.normal(),
            sender: Some(&self.reverse_path),
            helo_names: identities.helo_names().collect(),
        }
    }

    pub(super) fn judge_answer(&self, answer: &Answer, recipient: &Address) -> Finding {
        match answer {
            Answer::Mail(reply) => self.judge(Stage::Mail, reply, recipient),
            Answer::Rcpt(reply) => self.judge(Stage::Rcpt, reply, recipient),
            Answer::Smtputf8Unsupported => rcpt_verdict::smtputf8_unsupported(),
        }
    }

    pub(super) fn envelope<'a>(
        &'a self,
        recipient: &'a Address,
        is_last: impl FnOnce() -> bool,
    ) -> Envelope<'a> {
        let last = self.session_recipients == 1 && is_last();
        Envelope { reverse_path: &self.reverse_path, recipient, last }
    }

    pub(super) fn remember(&self, host: &str, change: impl FnOnce(&mut Offers)) {
        let mut offers = self.memory.offers(host);
        change(&mut offers);
        self.memory.showed(host, offers);
    }
}

pub(super) fn pool_settings(config: &Config, client: &Client) -> Settings {
    let limits = |sessions| Limits {
        sessions,
        interval: config.session_interval,
        recipients_per_minute: config.recipients_per_minute,
        refused_per_hour: config.refused_per_hour,
        refused_lately: usize::MAX,
    };
    Settings {
        operators: config.operators.clone(),
        operator: limits(config.operator_sessions),
        machine: limits(config.machine_sessions),
        network_sessions: config.network_sessions,
        max_idle: MAX_IDLE,
        max_waiting: config.max_probes.div_ceil(2),
        tenant_share: config.tenant_share,
        sources: (&*client.identities()).into(),
        pace: config.pace,
    }
}

/// QUIT's six bytes fit into the socket's buffer, so the session is ended without waiting.
#[expect(clippy::boxed_local, reason = "the pool's sessions are boxed")]
pub(super) fn quit_now(session: HostSession) {
    session.quit(());
}

/// An address keeps its number over reloads, because the pool stores records under that number.
pub(super) struct Identities {
    numbered: Vec<Numbered>,
    /// The configured HELO name, with an address chosen by the system.
    unbound: Arc<HeloIdentity>,
    /// Secret on which the choice for a domain depends, so that outsiders can't control it.
    key: Vec<u8>,
}

#[derive(Clone)]
struct Numbered {
    identity: Arc<HeloIdentity>,
    label: Arc<str>,
    /// False after a reload has removed the address: open sessions end, and no others start.
    is_in_use: bool,
}

impl Numbered {
    fn class(&self) -> SourceClass {
        if self.identity.is_for_free() { SourceClass::Free } else { SourceClass::Known }
    }

    fn is(&self, other: &HeloIdentity) -> bool {
        self.identity.helo_name == other.helo_name
            && self.identity.addresses().eq(other.addresses())
    }
}

impl Identities {
    fn new(config: &Config) -> Self {
        let unbound = Arc::new(HeloIdentity::unbound(&config.helo_name));
        Self { numbered: Vec::new(), unbound, key: config.own_secret().to_vec() }.with(config)
    }

    /// Known addresses keep their numbers.
    pub(super) fn with(&self, config: &Config) -> Self {
        let mut numbered = self.numbered.clone();
        numbered.iter_mut().for_each(|known| known.is_in_use = false);
        let all = HeloIdentity::all(&config.helo_name, &config.source_addresses, config.families);
        for identity in all {
            let position = numbered.iter().position(|known| known.is(&identity));
            let label = Arc::from(identity.label());
            let new = Numbered { identity: Arc::new(identity), label, is_in_use: true };
            match position.and_then(|number| numbered.get_mut(number)) {
                Some(position) => *position = new,
                None => numbered.push(new),
            }
        }
        Self { numbered, unbound: self.unbound.clone(), key: self.key.clone() }
    }

    pub(super) fn get(&self, number: usize) -> Arc<HeloIdentity> {
        let numbered_identity = self.numbered.get(number);
        numbered_identity.map_or_else(
            || self.unbound.clone(),
            |numbered_identity| numbered_identity.identity.clone(),
        )
    }

    pub(super) fn in_use(&self) -> impl Iterator<Item = &Arc<HeloIdentity>> {
        let in_use = self.numbered.iter().filter(|known| known.is_in_use);
        in_use.map(|known| &known.identity)
    }

    pub(super) fn numbered<T>(&self, of: impl Fn(&HeloIdentity) -> T) -> Vec<T> {
        self.numbered.iter().map(|known| of(&known.identity)).collect()
    }

    /// Former names too.
    pub(super) fn helo_names(&self) -> impl Iterator<Item = &str> {
        let numbered = self.numbered.iter().map(|known| &known.identity);
        numbered.chain([&self.unbound]).map(|identity| identity.helo_name.as_str())
    }

    /// The same addresses give the same number, because a server that defers a request expects the retry from the same
    /// address. A class without reserved addresses shares those of the other class.
    ///
    /// Rendezvous hashing: an additional address takes over some domains and moves no others.
    pub(super) fn of(&self, domain: &str, class: SourceClass) -> usize {
        let in_use = || self.numbered.iter().enumerate().filter(|(_, known)| known.is_in_use);
        let has_own = in_use().any(|(_, known)| known.class() == class);
        let candidates = || in_use().filter(|(_, known)| !has_own || known.class() == class);
        // Most origins have one address and need no hash.
        match candidates().take(2).count() {
            0 => 0,
            1 => candidates().next().map_or(0, |(number, _)| number),
            _ => {
                let highest =
                    candidates().max_by_key(|(_, known)| self.weight(&known.label, domain));
                highest.map_or(0, |(number, _)| number)
            }
        }
    }

    fn weight(&self, label: &str, domain: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key.as_slice(), label, domain).hash(&mut hasher);
        hasher.finish()
    }
}

impl From<&Identities> for Vec<Source> {
    fn from(identities: &Identities) -> Self {
        let source = |known: &Numbered| Source {
            label: known.label.clone(),
            since: known.identity.since(),
            class: known.class(),
            is_in_use: known.is_in_use,
        };
        identities.numbered.iter().map(source).collect()
    }
}

#[cfg(test)]
mod tests;
