//! Grouping of a batch's addresses.

use rcpt_shared::Address;

use super::{prober::Prober, resolver::AddressSource};
use crate::{
    config::{Route, Server},
    dns::mx::{self, MailHosts},
};

/// At one operator or machine.
const MAX_AT_ONCE: usize = 8;

impl Prober {
    pub async fn plan(&self, address: &Address) -> (String, usize) {
        let domain = address.domain();
        let config = self.config();
        if config.opt_outs.include_domain(domain) {
            return (String::new(), MAX_AT_ONCE);
        }
        match config.routes.of(domain) {
            Some(Route::Server(Server { host, port })) => {
                return (format!("{host}:{port}"), MAX_AT_ONCE);
            }
            Some(Route::NoMx) => return (String::new(), MAX_AT_ONCE),
            None => {}
        }
        let hosts = Box::pin(mx::mail_hosts(self.dns(), domain)).await;
        let host = match &hosts {
            Ok(MailHosts::Explicit(hosts)) => hosts.first().map(|mx| &*mx.exchange),
            Ok(MailHosts::Implicit) => Some(domain),
            Err(_) => None,
        };
        let Some(host) = host else { return (String::new(), MAX_AT_ONCE) };
        if let Some(row) = config.operators.of_host(host).and_then(|id| config.operators.get(id)) {
            let sessions = row.sessions.unwrap_or(config.operator_sessions);
            return (row.name.to_string(), sessions.min(MAX_AT_ONCE));
        }
        let addresses =
            self.resolver.addresses(host, AddressSource::InDns).await.unwrap_or_default();
        let machine = addresses.first().map(|address| address.ip().to_string());
        (machine.unwrap_or_default(), config.machine_sessions.min(MAX_AT_ONCE))
    }
}
