//! The bound databases, and which of them hold new accounts.

/// As Cloudflare names them.
const CONTINENTS: [&str; 7] = ["AF", "AN", "AS", "EU", "NA", "OC", "SA"];
/// Matches all other continents, and clients whose continent is unknown.
const ANY: &str = "*";
/// Name of the first database's binding; the others add `_` and a number.
const BINDING: &str = "DB";
/// An account's id has 8 bits for its database's number.
const DATABASES_MAX: usize = 256;

/// Databases for new accounts by the client's continent. No list is empty.
#[derive(Debug, PartialEq, Eq)]
pub struct Homes {
    continents: Vec<(&'static str, Vec<u8>)>,
    elsewhere: Vec<u8>,
}

impl Homes {
    /// Numbers of the databases for accounts of this continent.
    pub fn of(&self, continent: &str) -> &[u8] {
        let listed = self.continents.iter().find(|(name, _)| *name == continent);
        listed.map_or(self.elsewhere.as_slice(), |(_, numbers)| numbers)
    }

    /// Parses `EU:0,1 NA:2 *:0`, given the number of bound databases.
    ///
    /// # Errors
    /// All mistakes, without the name of the setting.
    pub fn parse(text: &str, count: usize) -> Result<Self, Vec<String>> {
        let mut homes = Self { continents: Vec::new(), elsewhere: Vec::new() };
        let mut mistakes = Vec::new();
        for home in text.split_ascii_whitespace() {
            let Some((name, list)) = home.split_once(':') else {
                mistakes.push(format!("{home}: expected a continent, a colon and numbers"));
                continue;
            };
            let numbers: Vec<u8> = list.split(',').filter_map(|n| bound(n, count)).collect();
            if numbers.len() != list.split(',').count() {
                let most = count.saturating_sub(1);
                mistakes.push(format!("{home}: the databases bound have the numbers 0 to {most}"));
            }
            let continent = CONTINENTS.into_iter().find(|continent| *continent == name);
            match continent {
                _ if name == ANY && homes.elsewhere.is_empty() => homes.elsewhere = numbers,
                Some(name) if homes.continents.iter().all(|(other, _)| *other != name) => {
                    homes.continents.push((name, numbers));
                }
                Some(_) => mistakes.push(format!("{name}: named twice")),
                None if name == ANY => mistakes.push(format!("{name}: named twice")),
                None => {
                    mistakes.push(format!("{name}: expected {} or {ANY}", CONTINENTS.join(", ")))
                }
            }
        }
        if homes.elsewhere.is_empty() && mistakes.is_empty() {
            mistakes.push(format!("{ANY} is missing: the home of all other continents"));
        }
        if mistakes.is_empty() { Ok(homes) } else { Err(mistakes) }
    }
}

fn bound(text: &str, count: usize) -> Option<u8> {
    text.parse::<u8>().ok().filter(|number| usize::from(*number) < count)
}

/// Counts the bound databases, given the names of all bindings.
///
/// # Errors
/// All mistakes: names without a valid number, and missing numbers.
pub fn count_databases(bindings: &[String]) -> Result<usize, Vec<String>> {
    let names = || bindings.iter().filter(|name| is_database(name));
    let count = names().count().max(1);
    let mut mistakes: Vec<String> = (0..count.min(DATABASES_MAX))
        .map(binding)
        .filter(|name| !bindings.contains(name))
        .collect();
    for name in &mut mistakes {
        name.push_str(": not bound; the numbers of databases follow each other");
    }
    for name in names().filter(|name| !(0..DATABASES_MAX).any(|number| binding(number) == **name)) {
        mistakes.push(format!("{name}: expected {BINDING}, {BINDING}_1, … {BINDING}_255"));
    }
    if mistakes.is_empty() { Ok(count) } else { Err(mistakes) }
}

fn is_database(name: &str) -> bool {
    name.strip_prefix(BINDING).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

pub fn binding(number: usize) -> String {
    if number == 0 { BINDING.to_owned() } else { format!("{BINDING}_{number}") }
}

#[cfg(test)]
mod tests {
    use super::{Homes, count_databases};

    #[test]
    fn a_continent_has_its_homes_and_every_other_one_shares_the_rest() {
        let homes = Homes::parse("EU:0,1 NA:2 *:0", 3).unwrap();
        assert_eq!(homes.of("EU"), [0, 1]);
        assert_eq!(homes.of("NA"), [2]);
        for other in ["AS", "", "*", "eu"] {
            assert_eq!(homes.of(other), [0], "{other}");
        }
    }

    #[test]
    fn every_mistake_of_the_homes_is_named() {
        for (text, mistake) in [
            ("", "* is missing"),
            ("EU:0", "* is missing"),
            ("*:3", "*:3: the databases bound have the numbers 0 to 2"),
            ("*:0 EU:", "EU:: the databases bound"),
            ("*:0 EU:0,,1", "EU:0,,1: the databases bound"),
            ("*:0 EU:-1", "EU:-1: the databases bound"),
            ("*:0 EU:256", "EU:256: the databases bound"),
            ("*:0 EU", "EU: expected a continent, a colon and numbers"),
            ("*:0 EU:0 EU:1", "EU: named twice"),
            ("*:0 *:1", "*: named twice"),
            ("*:0 XX:1", "XX: expected AF, AN"),
        ] {
            let mistakes = Homes::parse(text, 3).unwrap_err();
            assert!(mistakes[0].starts_with(mistake), "{text}: {mistakes:?}");
            assert_eq!(mistakes.len(), 1, "{text}: {mistakes:?}");
        }
        assert_eq!(Homes::parse("XX:1 EU:9", 3).unwrap_err().len(), 2);
    }

    #[test]
    fn the_numbers_of_databases_follow_each_other() {
        let count = |names: &[&str]| {
            count_databases(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(count(&["MAIL", "DB"]), Ok(1));
        assert_eq!(count(&["DB_2", "DB", "DB_1", "DBX"]), Ok(3));
        let left_out = "DB_1: not bound; the numbers of databases follow each other";
        assert_eq!(count(&["DB", "DB_2"]).unwrap_err(), [left_out]);
        assert!(count(&[]).unwrap_err()[0].starts_with("DB: not bound"));
        for second in ["DB_0", "DB_01", "DB_", "DB_256", "DB_x", "DB_-1"] {
            let mistakes = count(&["DB", "DB_1", second]).unwrap_err();
            assert!(mistakes.iter().any(|text| text.starts_with(second)), "{second}: {mistakes:?}");
        }
    }
}
