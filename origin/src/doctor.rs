//! `origin doctor`: examines whether this machine can check addresses, and gives advice if it
//! can't.

pub mod addresses;
mod blocklists;
mod certificate;
mod clock;
mod names;
mod network;
mod report;
mod sender;
mod spf;
pub mod watch;

use std::net::IpAddr;

use crate::{State, surroundings::unix_now};
pub use blocklists::CHECK as BLOCKLIST;
pub use report::{Finding, Health, Report};

pub async fn examine(state: &State) -> Report {
    let config = &*state.prober.config();
    let dns = state.prober.dns();
    let mut findings = network::source_addresses(config);
    let answering = network::nameservers(dns).await;
    let resolves = answering.health == Health::Fine;
    findings.push(answering);
    findings.extend(network::port_25(state).await);
    findings.push(clock::clock(config.time_server.as_ref()).await);
    findings.extend(certificate::certificate(config, unix_now()));
    if let Some(cut_off) = network::cut_off(&findings) {
        findings.insert(0, cut_off);
    }
    if !resolves {
        let about = "names, sender and blocklists: not examined, because no nameserver answers";
        findings.push(Finding::unknown("names", about, ""));
        return Report::of(findings);
    }
    findings.extend(network::honesty(dns).await);
    let (ours, found) = addresses(state).await;
    findings.extend(found);
    findings.extend(sender::mail_from(state, &ours).await);
    Report::of(findings)
}

pub async fn examine_addresses(state: &State) -> Vec<Finding> {
    let (ours, mut findings) = addresses(state).await;
    findings.extend(network::honesty(state.prober.dns()).await);
    findings.extend(sender::sender_spf(state, &ours).await);
    findings
}

async fn addresses(state: &State) -> (Vec<IpAddr>, Vec<Finding>) {
    let (config, dns) = (&*state.prober.config(), state.prober.dns());
    let (mut ours, mut findings) = <(Vec<IpAddr>, Vec<Finding>)>::default();
    for identity in state.prober.identities() {
        let (addresses, mut found) = names::helo_name(dns, &identity).await;
        for address in &addresses {
            found.push(names::reverse_name(dns, &identity, *address).await);
            found.push(sender::helo_spf(dns, &identity, *address).await);
            found.extend(blocklists::blocklists(dns, config, *address).await);
        }
        let source = identity.label();
        findings.extend(found.into_iter().map(|finding| finding.of(&source)));
        ours.extend(addresses);
    }
    (ours, findings)
}
