//! Domains in every script: the Worker, which uses the platform's parser, and origin, which uses
//! its own tables, get the same results (docs/architecture.md).

use std::{collections::BTreeSet, iter};

use idna::punycode;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    string::string_regex,
    test_runner::{Config, RngSeed, TestRunner},
};
use rcpt_shared::{Address, Status};
use rcpt_tests::{Conduct, Edge, FakeOrigin, proof};
use tokio::task::JoinSet;

/// Names that are mapped, rejected, or already A-labels; and names that a URL parser would read differently.
const CURIOUS: [&str; 44] = [
    "BÜCHER.example",
    "xn--bcher-kva.example",
    "XN--BCHER-KVA.example",
    "faß.de",
    "xn--fa-hia.de",
    "σς.gr",
    "παράδειγμα.ελ",
    "💌.example",
    "食狮.公司.cn",
    "пример.испытание",
    "ex\u{ff41}mple.org",
    "a。b.example",
    "a．example",
    "a。",
    "a\u{ad}b.example",
    "\u{ad}.example",
    "क\u{94d}\u{200d}.example",
    "a\u{200d}.example",
    "אב.example",
    "1א.example",
    "אa.example",
    "a.א1",
    "é-.example",
    "-é.example",
    "é--é.example",
    "xn-----8fa.example",
    "xn--",
    "xn--.example",
    "xn--zz--.example",
    "xn--a.example",
    "xn--a-0000000000.example",
    "xn--xn--a-ecp.example",
    "bücher.4",
    "bücher.0x4",
    "bücher.08",
    "4.bücher",
    "1.2.3.4",
    "bü_cher.example",
    "bü＿cher.example",
    "℀.example",
    "％2e.example",
    "ü％41.example",
    "／ü.example",
    "ü：80.example",
];
/// Pattern of names that look more or less like domains.
const RANDOM: &str = r"(xn--)?[a-zA-Zéßñ。.\-_0-9אبД你ก]{1,10}(\.xn--([a-z0-9-]{1,9}|bcher-kva|e1afmkfd))?(\.é|\.example)?";
/// First code point that A-labels of random names avoid: the platform's and our tables get new characters at different
/// times. Of Unicode 18's 13,007 new characters, 29 are below it (docs/decisions/0007-domains-read-by-the-platform.md).
const MAY_BE_NEW: char = '\u{10000}';
const COUNT: usize = 400;
const AT_ONCE: usize = 20;

/// Yields random names; none encodes a character that may be new.
fn drawn() -> impl Iterator<Item = String> {
    let config = Config { rng_seed: RngSeed::Fixed(proof::seed()), ..Config::default() };
    let mut runner = TestRunner::new(config);
    let names = string_regex(RANDOM).unwrap();
    let is_old = |label: &str| {
        let encoded = label.to_ascii_lowercase().strip_prefix("xn--").and_then(punycode::decode);
        encoded.is_none_or(|label| label.iter().all(|c| *c < MAY_BE_NEW))
    };
    iter::repeat_with(move || names.new_tree(&mut runner).unwrap().current())
        .filter(move |name| name.split(['.', '。']).all(is_old))
        .take(COUNT)
}

#[tokio::test]
async fn the_worker_and_origin_read_every_domain_alike() {
    let origin = FakeOrigin::start(|_| Conduct::Verdict(Status::Accepted));
    let edge = Edge::builder().origins(&[&origin.url]).start().await.unwrap();
    let account = edge.account().await;
    edge.set(&account.email, "plan = 'unlimited'").await;
    let domains = CURIOUS.map(str::to_owned).into_iter().chain(drawn());
    let addresses: Vec<_> = domains.enumerate().map(|(n, name)| format!("n{n}@{name}")).collect();
    let mut waiting = addresses.clone().into_iter();
    let mut checks = JoinSet::new();
    loop {
        while checks.len() < AT_ONCE
            && let Some(address) = waiting.next()
        {
            let account = account.clone();
            checks.spawn(async move {
                let reply = account.check(&address).await;
                (address, reply.status, reply.body["status"].clone())
            });
        }
        let Some(done) = checks.join_next().await else { break };
        let (address, code, status) = done.unwrap();
        let expected = match Address::parse(&address) {
            Ok(_) => true.into(),
            Err(_) => "invalid_format".into(),
        };
        assert_eq!((code, status), (200, expected), "{address:?}");
    }
    let questions: BTreeSet<_> = origin.probes().into_iter().map(|probe| probe.address).collect();
    let read = addresses.iter().filter_map(|address| Address::parse(address).ok());
    let read: BTreeSet<_> = read.map(|address| address.normal().to_owned()).collect();
    println!("{} of {} are host names", read.len(), addresses.len());
    assert_eq!(questions, read);
    assert!(read.len() > addresses.len() / 10 && read.len() < addresses.len());
}
