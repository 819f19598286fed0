//! The sender: its domain must accept mail and have a postmaster, and its SPF record must contain
//! our addresses.

use std::net::IpAddr;

use rcpt_shared::{Address, Status};
use rcpt_smtp::HeloIdentity;

use super::{
    Finding,
    spf::{self, Spf},
};

use crate::{
    State,
    dns::{
        Dns, NoAnswer,
        mx::{self, MailHosts, NoMailHosts},
    },
};

const MAIL_FROM: &str = "mail_from";
const POSTMASTER: &str = "postmaster";
const SPF: &str = "spf";

pub(super) async fn mail_from(state: &State, ours: &[IpAddr]) -> Vec<Finding> {
    let dns = state.prober.dns();
    let config = state.prober.config();
    let sender = config.mail_from.as_str();
    let Some((_, domain)) = sender.rsplit_once('@') else {
        let advice = "Many servers refuse bounces to mailboxes that send none, and a probe looks like \
                      one: set `mail_from` to an address whose domain takes mail.";
        return vec![Finding::warning(MAIL_FROM, "the sender is the null sender", advice)];
    };
    let mut findings = vec![takes_mail(dns, sender, domain).await];
    findings.extend(sender_spf(state, ours).await);
    findings.push(postmaster(state, domain).await);
    findings
}

pub(super) async fn sender_spf(state: &State, ours: &[IpAddr]) -> Vec<Finding> {
    let (config, dns) = (state.prober.config(), state.prober.dns());
    let Some((_, domain)) = config.mail_from.rsplit_once('@') else { return Vec::new() };
    let mut findings = Vec::new();
    for address in ours {
        let spf_result = spf::evaluate(dns, domain, *address).await;
        findings.push(judge_spf(&format!("sender's domain {domain}"), *address, &spf_result));
    }
    findings
}

/// Servers use the HELO name's own SPF record for a null sender (RFC 7208 §2.3).
pub(super) async fn helo_spf(dns: &Dns, identity: &HeloIdentity, address: IpAddr) -> Finding {
    let name = &identity.helo_name;
    let spf_result = spf::evaluate(dns, name, address).await;
    judge_spf(&format!("HELO name {name}"), address, &spf_result)
}

fn judge_spf(whose: &str, address: IpAddr, result: &Spf) -> Finding {
    let advice = format!(
        "Publish a TXT record that names our addresses, such as \"v=spf1 ip{}:{address} -all\".",
        if address.is_ipv4() { 4 } else { 6 }
    );
    match result {
        Spf::Pass => Finding::fine(SPF, format!("{whose}: SPF passes for {address}")),
        Spf::Fail => Finding::wrong(SPF, format!("{whose}: SPF fails for {address}"), advice),
        Spf::SoftFail => {
            Finding::warning(SPF, format!("{whose}: SPF is ~all for {address}"), advice)
        }
        Spf::Neutral => {
            Finding::warning(SPF, format!("{whose}: SPF says nothing of {address}"), advice)
        }
        Spf::NoRecord => Finding::warning(SPF, format!("{whose} has no SPF record"), advice),
        Spf::Broken(why) => Finding::wrong(SPF, format!("{whose}: SPF record: {why}"), advice),
        Spf::Unknown(why) => Finding::unknown(SPF, format!("{whose}: SPF: {why}"), ""),
    }
}

async fn takes_mail(dns: &Dns, sender: &str, domain: &str) -> Finding {
    let advice = "Servers refuse a sender that cannot be answered: give the domain an MX record, or set \
                  `mail_from` to an address at one that has.";
    let wrong = |what: &str| Finding::wrong(MAIL_FROM, format!("sender {sender}: {what}"), advice);
    match mx::mail_hosts(dns, domain).await {
        Ok(MailHosts::Explicit(_)) => {
            Finding::fine(MAIL_FROM, format!("sender {sender}: its domain has MX records"))
        }
        Ok(MailHosts::Implicit) => match dns.all_addresses(domain).await {
            Ok(_) => {
                let about = format!("sender {sender}: its domain has an address and no MX record");
                Finding::warning(MAIL_FROM, about, advice)
            }
            Err(NoAnswer::Failed) => {
                let about = format!("sender {sender}: DNS does not answer");
                Finding::unknown(MAIL_FROM, about, "")
            }
            Err(NoAnswer::NoRecords | NoAnswer::NoSuchName) => {
                wrong("its domain has neither MX nor address")
            }
        },
        Err(NoMailHosts::NullMx) => wrong("its domain says that it takes no mail"),
        Err(NoMailHosts::DomainNotFound) => wrong("its domain does not exist"),
        Err(NoMailHosts::DnsFailure) => {
            Finding::unknown(MAIL_FROM, format!("sender {sender}: DNS does not answer"), "")
        }
    }
}

/// Every domain that accepts mail must have a postmaster (RFC 5321 §4.5.1).
async fn postmaster(state: &State, domain: &str) -> Finding {
    let address = format!("postmaster@{domain}");
    let Ok(recipient) = Address::parse(&address) else {
        return Finding::unknown(POSTMASTER, format!("{address}: not asked"), "");
    };
    let verdict = state.prober.probe(&state.prober.question(recipient), None).await;
    match verdict.status {
        Status::Accepted => Finding::fine(POSTMASTER, format!("{address} is accepted")),
        Status::Refused => {
            let advice = "Make it a mailbox or an alias that somebody reads: complaints about probes \
                          go there.";
            Finding::wrong(POSTMASTER, format!("{address} is refused"), advice)
        }
        _ => {
            let advice = "A mail server on this very machine, or behind the same firewall, cannot be \
                          asked from here: try it from elsewhere.";
            let reason = verdict.reason.as_str();
            let about = format!("{address}: could not be asked ({reason})");
            Finding::unknown(POSTMASTER, about, advice)
        }
    }
}
