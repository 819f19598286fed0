//! Our names: the HELO name must resolve to our addresses, whose reverse records must contain the
//! name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcpt_smtp::HeloIdentity;

use super::{Finding, network::outward_address};

use crate::dns::{Dns, NoAnswer, mx::guard::Guard};

const HELO_NAME: &str = "helo_name";
const REVERSE_NAME: &str = "reverse_name";

pub(super) async fn helo_name(dns: &Dns, identity: &HeloIdentity) -> (Vec<IpAddr>, Vec<Finding>) {
    let name = &identity.helo_name;
    let look_up = dns.all_addresses(name).await;
    let ours = addresses(identity, look_up.as_deref().unwrap_or_default());
    let findings = match look_up {
        Err(NoAnswer::Failed) => {
            let about = format!("HELO name {name}: DNS does not answer");
            vec![Finding::unknown(HELO_NAME, about, "")]
        }
        Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => {
            let about = format!("HELO name {name} has no address");
            let advice = "Add an A (and AAAA) record that leads to this machine's public address.";
            vec![Finding::wrong(HELO_NAME, about, advice)]
        }
        Ok(look_up) => ours.iter().map(|address| leads_to(name, &look_up, *address)).collect(),
    };
    (ours, findings)
}

fn leads_to(name: &str, addresses: &[IpAddr], address: IpAddr) -> Finding {
    if addresses.contains(&address) {
        return Finding::fine(HELO_NAME, format!("HELO name {name} leads to {address}"));
    }
    let about = format!("HELO name {name} does not lead to {address}, which we connect from");
    let advice = if address.is_ipv6() {
        "Add an AAAA record, give the address a name of its own (source_addresses = [\"ip=name\"]), or \
         switch IPv6 off: families = [\"ipv4\"]."
    } else {
        "Point its A record there, or give the address a name of its own: source_addresses = \
         [\"ip=name\"]."
    };
    Finding::wrong(HELO_NAME, about, advice)
}

/// The configured addresses, otherwise the system's choice; behind a NAT, only the name's addresses are known.
fn addresses(identity: &HeloIdentity, of_name: &[IpAddr]) -> Vec<IpAddr> {
    let mut ours: Vec<IpAddr> = identity.addresses().collect();
    for any in [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)] {
        let v4 = any.is_ipv4();
        if !identity.reaches(any) || ours.iter().any(|ip| ip.is_ipv4() == v4) {
            continue;
        }
        match outward_address(v4) {
            Some(ip) if Guard::default().permits(ip) => ours.push(ip),
            Some(_) => ours.extend(of_name.iter().filter(|ip| ip.is_ipv4() == v4)),
            None => {}
        }
    }
    ours
}

pub(super) async fn reverse_name(dns: &Dns, identity: &HeloIdentity, address: IpAddr) -> Finding {
    let name = &identity.helo_name;
    let advice = format!(
        "Have the owner of the address (the hosting provider) set its PTR record to {name}: many \
         servers refuse clients without one."
    );
    match dns.reverse(address).await {
        Ok(names) if names.contains(name) => {
            Finding::fine(REVERSE_NAME, format!("{address} leads back to {name}"))
        }
        Ok(names) => {
            let about = format!("{address} leads back to {} and not to {name}", names.join(", "));
            if confirmed(dns, &names, address).await {
                Finding::warning(REVERSE_NAME, about, advice)
            } else {
                Finding::wrong(REVERSE_NAME, about, advice)
            }
        }
        Err(NoAnswer::Failed) => {
            Finding::unknown(REVERSE_NAME, format!("{address}: DNS does not answer"), "")
        }
        Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => {
            Finding::wrong(REVERSE_NAME, format!("{address} has no reverse name"), advice)
        }
    }
}

async fn confirmed(dns: &Dns, names: &[String], address: IpAddr) -> bool {
    for name in names {
        if dns.all_addresses(name).await.is_ok_and(|addresses| addresses.contains(&address)) {
            return true;
        }
    }
    false
}
