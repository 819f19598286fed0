//! Finds the domain that was meant by a misspelt domain. A domain that accepts mail is never corrected, unless it is
//! parked or on a short curated list.

use rcpt_shared::{DomainFacts, DomainKind};
use strsim::osa_distance;

use super::Lists;

/// Minimum length in bytes; shorter domains are too similar to other existing domains.
const MIN_MISSPELT: usize = 7;
/// Minimum length in bytes for recognising two slips.
const MIN_TWO_SLIPS: usize = 10;

/// Rows of most keyboard layouts.
const ROWS: [&str; 4] = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

impl Lists {
    /// The domain that was probably meant by `domain`, if `domain` is a listed look-alike, accepts no mail or is
    /// parked.
    #[must_use]
    pub fn suggestion<'a>(&'a self, domain: &'a str, facts: &DomainFacts) -> Option<&'a str> {
        if matches!(facts.kind, DomainKind::Provider | DomainKind::Relay) {
            return None;
        }
        if let Some(intended) = self.look_alikes.get(domain) {
            return Some(intended);
        }
        // Test copies of customer lists get this suffix, so that nothing is sent to their addresses.
        if let Some(before) = domain.strip_suffix(".invalid").filter(|name| name.contains('.')) {
            return Some(before);
        }
        let is_dead = facts.accepts_mail == Some(false) || facts.kind == DomainKind::Parked;
        if is_dead && !domain.contains('.') {
            let is_whole =
                |known: &&String| known.split_once('.').is_some_and(|(name, _)| name == domain);
            return self.suggested.iter().find(is_whole).map(String::as_str);
        }
        if !is_dead || domain.len() < MIN_MISSPELT || self.suggested.iter().any(|it| it == domain) {
            return None;
        }
        let cost = |known: &&String| cost(domain, known).unwrap_or(u8::MAX);
        // Of equally close domains, the first in the list.
        let closest = self.suggested.iter().min_by_key(cost)?;
        (cost(&closest) < u8::MAX).then_some(closest)
    }
}

/// Unlikelihood of typing `typed` for `intended`, from 0; `None` if it is more than a typing slip.
fn cost(typed: &str, intended: &str) -> Option<u8> {
    if is_slip_of_ending(typed, intended) {
        return Some(0);
    }
    match osa_distance(typed, intended) {
        1 if is_easy(typed, intended) => Some(0),
        1 => Some(1),
        2 if typed.len() >= MIN_TWO_SLIPS && intended.len() >= MIN_TWO_SLIPS => Some(2),
        _ => None,
    }
}

/// Slips such as `con`, `cmo`, `c` or `comm`.
fn is_slip_of_ending(typed: &str, intended: &str) -> bool {
    let (Some((typed, typed_end)), Some((intended, meant_end))) =
        (typed.rsplit_once('.'), intended.rsplit_once('.'))
    else {
        return false;
    };
    let is_cut = meant_end.starts_with(typed_end);
    typed == intended && (is_cut || osa_distance(typed_end, meant_end) == 1)
}

/// True if two letters are swapped, one is typed twice instead of once or once instead of twice, or one comes from a
/// neighbouring key.
fn is_easy(typed: &str, intended: &str) -> bool {
    let (typed, intended) = (typed.as_bytes(), intended.as_bytes());
    let same = typed.iter().zip(intended).take_while(|(typed, intended)| typed == intended).count();
    let at = |text: &[u8], place: usize| text.get(place).copied();
    match typed.len().cmp(&intended.len()) {
        std::cmp::Ordering::Greater => same > 0 && at(typed, same) == at(typed, same - 1),
        std::cmp::Ordering::Less => same > 0 && at(intended, same) == at(intended, same - 1),
        std::cmp::Ordering::Equal => {
            let is_exchanged = at(typed, same) == at(intended, same + 1)
                && at(typed, same + 1) == at(intended, same)
                && at(typed, same) != at(typed, same + 1);
            let keys = at(typed, same).zip(at(intended, same));
            is_exchanged || keys.is_some_and(|(typed, intended)| are_neighbours(typed, intended))
        }
    }
}

fn are_neighbours(one: u8, other: u8) -> bool {
    let place = |key: u8| {
        let rows = ROWS.iter().enumerate();
        rows.flat_map(|(row, keys)| keys.find(char::from(key)).map(|column| (row, column))).next()
    };
    place(one).zip(place(other)).is_some_and(|((row, column), (other_row, other_column))| {
        row.abs_diff(other_row) <= 1 && column.abs_diff(other_column) <= 1
    })
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{DomainFacts, DomainKind};

    use super::super::Lists;

    fn of(domain: &str, accepts_mail: Option<bool>, kind: DomainKind) -> Option<String> {
        let facts = DomainFacts { kind, accepts_mail, ..DomainFacts::default() };
        Lists::built_in().suggestion(domain, &facts).map(str::to_owned)
    }

    #[test]
    fn a_domain_that_takes_no_mail_is_corrected() {
        for (typed, intended) in [
            ("gmail.con", Some("gmail.com")),
            ("gmail.cmo", Some("gmail.com")),
            ("gmail.c", Some("gmail.com")),
            ("gmail.comm", Some("gmail.com")),
            ("hotmail.vom", Some("hotmail.com")),
            ("yahoo.co.uj", Some("yahoo.co.uk")),
            ("orange.ft", Some("orange.fr")),
            ("outlooj.com", Some("outlook.com")),
            ("hotnail.com", Some("hotmail.com")),
            ("laposte.ner", Some("laposte.net")),
            ("t-onlin.de", Some("t-online.de")),
            ("btinterent.con", Some("btinternet.com")),
            ("yahoo.com.be", Some("yahoo.com.br")),
            ("gmail", Some("gmail.com")),
            ("hotmail", Some("hotmail.com")),
            ("customers.example.org.invalid", Some("customers.example.org")),
            // Too short, too different, or a provider's own domain.
            ("qw.com", None),
            ("gmx.dd", None),
            ("example.com", None),
            ("firma.example", None),
            ("gmail.com", None),
            ("web.de", None),
            ("localhost", None),
            ("example", None),
            ("example.invalid", None),
        ] {
            let suggestion = of(typed, Some(false), DomainKind::Unknown);
            assert_eq!(suggestion.as_deref(), intended, "{typed}");
            let parked = of(typed, Some(true), DomainKind::Parked);
            assert_eq!(parked.as_deref(), intended, "{typed}");
        }
    }

    #[test]
    fn without_evidence_of_dns_only_the_curated_look_alikes_are_corrected() {
        for accepts_mail in [Some(true), None] {
            let suggestion = |typed: &str| of(typed, accepts_mail, DomainKind::Organization);
            // Companies with some of these domains exist.
            for real in
                ["aon.com", "msc.com", "gmx.co", "email.co", "mail.con", "gmail.con", "outlooj.com"]
            {
                assert_eq!(suggestion(real), None, "{real}");
            }
            assert_eq!(suggestion("gmial.com").as_deref(), Some("gmail.com"));
        }
    }

    #[test]
    fn an_easier_slip_wins_over_a_harder_one() {
        // `gmali.com` is one swap away from gmail.com, and two slips away from ymail.com.
        assert_eq!(of("gmali.com", Some(false), DomainKind::Unknown).as_deref(), Some("gmail.com"));
        assert_eq!(of("tmail.com", Some(false), DomainKind::Unknown).as_deref(), Some("gmail.com"));
        assert_eq!(
            of("hitmail.com", Some(false), DomainKind::Unknown).as_deref(),
            Some("hotmail.com")
        );
    }
}
