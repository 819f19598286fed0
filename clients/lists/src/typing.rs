//! The address that was probably meant by one whose domain is mistyped. The service can't tell it about a scan: it
//! keeps no address.

use rcpt_shared::{Address, closest_domain, sandbox};

const SUGGESTED: &str = include_str!("../../../origin/data/lists/suggested.toml");
const LOOK_ALIKES: &str = include_str!("../../../origin/data/lists/look-alike.toml");
/// Reasons of domains that take no mail. Any other domain may be meant as it is.
const DEAD: [&str; 4] = ["domain_not_found", "no_mx", "no_mx_records", "null_mx"];

pub(crate) fn meant(text: &str, reason: &str) -> Option<String> {
    // Most addresses are as they were meant, and reading one takes 20 µs.
    let (_, typed) = text.rsplit_once('@')?;
    let is_look_alike = || LOOK_ALIKES.contains(&format!("\"{}\" =", typed.to_ascii_lowercase()));
    if text.is_ascii() && !DEAD.contains(&reason) && !is_look_alike() {
        return None;
    }
    let address = Address::parse(text).ok()?;
    address.suggestion(domain(address.domain(), reason))
}

fn domain<'a>(typed: &'a str, reason: &str) -> Option<&'a str> {
    if typed == sandbox::MISSPELT_DOMAIN {
        return Some(sandbox::DOMAIN);
    }
    let quoted = |text: &'a str| text.split('"').skip(1).step_by(2);
    let mut look_alikes = LOOK_ALIKES.lines().filter(|line| line.starts_with('"')).map(quoted);
    let look_alike =
        look_alikes.find_map(|mut pair| (pair.next() == Some(typed)).then(|| pair.next()));
    let is_dead = DEAD.contains(&reason);
    look_alike.flatten().or_else(|| {
        let (_, names) = SUGGESTED.split_once("names = [")?;
        is_dead.then(|| closest_domain(typed, || quoted(names))).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_mistyped_domain_is_corrected_if_it_takes_no_mail_or_is_a_known_look_alike() {
        for (typed, reason, expected) in [
            ("ann@gmail.con", "domain_not_found", Some("ann@gmail.com")),
            ("ann@hotnail.com", "no_mx", Some("ann@hotmail.com")),
            ("ann@t-onlin.de", "no_mx_records", Some("ann@t-online.de")),
            ("ann@gmial.com", "accepted_catch_all", Some("ann@gmail.com")),
            ("ann@snadbox.test", "domain_not_found", Some("ann@sandbox.test")),
            ("ann@hotnail.com", "accepted", None),
            ("ann@example.com", "domain_not_found", None),
            ("ann@gmail.com", "no_such_mailbox", None),
            ("o\u{2019}neil@example.com", "smtputf8_unsupported", Some("o'neil@example.com")),
        ] {
            assert_eq!(meant(typed, reason).as_deref(), expected, "{typed} {reason}");
        }
    }
}
