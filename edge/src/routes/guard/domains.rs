//! A policy's lists of allowed and blocked domains; each domain includes its subdomains.

use super::{super::domains::name_of, DOMAINS_MAX};
use crate::error::Error;

/// Converts a list to lower-case A-labels without duplicates.
pub fn read(member: &str, list: &[String]) -> Result<Vec<String>, Error> {
    if list.len() > DOMAINS_MAX {
        let detail = format!("The '{member}' field must have {DOMAINS_MAX} domains at most.");
        return Err(Error::invalid_body(detail));
    }
    let mut names: Vec<String> = Vec::new();
    for (index, text) in list.iter().enumerate() {
        let name = name_of(text).ok_or_else(|| {
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

/// Returns whether a domain or one of its parents is in the list.
pub fn holds(list: &[String], domain: &str) -> bool {
    list.iter().any(|listed| {
        domain
            .strip_suffix(listed.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// Returns the domain that a text without a valid address names: what follows the last `@`, without comments (RFC 5322
/// §3.2.2), blanks, brackets and dots around it, in lower-case A-labels.
pub fn meant(text: &str) -> Option<String> {
    let (_, domain) = text.rsplit_once('@')?;
    let mut depth = 0_u32;
    let outside: String = domain
        .chars()
        .filter(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    name_of(outside.trim_matches(|c: char| c.is_whitespace() || "[]<>.".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::{holds, meant};

    #[test]
    fn a_text_means_the_domain_that_dns_would_be_asked_for() {
        for (text, domain) in [
            ("x@example.org.", Some("example.org")),
            ("x@(a (b))example.org (c)", Some("example.org")),
            ("x@[Example.ORG]", Some("example.org")),
            ("x@ b\u{fc}cher.example >", Some("xn--bcher-kva.example")),
            ("x@example.org/path", None),
            ("example.org", None),
            ("x@", None),
        ] {
            assert_eq!(meant(text).as_deref(), domain, "{text}");
        }
    }

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
