//! Local parts that name a function, such as `info`, instead of a person. The edge can report a role before a probe
//! ends.

/// Mailboxes for services, roles and functions: RFC 2142 §3–§6, and newer names.
const ROLES: &[&str] = &[
    // RFC 2142
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
    // Common usage
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

/// True if a local part names a function. A tag (RFC 5233) makes no difference.
#[must_use]
pub fn is_role(local_part: &str) -> bool {
    let name = local_part.split('+').next().unwrap_or(local_part);
    ROLES.iter().any(|role| name.eq_ignore_ascii_case(role))
}

#[cfg(test)]
mod tests {
    use super::is_role;

    #[test]
    fn a_tag_and_case_do_not_matter_and_a_longer_word_is_another() {
        assert!(is_role("info") && is_role("Info+x") && is_role("NO-REPLY"));
        assert!(!is_role("information") && !is_role("ann") && !is_role(""));
    }
}
