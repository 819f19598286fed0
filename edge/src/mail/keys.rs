//! The email about keys and passkeys that wait for their owner's confirmation.

use super::{AccountEvent, Mail, Paragraph, format_time};

/// A suspended key or passkey, in the email to its owner.
#[derive(Debug)]
pub struct SuspendedKey {
    pub is_passkey: bool,
    /// Creation time in Unix seconds.
    pub created_at: i64,
    /// Time of its last replacement in Unix seconds; 0 if there was none.
    pub replaced_at: i64,
}

/// Builds the email that lists suspended keys and passkeys. The cause is a password reset, a sign-out everywhere, an
/// undone change of address, or the operator's recovery.
pub fn keys_suspended(
    portal_url: &str,
    keys: &[SuspendedKey],
    last: Option<&AccountEvent>,
) -> Mail {
    let rows = keys.iter().map(|key| {
        let (event, at) = match key.replaced_at {
            0 => ("made", key.created_at),
            at => ("replaced", at),
        };
        let at = format_time(at).unwrap_or_default();
        (if key.is_passkey { "Passkey" } else { "Key" }, format!("{event} {at}"))
    });
    let has = |is_passkey| keys.iter().any(|key| key.is_passkey == is_passkey);
    let (subject, text, label, page) = match (has(false), has(true)) {
        (true, true) => (
            "API keys and passkeys wait for your confirmation",
            "Your account was recovered, or you signed out everywhere. API keys and passkeys made or replaced at most seven \
             days before that began are suspended, in case someone else did it:",
            "See the passkeys",
            "settings#passkeys",
        ),
        (false, true) => (
            "Passkeys wait for your confirmation",
            "Your account was recovered, or you signed out everywhere. Passkeys made at most seven days before that began are \
             suspended, in case someone else made them:",
            "See the passkeys",
            "settings#passkeys",
        ),
        (_, false) => (
            "API keys wait for your confirmation",
            "Your account was recovered, or you signed out everywhere. API keys made or replaced at most seven days before \
             that began are suspended, in case someone else did it:",
            "See the keys",
            "api-key",
        ),
    };
    let mail =
        Mail::new(subject, portal_url).text(text).paragraph(Paragraph::Facts(rows.collect()));
    let mail = match last {
        Some(event) => mail.paragraph(event.facts()),
        None => mail,
    };
    let rest = match (has(false), has(true)) {
        (true, true) => {
            "Confirm those that are yours, and remove the others: passkeys in the settings, keys on the API key page."
        }
        (false, true) => "Confirm the passkeys that are yours, and remove the others.",
        (_, false) => "Confirm the keys that are yours, and end the others.",
    };
    mail.text(rest).button(label, format!("{portal_url}/{page}"))
}

#[cfg(test)]
mod tests {
    use super::{SuspendedKey, keys_suspended};

    #[test]
    fn the_mail_lists_the_keys() {
        let key =
            |is_passkey| SuspendedKey { is_passkey, created_at: 1_795_219_199, replaced_at: 0 };
        let listed = |keys: &[SuspendedKey]| keys_suspended("https://portal.example", keys, None);
        let mail = listed(&[key(false), key(false)]);
        let text = mail.to_text(None);
        assert!(text.contains("Key: made 20 November 2026, 23:59 UTC"), "{text}");
        assert!(text.contains("https://portal.example/api-key"), "{text}");
        let replaced = SuspendedKey { replaced_at: 1_795_305_599, ..key(false) };
        let text = listed(&[replaced]).to_text(None);
        assert!(text.contains("Key: replaced 21 November 2026, 23:59 UTC"), "{text}");
        let text = listed(&[key(true)]).to_text(None);
        assert!(text.contains("Passkey: made 20 November 2026, 23:59 UTC"), "{text}");
        assert!(text.contains("https://portal.example/settings#passkeys"), "{text}");
        let both = listed(&[key(false), key(true)]).to_text(None);
        assert!(both.contains("Key: made") && both.contains("Passkey: made"), "{both}");
    }
}
