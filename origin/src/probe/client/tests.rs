//! The choice of a source address for a domain, and its number over reloads.

use super::{Identities, SourceClass};
use crate::config::Config;

const KNOWN: SourceClass = SourceClass::Known;

fn config(sources: &[&str], key: &str) -> Config {
    let given = [
        ("RCPT_HELO_NAME", "probe.example.com"),
        ("RCPT_MAIL_FROM", "<>"),
        ("RCPT_NAMESERVERS", "192.0.2.53"),
        ("RCPT_TICKET_SECRETS", "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE"),
    ];
    let text = format!("source_addresses = {sources:?}\nsource_key = \"{key}\"");
    let of = |name: &str| given.iter().find(|(key, _)| *key == name);
    Config::parse(&text, &|name| of(name).map(|(_, value)| (*value).to_owned())).unwrap()
}

fn identities(sources: &[&str]) -> Identities {
    Identities::new(&config(sources, "sixteen characters"))
}

const FOUR: [&str; 4] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];

#[test]
fn a_further_source_address_moves_the_domains_that_it_gains_and_no_others() {
    let three = identities(&FOUR[..3]);
    let (four, two) = (
        three.with(&config(&FOUR, "sixteen characters")),
        three.with(&config(&FOUR[1..3], "sixteen characters")),
    );
    let mut gained = 0;
    for number in 0..4_000 {
        let domain = format!("d{number}.example");
        let before = three.of(&domain, KNOWN);
        let after = four.of(&domain, KNOWN);
        assert!(after == before || after == 3, "{domain}: {before} to {after}");
        gained += usize::from(after == 3);
        // Removing an address moves only its own domains.
        let rest = two.of(&domain, KNOWN);
        assert!(rest != 0 && (before == 0 || rest == before), "{domain}");
    }
    assert!((900..1_100).contains(&gained), "{gained} of 4,000 moved: a quarter is its share");
}

#[test]
fn nobody_without_the_key_knows_which_address_asks() {
    let one = identities(&FOUR[..3]);
    let other = Identities::new(&config(&FOUR[..3], "sixteen others, and more"));
    let moved = (0..900).map(|number| format!("d{number}.example"));
    let moved = moved.filter(|it| one.of(it, KNOWN) != other.of(it, KNOWN)).count();
    assert!((500..700).contains(&moved), "{moved} of 900: two thirds differ by chance");
}

#[test]
fn an_address_that_comes_back_has_the_number_that_it_had() {
    let with = |before: &Identities, sources| before.with(&config(sources, "sixteen characters"));
    let both = identities(&["192.0.2.1", "192.0.2.2"]);
    let first = with(&both, &["192.0.2.2"]);
    assert_eq!(first.of("example.org", KNOWN), 1);
    assert_eq!(first.get(0).label(), "192.0.2.1", "its sessions end under their name");
    assert_eq!(first.in_use().count(), 1);
    let third = with(&first, &["192.0.2.3", "192.0.2.1"]);
    let labels = [0, 1, 2].map(|number| third.get(number).label());
    assert_eq!(labels, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    let in_use: Vec<_> = third.in_use().map(|it| it.label()).collect();
    assert_eq!(in_use, ["192.0.2.1", "192.0.2.3"]);
}

#[test]
fn free_accounts_ask_from_addresses_of_their_own_where_there_are_some() {
    let domains = || (0..200).map(|number| format!("d{number}.example"));
    let mixed = identities(&["192.0.2.1", "free:192.0.2.2", "free:192.0.2.3", "192.0.2.4"]);
    for domain in domains() {
        let (known, free) = (mixed.of(&domain, KNOWN), mixed.of(&domain, SourceClass::Free));
        assert!([0, 3].contains(&known) && [1, 2].contains(&free), "{domain}: {known} {free}");
    }
    let shared = identities(&["192.0.2.1", "192.0.2.2"]);
    for domain in domains() {
        assert_eq!(shared.of(&domain, KNOWN), shared.of(&domain, SourceClass::Free));
    }
}
