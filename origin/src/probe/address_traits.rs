//! What an address says of itself: disposable, a role, a free provider, misspelt.

use std::sync::LazyLock;

use disposable_emails::is_disposable_domain;
use rcpt_shared::{Address, Traits};
use serde::Deserialize;
use strsim::osa_distance;

/// `data/addresses.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    /// Mailboxes for services, roles and functions.
    roles: Vec<String>,
    /// Free mailbox providers, the most used first.
    free: Vec<String>,
}

#[expect(clippy::expect_used, reason = "the file is built in, and the tests below read it")]
static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../../data/addresses.toml")).expect("a word list")
});

fn is_free(domain: &str) -> bool {
    WORDS.free.iter().any(|free| free == domain)
}

/// How many of [`Words::free`] are suggested for a misspelling: the rarer the domain, the likelier it is that
/// the spelling was meant.
const SUGGESTED: usize = 18;
/// Shorter domains have neighbours that are domains in their own right.
const MIN_MISSPELT: usize = 7;

/// RFC 2606 §3.
const DOCUMENTATION: [&str; 3] = ["example.com", "example.net", "example.org"];

/// What is known of `address` without asking a server.
pub(super) fn classify(address: &Address) -> Traits {
    let domain = address.domain();
    let free_provider = is_free(domain);
    let suggested_domain = if free_provider { None } else { suggestion(domain) };
    Traits {
        // Slips of the finger are listed too; the one who made it did not choose the domain.
        disposable: suggested_domain.is_none() && is_disposable(domain),
        role_account: is_role(address.local_part()),
        free_provider,
        suggested_domain,
    }
}

/// The domain or one above it is listed.
fn is_disposable(domain: &str) -> bool {
    let mut suffix = domain;
    loop {
        if is_disposable_domain(suffix) {
            // Lists of this kind hold real providers by mistake, and names for documentation.
            return !is_free(suffix) && !DOCUMENTATION.contains(&suffix);
        }
        match suffix.split_once('.') {
            Some((_, above)) if above.contains('.') => suffix = above,
            _ => return false,
        }
    }
}

/// A tag (RFC 5233) does not make a person of a role.
fn is_role(local_part: &str) -> bool {
    let name = local_part.split('+').next().unwrap_or(local_part);
    WORDS.roles.iter().any(|role| name.eq_ignore_ascii_case(role))
}

/// The well-known domain one slip of the finger away: a letter too many, too few, wrong, or two
/// exchanged.
fn suggestion(domain: &str) -> Option<String> {
    if domain.len() < MIN_MISSPELT {
        return None;
    }
    let meant = WORDS.free.iter().take(SUGGESTED).find(|known| osa_distance(known, domain) == 1)?;
    Some((*meant).to_owned())
}

#[cfg(test)]
mod tests {
    use rcpt_shared::Address;

    use super::classify;

    fn of(address: &str) -> (bool, bool, bool, Option<String>) {
        let told = classify(&Address::parse(address).unwrap());
        (told.disposable, told.role_account, told.free_provider, told.suggested_domain)
    }

    #[test]
    fn knows_what_an_address_is() {
        assert_eq!(of("ann@example.org"), (false, false, false, None));
        assert_eq!(of("ann@example.com"), (false, false, false, None));
        assert_eq!(of("ann@gmail.con"), (false, false, false, Some("gmail.com".to_owned())));
        assert_eq!(of("ann@mailinator.com"), (true, false, false, None));
        assert_eq!(of("ann@x.mailinator.com"), (true, false, false, None));
        assert_eq!(of("Info+x@example.org"), (false, true, false, None));
        assert_eq!(of("information@example.org"), (false, false, false, None));
        assert_eq!(of("ann@GMAIL.com"), (false, false, true, None));
        assert_eq!(of("support@yahoo.co.uk"), (false, true, true, None));
    }

    #[test]
    fn suggests_the_domain_that_was_meant() {
        for (domain, meant) in [
            ("gmial.com", Some("gmail.com")),
            ("gmail.co", Some("gmail.com")),
            ("gmail.con", Some("gmail.com")),
            ("gmaill.com", Some("gmail.com")),
            ("hotmial.com", Some("hotmail.com")),
            ("yaho.com", Some("yahoo.com")),
            ("outlok.com", Some("outlook.com")),
            ("iclod.com", Some("icloud.com")),
            ("mail.com", None),
            ("example.com", None),
            ("aob.com", Some("aol.com")),
            ("gmx.co", None),
        ] {
            assert_eq!(of(&format!("ann@{domain}")).3.as_deref(), meant, "{domain}");
        }
    }
}
