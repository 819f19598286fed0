//! A policy's lists of allowed and blocked domains; each domain includes its subdomains.

use rcpt_shared::read_domain;

use super::DOMAINS_MAX;
use crate::error::Error;

/// Converts a list to lower-case A-labels without duplicates.
pub fn read(member: &str, list: &[String]) -> Result<Vec<String>, Error> {
    if list.len() > DOMAINS_MAX {
        let detail = format!("The '{member}' field must have {DOMAINS_MAX} domains at most.");
        return Err(Error::invalid_body(detail));
    }
    let mut names: Vec<String> = Vec::new();
    for (index, text) in list.iter().enumerate() {
        let name = read_domain(text).ok_or_else(|| {
            let detail = format!(
                "The '{member}[{index}]' field must be a domain name, such as example.org."
            );
            Error::invalid_body(detail)
        })?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// True if a domain or one of its parents is in the list.
pub fn holds(list: &[String], domain: &str) -> bool {
    list.iter().any(|listed| {
        domain
            .strip_suffix(listed.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::holds;

    #[test]
    fn a_listed_domain_stands_for_all_below_it_and_for_no_other() {
        let list = ["example.org".to_owned()];
        for (domain, expected) in [
            ("example.org", true),
            ("a.b.example.org", true),
            ("badexample.org", false),
            ("example.org.example", false),
            ("org", false),
        ] {
            assert_eq!(holds(&list, domain), expected, "{domain}");
        }
    }
}
