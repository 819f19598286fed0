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

/// State shared by all sessions.
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

/// A host's answer, its session, and the time it took.
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

    /// Applies the operators and source addresses of this configuration.
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

    /// Returns the identity by its number, which permits of the pool contain.
    pub(super) fn identity(&self, number: usize) -> Arc<HeloIdentity> {
        self.identities.load().get(number)
    }

    /// Returns whether the host's replies at RCPT may reveal if the mailbox exists.
    pub(super) fn is_informative(&self, host: &str) -> bool {
        let operators = self.operators.load();
        let row = operators.of_host(host).and_then(|id| operators.get(id));
        row.and_then(|row| row.informative) != Some(false)
    }

    /// Returns whether the host refused a recipient of the domain by a look-up of its name within the last day.
    pub(super) fn refuses_by_name(&self, domain: &str, host: &str) -> bool {
        self.memory.refuses_by_name(&catch_all_key(domain, host))
    }

    pub(super) fn is_reusable(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients)
    }

    /// Returns whether the session can serve the control recipient.
    pub(super) fn takes_control(&self, session: &HostSession) -> bool {
        session.is_reusable(self.session_recipients + 1)
    }

    /// Returns the envelope for `recipient`. `is_last` returns whether no control recipient
    /// follows.
    /// Judges a reply in a conversation about `recipient` by the rules.
    pub(super) fn judge(&self, stage: Stage, reply: &Reply, recipient: &Address) -> Finding {
        let identities = self.identities();
        let parties = Parties {
            recipient: recipient.normal(),
            sender: Some(&self.reverse_path),
            helo_names: identities.helo_names().collect(),
        };
        rcpt_verdict::judge(stage, reply, &parties)
    }

    /// Judges the reply to MAIL or RCPT by the rules.
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

/// Ends a session that the pool no longer needs. Doesn't wait: QUIT's six bytes fit into the socket's buffer.
#[expect(clippy::boxed_local, reason = "the pool's sessions are boxed")]
pub(super) fn quit_now(session: HostSession) {
    session.quit(());
}
