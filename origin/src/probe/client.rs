//! Speaks with mail hosts: identity, encryption, and the memory of their capabilities.

use std::{sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use rcpt_pool::{HashKey, Permit, operators::Operators};
use rcpt_shared::{Address, CatchAll, Stage};
use rcpt_smtp::{Answer, Connection, Dialer, Envelope, HeloIdentity, Reply, Session, Tls};
use rcpt_verdict::{Finding, Parties};

use super::{
    host_memory::{HostMemory, Offers, catch_all_key},
    identities::Identities,
};

use crate::{
    config::{Config, StartTls},
    dns::single_flight::SingleFlight,
    surroundings::Random,
    telemetry::{port_check::PortCheck, session_metrics::SessionMetrics},
};

/// A session with a mail host. Boxed, because each step of a probe holds it.
pub(super) type HostSession = Box<Session<Box<dyn Connection>>>;

pub(super) type HostPermit = Permit<HostSession>;

pub(super) struct Client {
    identities: ArcSwap<Identities>,
    reverse_path: String,
    pub(super) starttls: StartTls,
    /// Maximum number of recipients per session.
    session_recipients: usize,
    dialer: Dialer,
    pub(super) tls: Tls,
    operators: ArcSwap<Operators>,
    pub(super) port_check: Arc<PortCheck>,
    pub(super) memory: HostMemory,
    pub(super) sessions: SessionMetrics,
    /// Control recipients being checked, by domain and host.
    pub(super) controls: SingleFlight<CatchAll>,
    pub(super) random: Random,
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
        random: Random,
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
            sessions: SessionMetrics::default(),
            controls: SingleFlight::default(),
            random,
        })
    }

    pub(super) fn reload(&self, config: &Config) {
        self.operators.store(config.operators.clone());
        self.identities.store(Arc::new(self.identities.load().with(config)));
    }

    pub(super) const fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(super) fn identities(&self) -> Arc<Identities> {
        self.identities.load_full()
    }

    /// Permits of the pool contain the identity's number.
    pub(super) fn identity(&self, number: usize) -> Arc<HeloIdentity> {
        self.identities.load().get(number)
    }

    pub(super) fn is_informative(&self, host: &str) -> bool {
        let operators = self.operators.load();
        let row = operators.of_host(host).and_then(|id| operators.get(id));
        row.and_then(|row| row.informative) != Some(false)
    }

    pub(super) fn refuses_by_name(&self, domain: &str, host: &str) -> bool {
        self.memory.refuses_by_name(&catch_all_key(domain, host))
    }

    pub(super) fn is_reusable(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients)
    }

    pub(super) fn takes_control(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients + 1)
    }

    pub(super) fn judge(&self, stage: Stage, reply: &Reply, recipient: &Address) -> Finding {
        let identities = self.identities();
        let parties = Parties {
            recipient: recipient.normal(),
            sender: Some(&self.reverse_path),
            helo_names: identities.helo_names().collect(),
        };
        rcpt_verdict::judge(stage, reply, &parties)
    }

    pub(super) fn judge_answer(&self, answer: &Answer, recipient: &Address) -> Finding {
        match answer {
            Answer::Mail(reply) => self.judge(Stage::Mail, reply, recipient),
            Answer::Rcpt(reply) => self.judge(Stage::Rcpt, reply, recipient),
            Answer::Smtputf8Unsupported => rcpt_verdict::smtputf8_unsupported(),
        }
    }

    /// `is_last` returns whether no control recipient follows.
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

/// QUIT's six bytes fit into the socket's buffer, so the session is ended without waiting.
#[expect(clippy::boxed_local, reason = "the pool's sessions are boxed")]
pub(super) fn quit_now(session: HostSession) {
    session.quit(());
}
