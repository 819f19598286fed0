//! A domain's kind, from the lists and its mail hosts, and the domain that was meant by a misspelt one. A domain
//! that accepts mail isn't corrected, unless it is parked or on a short list.

use std::{collections::HashSet, sync::Arc};

use rcpt_pool::operators::Operators;
use rcpt_shared::{
    Confidence, DomainEvidence, DomainFacts, DomainKind, EvidenceSource, Reason, Stage, Status,
    Verdict, closest_domain,
};

use super::{Lists, listed_suffix};

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

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MailRoute {
    /// Names, in lower case if they are from DNS; empty for a domain without MX records.
    pub hosts: Vec<Arc<str>>,
    pub accepts_mail: Option<bool>,
    /// True without an MX record: the domain's own address, if it has one, accepts its mail.
    pub is_implicit: bool,
}

impl MailRoute {
    #[must_use]
    pub fn configured(host: Option<&str>) -> Self {
        Self {
            hosts: host.into_iter().map(Arc::from).collect(),
            accepts_mail: Some(host.is_some()),
            is_implicit: false,
        }
    }

    #[must_use]
    pub fn after(self, verdict: &Verdict) -> Self {
        let confidence =
            verdict.details.as_ref().map_or(Confidence::None, |details| details.confidence);
        let accepts_mail = match verdict.reason {
            Reason::DomainRefusesMail => Some(false),
            // None of the hosts named in DNS exists.
            Reason::NoUsableAddress if confidence == Confidence::High => Some(false),
            Reason::DnsFailure => None,
            _ if !self.is_implicit => self.accepts_mail,
            _ if verdict.status == Status::NoMxRecords => {
                (verdict.stage == Stage::Dns).then_some(false)
            }
            _ if verdict.stage > Stage::Connect => Some(true),
            _ => self.accepts_mail,
        };
        Self { accepts_mail, ..self }
    }
}

impl Lists {
    /// The domain that was probably meant by `domain`, if `domain` is a listed look-alike, accepts no mail or is
    /// parked.
    #[must_use]
    pub fn suggestion<'a>(&'a self, domain: &'a str, facts: &DomainFacts) -> Option<&'a str> {
        if matches!(facts.kind, DomainKind::Provider | DomainKind::Relay) {
            return None;
        }
        if let Some(intended) = self.look_alikes.get(domain) {
            return Some(intended);
        }
        // Test copies of customer lists get this suffix, so that nothing is sent to their addresses.
        if let Some(before) = domain.strip_suffix(".invalid").filter(|name| name.contains('.')) {
            return Some(before);
        }
        let is_dead = facts.accepts_mail == Some(false) || facts.kind == DomainKind::Parked;
        if is_dead && !domain.contains('.') {
            let is_whole =
                |known: &&String| known.split_once('.').is_some_and(|(name, _)| name == domain);
            return self.suggested.iter().find(is_whole).map(String::as_str);
        }
        let known = || self.suggested.iter().map(String::as_str);
        is_dead.then(|| closest_domain(domain, known)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use rcpt_pool::operators::Operators;
    use rcpt_shared::{
        Confidence, Details, DomainFacts, DomainKind, EvidenceSource, Reason, Stage, Status,
        Verdict,
    };

    use super::{Lists, MailRoute};

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

    #[test]
    fn the_probe_knows_more_of_a_domain_without_mx_records_and_of_hosts_that_do_not_exist() {
        let implicit = || MailRoute { is_implicit: true, ..MailRoute::default() };
        let explicit = || MailRoute::configured(Some("mx.example"));
        let of = |status, reason, stage| Verdict::new(status, reason, stage);
        let mut unusable = of(Status::SmtpConnectError, Reason::NoUsableAddress, Stage::Dns);
        assert_eq!(explicit().after(&unusable).accepts_mail, Some(true));
        let details = Details { confidence: Confidence::High, ..Details::new(None, None) };
        unusable.details = Some(Box::new(details));
        assert_eq!(explicit().after(&unusable).accepts_mail, Some(false));
        for (verdict, accepts) in [
            (of(Status::NoMxRecords, Reason::NoMx, Stage::Dns), Some(false)),
            (of(Status::NoMxRecords, Reason::NoMx, Stage::Connect), None),
            (of(Status::Accepted, Reason::Accepted, Stage::Rcpt), Some(true)),
            (of(Status::FatalException, Reason::DnsFailure, Stage::Dns), None),
            (of(Status::SmtpTimeout, Reason::Timeout, Stage::Connect), None),
        ] {
            assert_eq!(implicit().after(&verdict).accepts_mail, accepts, "{verdict:?}");
        }
        let refused = of(Status::Refused, Reason::DomainRefusesMail, Stage::Rcpt);
        assert_eq!(explicit().after(&refused).accepts_mail, Some(false));
    }

    fn of(domain: &str, accepts_mail: Option<bool>, kind: DomainKind) -> Option<String> {
        let facts = DomainFacts { kind, accepts_mail, ..DomainFacts::default() };
        Lists::built_in().suggestion(domain, &facts).map(str::to_owned)
    }

    #[test]
    fn a_domain_that_takes_no_mail_is_corrected() {
        for (typed, intended) in [
            ("gmail.con", Some("gmail.com")),
            ("gmail.cmo", Some("gmail.com")),
            ("gmail.c", Some("gmail.com")),
            ("gmail.comm", Some("gmail.com")),
            ("hotmail.vom", Some("hotmail.com")),
            ("yahoo.co.uj", Some("yahoo.co.uk")),
            ("orange.ft", Some("orange.fr")),
            ("outlooj.com", Some("outlook.com")),
            ("hotnail.com", Some("hotmail.com")),
            ("laposte.ner", Some("laposte.net")),
            ("t-onlin.de", Some("t-online.de")),
            ("btinterent.con", Some("btinternet.com")),
            ("yahoo.com.be", Some("yahoo.com.br")),
            ("gmail", Some("gmail.com")),
            ("hotmail", Some("hotmail.com")),
            ("customers.example.org.invalid", Some("customers.example.org")),
            // Too short, too different, or a provider's own domain.
            ("qw.com", None),
            ("gmx.dd", None),
            ("example.com", None),
            ("firma.example", None),
            ("gmail.com", None),
            ("web.de", None),
            ("localhost", None),
            ("example", None),
            ("example.invalid", None),
        ] {
            let suggestion = of(typed, Some(false), DomainKind::Unknown);
            assert_eq!(suggestion.as_deref(), intended, "{typed}");
            let parked = of(typed, Some(true), DomainKind::Parked);
            assert_eq!(parked.as_deref(), intended, "{typed}");
        }
    }

    #[test]
    fn without_evidence_of_dns_only_the_curated_look_alikes_are_corrected() {
        for accepts_mail in [Some(true), None] {
            let suggestion = |typed: &str| of(typed, accepts_mail, DomainKind::Organization);
            // Companies with some of these domains exist.
            for real in
                ["aon.com", "msc.com", "gmx.co", "email.co", "mail.con", "gmail.con", "outlooj.com"]
            {
                assert_eq!(suggestion(real), None, "{real}");
            }
            assert_eq!(suggestion("gmial.com").as_deref(), Some("gmail.com"));
        }
    }

    #[test]
    fn an_easier_slip_wins_over_a_harder_one() {
        // `gmali.com` is one swap away from gmail.com, and two slips away from ymail.com.
        assert_eq!(of("gmali.com", Some(false), DomainKind::Unknown).as_deref(), Some("gmail.com"));
        assert_eq!(of("tmail.com", Some(false), DomainKind::Unknown).as_deref(), Some("gmail.com"));
        assert_eq!(
            of("hitmail.com", Some(false), DomainKind::Unknown).as_deref(),
            Some("hotmail.com")
        );
    }
}
