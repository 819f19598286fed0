//! `rcpt guard`: asks the sign-up guard about addresses.

use std::io::{self, IsTerminal as _};

use rcpt_client::{Choice, Decision};

use crate::{
    args::{self, Service},
    credentials,
    failure::{Failure, RunExit},
    input,
    output::{print, printable},
};

pub fn run(service: &Service, args: &args::Guard) -> Result<RunExit, Failure> {
    let client = credentials::client(service, credentials::TIMEOUT)?;
    let as_json = args.json || !io::stdout().is_terminal();
    let mut outcome = RunExit::Good;
    for entry in input::entries(&args.addresses) {
        let decision = client.decide(&entry?.input)?;
        if decision.decision == Choice::Refuse {
            outcome = RunExit::Undeliverable;
        }
        if as_json {
            print(&serde_json::to_string(&decision).unwrap_or_default())?;
        } else {
            print(&in_words(&decision))?;
        }
    }
    Ok(outcome)
}

fn in_words(decision: &Decision) -> String {
    let word = match decision.decision {
        Choice::Allow => "allow",
        Choice::Refuse => "refuse",
    };
    let mut words = format!("{}  {word}  {}", decision.email, decision.reason);
    if let Some(message) = &decision.message {
        words = format!("{words}: {message}");
    }
    if let Some(suggestion) = &decision.suggestion {
        words = format!("{words} Did you mean {suggestion}?");
    }
    printable(&words)
}

#[cfg(test)]
mod tests {
    use rcpt_client::Decision;
    use serde_json::json;

    use super::in_words;

    #[test]
    fn a_decision_is_one_line_that_no_address_can_break() {
        let refused: Decision = serde_json::from_value(json!({
            "decision": "refuse", "email": "ann@gmial.com\n", "verdict": "undeliverable", "reason": "undeliverable",
            "message": "This address can't receive email.", "suggestion": "ann@gmail.com", "of_next_year": 1,
        }))
        .unwrap();
        let expected = "ann@gmial.com\u{fffd}  refuse  undeliverable: This address can't receive email. \
                        Did you mean ann@gmail.com?";
        assert_eq!(in_words(&refused), expected);
        let allowed: Decision = serde_json::from_value(json!({
            "decision": "allow", "email": "ann@example.org", "verdict": "risky", "reason": "accepted_catch_all",
            "message": null, "suggestion": null,
        }))
        .unwrap();
        assert_eq!(in_words(&allowed), "ann@example.org  allow  accepted_catch_all");
    }
}
