//! A verdict's assessment, and the facts that need no probe: a domain's from lists and DNS, and an address's traits.

use rcpt_pool::Question;
use rcpt_shared::{
    Address, CatchAll, Confidence, Details, DomainFacts, DomainKind, DomainReport, Reason, Status,
    Traits, Verdict, is_role, sandbox::domain_facts,
};
use rcpt_verdict::assess;
use tokio::time::{Instant, timeout};

use super::{
    Prober, contrast::Invented, conversation::with_catch_all, memory::catch_all_key, sandbox,
};
use crate::{
    config::{Config, Route},
    dns::{
        Mx, NoAnswer,
        mx::{self, MailHosts, NoMailHosts},
    },
    lists::{Lists, MailRoute},
};

impl Prober {
    /// The facts about `domain` (lower-case A-labels) from lists and DNS; `None` if no nameserver responds in time and
    /// no list contains the domain.
    pub async fn domain_report(&self, domain: &str) -> Option<DomainReport> {
        let config = self.config();
        let (facts, is_known) = match domain_facts(domain) {
            Some(facts) => (facts, true),
            None => {
                let route = timeout(config.budget, self.mail_route(&config, domain)).await;
                let route = route.unwrap_or_default();
                let is_known = route.accepts_mail.is_some();
                (self.domain_facts(domain, &route), is_known)
            }
        };
        if !is_known && facts.kind == DomainKind::Unknown {
            return None;
        }
        let suggested_address =
            sandbox::meant_by(domain).or_else(|| config.lists.suggestion(domain, &facts));
        let suggested_domain = suggested_address.map(str::to_owned);
        Some(DomainReport { facts, suggested_domain })
    }

    async fn mail_route(&self, config: &Config, domain: &str) -> MailRoute {
        match config.routes.of(domain) {
            Some(Route::Server(server)) => return MailRoute::configured(Some(&server.host)),
            Some(Route::NoMx) => return MailRoute::configured(None),
            None => {}
        }
        let route = route_of(&mx::mail_hosts(self.dns(), domain).await);
        if !route.is_implicit {
            return route;
        }
        let accepts_mail = match self.dns().addresses(domain).await {
            Ok(found) => Some(!found.is_empty()),
            Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => Some(false),
            Err(NoAnswer::Failed) => None,
        };
        MailRoute { accepts_mail, ..route }
    }

    pub(super) fn domain_facts(&self, domain: &str, route: &MailRoute) -> DomainFacts {
        let config = self.config();
        config.lists.facts(domain, route, &config.operators)
    }

    pub(super) fn assess(&self, address: &Address, verdict: &mut Verdict) {
        let host = verdict.mx_host.as_deref();
        let config = self.config();
        let operators = &config.operators;
        let row = host.and_then(|host| operators.of_host(host)).and_then(|id| operators.get(id));
        let operator = row.map(|row| &*row.name);
        let catch_all = verdict.details.as_ref().map_or(CatchAll::Unknown, |it| it.catch_all);
        let refuses_by_name = || {
            let key = catch_all_key(address.domain(), host?);
            self.client.memory.refuses_by_name(&key).then_some(true)
        };
        let informative = row.and_then(|row| row.informative).or_else(refuses_by_name);
        let assessment = assess(verdict, catch_all, informative);
        verdict.reason = assessment.reason;
        let given = verdict.details.get_or_insert_with(|| Box::new(Details::new(None, None)));
        given.confidence = assessment.confidence;
        given.operator = operator.map(str::to_owned);
        given.verdict = assessment.verdict;
        // If the probe ended before DNS answered, only the lists determine the facts.
        let facts = given.domain.get_or_insert_with(|| {
            Box::new(self.domain_facts(address.domain(), &MailRoute::default()))
        });
        given.traits = address_traits(address, facts, &config.lists);
    }

    /// True for an acceptance by a host of no known operator, while it isn't known whether the host accepts everything
    /// and we haven't tried to learn it.
    pub fn lacks_evidence(&self, domain: &str, verdict: &Verdict) -> bool {
        let Some(host) = verdict.mx_host.as_deref().filter(|_| verdict.status == Status::Accepted)
        else {
            return false;
        };
        !self.client.has_row(host)
            && self.client.memory.catch_all(&catch_all_key(domain, host)).is_none()
    }

    /// The verdict with what has been learnt about its host since.
    pub fn with_evidence(&self, question: &Question, verdict: Verdict) -> Verdict {
        let host = verdict.mx_host.clone().unwrap_or_default();
        let key = catch_all_key(question.address.domain(), &host);
        let Some(found) = self.client.memory.catch_all(&key) else { return verdict };
        self.assessed_again(question, with_catch_all(verdict, found))
    }

    /// The answer of the domain's host to an invented name, and the time of words that no rule knows.
    pub fn invented(&self, domain: &str, host: &str) -> (Invented, Option<Instant>) {
        self.client.memory.invented(&catch_all_key(domain, host))
    }

    /// The verdict on a recipient to whom the host says what it says to names that don't exist.
    pub fn as_nobody(&self, question: &Question, mut verdict: Verdict) -> Verdict {
        (verdict.status, verdict.reason) = (Status::Refused, Reason::NoSuchMailbox);
        if let Some(details) = &mut verdict.details {
            details.confidence = Confidence::Medium;
        }
        self.assessed_again(question, verdict)
    }

    fn assessed_again(&self, question: &Question, mut verdict: Verdict) -> Verdict {
        self.assess(&question.address, &mut verdict);
        verdict
    }
}

pub(super) fn route_of(mail_hosts: &Result<MailHosts, NoMailHosts>) -> MailRoute {
    match mail_hosts {
        Ok(MailHosts::Explicit(hosts)) => route_to(hosts),
        Ok(MailHosts::Implicit) => MailRoute { is_implicit: true, ..MailRoute::default() },
        Err(NoMailHosts::DomainNotFound | NoMailHosts::NullMx) => MailRoute::configured(None),
        Err(NoMailHosts::DnsFailure) => MailRoute::default(),
    }
}

pub(super) fn route_to(hosts: &[Mx]) -> MailRoute {
    MailRoute {
        hosts: hosts.iter().map(|mx| mx.exchange.clone()).collect(),
        accepts_mail: Some(true),
        is_implicit: false,
    }
}

fn address_traits(address: &Address, facts: &DomainFacts, lists: &Lists) -> Traits {
    let domain = address.domain();
    let suggested = lists.suggestion(domain, facts).map(str::to_owned);
    Traits {
        disposable: facts.kind == DomainKind::Disposable,
        role_account: is_role(address.local_part()),
        free_provider: facts.kind == DomainKind::Provider,
        suggested_domain: sandbox::meant_by(domain).map(str::to_owned).or(suggested),
    }
}

#[cfg(test)]
mod tests {
    use rcpt_pool::operators::Operators;
    use rcpt_shared::{Address, Traits};

    use super::{Mx, address_traits, route_of};
    use crate::{
        dns::mx::{MailHosts, NoMailHosts},
        lists::{Lists, MailRoute},
    };

    #[test]
    fn dns_says_whether_mail_is_accepted_and_a_failure_says_nothing() {
        let host = Mx { preference: 1, exchange: "mx.example".into() };
        let explicit = route_of(&Ok(MailHosts::Explicit(vec![host])));
        assert_eq!((explicit.accepts_mail, explicit.hosts.len()), (Some(true), 1));
        for (mail_hosts, accepts) in [
            (Err(NoMailHosts::DomainNotFound), Some(false)),
            (Err(NoMailHosts::NullMx), Some(false)),
            (Err(NoMailHosts::DnsFailure), None),
            (Ok(MailHosts::Implicit), None),
        ] {
            assert_eq!(route_of(&mail_hosts).accepts_mail, accepts, "{mail_hosts:?}");
        }
    }

    fn of(address: &str, route: MailRoute) -> Traits {
        let (address, lists) = (Address::parse(address).unwrap(), Lists::built_in());
        let facts = lists.facts(address.domain(), &route, &Operators::with("").unwrap());
        address_traits(&address, &facts, &lists)
    }

    #[test]
    fn the_traits_of_an_address_follow_from_its_domain_and_its_local_part() {
        for (address, disposable, role_account, free_provider) in [
            ("ann@example.org", false, false, false),
            ("ann@mailinator.com", true, false, false),
            ("ann@x.mailinator.com", true, false, false),
            ("Info+x@example.org", false, true, false),
            ("information@example.org", false, false, false),
            ("ann@GMAIL.com", false, false, true),
            ("support@yahoo.co.uk", false, true, true),
            ("ann@duck.com", false, false, false),
            ("ann@fastmail.com", false, false, true),
        ] {
            let traits = Traits { disposable, role_account, free_provider, suggested_domain: None };
            assert_eq!(of(address, MailRoute::configured(Some("mx.example"))), traits, "{address}");
        }
    }

    #[test]
    fn a_misspelt_domain_is_corrected_if_it_takes_no_mail() {
        let dead = of("ann@gmail.con", MailRoute::configured(None));
        assert_eq!(dead.suggested_domain.as_deref(), Some("gmail.com"));
        let alive = of("ann@gmail.con", MailRoute::configured(Some("mx.gmail.con")));
        assert_eq!(alive.suggested_domain, None);
    }
}
