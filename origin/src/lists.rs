//! The lists of domains and mail servers that say the kind of a domain: read from one bundle, looked up by suffix.
//!
//! The bundle is `cat data/lists/*.toml`, or the file of `lists_file` where that is newer. Names that are acquitted (providers and
//! relays) stand on no other list, and are looked up first all the same.

mod bundle;
mod facts;
mod file;
mod learn;
mod mail_route;
mod names;
mod show;
mod suggestion;
pub mod update;

#[cfg(test)]
mod evaluation;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, LazyLock},
};

pub use bundle::{Bundle, Header, Mistake};
pub use file::in_force;
pub use mail_route::MailRoute;
use names::listed_suffix;

/// The files of `data/lists/`, one after the other.
pub const BUILT_IN: &str = concat!(
    include_str!("../data/lists/disposable-server.toml"),
    include_str!("../data/lists/disposable.toml"),
    include_str!("../data/lists/look-alike.toml"),
    include_str!("../data/lists/parked-server.toml"),
    include_str!("../data/lists/provider.toml"),
    include_str!("../data/lists/relay.toml"),
    include_str!("../data/lists/suggested.toml"),
);

#[expect(clippy::expect_used, reason = "the files are built in, and the tests read them")]
static BUILT_IN_LISTS: LazyLock<Arc<Lists>> = LazyLock::new(|| {
    Arc::new(Lists::of(Bundle::parse(BUILT_IN).expect("the lists of the package")))
});

/// The lists, ready to be asked.
#[derive(Debug)]
pub struct Lists {
    disposable: HashSet<String>,
    providers: HashSet<String>,
    /// With the name of the operator.
    relays: HashMap<String, Arc<str>>,
    parked_servers: HashSet<String>,
    disposable_servers: HashSet<String>,
    /// With the domain that is meant.
    look_alikes: HashMap<String, String>,
    /// The most used first.
    suggested: Vec<String>,
    /// Source, date and licence, by the list's name.
    pub headers: BTreeMap<&'static str, Header>,
    /// Entries, by the list's name.
    pub sizes: BTreeMap<&'static str, usize>,
}

impl Lists {
    /// The lists of the package.
    #[must_use]
    pub fn built_in() -> Arc<Self> {
        BUILT_IN_LISTS.clone()
    }

    #[must_use]
    pub fn of(bundle: Bundle) -> Self {
        let headers = bundle.headers().into_iter().map(|(name, header)| (name, header.clone()));
        let headers = headers.collect();
        let sizes = bundle.entries().into_iter().map(|(name, entries)| (name, entries.len()));
        let sizes = sizes.collect();
        let relays = bundle.relay.operators.into_iter().flat_map(|(operator, domains)| {
            let operator: Arc<str> = operator.into();
            domains.into_iter().map(move |domain| (domain, operator.clone()))
        });
        Self {
            relays: relays.collect(),
            disposable: bundle.disposable.names.into_iter().collect(),
            providers: bundle.provider.names.into_iter().collect(),
            parked_servers: bundle.parked_server.names.into_iter().collect(),
            disposable_servers: bundle.disposable_server.domains.into_keys().collect(),
            look_alikes: bundle.look_alike.meant.into_iter().collect(),
            suggested: bundle.suggested.names,
            headers,
            sizes,
        }
    }

    /// The names of a list.
    fn names(&self, list: &str) -> HashSet<&str> {
        fn all<'a>(names: impl IntoIterator<Item = &'a String>) -> HashSet<&'a str> {
            names.into_iter().map(String::as_str).collect()
        }
        match list {
            "disposable" => all(&self.disposable),
            "provider" => all(&self.providers),
            "relay" => all(self.relays.keys()),
            "parked_server" => all(&self.parked_servers),
            "disposable_server" => all(&self.disposable_servers),
            "look_alike" => all(self.look_alikes.keys()),
            "suggested" => all(&self.suggested),
            _ => HashSet::new(),
        }
    }

    /// Returns whether the domain or one above it is a provider's or a relay's: nothing else that is listed holds for it.
    fn is_acquitted(&self, domain: &str) -> bool {
        listed_suffix(domain, |name| {
            self.providers.contains(name) || self.relays.contains_key(name)
        })
        .is_some()
    }
}
