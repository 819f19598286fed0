//! Domains of disposable mailboxes: no account can be registered with them.

/// The list in `origin/data/lists/disposable.toml`, converted by the portal's build: the list's
/// date, then one domain per line. The list contains no mailbox provider or relay service, nor any parent or subdomain
/// of one.
#[derive(Debug, Clone, Copy)]
pub struct DisposableDomains<'a> {
    day: &'a str,
    names: &'a str,
}

impl<'a> DisposableDomains<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let (day, names) = text.split_once('\n')?;
        let is_day = day.len() == 10 && day.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        (is_day && !names.is_empty()).then_some(Self { day, names })
    }

    pub const fn day(self) -> &'a str {
        self.day
    }

    /// True if the domain (lower-case A-labels) or a parent domain is listed.
    pub fn contain(self, domain: &str) -> bool {
        let is_within = |name: &str| {
            domain.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.names.lines().any(|name| !name.is_empty() && is_within(name))
    }
}

#[cfg(test)]
mod tests {
    use super::DisposableDomains;

    #[test]
    fn a_listed_domain_and_those_below_it_are_found() {
        let list = DisposableDomains::parse("2026-11-09\nmailinator.com\nyopmail.com\n").unwrap();
        assert_eq!(list.day(), "2026-11-09");
        for (domain, is_listed) in [
            ("mailinator.com", true),
            ("x.y.yopmail.com", true),
            ("notmailinator.com", false),
            ("mailinator.com.example", false),
            ("com", false),
            ("", false),
        ] {
            assert_eq!(list.contain(domain), is_listed, "{domain}");
        }
    }

    #[test]
    fn what_is_no_list_is_none() {
        for text in ["", "\n", "2026-11-09", "2026-11-09\n", "<html>\nmailinator.com\n"] {
            assert!(DisposableDomains::parse(text).is_none(), "{text:?}");
        }
    }
}
