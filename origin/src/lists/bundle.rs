//! The format of the lists, and the rules that all of them together must follow.

use std::collections::{BTreeMap, HashMap, HashSet};

use rcpt_shared::Address;
use serde::Deserialize;
use toml::{Table, value::Datetime};

use super::suffixes;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Header {
    pub source: String,
    pub date: String,
    pub licence: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    pub disposable: NameList,
    pub provider: NameList,
    pub relay: OperatorList,
    pub parked_server: NameList,
    pub disposable_server: CountedList,
    pub look_alike: MeaningList,
    pub suggested: NameList,
}

#[derive(Debug, Clone, Deserialize)]
pub struct NameList {
    #[serde(flatten)]
    pub header: Header,
    pub names: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct OperatorList {
    #[serde(flatten)]
    pub header: Header,
    pub operators: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct CountedList {
    #[serde(flatten)]
    pub header: Header,
    pub domains: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct MeaningList {
    #[serde(flatten)]
    pub header: Header,
    pub meant: BTreeMap<String, String>,
}

/// Lists that mustn't contain a provider or a relay, or a parent or child of either: all other lists
/// but `suggested`, whose domains are providers.
const ACCUSING: [&str; 4] = ["disposable", "parked_server", "disposable_server", "look_alike"];

impl Bundle {
    /// Fails with the first broken rule.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::of(table(text)?)
    }

    /// These lists replace those of the same name.
    pub fn parse_over(all: &str, text: &str) -> Result<Self, String> {
        let mut lists = table(all)?;
        lists.extend(table(text)?);
        Self::of(lists)
    }

    fn of(lists: Table) -> Result<Self, String> {
        let bundle: Self =
            lists.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        bundle.check()?;
        Ok(bundle)
    }

    #[must_use]
    pub fn headers(&self) -> [(&'static str, &Header); 7] {
        [
            ("disposable", &self.disposable.header),
            ("provider", &self.provider.header),
            ("relay", &self.relay.header),
            ("parked_server", &self.parked_server.header),
            ("disposable_server", &self.disposable_server.header),
            ("look_alike", &self.look_alike.header),
            ("suggested", &self.suggested.header),
        ]
    }

    #[must_use]
    pub fn entries(&self) -> [(&'static str, Vec<&str>); 7] {
        fn listed(list: &NameList) -> Vec<&str> {
            list.names.iter().map(String::as_str).collect()
        }
        let relays = self.relay.operators.values().flatten().map(String::as_str);
        [
            ("disposable", listed(&self.disposable)),
            ("provider", listed(&self.provider)),
            ("relay", relays.collect()),
            ("parked_server", listed(&self.parked_server)),
            (
                "disposable_server",
                self.disposable_server.domains.keys().map(String::as_str).collect(),
            ),
            ("look_alike", self.look_alike.meant.keys().map(String::as_str).collect()),
            ("suggested", listed(&self.suggested)),
        ]
    }

    fn check(&self) -> Result<(), String> {
        for (list, header) in self.headers() {
            check_header(list, header)?;
        }
        let entries = self.entries();
        for (list, names) in &entries {
            check_names(list, names)?;
        }
        for meant in self.look_alike.meant.values() {
            if !self.suggested.names.contains(meant) {
                return Err(format!("look_alike: {meant} is not on the list suggested"));
            }
        }
        check_acquittals(&entries)
    }
}

fn table(text: &str) -> Result<Table, String> {
    text.parse().map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

fn check_header(list: &str, header: &Header) -> Result<(), String> {
    for (name, value) in [("source", &header.source), ("licence", &header.licence)] {
        if value.trim().is_empty() {
            return Err(format!("{list}: no {name}"));
        }
    }
    if is_day(&header.date) {
        Ok(())
    } else {
        Err(format!("{list}: the date is no day of the form YYYY-MM-DD"))
    }
}

fn is_day(text: &str) -> bool {
    text.parse::<Datetime>().is_ok_and(|it| it.date.is_some() && it.time.is_none())
}

fn check_names(list: &str, names: &[&str]) -> Result<(), String> {
    if names.is_empty() {
        return Err(format!("{list}: no entry"));
    }
    let mut unique_names = HashSet::with_capacity(names.len());
    for name in names {
        let address = Address::parse(&format!("a@{name}"));
        let is_domain = name.contains('.') && address.is_ok_and(|it| it.domain() == *name);
        if !is_domain {
            return Err(format!("{list}: {name:?} is no domain name in lower-case A-labels"));
        }
        if !unique_names.insert(name) {
            return Err(format!("{list}: {name} stands twice"));
        }
    }
    Ok(())
}

/// Checks that no provider or relay, and no parent or child of one, is on an accusing list. Also
/// rejects names that are both provider and relay, or both disposable and misspelt.
fn check_acquittals(entries: &[(&'static str, Vec<&str>)]) -> Result<(), String> {
    let of = |wanted: &'static str| {
        let lists = entries.iter().filter(move |(list, _)| *list == wanted);
        lists.flat_map(|(_, names)| names.iter())
    };
    let acquitting = ["provider", "relay"];
    let mut acquitted: HashMap<&str, &str> = HashMap::new();
    for list in acquitting {
        for name in of(list) {
            if let Some(other) = acquitted.insert(name, list) {
                return Err(format!("{name} is on the lists {other} and {list}"));
            }
        }
    }
    // Parent domains of the acquitted names.
    let above: HashMap<&str, &str> = acquitted
        .keys()
        .flat_map(|name| suffixes(name).skip(1).map(move |above| (above, *name)))
        .collect();
    // No service chooses a misspelt domain for its mailboxes.
    let misspelt: HashSet<&&str> = of("look_alike").collect();
    if let Some(name) = of("disposable").find(|name| misspelt.contains(name)) {
        return Err(format!("{name} is on the lists disposable and look_alike"));
    }
    for list in ACCUSING {
        for name in of(list) {
            let below = suffixes(name).find(|suffix| acquitted.contains_key(suffix));
            if let Some(acquitted) = below.or_else(|| above.get(name).copied()) {
                return Err(format!(
                    "{list}: {name} contradicts the list that acquits {acquitted}"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::BUILT_IN, Bundle, is_day};

    fn mistake(from: &str, to: &str) -> String {
        let text = BUILT_IN.replacen(from, to, 1);
        assert_ne!(text, BUILT_IN, "{from}");
        Bundle::parse(&text).unwrap_err().to_string()
    }

    #[test]
    fn the_lists_of_the_package_keep_the_rules() {
        let bundle = Bundle::parse(BUILT_IN).unwrap();
        let sizes = bundle.entries().map(|(list, names)| (list, names.len()));
        println!("{sizes:?}");
        assert!(bundle.disposable.names.len() > 10_000);
        assert_eq!(bundle.suggested.names.len(), 200);
    }

    #[test]
    fn a_bundle_that_breaks_a_rule_is_refused_with_the_reason() {
        for (from, to, expected) in [
            ("licence = \"CC0-1.0\"", "licence = \" \"", "no licence"),
            ("licence = \"CC0-1.0\"", "", "missing field"),
            ("date = \"2026-11-09\"", "date = \"November\"", "the date is no day"),
            ("source = \"PyPI", "source = \"\" # ", "no source"),
            ("\"mailinator.com\"", "\"mailinator\"", "is no domain name"),
            ("\"mailinator.com\"", "\"Mailinator.com\"", "is no domain name"),
            ("\"mailinator.com\"", "\"mailinator.com\", \"mailinator.com\"", "stands twice"),
            ("\"mailinator.com\"", "\"mailinator.com\", \"gmail.com\"", "contradicts"),
            ("\"mailinator.com\"", "\"mailinator.com\", \"x.duck.com\"", "contradicts"),
            ("\"mailinator.com\"", "\"mailinator.com\", \"appleid.com\"", "contradicts"),
            (
                "\"mailinator.com\"",
                "\"mailinator.com\", \"gmial.com\"",
                "disposable and look_alike",
            ),
            ("\"h-email.net\"", "\"h-email.net\", \"yahoo.com\"", "contradicts"),
            ("[suggested]", "[suggestions]", "unknown field `suggestions`"),
            ("duckduckgo = [\"duck.com\"]", "duckduckgo = [\"gmail.com\"]", "on the lists"),
            ("\"yaho.com\" = \"yahoo.com\"", "\"yaho.com\" = \"yhaoo.com\"", "not on the list"),
        ] {
            let reason = mistake(from, to);
            assert!(reason.contains(expected), "{from} -> {to}: {reason}");
        }
        for half in [BUILT_IN.len() / 2, BUILT_IN.len() - 100, 0] {
            assert!(Bundle::parse(BUILT_IN.get(..half).unwrap_or_default()).is_err(), "{half}");
        }
        let without = BUILT_IN.find("[suggested]").unwrap();
        let reason = Bundle::parse(&BUILT_IN[..without]).unwrap_err().to_string();
        assert!(reason.contains("missing field `suggested`"), "{reason}");
    }

    #[test]
    fn a_day_is_written_in_one_way() {
        assert!(is_day("2026-11-09"));
        for no in
            ["2026-13-01", "2026-00-10", "2026-1-1", "26-01-01", "2026-11-32", "", "+026-11-09"]
        {
            assert!(!is_day(no), "{no}");
        }
    }
}
