//! The mails we send: plain, short, no tracking, no secret beyond the one link. Links start with the
//! configured portal address and with nothing that came from a request.

use serde::Deserialize;

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
    #[inline(never)]
    fn new(subject: &'static str) -> Self {
        Self { subject, paragraphs: Vec::new() }.text("Hello,")
    }

    fn text(self, text: impl Into<String>) -> Self {
        self.paragraph(Paragraph::Text(text.into()))
    }

    #[inline(never)]
    fn paragraph(mut self, paragraph: Paragraph) -> Self {
        self.paragraphs.push(paragraph);
        self
    }

    #[inline(never)]
    fn link(mut self, link: String) -> Self {
        self.paragraphs.push(Paragraph::Link(link));
        self
    }

    /// What to do where somebody else did it: the same in every notice.
    fn unless_you(self, portal_url: &str) -> Self {
        self.text(
            "If this wasn't you, set a new password right away. That also ends every session:",
        )
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
            "An rcpt account was registered for {recipient}. To confirm that the address is yours, \
             open this link and press the button:"
        ))
        .link(token.confirmation_link(portal_url))
        .text(
            "The link works once, for 24 hours. If you didn't register, ignore this email: without \
             confirmation the account never becomes active.",
        )
}

/// The same after a second registration. One of the two may be a stranger's, whose password the link
/// must not confirm without a word.
pub fn confirm_again(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address")
        .text(format!(
            "An rcpt account was registered for {recipient} once more. Its password and this link \
             replace the ones before. To confirm that the address is yours, open the link, choose \
             your password and press the button:"
        ))
        .link(token.confirmation_link(portal_url))
        .text("The link works once, for 24 hours. If you didn't register, ignore this email.")
}

/// Sent instead of a confirmation when the address has an account already, so that the answer over
/// HTTP need not tell.
pub fn already_registered(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("You already have an account")
        .text(format!(
            "Someone, perhaps you, tried to register {recipient}, which already has an rcpt \
             account. Nothing was changed. You can sign in here:"
        ))
        .link(format!("{portal_url}/sign-in"))
        .text("If it wasn't you, there's nothing to do.")
}

/// "Set a new password": carries the reset link.
pub fn reset(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Set a new password")
        .text(format!(
            "Someone, perhaps you, asked for a new password for the rcpt account of {recipient}. To \
             set one, open this link:"
        ))
        .link(token.reset_link(portal_url))
        .text(
            "The link works once, for one hour. If you didn't ask for it, ignore this email: your \
             password stays as it is.",
        )
}

/// Sent instead of a reset link when the address has no account, so that the answer over HTTP need
/// not tell, and a person who used another address learns it.
pub fn no_account(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("There is no account with this address")
        .text(format!(
            "Someone, perhaps you, asked for a new password for {recipient}, but there is no \
             confirmed rcpt account with this address. If you have one, it's under another address. \
             You can register here:"
        ))
        .link(format!("{portal_url}/register"))
        .text("If it wasn't you, there's nothing to do.")
}

/// What the owner of an account is told afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    PasswordChanged,
    TwoFactorOn,
    TwoFactorOff,
    RecoveryCodeUsed,
    KeyReplaced,
    WrongCodes,
}

impl Notice {
    /// Its name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PasswordChanged => "password_changed",
            Self::TwoFactorOn => "two_factor_on",
            Self::TwoFactorOff => "two_factor_off",
            Self::RecoveryCodeUsed => "recovery_code_used",
            Self::KeyReplaced => "key_replaced",
            Self::WrongCodes => "wrong_codes",
        }
    }

    /// The mail that tells it. It may be an hour late and stand for several of its kind.
    pub fn mail(self, portal_url: &str) -> Mail {
        let (subject, text) = match self {
            Self::PasswordChanged => (
                "Your password was changed",
                "The password of your rcpt account was changed, and every session was ended. Your \
                 API key still works; if somebody else may know it, replace it in the settings.",
            ),
            Self::TwoFactorOn => (
                "Two-factor authentication is on",
                "Two-factor authentication was turned on for your rcpt account.",
            ),
            Self::TwoFactorOff => (
                "Two-factor authentication is off",
                "Two-factor authentication was turned off for your rcpt account.",
            ),
            Self::RecoveryCodeUsed => (
                "A recovery code was used",
                "A recovery code was used instead of an authenticator code for your rcpt account. \
                 It won't work again; you can make new ones in the settings.",
            ),
            Self::KeyReplaced => (
                "Your API key was replaced",
                "The API key of your rcpt account was replaced. The old one no longer works.",
            ),
            Self::WrongCodes => (
                "Wrong two-factor codes were entered",
                "Ten two-factor codes in a row were wrong for your rcpt account. Anyone who enters them \
                 knows its password or reads this mailbox. Two-factor authentication has kept them out.",
            ),
        };
        Mail::new(subject).text(text).unless_you(portal_url)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Notice, already_registered, confirm, no_account, reset};
    use crate::credentials::mailed_token::MailedToken;

    const PORTAL: &str = "https://portal.example";

    #[test]
    fn the_link_stands_alone_on_its_line_and_is_built_from_the_portal_address() {
        let token = MailedToken::new(0, [1; 31]);
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
            Notice::KeyReplaced.mail(PORTAL),
        ] {
            assert!(!mail.to_text().contains("token"), "{}", mail.to_text());
        }
    }

    #[test]
    fn a_notice_has_one_name() {
        for notice in [
            Notice::PasswordChanged,
            Notice::TwoFactorOn,
            Notice::TwoFactorOff,
            Notice::RecoveryCodeUsed,
            Notice::KeyReplaced,
            Notice::WrongCodes,
        ] {
            let read: Notice = serde_json::from_value(json!(notice.as_str())).unwrap();
            assert_eq!(read, notice);
        }
    }

    #[test]
    fn an_address_cannot_write_html() {
        let mail = no_account(r#""<img src=x onerror=y>&"@example.org"#, PORTAL);
        let html = mail.to_html();
        assert!(html.contains("&quot;&lt;img src=x onerror=y&gt;&amp;&quot;@"), "{html}");
    }
}
