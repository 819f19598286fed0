//! Converts DNS' results for mail hosts to the form that determines a domain's kind.

use crate::{
    dns::{
        Mx,
        mx::{MailHosts, NoMailHosts},
    },
    lists::MailRoute,
};

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

#[cfg(test)]
mod tests {
    use super::{Mx, route_of};
    use crate::dns::mx::{MailHosts, NoMailHosts};

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
}
