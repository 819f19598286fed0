//! Messages between edge and origin: they equal the recordings of this version, and recordings of
//! the previous version are understood.

use std::{collections::BTreeSet, fs, path::PathBuf};

use rcpt_shared::{
    Address, BatchAnswer, BatchEnd, BatchLine, BatchRequest, CatchAll, Details, DomainEvidence,
    DomainFacts, DomainKind, DomainReport, DomainRequest, EvidenceSource, KeyRing, NotAsked,
    ProbeRequest, Reason, Stage, Status, Tenant, Ticket, Traits, Verdict, WIRE_FORMAT,
};
use serde_json::Value;

const KEYS: &str = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc";
const NOW: u64 = 1_790_000_000;

/// The recorded lines of a version: kind and text.
fn recorded(version: u32) -> Vec<(String, String)> {
    let text = fs::read_to_string(file(version)).unwrap_or_default();
    let line = |line: &str| line.split_once('\t').map(|(kind, text)| (kind.into(), text.into()));
    text.lines().filter_map(line).collect()
}

fn file(version: u32) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire");
    PathBuf::from(folder).join(format!("{version}.tsv"))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

fn facts() -> DomainFacts {
    let list = Some("relay".to_owned());
    let as_of = Some("2026-11-20".to_owned());
    DomainFacts {
        kind: DomainKind::Relay,
        accepts_mail: Some(true),
        operator: Some("duckduckgo".to_owned()),
        suspected: Some(DomainKind::Disposable),
        evidence: vec![DomainEvidence { source: EvidenceSource::List, list, as_of }],
    }
}

/// The messages as sent now, one of each kind.
fn sample_messages() -> Vec<(String, String)> {
    let keys = KeyRing::parse(KEYS).unwrap();
    let [ann, bob] = ["ann@example.org", "bob@example.net"].map(|it| Address::parse(it).unwrap());
    let request = json(&ProbeRequest { address: ann.clone() });
    let tenant = Tenant { name: "tenant-1", paying: true };
    let ticket = |tenant| Ticket::issue_for(&keys, "req-1", request.as_bytes(), NOW, tenant);
    let mut refusal = Verdict::new(Status::Refused, Reason::NoSuchMailbox, Stage::Rcpt);
    refusal.details = Some(Box::new(Details {
        catch_all: CatchAll::No,
        operator: Some("google".to_owned()),
        domain: Some(Box::new(facts())),
        traits: Traits {
            free_provider: true,
            suggested_domain: Some("example.org".to_owned()),
            ..Traits::default()
        },
        ..Details::new(Some("No such user".to_owned()), None)
    }));
    let mut lines = vec![
        ("request", request.clone()),
        ("ticket", ticket(None).unwrap()),
        ("ticket", ticket(Some(tenant)).unwrap()),
        ("domain_request", json(&DomainRequest { domain: "example.org".to_owned() })),
        (
            "domain",
            json(&DomainReport {
                facts: facts(),
                suggested_domain: Some("example.net".to_owned()),
            }),
        ),
        ("batch_request", json(&BatchRequest { addresses: vec![ann, bob] })),
        ("verdict", json(&refusal)),
        ("batch_line", json(&BatchLine::Answer(BatchAnswer { index: 1, verdict: refusal }))),
        ("batch_line", json(&NotAsked { index: 2, not_asked_retry_after: 60 })),
        ("batch_line", json(&BatchEnd { answered: 1, not_asked: 1 })),
    ];
    for reason in Reason::ALL {
        let mut verdict = Verdict::new(Status::BlockedByProvider, reason, Stage::Rcpt);
        verdict.mx_host = Some("mx.example.org".to_owned());
        verdict.smtp_code = Some(450);
        verdict.enhanced_code = Some("4.7.1".to_owned());
        verdict.retry_after = Some(300);
        lines.push(("verdict", json(&verdict)));
    }
    lines.into_iter().map(|(kind, text)| (kind.to_owned(), text)).collect()
}

/// The version before and this one; the first version has none before it.
fn versions() -> [u32; 2] {
    [WIRE_FORMAT.saturating_sub(1).max(1), WIRE_FORMAT]
}

/// `WRITE_WIRE=1 cargo test -p rcpt-shared --test wire` records a new version.
#[test]
fn what_is_sent_is_what_is_recorded_for_this_version() {
    let samples = sample_messages();
    if std::env::var_os("WRITE_WIRE").is_some() {
        let lines = samples.iter().map(|(kind, text)| format!("{kind}\t{text}\n"));
        fs::write(file(WIRE_FORMAT), lines.collect::<String>()).unwrap();
    }
    let because = "the wire has changed: it wants another WIRE_FORMAT, with a row in CHANGELOG.md";
    assert_eq!(samples, recorded(WIRE_FORMAT), "{because}");
}

#[test]
fn what_was_sent_by_this_version_and_the_one_before_is_understood() {
    for version in versions() {
        let lines = recorded(version);
        let mut kinds = BTreeSet::new();
        let request = &lines.iter().find(|(kind, _)| kind == "request").unwrap().1;
        let request = request.as_bytes();
        for (kind, text) in &lines {
            kinds.insert(kind.as_str());
            match kind.as_str() {
                "request" => drop(serde_json::from_str::<ProbeRequest>(text).unwrap()),
                "batch_request" => drop(serde_json::from_str::<BatchRequest>(text).unwrap()),
                "domain_request" => drop(serde_json::from_str::<DomainRequest>(text).unwrap()),
                "domain" => drop(serde_json::from_str::<DomainReport>(text).unwrap()),
                "batch_line" => drop(serde_json::from_str::<BatchLine>(text).unwrap()),
                "ticket" => {
                    let keys = KeyRing::parse(KEYS).unwrap();
                    let ticket = Ticket::check(&keys, text, request, NOW + 1).unwrap();
                    assert_eq!(ticket.jti, "req-1");
                }
                "verdict" => {
                    let verdict: Verdict = serde_json::from_str(text).unwrap();
                    let value: Value = serde_json::from_str(text).unwrap();
                    assert_eq!(value["reason"], verdict.reason.as_str(), "{text}");
                }
                other => panic!("{other}"),
            }
        }
        let all = [
            "batch_line",
            "batch_request",
            "domain",
            "domain_request",
            "request",
            "ticket",
            "verdict",
        ];
        assert_eq!(kinds, BTreeSet::from(all), "version {version}");
    }
}

#[test]
fn nothing_is_asked_that_the_version_before_refuses() {
    // An older origin rejects members that it doesn't know.
    let members = |version: u32, of: &str| -> BTreeSet<String> {
        let lines = recorded(version).into_iter().filter(|(kind, _)| kind == of);
        let objects = lines.map(|(_, text)| serde_json::from_str::<Value>(&text).unwrap());
        objects.flat_map(|it| it.as_object().unwrap().keys().cloned().collect::<Vec<_>>()).collect()
    };
    let [before, _] = versions();
    for of in ["request", "batch_request", "domain_request"] {
        assert!(members(WIRE_FORMAT, of).is_subset(&members(before, of)), "{of}");
    }
}
