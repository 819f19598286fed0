//! Facts about a domain without a probe: the lists, its mail hosts in DNS, and the intended domain.

use rcpt_shared::{DomainKind, DomainReport, sandbox::domain_facts};
use tokio::time::timeout;

use super::{Prober, facts::route_of, sandbox};
use crate::{
    config::{Config, Route},
    dns::{NoAnswer, mx},
    lists::MailRoute,
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
                (config.facts(domain, &route), is_known)
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
}
