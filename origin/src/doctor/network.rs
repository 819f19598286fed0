//! Outgoing connections: source addresses, nameservers, port 25.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use super::{Finding, Health};
use crate::{
    State,
    config::{Config, Server},
    dns::{Dns, Honesty},
    telemetry::port_check::Unheard,
};

const PORT_25: &str = "port_25";

pub(super) fn source_addresses(config: &Config) -> Vec<Finding> {
    let bound = |ip: IpAddr| match UdpSocket::bind((ip, 0)) {
        Ok(_) => Finding::fine("source_address", format!("{ip} is an address of this machine")),
        Err(error) => {
            let advice = "Give the address to an interface (ip address), or correct \
                          `source_addresses`: the service does not start without it.";
            let about = format!("{ip} is no address of this machine: {error}");
            Finding::wrong("source_address", about, advice)
        }
    };
    config.source_addresses.iter().map(|source| bound(source.ip)).collect()
}

pub(super) async fn nameservers(dns: &Dns) -> Finding {
    if dns.root().answers().await {
        Finding::fine("nameserver", "a nameserver answers")
    } else {
        let advice = "Check `nameservers`, and that UDP and TCP port 53 to them are open.";
        Finding::wrong("nameserver", "no nameserver answers", advice)
    }
}

pub(super) async fn honesty(dns: &Dns) -> Vec<Finding> {
    dns.examine().await.iter().map(told).collect()
}

fn told(honesty: &Honesty) -> Finding {
    const CHECK: &str = "nameserver_answers";
    let Honesty { nameserver, invented, passes_mx } = honesty;
    let advice = "Its answers can't be trusted: a wrong verdict may follow for every misspelt domain. Set \
                  `nameservers` to a resolver that changes no answers, such as your own (unbound).";
    match (invented.as_deref(), passes_mx) {
        (Some([first, ..]), _) => {
            let about =
                format!("nameserver {nameserver} gives {first} to a name that doesn't exist");
            Finding::wrong(CHECK, about, advice)
        }
        (_, Some(false)) => {
            let about = format!("nameserver {nameserver} leaves out the MX records of example.com");
            Finding::wrong(CHECK, about, advice)
        }
        (Some([]), Some(true)) => {
            Finding::fine(CHECK, format!("nameserver {nameserver} changes no answers"))
        }
        _ => Finding::unknown(CHECK, format!("nameserver {nameserver} does not answer"), ""),
    }
}

/// One greeting shows that the port is open. Once one has come, other servers that stay silent only cause warnings.
pub(super) async fn port_25(state: &State) -> Vec<Finding> {
    let servers = &state.prober.config().port_check;
    if servers.is_empty() {
        let advice = "Set `port_check` to mail servers of others: while none of them greets us, \
                      probes are answered 503, and nobody's address is blamed.";
        return vec![Finding::warning(PORT_25, "port 25 outward: not checked", advice)];
    }
    let greetings = servers.iter().map(|server| state.port_check.greets(server));
    let results = futures_util::future::join_all(greetings).await;
    let open = results.iter().any(Result::is_ok);
    let findings = servers.iter().zip(results).map(|(Server { host, port }, result)| match result {
        Ok(()) => Finding::fine(PORT_25, format!("{host}:{port} greets us")),
        Err(unheard) if open => {
            let advice = "Port 25 is open, as another server shows: take this one out of \
                          `port_check` if it stays so.";
            Finding::warning(PORT_25, format!("{host}:{port} {unheard}"), advice)
        }
        Err(Unheard::NoAddress) => {
            let about = format!("{host}:{port} {}", Unheard::NoAddress);
            Finding::unknown(PORT_25, about, "See the nameservers, and the name in `port_check`.")
        }
        Err(unheard) => {
            let advice = "No server greets us: ask the provider to open port 25 outward, and check \
                          the firewall. Until then probes are answered 503.";
            Finding::wrong(PORT_25, format!("{host}:{port} {unheard}"), advice)
        }
    });
    findings.collect()
}

/// No network explains all other findings: there is no route, or nothing has responded.
pub(super) fn cut_off(findings: &[Finding]) -> Option<Finding> {
    if outward_address(true).is_none() && outward_address(false).is_none() {
        let advice =
            "Check the interface, its address and its default route (ip address, ip route).";
        return Some(Finding::wrong("network", "no route leads out of this machine", advice));
    }
    let network_checks: Vec<_> = findings
        .iter()
        .filter(|finding| ["nameserver", PORT_25, "clock"].contains(&finding.check))
        .filter(|finding| !finding.about.ends_with("not checked"))
        .collect();
    let answered = network_checks.iter().any(|finding| finding.health == Health::Fine);
    (network_checks.len() > 1 && !answered).then(|| {
        let advice = "Neither nameservers nor other servers answer: this machine seems to be cut off. \
                      Check its network first; what follows may be right once it is there.";
        Finding::wrong("network", "there is no network at all", advice)
    })
}

/// The source address that the system would choose. Nothing is sent.
pub(super) fn outward_address(v4: bool) -> Option<IpAddr> {
    // Any public address selects the route.
    let (from, to): (&str, SocketAddr) = if v4 {
        ("0.0.0.0:0", SocketAddr::from(([9, 9, 9, 9], 53)))
    } else {
        ("[::]:0", SocketAddr::from(([0x2620, 0xfe, 0, 0, 0, 0, 0, 0xfe], 53)))
    };
    let socket = UdpSocket::bind(from).ok()?;
    socket.connect(to).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::{super::Finding, Health, Honesty, cut_off, told};

    #[test]
    fn a_nameserver_that_invents_or_drops_answers_is_wrong() {
        let ip = || vec![IpAddr::from([192, 0, 2, 9])];
        for (invented, passes_mx, health) in [
            (Some(vec![]), Some(true), Health::Fine),
            (Some(ip()), Some(true), Health::Wrong),
            (Some(ip()), None, Health::Wrong),
            (Some(vec![]), Some(false), Health::Wrong),
            (None, Some(false), Health::Wrong),
            (None, Some(true), Health::Unknown),
            (Some(vec![]), None, Health::Unknown),
            (None, None, Health::Unknown),
        ] {
            let honesty = Honesty { nameserver: 1, invented, passes_mx };
            assert_eq!(told(&honesty).health, health, "{honesty:?}");
        }
    }

    #[test]
    fn a_machine_is_cut_off_when_nothing_that_was_asked_answers() {
        let dns = Finding::wrong("nameserver", "no nameserver answers", "");
        let port = Finding::wrong("port_25", "mx.example.com:25 cannot be connected to", "");
        let unchecked = Finding::unknown("clock", "the clock: not checked", "");
        let source = Finding::fine("source_address", "192.0.2.1 is an address of this machine");
        let all = [dns.clone(), port.clone(), unchecked.clone(), source];
        assert_eq!(cut_off(&all).unwrap().check, "network");
        let right = Finding::fine("clock", "the clock is right to 0.1 s");
        for something in [vec![dns.clone(), port, right], vec![dns, unchecked]] {
            let cut_off_finding = cut_off(&something);
            assert!(cut_off_finding.is_none_or(|finding| finding.about.starts_with("no route")));
        }
    }
}
