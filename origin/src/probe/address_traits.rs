//! What an address says of itself: disposable, a role, a free provider, misspelt.

use disposable_emails::is_disposable_domain;
use rcpt_shared::{Address, Traits};
use strsim::osa_distance;

/// Mailboxes for services, roles and functions (RFC 2142), and those that came into use since.
const ROLES: &[&str] = &[
    // RFC 2142 §3–§6.
    "info",
    "marketing",
    "sales",
    "support",
    "abuse",
    "noc",
    "security",
    "postmaster",
    "hostmaster",
    "usenet",
    "news",
    "webmaster",
    "www",
    "uucp",
    "ftp",
    "list",
    "list-request",
    // Common usage.
    "accounting",
    "accounts",
    "admin",
    "administrator",
    "billing",
    "booking",
    "bookings",
    "careers",
    "compliance",
    "contact",
    "customerservice",
    "enquiries",
    "enquiry",
    "feedback",
    "finance",
    "hello",
    "help",
    "helpdesk",
    "hr",
    "inquiries",
    "invoices",
    "it",
    "jobs",
    "legal",
    "mail",
    "mailer-daemon",
    "media",
    "newsletter",
    "no-reply",
    "noreply",
    "office",
    "orders",
    "partners",
    "payments",
    "payroll",
    "press",
    "privacy",
    "purchasing",
    "reception",
    "recruiting",
    "recruitment",
    "reservations",
    "returns",
    "root",
    "service",
    "services",
    "shop",
    "subscribe",
    "sysadmin",
    "team",
    "tech",
    "unsubscribe",
    "webteam",
];

/// Free mailbox providers, the most used first: they are also what a misspelt
/// domain was most probably meant to be.
const FREE: &[&str] = &[
    "gmail.com",
    "yahoo.com",
    "hotmail.com",
    "outlook.com",
    "icloud.com",
    "aol.com",
    "live.com",
    "msn.com",
    "googlemail.com",
    "ymail.com",
    "rocketmail.com",
    "me.com",
    "mac.com",
    "proton.me",
    "protonmail.com",
    "pm.me",
    "gmx.com",
    "gmx.de",
    "gmx.net",
    "gmx.at",
    "gmx.ch",
    "web.de",
    "mail.com",
    "email.com",
    "mail.ru",
    "bk.ru",
    "inbox.ru",
    "list.ru",
    "internet.ru",
    "yandex.ru",
    "yandex.com",
    "ya.ru",
    "rambler.ru",
    "qq.com",
    "foxmail.com",
    "163.com",
    "126.com",
    "yeah.net",
    "sina.com",
    "sina.cn",
    "sohu.com",
    "naver.com",
    "hanmail.net",
    "daum.net",
    "yahoo.co.jp",
    "yahoo.co.uk",
    "yahoo.co.in",
    "yahoo.in",
    "yahoo.fr",
    "yahoo.de",
    "yahoo.it",
    "yahoo.es",
    "yahoo.ca",
    "yahoo.com.br",
    "yahoo.com.ar",
    "yahoo.com.mx",
    "yahoo.com.au",
    "hotmail.co.uk",
    "hotmail.fr",
    "hotmail.de",
    "hotmail.it",
    "hotmail.es",
    "hotmail.com.br",
    "live.co.uk",
    "live.fr",
    "live.nl",
    "live.com.mx",
    "outlook.fr",
    "outlook.de",
    "outlook.es",
    "outlook.it",
    "outlook.com.br",
    "orange.fr",
    "wanadoo.fr",
    "free.fr",
    "laposte.net",
    "sfr.fr",
    "libero.it",
    "virgilio.it",
    "tiscali.it",
    "alice.it",
    "t-online.de",
    "freenet.de",
    "wp.pl",
    "o2.pl",
    "onet.pl",
    "interia.pl",
    "seznam.cz",
    "centrum.cz",
    "email.cz",
    "abv.bg",
    "ukr.net",
    "i.ua",
    "uol.com.br",
    "bol.com.br",
    "terra.com.br",
    "rediffmail.com",
    "zoho.com",
    "zohomail.com",
    "tutanota.com",
    "tuta.com",
    "tuta.io",
    "hushmail.com",
    "mailfence.com",
    "fastmail.com",
    "inbox.lv",
    "mail.ee",
    "bluewin.ch",
    "telenet.be",
    "skynet.be",
    "comcast.net",
    "verizon.net",
    "att.net",
    "sbcglobal.net",
    "cox.net",
    "btinternet.com",
    "sky.com",
    "bigpond.com",
    "optusnet.com.au",
    "shaw.ca",
    "rogers.com",
];

/// How many of [`FREE`] are suggested for a misspelling: the rarer the domain, the likelier it is that
/// the spelling was meant.
const SUGGESTED: usize = 18;
/// Shorter domains have neighbours that are domains in their own right.
const MIN_MISSPELT: usize = 7;

/// RFC 2606 §3.
const DOCUMENTATION: [&str; 3] = ["example.com", "example.net", "example.org"];

/// What is known of `address` without asking a server.
pub(super) fn classify(address: &Address) -> Traits {
    let domain = address.domain();
    let free_provider = FREE.contains(&domain);
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
            return !FREE.contains(&suffix) && !DOCUMENTATION.contains(&suffix);
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
    ROLES.iter().any(|role| name.eq_ignore_ascii_case(role))
}

/// The well-known domain one slip of the finger away: a letter too many, too few, wrong, or two
/// exchanged.
fn suggestion(domain: &str) -> Option<String> {
    if domain.len() < MIN_MISSPELT {
        return None;
    }
    let meant = FREE.iter().take(SUGGESTED).find(|known| osa_distance(known, domain) == 1)?;
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
