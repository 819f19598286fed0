//! The mails we send: plain, short, no tracking, no secret beyond the one link.

use crate::confirmation::MailedToken;

/// A mail without its envelope.
pub struct Mail {
    pub subject: &'static str,
    pub text: String,
}

/// "Confirm your address": carries the confirmation link.
#[must_use]
pub fn confirm(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    let link = token.link(portal_url);
    Mail {
        subject: "Confirm your email address",
        text: format!(
            "Hello,\n\n\
             an rcpt account was registered for {recipient}. To confirm that the address is yours, \
             open this link and press the button:\n\n\
             {link}\n\n\
             The link works once and for 24 hours. If you did not register, ignore this mail: \
             without confirmation the account is never active.\n"
        ),
    }
}

/// Sent instead of a confirmation when the address has an account already, so that the answer over
/// HTTP need not tell.
#[must_use]
pub fn already_registered(recipient: &str, portal_url: &str) -> Mail {
    Mail {
        subject: "You already have an account",
        text: format!(
            "Hello,\n\n\
             somebody, perhaps you, tried to register {recipient}, which has an rcpt account \
             already. Nothing was changed. You can sign in here:\n\n\
             {portal_url}/sign-in\n\n\
             If it was not you, there is nothing to do.\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{already_registered, confirm};
    use crate::confirmation::MailedToken;

    #[test]
    fn the_link_stands_alone_on_its_line_and_is_built_from_the_portal_address() {
        let token = MailedToken::from_random([1; 32]);
        let mail = confirm("ann@example.org", "https://portal.example", &token);
        let link = token.link("https://portal.example");
        assert!(mail.text.lines().any(|line| line == link), "{}", mail.text);
    }

    #[test]
    fn the_notice_of_an_account_carries_no_token() {
        let mail = already_registered("ann@example.org", "https://portal.example");
        assert!(!mail.text.contains("token"), "{}", mail.text);
    }
}
