//! `rcpt domain`: shows the kinds of domains.

use std::io::{self, IsTerminal as _};

use rcpt_client::Domain;

use crate::{
    args::{self, Service},
    credentials,
    failure::{Failure, RunExit},
    output::print,
};

pub fn run(service: &Service, args: &args::Domain) -> Result<RunExit, Failure> {
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let as_json = args.json || !io::stdout().is_terminal();
    let mut outcome = RunExit::Good;
    for name in &args.names {
        let domain = client.check_domain(name)?;
        match domain.facts.accepts_mail {
            Some(false) => outcome = RunExit::Undeliverable,
            None if outcome == RunExit::Good => outcome = RunExit::Unknown,
            _ => {}
        }
        if as_json {
            print(&serde_json::to_string(&domain).unwrap_or_default())?;
        } else {
            print(&in_words(&domain))?;
        }
    }
    Ok(outcome)
}

fn in_words(domain: &Domain) -> String {
    let facts = &domain.facts;
    let mut words = vec![format!("{}  {}", facts.name, facts.kind.as_str())];
    if let Some(suspected) = facts.suspected {
        words.push(format!("suspected: {}", suspected.as_str()));
    }
    if let Some(operator) = &facts.operator {
        words.push(format!("run by {operator}"));
    }
    words.push(
        match facts.accepts_mail {
            Some(true) => "accepts mail",
            Some(false) => "accepts no mail",
            None => "not known whether it accepts mail",
        }
        .to_owned(),
    );
    let dated = facts.evidence.iter().filter_map(|it| it.list.as_ref().zip(it.as_of.as_ref()));
    words.extend(dated.map(|(list, day)| format!("list {list} of {day}")));
    if let Some(suggestion) = &domain.suggestion {
        words.push(format!("did you mean {suggestion}?"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use rcpt_client::{Domain, DomainFacts};
    use serde_json::json;

    use super::in_words;

    #[test]
    fn a_domain_is_one_line_with_its_evidence() {
        let domain: Domain = serde_json::from_value(json!({
            "name": "duck.com", "kind": "relay", "accepts_mail": true, "operator": "duckduckgo",
            "suspected": null, "suggestion": null, "of_next_year": 1,
            "evidence": [{ "source": "list", "list": "relay", "as_of": "2026-11-20" }]
        }))
        .unwrap();
        let expected = "duck.com  relay, run by duckduckgo, accepts mail, list relay of 2026-11-20";
        assert_eq!(in_words(&domain), expected);
        let facts = DomainFacts {
            accepts_mail: Some(false),
            operator: None,
            evidence: Vec::new(),
            ..domain.facts
        };
        let misspelt = Domain { suggestion: Some("gmail.com".into()), facts };
        let expected = "duck.com  relay, accepts no mail, did you mean gmail.com?";
        assert_eq!(in_words(&misspelt), expected);
    }
}
