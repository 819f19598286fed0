//! Determines a domain's kind from the lists and its mail hosts.

use std::collections::HashSet;

use rcpt_pool::operators::Operators;
use rcpt_shared::{DomainEvidence, DomainFacts, DomainKind, EvidenceSource};

use super::{Lists, MailRoute, names::listed_suffix};

impl Lists {
    /// From the lists of providers and relays, then from the other lists, then from the mail hosts of `domain`
    /// (lower-case A-labels).
    #[must_use]
    pub fn facts(&self, domain: &str, route: &MailRoute, operators: &Operators) -> DomainFacts {
        let operator = |host: &str| operators.get(operators.of_host(host)?);
        let operated = route.hosts.iter().find_map(|host| operator(host));
        let mut facts = DomainFacts {
            accepts_mail: route.accepts_mail,
            operator: operated.map(|row| row.name.to_string()),
            ..DomainFacts::default()
        };
        let is_business = operated.is_some() && !operators.is_consumer_domain(domain);
        let is_own_host = route.is_implicit && route.accepts_mail == Some(true);
        let runs_own_server = is_own_host || route.hosts.iter().any(|host| is_within(host, domain));
        if self.providers.contains(domain) {
            facts.kind = DomainKind::Provider;
            facts.evidence.push(self.evidence(EvidenceSource::List, "provider"));
        } else if let Some(relay) = listed_suffix(domain, |name| self.relays.contains_key(name)) {
            facts.kind = DomainKind::Relay;
            facts.operator = self.relays.get(relay).map(ToString::to_string);
            facts.evidence.push(self.evidence(EvidenceSource::List, "relay"));
        } else if self.is_disposable(domain) {
            facts.kind = DomainKind::Disposable;
            facts.evidence.push(self.evidence(EvidenceSource::List, "disposable"));
        } else if self.is_parked(route) {
            facts.kind = DomainKind::Parked;
            facts.evidence.push(self.evidence(EvidenceSource::Mx, "parked_server"));
        } else if self.is_suspected(domain, route) {
            facts.suspected = Some(DomainKind::Disposable);
            facts.evidence.push(self.evidence(EvidenceSource::Mx, "disposable_server"));
        } else if is_business || runs_own_server {
            facts.kind = DomainKind::Organization;
            facts.evidence.push(unlisted(EvidenceSource::Mx));
        }
        if facts.accepts_mail == Some(false) {
            facts.evidence.push(unlisted(EvidenceSource::Dns));
        }
        facts
    }

    fn evidence(&self, source: EvidenceSource, list: &'static str) -> DomainEvidence {
        let as_of = self.headers.get(list).map(|header| header.date.clone());
        DomainEvidence { source, list: Some(list.to_owned()), as_of }
    }

    /// True if the domain or a parent is listed, and neither is a provider or a relay.
    #[must_use]
    pub fn is_disposable(&self, domain: &str) -> bool {
        listed_suffix(domain, |name| self.disposable.contains(name)).is_some()
            && !self.is_acquitted(domain)
    }

    /// All hosts must belong to a parking service: a real host among them would receive the mail.
    fn is_parked(&self, route: &MailRoute) -> bool {
        let is_parking = |host: &str| is_listed(host, &self.parked_servers);
        !route.hosts.is_empty() && route.hosts.iter().all(|host| is_parking(host))
    }

    /// A single host of a disposable service is enough: such a service receives mail only for its own domains.
    fn is_suspected(&self, domain: &str, route: &MailRoute) -> bool {
        let is_known = |host: &str| is_listed(host, &self.disposable_servers);
        !self.is_acquitted(domain) && route.hosts.iter().any(|host| is_known(host))
    }
}

fn is_listed(host: &str, suffixes: &HashSet<String>) -> bool {
    listed_suffix(host, |name| suffixes.contains(name)).is_some()
}

const fn unlisted(source: EvidenceSource) -> DomainEvidence {
    DomainEvidence { source, list: None, as_of: None }
}

fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|labels| labels.is_empty() || labels.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use rcpt_pool::operators::Operators;
    use rcpt_shared::{DomainFacts, DomainKind, EvidenceSource};

    use super::super::{Lists, MailRoute};

    fn facts(domain: &str, hosts: &[&str]) -> DomainFacts {
        let route = MailRoute {
            hosts: hosts.iter().map(|host| (*host).into()).collect(),
            accepts_mail: Some(!hosts.is_empty()),
            is_implicit: false,
        };
        Lists::built_in().facts(domain, &route, &Operators::with("").unwrap())
    }

    #[test]
    fn the_kind_of_a_domain_has_evidence() {
        use {DomainKind as K, EvidenceSource as S};
        for (domain, hosts, kind, source, list) in [
            (
                "gmail.com",
                &["gmail-smtp-in.l.google.com"][..],
                K::Provider,
                S::List,
                Some("provider"),
            ),
            ("duck.com", &["smtp-inbound.duck.com"], K::Relay, S::List, Some("relay")),
            ("ann.anonaddy.com", &["mail.anonaddy.com"], K::Relay, S::List, Some("relay")),
            (
                "mailinator.com",
                &["mail.mailinator.com"],
                K::Disposable,
                S::List,
                Some("disposable"),
            ),
            ("x.mailinator.com", &[], K::Disposable, S::List, Some("disposable")),
            ("firm.example", &["mail.h-email.net"], K::Parked, S::Mx, Some("parked_server")),
            (
                "firm.example",
                &["firm-example.mail.protection.outlook.com"],
                K::Organization,
                S::Mx,
                None,
            ),
            ("firm.example", &["mx1.firm.example"], K::Organization, S::Mx, None),
            ("firm.example", &["firm.example"], K::Organization, S::Mx, None),
        ] {
            let domain_facts = facts(domain, hosts);
            assert_eq!(domain_facts.kind, kind, "{domain}");
            assert_eq!(domain_facts.evidence[0].source, source, "{domain}");
            assert_eq!(domain_facts.evidence[0].list.as_deref(), list, "{domain}");
            assert_eq!(domain_facts.evidence[0].as_of.is_some(), list.is_some(), "{domain}");
            assert_eq!(domain_facts.suspected, None, "{domain}");
        }
        assert_eq!(facts("duck.com", &[]).operator.as_deref(), Some("duckduckgo"));
        let customer = facts("firm.example", &["firm-example.mail.protection.outlook.com"]);
        assert_eq!(customer.operator.as_deref(), Some("microsoft"));
    }

    #[test]
    fn a_mail_server_of_throw_away_services_only_suspects_and_never_an_acquitted_domain() {
        let domain_facts = facts("firm.example", &["mail.wabblywabble.com"]);
        assert_eq!(
            (domain_facts.kind, domain_facts.suspected),
            (DomainKind::Unknown, Some(DomainKind::Disposable))
        );
        for domain in ["gmail.com", "duck.com", "x.gmail.com"] {
            assert_eq!(facts(domain, &["mail.wabblywabble.com"]).suspected, None, "{domain}");
        }
        // Anybody can add a parking service's MX to a real MX.
        let domain_facts = facts("firm.example", &["mail.h-email.net", "mx.firm.example"]);
        assert_eq!(domain_facts.kind, DomainKind::Organization);
    }

    #[test]
    fn names_that_only_end_alike_and_domains_below_a_provider_are_not_taken_for_it() {
        for domain in
            ["anotheronemailinator.com", "notduck.com", "x.gmail.com", "com", "gmail.com.example"]
        {
            let domain_facts = facts(domain, &["mx.elsewhere.example"]);
            assert_eq!(
                (domain_facts.kind, domain_facts.suspected),
                (DomainKind::Unknown, None),
                "{domain}"
            );
            assert_eq!(domain_facts.evidence, [], "{domain}");
        }
        // An operator's consumer domain isn't an organisation.
        assert_eq!(facts("kakao.com", &["mx.kakao.com"]).kind, DomainKind::Provider);
    }
}
