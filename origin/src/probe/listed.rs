//! What is different for an address of a list: whom it is grouped with, and when its own budget begins.

use std::time::Duration;

use rcpt_shared::Address;
use tokio::time::{Instant, timeout_at};

use super::{prober::Prober, resolver::Found};
use crate::{
    config::{Route, Server},
    mx::{self, MailHosts},
};

/// The budget of an address of a list is looked at no more often.
const TICK: Duration = Duration::from_millis(100);
/// Addresses of one operator or machine that a list has asked about at once, at most.
const MAX_AT_ONCE: usize = 8;

impl Prober {
    /// Whose limits an address is most probably asked under, to group those of a list, and how many of
    /// them may be asked about at once.
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
        let addresses = self.resolver.addresses(host, Found::InDns).await.unwrap_or_default();
        let machine = addresses.first().map(|address| address.ip().to_string());
        (machine.unwrap_or_default(), config.machine_sessions.min(MAX_AT_ONCE))
    }
}

/// Runs the probe of one address of a list. What is `lost` to waiting and to DNS is no part of its budget. It waits
/// for a session until the deadline, and has its whole budget once it has one.
pub(super) async fn within_own_budget<T>(
    mut work: impl Future<Output = T> + Unpin,
    budget: Duration,
    deadline: Instant,
    lost: impl Fn() -> Duration,
    is_waiting: impl Fn() -> bool,
) -> Option<T> {
    let started = Instant::now();
    let last = deadline + budget;
    loop {
        let mut end = (started + budget + lost()).max(Instant::now() + TICK).min(last);
        if is_waiting() {
            end = end.min(deadline.max(Instant::now() + TICK));
        }
        if let Ok(done) = timeout_at(end, &mut work).await {
            return Some(done);
        }
        let now = Instant::now();
        let used = started.elapsed().saturating_sub(lost());
        if used >= budget || now >= last || (now >= deadline && is_waiting()) {
            return None;
        }
    }
}
