//! The emails we send: short, no tracking, no secret beyond the one link. Links start with the configured
//! portal address and with nothing that came from a request.

mod layout;
mod scans;

pub use scans::{EndedScan, scans_ended};

use chrono::{DateTime, Datelike as _, Timelike as _};
use serde::Deserialize;

use crate::{cf::mailer::Message, credentials::mailed_token::MailedToken};

/// An email without its envelope.
#[derive(Debug)]
pub struct Mail {
    subject: &'static str,
    portal_url: String,
    paragraphs: Vec<Paragraph>,
}

#[derive(Debug)]
enum Paragraph {
    Text(String),
    /// The one thing to do.
    Button {
        label: &'static str,
        link: String,
    },
    Facts(Vec<(&'static str, String)>),
}

/// Language of every email (RFC 3282).
const LANGUAGE: &str = "en";

impl Mail {
    /// Begins with the reader's name, where that is known.
    #[inline(never)]
    fn new(subject: &'static str, portal_url: &str, name: &str) -> Self {
        let greeting = if name.is_empty() { "Hi,".into() } else { format!("Hi {name},") };
        Self { subject, portal_url: portal_url.to_owned(), paragraphs: Vec::new() }.text(greeting)
    }

    fn text(self, text: impl Into<String>) -> Self {
        self.paragraph(Paragraph::Text(text.into()))
    }

    #[inline(never)]
    fn paragraph(mut self, paragraph: Paragraph) -> Self {
        self.paragraphs.push(paragraph);
        self
    }

    fn button(self, label: &'static str, link: String) -> Self {
        self.paragraph(Paragraph::Button { label, link })
    }

    /// What to do where somebody else did it: the same in every notice.
    fn unless_you(self) -> Self {
        let link = format!("{}/forgot", self.portal_url);
        self.text(
            "If this wasn't you, set a new password right away. That also signs out every session.",
        )
        .button("Set a new password", link)
    }

    /// The email in its envelope.
    pub fn to<'a>(&'a self, recipient: &'a str) -> Message<'a> {
        Message {
            to: recipient,
            subject: self.subject,
            text: self.to_text(),
            html: self.to_html(),
            language: LANGUAGE,
        }
    }

    fn to_text(&self) -> String {
        layout::text(&self.paragraphs, &self.portal_url)
    }

    fn to_html(&self) -> String {
        layout::html(self.subject, &self.paragraphs, &self.portal_url)
    }
}

/// "Confirm your address": carries the confirmation link.
pub fn confirm(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address", portal_url, "")
        .text(format!("Someone, hopefully you, signed up for rcpt with {recipient}. Confirm that it's you:"))
        .button("Confirm my address", token.confirmation_link(portal_url))
        .text(
            "This link expires in 24 hours and works once. If you didn't sign up, ignore this email: \
             the account stays inactive unless you confirm it.",
        )
}

/// The same after a second registration. One of the two may be a stranger's, whose password the link
/// must not confirm without a word.
pub fn confirm_again(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address", portal_url, "")
        .text(format!(
            "Someone, hopefully you, signed up for rcpt with {recipient} once more. The password and \
             this link replace the ones before. Confirm that it's you, and choose your password:"
        ))
        .button("Confirm my address", token.confirmation_link(portal_url))
        .text("This link expires in 24 hours and works once. If you didn't sign up, ignore this email.")
}

/// Sent instead of a confirmation when the address has an account already, so that the answer over
/// HTTP need not tell.
pub fn already_registered(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("You already have an account", portal_url, "")
        .text(format!(
            "Someone, perhaps you, tried to sign up with {recipient}, which already has an rcpt \
             account. Nothing has changed. You can sign in here:"
        ))
        .button("Sign in", format!("{portal_url}/sign-in"))
        .text("If it wasn't you, there's nothing to do.")
}

/// "Set a new password": carries the reset link.
pub fn reset(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Set a new password", portal_url, "")
        .text(format!(
            "Someone, hopefully you, asked to reset the password of the rcpt account of {recipient}. \
             Choose a new one here:"
        ))
        .button("Set a new password", token.reset_link(portal_url))
        .text(
            "This link expires in one hour and works once. If you didn't ask for it, ignore this \
             email: your password stays as it is.",
        )
}

/// Sent instead of a reset link when the address has no account, so that the answer over HTTP need
/// not tell, and a person who used another address learns it.
pub fn no_account(recipient: &str, portal_url: &str) -> Mail {
    Mail::new("There is no account with this address", portal_url, "")
        .text(format!(
            "Someone, perhaps you, asked to reset the password for {recipient}, but there's no \
             confirmed rcpt account with this address. If you have one, it's under another address. \
             You can sign up here:"
        ))
        .button("Create an account", format!("{portal_url}/register"))
        .text("If it wasn't you, there's nothing to do.")
}

/// Sent when the account is gone, to the address that it had.
pub fn deleted(name: &str, portal_url: &str, deed: &Deed) -> Mail {
    Mail::new("Your account has been deleted", portal_url, name)
        .text(
            "Your rcpt account has been deleted, with its API key, its sessions and its settings. \
             We don't keep your address.",
        )
        .paragraph(deed.facts())
        .text("If this wasn't you, someone knew your password. Change it wherever else you use it.")
        .button("Create a new account", format!("{portal_url}/register"))
}

/// When and from where something was done to an account.
#[derive(Debug, Clone, Default)]
pub struct Deed {
    /// Unix seconds.
    pub at: i64,
    /// Such as "Firefox on Linux".
    pub browser: String,
    /// Two letters; empty where it is unknown.
    pub country: String,
}

impl Deed {
    fn facts(&self) -> Paragraph {
        let rows = [
            ("When", shown(self.at).unwrap_or_default()),
            ("Browser", self.browser.clone()),
            ("Country", self.country.clone()),
        ];
        Paragraph::Facts(rows.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Such as "7 May 2026, 08:05 UTC". The library's own formatting reads a pattern, for 8 KB of the Worker.
fn shown(at: i64) -> Option<String> {
    let time = DateTime::from_timestamp(at, 0)?;
    let month = MONTHS.get(usize::try_from(time.month0()).ok()?)?;
    let (day, year, hour, minute) = (time.day(), time.year(), time.hour(), time.minute());
    Some(format!("{day} {month} {year}, {hour:02}:{minute:02} UTC"))
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
    RecoveryCodesReplaced,
    WrongCodes,
    WebhookChanged,
    ScanEnded,
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
            Self::RecoveryCodesReplaced => "recovery_codes_replaced",
            Self::WrongCodes => "wrong_codes",
            Self::WebhookChanged => "webhook_changed",
            Self::ScanEnded => "scan_ended",
        }
    }

    /// The email that tells it, to the account's owner by `name`. It may be an hour late and stand for several
    /// of its kind; `last` is the last of them, where that is known.
    pub fn mail(self, portal_url: &str, name: &str, last: Option<&Deed>) -> Mail {
        let (subject, text) = match self {
            Self::PasswordChanged => (
                "Your password has been changed",
                "The password of your rcpt account has been changed, and every session has ended. Your \
                 API key still works. If someone else may know it, replace it on the API key page.",
            ),
            Self::TwoFactorOn => (
                "Two-factor authentication is on",
                "Two-factor authentication has been turned on for your rcpt account.",
            ),
            Self::TwoFactorOff => (
                "Two-factor authentication is off",
                "Two-factor authentication has been turned off for your rcpt account.",
            ),
            Self::RecoveryCodeUsed => (
                "A recovery code has been used",
                "A recovery code has been used instead of an authenticator code for your rcpt account. \
                 It won't work again. You can make new ones in the settings.",
            ),
            Self::KeyReplaced => (
                "Your API key has been replaced",
                "The API key of your rcpt account has been replaced. The old one has stopped working.",
            ),
            Self::RecoveryCodesReplaced => (
                "Your recovery codes have been replaced",
                "The recovery codes of your rcpt account have been replaced. The old ones have stopped \
                 working.",
            ),
            Self::WrongCodes => (
                "Wrong two-factor codes were entered",
                "Ten two-factor codes in a row were wrong for your rcpt account. Anyone who enters them \
                 knows its password or reads this mailbox. Two-factor authentication has kept them out.",
            ),
            Self::WebhookChanged => (
                "Your webhook has been changed",
                "The webhook of your rcpt account has a new address. It's told when a scan ends, and how \
                 many addresses had which result.",
            ),
            // Has an email of its own (`scans_ended`).
            Self::ScanEnded => ("A scan has ended", "A scan of your rcpt account has ended."),
        };
        let mail = Mail::new(subject, portal_url, name).text(text);
        let mail = match last {
            Some(deed) => mail.paragraph(deed.facts()),
            None => mail,
        };
        mail.unless_you()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Deed, Notice, already_registered, confirm, deleted, no_account, reset};
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
            Notice::KeyReplaced.mail(PORTAL, "Ann", None),
            deleted("Ann", PORTAL, &Deed::default()),
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
            Notice::RecoveryCodesReplaced,
            Notice::WrongCodes,
            Notice::WebhookChanged,
            Notice::ScanEnded,
        ] {
            let read: Notice = serde_json::from_value(json!(notice.as_str())).unwrap();
            assert_eq!(read, notice);
        }
    }

    #[test]
    fn a_notice_says_to_whom_when_and_from_where() {
        let deed =
            Deed { at: 1_795_219_199, browser: "Firefox on Linux".into(), country: "DE".into() };
        let mail = Notice::KeyReplaced.mail(PORTAL, "Ann", Some(&deed));
        let text = mail.to_text();
        for said in [
            "Hi Ann,",
            "When: 20 November 2026, 23:59 UTC\nBrowser: Firefox on Linux\nCountry: DE",
            "https://portal.example/forgot",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(mail.to_html().contains("<th>Browser</th><td>Firefox on Linux</td>"));
        let unknown = Notice::KeyReplaced.mail(PORTAL, "", None).to_text();
        assert!(unknown.starts_with("Hi,\n") && !unknown.contains("When"), "{unknown}");
    }

    #[test]
    fn a_name_cannot_write_html() {
        let html = Notice::TwoFactorOn.mail(PORTAL, "<b>Ann</b>", None).to_html();
        assert!(html.contains("Hi &lt;b&gt;Ann") && !html.contains("<b>"), "{html}");
    }

    #[test]
    fn an_address_cannot_write_html() {
        let mail = no_account(r#""<img src=x onerror=y>&"@example.org"#, PORTAL);
        let html = mail.to_html();
        assert!(html.contains("&quot;&lt;img src=x onerror=y&gt;&amp;&quot;@"), "{html}");
    }
}
