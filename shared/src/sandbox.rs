//! Addresses of `sandbox.test`, each with a fixed result. The origin, the portal, the mail server of `make dev` and the
//! documentation use this table.

use crate::{
    Address, DomainEvidence, DomainFacts, DomainKind, EvidenceSource, Reason, Stage, Status,
};

/// `.test` is reserved (RFC 6761 §6.2), so no real domain can be confused with it.
pub const DOMAIN: &str = "sandbox.test";
pub const MX_HOST: &str = "mx.sandbox.test";
/// For which [`DOMAIN`] is suggested.
pub const MISSPELT_DOMAIN: &str = "snadbox.test";
pub const MISSING_DOMAIN: &str = "nodomain.test";
/// Delay of the slow server in seconds.
pub const SLOW_S: u64 = 3;

#[derive(Debug, PartialEq, Eq)]
pub struct SandboxCase {
    pub address: &'static str,
    /// Of a scan's result, if the API responds with an error.
    pub status: Status,
    pub reason: Reason,
    pub behaviour: Behaviour,
    pub does: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Reply(&'static str),
    SlowReply(&'static str),
    Silence,
    AcceptsAll,
    /// This mail host, which belongs to a known operator, accepts the recipient.
    AcceptedBy(&'static str),
    /// The verdict is reached at this stage, without a reply to RCPT.
    Decided(Stage),
    Http(u16),
}

impl Behaviour {
    #[must_use]
    pub const fn is_by_server(self) -> bool {
        matches!(self, Self::Reply(_) | Self::SlowReply(_) | Self::Silence | Self::AcceptsAll)
    }
}

const OK: &str = "250 2.1.5 Ok";

#[rustfmt::skip]
pub const CASES: [SandboxCase; 37] = [
    case("accepts@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::Reply(OK), "250"),
    case("rejects@sandbox.test", Status::Refused, Reason::NoSuchMailbox,
        Behaviour::Reply("550 5.1.1 No such user here"), "550 5.1.1"),
    case("disabled@sandbox.test", Status::Refused, Reason::MailboxDisabled,
        Behaviour::Reply("550 5.2.1 This mailbox is disabled"), "550 5.2.1"),
    case("full@sandbox.test", Status::Refused, Reason::MailboxFull,
        Behaviour::Reply("552 5.2.2 The mailbox is over its quota"), "552 5.2.2"),
    case("restricted@sandbox.test", Status::Refused, Reason::Restricted,
        Behaviour::Reply("550 5.7.133 Authentication required to send to this group"), "550 5.7.133"),
    case("domain_refuses_mail@sandbox.test", Status::Refused, Reason::DomainRefusesMail,
        Behaviour::Reply("556 5.1.10 Recipient address has a null MX"), "556 5.1.10"),
    case("blocked@sandbox.test", Status::BlockedByProvider, Reason::Blocked,
        Behaviour::Reply("550 5.7.1 Your IP address is on our blocklist: blocked"), "550 5.7.1, blocklist"),
    case("relay@sandbox.test", Status::BlockedByProvider, Reason::RelayDenied,
        Behaviour::Reply("554 5.7.1 Relay access denied"), "554 5.7.1"),
    case("greylisted@sandbox.test", Status::BlockedByProvider, Reason::Greylisted,
        Behaviour::Reply("451 4.7.1 Greylisted, please try again in 300 seconds"), "451 4.7.1 for five minutes"),
    case("ratelimited@sandbox.test", Status::BlockedByProvider, Reason::RateLimited,
        Behaviour::Reply("450 4.2.1 Too many messages, slow down"), "450 4.2.1"),
    case("mailbox_busy@sandbox.test", Status::BlockedByProvider, Reason::MailboxBusy,
        Behaviour::Reply("450 4.2.1 Mailbox busy"), "450 4.2.1"),
    case("reverse_dns_required@sandbox.test", Status::BlockedByProvider, Reason::ReverseDnsRequired,
        Behaviour::Reply("550 5.7.25 Reverse DNS validation failed"), "550 5.7.25"),
    case("unclear@sandbox.test", Status::BlockedByProvider, Reason::Unclear,
        Behaviour::Reply("554 Transaction failed"), "554, in unknown words"),
    case("opted_out@sandbox.test", Status::BlockedByProvider, Reason::OptedOut,
        Behaviour::Decided(Stage::Dns), "its owner opted out"),
    case("unavailable@sandbox.test", Status::SmtpConnectError, Reason::ServerUnavailable,
        Behaviour::Reply("451 4.3.0 Temporary lookup failure"), "451 4.3.0"),
    case("protocol_error@sandbox.test", Status::SmtpConnectError, Reason::ProtocolError,
        Behaviour::Decided(Stage::Banner), "doesn't speak SMTP"),
    case("smtputf8_unsupported@sandbox.test", Status::SmtpConnectError, Reason::Smtputf8Unsupported,
        Behaviour::Decided(Stage::Ehlo), "accepts only ASCII"),
    case("no_usable_address@sandbox.test", Status::SmtpConnectError, Reason::NoUsableAddress,
        Behaviour::Decided(Stage::Dns), "has no public address"),
    case("slow@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::SlowReply(OK),
        "250 after three seconds"),
    case("timeout@sandbox.test", Status::SmtpTimeout, Reason::Timeout, Behaviour::Silence,
        "silent for ten seconds"),
    case("medium@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::AcceptedBy("aspmx.l.google.com"),
        "250, its operator refuses unknown recipients: `medium`"),
    case("accepted_by_operator_policy@sandbox.test", Status::Accepted, Reason::AcceptedByOperatorPolicy,
        Behaviour::AcceptedBy("mta5.am0.yahoodns.net"), "250, its operator accepts everything: `risky`"),
    case("anyone@catchall.sandbox.test", Status::Accepted, Reason::AcceptedCatchAll, Behaviour::AcceptsAll,
        "250 to every recipient: `risky`"),
    case("info@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::Reply(OK), "250; `role_account`"),
    case("disposable@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::Reply(OK), "250; `disposable`"),
    case("free_provider@sandbox.test", Status::Accepted, Reason::Accepted, Behaviour::Reply(OK),
        "250; `free_provider`"),
    case("accepts@snadbox.test", Status::DomainNotFound, Reason::DomainNotFound, Behaviour::Decided(Stage::Dns),
        "doesn't exist; `suggestion`: `accepts@sandbox.test`"),
    case("x@nodomain.test", Status::DomainNotFound, Reason::DomainNotFound, Behaviour::Decided(Stage::Dns),
        "doesn't exist"),
    case("x@nomx.sandbox.test", Status::NoMxRecords, Reason::NullMx, Behaviour::Decided(Stage::Dns),
        "null MX"),
    case("no_mx@sandbox.test", Status::NoMxRecords, Reason::NoMx, Behaviour::Decided(Stage::Dns),
        "no MX, no address"),
    case("x@down.sandbox.test", Status::SmtpConnectError, Reason::ConnectionFailed,
        Behaviour::Decided(Stage::Connect), "refuses connections"),
    case("dns_failure@sandbox.test", Status::FatalException, Reason::DnsFailure, Behaviour::Decided(Stage::Dns),
        "our DNS fails"),
    case("our_limit@sandbox.test", Status::FatalException, Reason::OurLimit, Behaviour::Decided(Stage::Connect),
        "we're too busy"),
    case("fatal_exception@sandbox.test", Status::FatalException, Reason::OurLimit,
        Behaviour::Decided(Stage::Connect), "the same"),
    case("http_429@sandbox.test", Status::FatalException, Reason::OurLimit, Behaviour::Http(429),
        "your allowance is used up"),
    case("http_502@sandbox.test", Status::FatalException, Reason::OurLimit, Behaviour::Http(502),
        "no origin answers"),
    case("http_503@sandbox.test", Status::FatalException, Reason::OurLimit, Behaviour::Http(503),
        "the database fails"),
];

#[derive(Debug, PartialEq, Eq)]
pub struct SandboxDomain {
    pub domain: &'static str,
    pub kind: DomainKind,
    pub accepts_mail: bool,
    pub does: &'static str,
}

/// A domain for each kind. Their addresses behave like those of [`DOMAIN`], except where [`CASES`] has the domain.
#[rustfmt::skip]
pub const DOMAINS: [SandboxDomain; 9] = [
    domain("provider.sandbox.test", DomainKind::Provider, true, "mailboxes; `free_provider`"),
    domain("relay.sandbox.test", DomainKind::Relay, true, "forwards to real mailboxes"),
    domain("disposable.sandbox.test", DomainKind::Disposable, true, "throw-away; `disposable`"),
    domain("parked.sandbox.test", DomainKind::Parked, true, "a parking mail server"),
    domain("suspected.sandbox.test", DomainKind::Unknown, true,
        "a throw-away mail server; `suspected`: `disposable`"),
    domain("unknown.sandbox.test", DomainKind::Unknown, true, "unknown"),
    domain("nomx.sandbox.test", DomainKind::Unknown, false, "accepts no mail"),
    domain("snadbox.test", DomainKind::Unknown, false, "doesn't exist; `suggestion`: `sandbox.test`"),
    domain("sandbox.test", DomainKind::Organization, true, "any other domain"),
];

const fn domain(
    domain: &'static str,
    kind: DomainKind,
    accepts_mail: bool,
    does: &'static str,
) -> SandboxDomain {
    SandboxDomain { domain, kind, accepts_mail, does }
}

/// Facts about a sandbox domain in lower case; `None` for all others.
#[must_use]
pub fn domain_facts(domain: &str) -> Option<DomainFacts> {
    let is_within = |of: &str| {
        domain.strip_suffix(of).is_some_and(|labels| labels.is_empty() || labels.ends_with('.'))
    };
    let is_dead = || CASES.iter().any(|case| case.parts().1 == domain);
    let row = DOMAINS.iter().find(|row| is_within(row.domain));
    if row.is_none() && !is_dead() {
        return None;
    }
    let is_suspected = row.is_some_and(|row| row.domain.starts_with("suspected."));
    Some(DomainFacts {
        kind: row.map(|row| row.kind).unwrap_or_default(),
        accepts_mail: Some(row.is_some_and(|row| row.accepts_mail)),
        operator: None,
        suspected: is_suspected.then_some(DomainKind::Disposable),
        evidence: vec![DomainEvidence { source: EvidenceSource::Sandbox, list: None, as_of: None }],
    })
}

const fn case(
    address: &'static str,
    status: Status,
    reason: Reason,
    behaviour: Behaviour,
    does: &'static str,
) -> SandboxCase {
    SandboxCase { address, status, reason, behaviour, does }
}

impl SandboxCase {
    #[must_use]
    pub fn parts(&self) -> (&'static str, &'static str) {
        self.address.split_once('@').unwrap_or((self.address, ""))
    }
}

/// The case of a sandbox address; `None` for all others. Tags are ignored, and each reason's name is also a local part.
#[must_use]
pub fn find(address: &Address) -> Option<&'static SandboxCase> {
    find_parts(address.local_part(), address.domain())
}

/// True if this domain, in lower case, belongs to the sandbox. Works without the table, so that the Worker needn't
/// contain it.
#[must_use]
pub fn is_domain(domain: &str) -> bool {
    let below = domain.strip_suffix(DOMAIN);
    below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
        || [MISSPELT_DOMAIN, MISSING_DOMAIN].contains(&domain)
}

/// The HTTP status that the API responds with instead of a verdict: [`Behaviour::Http`], without the table, which the
/// Worker doesn't contain.
#[must_use]
pub fn http_status(address: &Address) -> Option<u16> {
    let name = address.local_part().split('+').next()?;
    let status = name.strip_prefix("http_").filter(|_| address.domain() == DOMAIN)?;
    status.parse().ok().filter(|status| [429, 502, 503].contains(status))
}

#[must_use]
pub fn find_parts(local_part: &str, domain: &str) -> Option<&'static SandboxCase> {
    if domain != DOMAIN
        && let Some(case) = CASES.iter().find(|case| case.parts().1 == domain)
    {
        return Some(case);
    }
    let below = domain.strip_suffix(DOMAIN)?;
    if !below.is_empty() && !below.ends_with('.') {
        // Not the sandbox: a domain that only ends with the same letters.
        return None;
    }
    let name = local_part.split('+').next().unwrap_or(local_part);
    let listed_case = CASES.iter().find(|case| case.parts() == (name, DOMAIN));
    let reason = || CASES.iter().find(|case| case.reason.as_str() == name);
    let refused = || CASES.iter().find(|case| case.reason == Reason::NoSuchMailbox);
    listed_case.or_else(reason).or_else(refused)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{Behaviour, CASES, DOMAINS, domain_facts, find, http_status};
    use crate::{Address, DomainKind, Reason, Status};

    fn case_of(address: &str) -> Option<&'static str> {
        find(&Address::parse(address).unwrap()).map(|case| case.address)
    }

    #[test]
    fn every_reason_and_every_status_of_a_check_has_an_address() {
        let reasons: BTreeSet<_> = CASES.iter().map(|case| case.reason).collect();
        assert_eq!(reasons, BTreeSet::from(Reason::ALL));
        let mut statuses: BTreeSet<_> = CASES.iter().map(|case| case.status).collect();
        // This status exists only for malformed addresses.
        statuses.insert(Status::InvalidFormat);
        assert_eq!(statuses, BTreeSet::from(Status::ALL));
        let addresses: BTreeSet<_> = CASES.iter().map(|case| case.address).collect();
        assert_eq!(addresses.len(), CASES.len());
        for reason in Reason::ALL {
            let case = find(&Address::parse(&format!("{}@sandbox.test", reason.as_str())).unwrap());
            assert_eq!(case.unwrap().reason, reason);
        }
    }

    #[test]
    fn an_address_is_found_with_a_tag_too_and_other_domains_are_not_the_sandbox() {
        for case in &CASES {
            assert_eq!(case_of(case.address), Some(case.address));
            assert_eq!(case_of(&case.address.replace('@', "+tag@")), Some(case.address));
        }
        for (address, expected) in [
            ("nobody@sandbox.test", Some("rejects@sandbox.test")),
            ("accepts@deep.sandbox.test", Some("accepts@sandbox.test")),
            ("ACCEPTS@SANDBOX.test", Some("rejects@sandbox.test")),
            ("accepts@catchall.sandbox.test", Some("anyone@catchall.sandbox.test")),
            ("accepts@notsandbox.test", None),
            ("accepts@sandbox.test.example.org", None),
            ("accepts@sandbox.example", None),
        ] {
            assert_eq!(case_of(address), expected, "{address}");
            let domain = address.rsplit_once('@').unwrap().1.to_lowercase();
            assert_eq!(super::is_domain(&domain), expected.is_some(), "{domain}");
        }
        for case in &CASES {
            assert!(super::is_domain(case.parts().1), "{}", case.address);
        }
    }

    #[test]
    fn every_kind_of_domain_has_one_in_the_sandbox_and_other_domains_have_none() {
        let kinds: BTreeSet<_> = DOMAINS.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, BTreeSet::from(DomainKind::ALL));
        for row in &DOMAINS {
            for domain in [row.domain.to_owned(), format!("below.{}", row.domain)] {
                let facts = domain_facts(&domain).unwrap();
                assert_eq!(
                    (facts.kind, facts.accepts_mail),
                    (row.kind, Some(row.accepts_mail)),
                    "{domain}"
                );
            }
        }
        let suspected = domain_facts("suspected.sandbox.test").unwrap().suspected;
        assert_eq!(suspected, Some(DomainKind::Disposable));
        assert_eq!(domain_facts("nodomain.test").unwrap().accepts_mail, Some(false));
        assert_eq!(domain_facts("deep.sandbox.test").unwrap().kind, DomainKind::Organization);
        for other in ["sandbox.test.example", "notsandbox.test", "example.org", "test"] {
            assert_eq!(domain_facts(other), None, "{other}");
        }
    }

    #[test]
    fn an_error_of_the_api_is_known_without_the_table() {
        for case in &CASES {
            let expected = match case.behaviour {
                Behaviour::Http(status) => Some(status),
                _ => None,
            };
            assert_eq!(http_status(&Address::parse(case.address).unwrap()), expected);
        }
        for other in ["http_500@sandbox.test", "http_502@example.org", "http_@sandbox.test"] {
            assert_eq!(http_status(&Address::parse(other).unwrap()), None, "{other}");
        }
    }

    fn repository(file: &str) -> String {
        format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"))
    }

    #[test]
    fn the_documents_have_the_same_table() {
        let text = std::fs::read_to_string(repository("docs/sandbox.md")).unwrap();
        let listed: Vec<_> = text.lines().filter(|line| line.starts_with("| `")).collect();
        let addresses = CASES.iter().map(|case| {
            let answer = match case.behaviour {
                Behaviour::Http(status) => format!("`HTTP {status}`"),
                _ => format!("`{}`, `{}`", case.status.as_str(), case.reason.as_str()),
            };
            format!("| `{}` | {answer} | {} |", case.address, case.does)
        });
        let domains = DOMAINS.iter().map(|row| {
            format!(
                "| `{}` | `{}`, `{}` | {} |",
                row.domain,
                row.kind.as_str(),
                row.accepts_mail,
                row.does
            )
        });
        let expected: Vec<_> = addresses.chain(domains).collect();
        assert_eq!(listed, expected, "docs/sandbox.md should have:\n{}", expected.join("\n"));
    }

    /// With the variable that `make openapi` sets, the test writes the file.
    #[test]
    fn the_portal_has_the_same_table_openapi() {
        let rows: Vec<_> = CASES
            .iter()
            .map(|case| {
                let http = match case.behaviour {
                    Behaviour::Http(status) => Some(status),
                    _ => None,
                };
                json!({
                    "address": case.address, "status": case.status, "http": http,
                    "reason": case.reason, "does": case.does,
                })
            })
            .collect();
        let domains = DOMAINS.each_ref().map(|row| {
            json!({
                "domain": row.domain, "kind": row.kind, "accepts_mail": row.accepts_mail, "does": row.does,
            })
        });
        let tables = json!({ "addresses": rows, "domains": domains });
        let text = serde_json::to_string_pretty(&tables).unwrap() + "\n";
        let file = repository("edge/data/sandbox.json");
        if std::env::var_os("WRITE_OPENAPI").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(written == text, "edge/data/sandbox.json is not up to date: run `make openapi`");
    }
}
