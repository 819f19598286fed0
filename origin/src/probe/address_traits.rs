//! Traits of an address: disposable, role, free provider, misspelt.

use rcpt_shared::{Address, DomainFacts, DomainKind, Traits, is_role};

use super::sandbox;
use crate::lists::Lists;

pub(super) fn address_traits(address: &Address, facts: &DomainFacts, lists: &Lists) -> Traits {
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

    use super::address_traits;
    use crate::lists::{Lists, MailRoute};

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
