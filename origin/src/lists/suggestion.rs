//! Finds the domain that was meant by a misspelt one. A domain that accepts mail isn't corrected, unless it is parked
//! or on a short list.

use rcpt_shared::{DomainFacts, DomainKind, closest_domain};

use super::Lists;

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
        let known = || self.suggested.iter().map(String::as_str);
        is_dead.then(|| closest_domain(domain, known)).flatten()
    }
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
