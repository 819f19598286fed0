//! The mails we send: plain, short, no tracking, no secret beyond the one link. Links start with the
//! configured portal address and with nothing that came from a request.

use crate::{cf::mailer::Message, credentials::mailed_token::MailedToken};

/// A mail without its envelope.
#[derive(Debug)]
pub struct Mail {
    subject: &'static str,
    paragraphs: Vec<Paragraph>,
}

#[derive(Debug)]
enum Paragraph {
    Text(String),
    /// Alone on its line.
    Link(String),
}

/// Language of every mail (RFC 3282).
const LANGUAGE: &str = "en";

impl Mail {
    fn new(subject: &'static str) -> Self {
        Self { subject, paragraphs: Vec::new() }.text("Hello,")
    }

    fn text(mut self, text: impl Into<String>) -> Self {
        self.paragraphs.push(Paragraph::Text(text.into()));
        self
    }

    fn link(mut self, link: String) -> Self {
        self.paragraphs.push(Paragraph::Link(link));
        self
    }

    /// What to do where somebody else did it: the same in every notice.
    fn unless_you(self, portal_url: &str) -> Self {
        self.text("If this was not you, set a new password at once; that also ends every session:")
            .link(format!("{portal_url}/forgot"))
    }

    /// The mail in its envelope.
    pub fn to<'a>(&'a self, recipient: &'a str) -> Message<'a> {
        Message {
            to: recipient,
            subject: self.subject,
            text: self.to_text(),
            html: self.to_html(),
            language: LANGUAGE,
        }
    }

    /// `text/plain`.
    fn to_text(&self) -> String {
        let paragraphs: Vec<_> = self
            .paragraphs
            .iter()
            .map(|paragraph| match paragraph {
                Paragraph::Text(text) | Paragraph::Link(text) => text.as_str(),
            })
            .collect();
        paragraphs.join("\n\n") + "\n"
    }

    /// `text/html`: the same words, nothing loaded from anywhere.
    fn to_html(&self) -> String {
        let escape = |text| html_escape::encode_double_quoted_attribute(text).into_owned();
        let body: String = self
            .paragraphs
            .iter()
            .map(|paragraph| match paragraph {
                Paragraph::Text(text) => format!("<p>{}</p>\n", escape(text)),
                Paragraph::Link(link) => {
                    let link = escape(link);
                    format!("<p><a href=\"{link}\">{link}</a></p>\n")
                }
            })
            .collect();
        format!(
            "<!doctype html>\n<html lang=\"{LANGUAGE}\">\n<meta charset=\"utf-8\">\n\
             <title>{}</title>\n<body>\n{body}</body>\n</html>\n",
            self.subject
        )
    }
}

/// "Confirm your address": carries the confirmation link.
pub fn confirm(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address")
        .text(format!(
            "an rcpt account was registered for {recipient}. To confirm that the address is yours, \
             open this link and press the button:"
        ))
        .link(token.confirmation_link(portal_url))
        .text(
            "The link works once and for 24 hours. If you did not register, ignore this mail: \
             without confirmation the account is never active.",
        )
}

/// Sent instead of a confirmation when the address has an account already, so that the answer over
/// HTTP need not tell.
pub fn already_registered(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("You already have an account")
        .text(format!(
            "somebody, perhaps you, tried to register {recipient}, which has an rcpt account \
             already. Nothing was changed. You can sign in here:"
        ))
        .link(format!("{portal_url}/sign-in"))
        .text("If it was not you, there is nothing to do.")
}

/// "Set a new password": carries the reset link.
pub fn reset(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Set a new password")
        .text(format!(
            "somebody, perhaps you, asked for a new password for the rcpt account of {recipient}. \
             To set one, open this link:"
        ))
        .link(token.reset_link(portal_url))
        .text(
            "The link works once and for one hour. If you did not ask for it, ignore this mail: \
             your password stays as it is.",
        )
}

/// Sent instead of a reset link when the address has no account, so that the answer over HTTP need
/// not tell, and a person who used another address learns it.
pub fn no_account(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("There is no account with this address")
        .text(format!(
            "somebody, perhaps you, asked for a new password for {recipient}, but there is no \
             confirmed rcpt account with this address. If you have one, it is under another address. \
             You can register here:"
        ))
        .link(format!("{portal_url}/register"))
        .text("If it was not you, there is nothing to do.")
}

/// The password is being changed, within a session or by a reset link.
pub fn password_changed(portal_url: &str) -> Mail {
    Mail::new("Your password was changed")
        .text(
            "the password of your rcpt account was changed just now, and every session was ended.",
        )
        .unless_you(portal_url)
}

pub fn two_factor_on(portal_url: &str) -> Mail {
    Mail::new("Two-factor authentication is on")
        .text("two-factor authentication was turned on for your rcpt account just now.")
        .unless_you(portal_url)
}

pub fn two_factor_off(portal_url: &str) -> Mail {
    Mail::new("Two-factor authentication is off")
        .text("two-factor authentication was turned off for your rcpt account just now.")
        .unless_you(portal_url)
}

pub fn recovery_code_used(portal_url: &str) -> Mail {
    Mail::new("A recovery code was used")
        .text(
            "a recovery code was used in place of an authenticator code for your rcpt account just \
             now. It does not work again; new ones can be made in the settings.",
        )
        .unless_you(portal_url)
}

pub fn key_rotated(portal_url: &str) -> Mail {
    Mail::new("Your API key was replaced")
        .text(
            "the API key of your rcpt account was replaced just now; the old one does not work any \
             more.",
        )
        .unless_you(portal_url)
}

#[cfg(test)]
mod tests {
    use super::{already_registered, confirm, key_rotated, no_account, reset};
    use crate::credentials::mailed_token::MailedToken;

    const PORTAL: &str = "https://portal.example";

    #[test]
    fn the_link_stands_alone_on_its_line_and_is_built_from_the_portal_address() {
        let token = MailedToken::from_random([1; 32]);
        for (mail, link) in [
            (confirm("ann@example.org", PORTAL, &token), token.confirmation_link(PORTAL)),
            (reset("ann@example.org", PORTAL, &token), token.reset_link(PORTAL)),
        ] {
            assert!(mail.to_text().lines().any(|line| line == link), "{}", mail.to_text());
            assert!(mail.to_html().contains(&format!("href=\"{link}\"")), "{}", mail.to_html());
        }
    }

    #[test]
    fn notices_carry_no_token() {
        for mail in [
            already_registered("ann@example.org", PORTAL),
            no_account("ann@example.org", PORTAL),
            key_rotated(PORTAL),
        ] {
            assert!(!mail.to_text().contains("token"), "{}", mail.to_text());
        }
    }

    #[test]
    fn an_address_cannot_write_html() {
        let mail = no_account(r#""<img src=x onerror=y>&"@example.org"#, PORTAL);
        let html = mail.to_html();
        assert!(html.contains("&quot;&lt;img src=x onerror=y&gt;&amp;&quot;@"), "{html}");
    }
}
