//! Accuracy of the lists on domains named by other parties: `cargo test -p rcpt-origin --lib
//! lists::tests -- --nocapture`.

use std::{collections::BTreeSet, sync::LazyLock};

use rcpt_pool::operators::Operators;
use rcpt_shared::{DomainFacts, DomainKind};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{BUILT_IN, Bundle, Lists, MailRoute, listed_suffix, suffixes};

#[derive(Deserialize)]
struct Evaluation {
    providers: Providers,
    relays: Relays,
    curated: Curated,
}

#[derive(Deserialize)]
struct Providers {
    names: Vec<String>,
    throw_away: Vec<String>,
    placeholders: Vec<String>,
    registries: Vec<String>,
}

#[derive(Deserialize)]
struct Relays {
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Curated {
    count: usize,
    sha256: String,
    left_out: Vec<String>,
}

fn evaluation() -> Evaluation {
    toml::from_str(include_str!("../../data/evaluation.toml")).unwrap()
}

fn kind(domain: &str) -> DomainKind {
    static OPERATORS: LazyLock<Operators> = LazyLock::new(|| Operators::with("").unwrap());
    Lists::built_in().facts(domain, &MailRoute::default(), &OPERATORS).kind
}

fn disposable_among(names: &[String]) -> Vec<&String> {
    names.iter().filter(|name| kind(name) == DomainKind::Disposable).collect()
}

#[test]
fn at_most_one_real_provider_or_relay_in_200_is_called_disposable() {
    let Evaluation { providers, relays, .. } = evaluation();
    for (what, names) in [("providers", &providers.names), ("relays", &relays.names)] {
        let accused = disposable_among(names);
        println!("{what} called disposable: {} of {}: {accused:?}", accused.len(), names.len());
        assert!(accused.len() * 200 <= names.len(), "{accused:?}");
    }
    let others = [&providers.throw_away, &providers.placeholders, &providers.registries];
    let rows = ["throw-away services", "placeholders", "registries"].iter().zip(others);
    for (what, names) in rows {
        println!("{what} called disposable: {} of {}", disposable_among(names).len(), names.len());
    }
    assert_eq!(disposable_among(&providers.throw_away).len(), providers.throw_away.len());
    let relays_found = relays.names.iter().filter(|name| kind(name) == DomainKind::Relay).count();
    println!("relays called relays: {relays_found} of {}", relays.names.len());
    assert_eq!(relays_found, relays.names.len());
    let known_count =
        providers.names.iter().filter(|name| kind(name) == DomainKind::Provider).count();
    println!("providers called providers: {known_count} of {}", providers.names.len());
}

#[test]
fn at_least_97_percent_of_the_curated_domains_are_called_disposable() {
    let Evaluation { curated, .. } = evaluation();
    let mut names: BTreeSet<String> =
        Bundle::parse(BUILT_IN).unwrap().disposable.names.into_iter().collect();
    names.extend(curated.left_out);
    let lines: String = names.iter().flat_map(|name| [name, "\n"]).collect();
    let sha256: String = Sha256::digest(lines).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        (names.len(), sha256),
        (curated.count, curated.sha256),
        "another list than the source"
    );
    let names: Vec<_> = names.into_iter().collect();
    let hit_count = disposable_among(&names).len();
    println!("curated domains called disposable: {hit_count} of {}", names.len());
    assert!(hit_count * 100 >= names.len() * 97);
}

#[test]
fn no_domain_that_accepts_mail_is_corrected() {
    let lists = Lists::built_in();
    let (mut asked, mut corrected) = (0, BTreeSet::new());
    let mut ask = |domain: &str| {
        for kind in [DomainKind::Unknown, DomainKind::Organization, DomainKind::Disposable] {
            let facts = DomainFacts { kind, accepts_mail: Some(true), ..DomainFacts::default() };
            asked += 1;
            if lists.suggestion(domain, &facts).is_some() {
                corrected.insert(domain.to_owned());
            }
        }
    };
    let Evaluation { providers, relays, .. } = evaluation();
    let disposable = Bundle::parse(BUILT_IN).unwrap().disposable.names;
    providers.names.iter().chain(&relays.names).chain(&disposable).for_each(|name| ask(name));
    // All domains one letter away from a suggested domain.
    for meant in &lists.suggested {
        for place in 0..=meant.len() {
            let (before, after) = meant.split_at(place);
            for letter in 'a'..='z' {
                ask(&format!("{before}{letter}{after}"));
                ask(&format!("{before}{letter}{}", after.get(1..).unwrap_or_default()));
            }
            ask(&format!("{before}{}", after.get(1..).unwrap_or_default()));
        }
    }
    let curated: BTreeSet<_> = lists.look_alikes.keys().cloned().collect();
    println!(
        "domains that accept mail: {asked} questions, corrected but for the curated look-alikes: {}",
        corrected.difference(&curated).count()
    );
    assert!(corrected.is_subset(&curated), "{corrected:?}");
    assert!(asked > 100_000);
    let listed = providers.names.iter().filter(|name| curated.contains(*name)).count();
    assert_eq!(listed, 0, "a real provider among the look-alikes");
}

#[test]
fn a_name_is_looked_up_in_whole_labels_and_a_top_level_domain_never() {
    assert_eq!(suffixes("a.b.co.uk").collect::<Vec<_>>(), ["a.b.co.uk", "b.co.uk", "co.uk"]);
    assert_eq!(suffixes("uk").count(), 0);
    assert_eq!(suffixes("").count(), 0);
    assert_eq!(listed_suffix("x.mail.example", |it| it == "mail.example"), Some("mail.example"));
    assert_eq!(listed_suffix("notmail.example", |it| it == "mail.example"), None);
}
