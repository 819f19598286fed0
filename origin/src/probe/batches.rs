//! A batch's addresses: their groups, and the budget of each, which waiting for a session and DNS don't use up.

use std::time::Duration;

use rcpt_shared::Address;
use tokio::time::{Instant, timeout_at};

use super::{prober::Prober, resolver::AddressSource};
use crate::{
    config::{Route, Server},
    dns::mx::{self, MailHosts},
};

/// Maximum number of concurrent checks of a batch at one operator or machine.
const MAX_AT_ONCE: usize = 8;

/// Minimum time between two checks of an address's budget.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Prober {
    /// The key of the limits that probably apply to an address, by which addresses are grouped, and the group's number
    /// of concurrent checks.
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

/// Time `lost` to waiting and DNS isn't counted. The probe waits for a session until the deadline, and then has its
/// whole budget.
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
        let mut end = (started + budget + lost()).max(Instant::now() + CHECK_INTERVAL).min(last);
        if is_waiting() {
            end = end.min(deadline.max(Instant::now() + CHECK_INTERVAL));
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
