//! The names of the settings: an unknown one is a mistake of the operator, which `make deploy` names.

use crate::credentials::admin_keys;

/// Settings of a deployed service. The portal's build reads the last.
pub const SETTINGS: [&str; 13] = [
    "ORIGINS",
    "PORTAL_URL",
    "MAIL_FROM",
    "CONTACT_EMAIL",
    "CONTACT_URL",
    "TERMS_URL",
    "STATUS_URL",
    "CHECKOUT_URLS",
    "HOMES",
    "DNS_URL",
    "TURNSTILE_SECRET",
    "TURNSTILE_URL",
    "TURNSTILE_SITE_KEY",
];

/// Rings of secrets: the names of their values begin with these.
pub const RINGS: [&str; 7] = [
    "SESSION_SECRET",
    "API_KEY_SECRET",
    "TICKET_SECRET",
    "ADDRESS_SECRET",
    "TOTP_SECRET",
    "SCAN_SECRET",
    "OPERATOR_SECRET",
];

/// Beginning of the names of bindings that close a database, or say where its restore leads back to.
pub const CLOSED: &str = "CLOSED_";

/// True for the name of a ring's value, of an operator's secret, and of a closed database.
pub fn is_secret(name: &str) -> bool {
    let is_of = |ring: &&str| name.strip_prefix(*ring).is_some_and(|rest| rest.starts_with('_'));
    name.starts_with(admin_keys::PREFIX) || name.starts_with(CLOSED) || RINGS.iter().any(is_of)
}

/// The budgets of emails: the only numbers that operators choose.
pub const BUDGETS: [&str; 2] = ["REGISTRATION_MAILS_PER_DAY", "RESET_MAILS_PER_DAY"];

/// Numbers that only tests change. They exist where the portal is on this machine, and nowhere else.
pub const TEST_NUMBERS: [&str; 21] = [
    "SCAN_RETRY_SECONDS",
    "SESSION_TTL_SECONDS",
    "LEASE_TTL_SECONDS",
    "UPSTREAM_BUDGET_MS",
    "CACHE_DECIDED_SECONDS",
    "CACHE_NO_MAIL_SECONDS",
    "CACHE_UNDECIDED_SECONDS",
    "THROTTLE_ACCOUNT_FREE_ATTEMPTS",
    "THROTTLE_ACCOUNT_SECONDS",
    "THROTTLE_NETWORK_FREE_ATTEMPTS",
    "THROTTLE_NETWORK_SECONDS",
    "REGISTRATION_MAILS_FREE",
    "REGISTRATION_MAILS_SECONDS",
    "RESET_MAILS_FREE",
    "RESET_MAILS_SECONDS",
    "MAILS_NETWORK_FREE",
    "MAILS_NETWORK_SECONDS",
    "MAILS_SITE_FREE",
    "MAILS_SITE_SECONDS",
    "PASSWORD_HASHES_PER_MINUTE",
    "ACCOUNT_REQUESTS_PER_SECOND",
];

/// The message about a setting that doesn't exist.
pub fn unknown(name: &str) -> String {
    let all = SETTINGS.iter().chain(&RINGS).chain(&BUDGETS);
    let nearest = all.map(|known| (distance(name, known), known)).min();
    match nearest {
        Some((0..=3, known)) => format!("{name}: there is no such setting. Did you mean {known}?"),
        _ => format!("{name}: there is no such setting."),
    }
}

/// Letters to insert, remove or replace (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(other.bytes()) {
            let value = (diagonal + usize::from(a != b)).min(*cell + 1).min(left + 1);
            diagonal = std::mem::replace(cell, value);
            left = value;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{BUDGETS, RINGS, SETTINGS, TEST_NUMBERS, distance, unknown};

    #[test]
    fn every_setting_that_is_read_is_listed_and_no_other() {
        let sources = [include_str!("../config.rs"), include_str!("reader.rs")]
            .map(|source| source.split("#[cfg(test)]").next().unwrap());
        let words = sources.iter().flat_map(|source| source.split('"')).skip(1);
        let is_name = |word: &&str| {
            word.len() > 4 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        };
        let mut read: Vec<_> = words.filter(is_name).collect();
        // Read by the portal's build.
        read.push("TURNSTILE_SITE_KEY");
        for name in &read {
            let all = SETTINGS.iter().chain(&RINGS).chain(&BUDGETS).chain(&TEST_NUMBERS);
            let listed = all.into_iter().any(|it| it == name);
            assert!(listed, "{name}");
        }
        for name in SETTINGS.iter().chain(&RINGS).chain(&BUDGETS).chain(&TEST_NUMBERS) {
            assert!(read.contains(name), "{name}");
        }
    }

    #[test]
    fn every_setting_is_on_the_page() {
        let page = include_str!("../../../docs/configuration.md");
        for name in SETTINGS.iter().chain(&RINGS).chain(&BUDGETS) {
            assert!(page.contains(&format!("`{name}`")), "docs/configuration.md has no {name}");
        }
    }

    #[test]
    fn a_misspelt_setting_is_led_to_the_one_that_was_meant() {
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("HOMSE", "HOMES"), 2);
        assert_eq!(distance("HOMES", "HOMES"), 0);
        assert_eq!(unknown("HOMSE"), "HOMSE: there is no such setting. Did you mean HOMES?");
        assert_eq!(unknown("COLOUR_OF_THE_SKY"), "COLOUR_OF_THE_SKY: there is no such setting.");
    }
}
