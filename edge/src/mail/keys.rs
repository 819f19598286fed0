//! The email about keys that wait for their owner's confirmation.

use super::{Deed, Mail, Paragraph, shown};

/// A suspended key, in the email to its owner.
#[derive(Debug)]
pub struct SuspendedKey {
    pub name: String,
    /// Unix seconds.
    pub created_at: i64,
}

/// Lists the keys that were suspended by a reset of the password or by signing out everywhere.
pub fn keys_suspended(
    portal_url: &str,
    name: &str,
    keys: &[SuspendedKey],
    last: Option<&Deed>,
) -> Mail {
    let rows = keys.iter().map(|key| {
        let made = shown(key.created_at).unwrap_or_default();
        ("Key", format!("{}, made {made}", key.name))
    });
    let mail = Mail::new("API keys wait for your confirmation", portal_url, name)
        .text(
            "Your password was reset, or you signed out everywhere. API keys made within the seven days \
             before are suspended, in case someone else made them:",
        )
        .paragraph(Paragraph::Facts(rows.collect()));
    let mail = match last {
        Some(deed) => mail.paragraph(deed.facts()),
        None => mail,
    };
    mail.text("Confirm the keys that are yours, and end the others.")
        .button("See the keys", format!("{portal_url}/api-key"))
}

#[cfg(test)]
mod tests {
    use super::{SuspendedKey, keys_suspended};

    #[test]
    fn the_mail_lists_the_keys() {
        let key = |name: &str| SuspendedKey { name: name.to_owned(), created_at: 1_795_219_199 };
        let mail =
            keys_suspended("https://portal.example", "Ann", &[key("shop"), key("<b>")], None);
        let text = mail.to_text(None);
        assert!(text.contains("shop, made 20 November 2026, 23:59 UTC"), "{text}");
        assert!(text.contains("https://portal.example/api-key"), "{text}");
        assert!(!mail.to_html(None).contains("<b>,"));
    }
}
