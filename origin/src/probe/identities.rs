//! Our source addresses by number, and the choice of one for each domain.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use rcpt_pool::{Source, SourceClass};
use rcpt_smtp::HeloIdentity;

use crate::config::Config;

/// An address keeps its number over reloads, because the pool stores records under that number.
pub(super) struct Identities {
    numbered: Vec<Numbered>,
    /// The configured HELO name, with an address chosen by the system.
    unbound: Arc<HeloIdentity>,
    /// Secret on which the choice for a domain depends, so that outsiders can't control it.
    key: Vec<u8>,
}

#[derive(Clone)]
struct Numbered {
    identity: Arc<HeloIdentity>,
    label: Arc<str>,
    /// False after a reload has removed the address: open sessions end, and no others start.
    is_in_use: bool,
}

impl Numbered {
    fn class(&self) -> SourceClass {
        if self.identity.is_for_free() { SourceClass::Free } else { SourceClass::Known }
    }

    fn is(&self, other: &HeloIdentity) -> bool {
        self.identity.helo_name == other.helo_name
            && self.identity.addresses().eq(other.addresses())
    }
}

impl Identities {
    pub(super) fn new(config: &Config) -> Self {
        let unbound = Arc::new(HeloIdentity::unbound(&config.helo_name));
        Self { numbered: Vec::new(), unbound, key: config.own_secret().to_vec() }.with(config)
    }

    /// Known addresses keep their numbers.
    pub(super) fn with(&self, config: &Config) -> Self {
        let mut numbered = self.numbered.clone();
        numbered.iter_mut().for_each(|known| known.is_in_use = false);
        let all = HeloIdentity::all(&config.helo_name, &config.source_addresses, config.families);
        for identity in all {
            let position = numbered.iter().position(|known| known.is(&identity));
            let label = Arc::from(identity.label());
            let new = Numbered { identity: Arc::new(identity), label, is_in_use: true };
            match position.and_then(|number| numbered.get_mut(number)) {
                Some(position) => *position = new,
                None => numbered.push(new),
            }
        }
        Self { numbered, unbound: self.unbound.clone(), key: self.key.clone() }
    }

    pub(super) fn get(&self, number: usize) -> Arc<HeloIdentity> {
        let numbered_identity = self.numbered.get(number);
        numbered_identity.map_or_else(
            || self.unbound.clone(),
            |numbered_identity| numbered_identity.identity.clone(),
        )
    }

    pub(super) fn in_use(&self) -> impl Iterator<Item = &Arc<HeloIdentity>> {
        let in_use = self.numbered.iter().filter(|known| known.is_in_use);
        in_use.map(|known| &known.identity)
    }

    /// In the order of the numbers.
    pub(super) fn numbered<T>(&self, of: impl Fn(&HeloIdentity) -> T) -> Vec<T> {
        self.numbered.iter().map(|known| of(&known.identity)).collect()
    }

    /// Former names too.
    pub(super) fn helo_names(&self) -> impl Iterator<Item = &str> {
        let numbered = self.numbered.iter().map(|known| &known.identity);
        numbered.chain([&self.unbound]).map(|identity| identity.helo_name.as_str())
    }

    /// The same addresses give the same number, because a server that defers a request expects the retry from the same
    /// address. A class without reserved addresses shares those of the other class.
    ///
    /// Rendezvous hashing: an additional address takes over some domains and moves no others.
    pub(super) fn of(&self, domain: &str, class: SourceClass) -> usize {
        let in_use = || self.numbered.iter().enumerate().filter(|(_, known)| known.is_in_use);
        let has_own = in_use().any(|(_, known)| known.class() == class);
        let candidates = || in_use().filter(|(_, known)| !has_own || known.class() == class);
        // Most origins have one address and need no hash.
        match candidates().take(2).count() {
            0 => 0,
            1 => candidates().next().map_or(0, |(number, _)| number),
            _ => {
                let highest =
                    candidates().max_by_key(|(_, known)| self.weight(&known.label, domain));
                highest.map_or(0, |(number, _)| number)
            }
        }
    }

    fn weight(&self, label: &str, domain: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.key.as_slice(), label, domain).hash(&mut hasher);
        hasher.finish()
    }
}

impl From<&Identities> for Vec<Source> {
    fn from(identities: &Identities) -> Self {
        let source = |known: &Numbered| Source {
            label: known.label.clone(),
            since: known.identity.since(),
            class: known.class(),
            is_in_use: known.is_in_use,
        };
        identities.numbered.iter().map(source).collect()
    }
}

#[cfg(test)]
mod tests {
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
        let with =
            |before: &Identities, sources| before.with(&config(sources, "sixteen characters"));
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
}
