//! The emails we send: short, without tracking, and without secrets except in one link. Links start with the portal's
//! URL and contain nothing from a request.

mod layout;
mod notice;
mod scans;

pub use notice::{Notice, recovery_pending};
pub use scans::{EndedScan, scans_ended};

use chrono::{DateTime, Datelike as _, Month, Timelike as _};

use self::layout::Footer;
use crate::{cf::mailer::EmailMessage, credentials::mailed_token::MailedToken};

#[derive(Debug)]
pub struct Mail {
    subject: &'static str,
    portal_url: String,
    paragraphs: Vec<Paragraph>,
    opt_out_link: Option<String>,
}

#[derive(Debug)]
enum Paragraph {
    Text(String),
    /// A button for the only action that the email requests.
    Button {
        label: &'static str,
        link: String,
    },
    Facts(Vec<(&'static str, String)>),
}

/// Language of every email (RFC 3282).
const LANGUAGE: &str = "en";

impl Mail {
    /// The greeting has no name: the holder of a session could write into it.
    #[inline(never)]
    fn new(subject: &'static str, portal_url: &str) -> Self {
        Self {
            subject,
            portal_url: portal_url.to_owned(),
            paragraphs: Vec::new(),
            opt_out_link: None,
        }
        .text("Hi,")
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

    /// The link is for emails that a stranger can cause by typing somebody's address.
    fn with_opt_out(mut self, token: &str) -> Self {
        self.opt_out_link = Some(format!("{}/stop-emails?token={token}", self.portal_url));
        self
    }

    fn unless_you(self) -> Self {
        let link = format!("{}/forgot", self.portal_url);
        self.text(
            "If this wasn't you, reset your password right away. That takes back what was changed in three days, and signs \
             out every session.",
        )
        .button("Reset the password", link)
    }

    /// `stop_token` is for an email about an open change.
    fn unless_you_stop(self, stop_token: &str) -> Self {
        let link = format!("{}/stop?token={stop_token}", self.portal_url);
        self.text(
            "If this wasn't you, open this link within three days. It stops the change, signs out every session, and helps \
             you to reset your password, which takes the change back:",
        )
        .button("This wasn't me", link)
    }

    /// The email in its envelope. `contact`, a URL or an email address, is for the reader's questions.
    pub fn to<'a>(&'a self, recipient: &'a str, contact: Option<&str>) -> EmailMessage<'a> {
        EmailMessage {
            to: recipient,
            subject: self.subject,
            text: self.to_text(contact),
            html: self.to_html(contact),
            language: LANGUAGE,
            opt_out_link: self.opt_out_link.as_deref(),
        }
    }

    fn to_text(&self, contact: Option<&str>) -> String {
        layout::text(&self.paragraphs, &self.footer(contact))
    }

    fn to_html(&self, contact: Option<&str>) -> String {
        layout::html(self.subject, &self.paragraphs, &self.footer(contact))
    }

    fn footer<'a>(&'a self, contact: Option<&'a str>) -> Footer<'a> {
        Footer { portal_url: &self.portal_url, opt_out_link: self.opt_out_link.as_deref(), contact }
    }
}

pub fn confirm(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address", portal_url)
        .text(format!("Someone, hopefully you, signed up for rcpt with {recipient}. Confirm that it's you:"))
        .button("Confirm my address", token.confirmation_link(portal_url))
        .text(
            "This link expires in 24 hours and works once. If you didn't sign up, ignore this email: \
             without your confirmation there's no account.",
        )
}

/// After a second registration. One of the registrations may be a stranger's, whose password the link must not confirm
/// silently.
pub fn confirm_again(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your email address", portal_url)
        .text(format!(
            "Someone, hopefully you, signed up for rcpt with {recipient} once more. The password and \
             this link replace the ones before. Confirm that it's you, and choose your password:"
        ))
        .button("Confirm my address", token.confirmation_link(portal_url))
        .text("This link expires in 24 hours and works once. If you didn't sign up, ignore this email.")
}

/// Instead of a confirmation if the address has an account, which the HTTP response doesn't reveal.
pub fn already_registered(recipient: &str, portal_url: &str, opt_out_token: &str) -> Mail {
    Mail::new("You already have an account", portal_url)
        .text(format!(
            "Someone, perhaps you, tried to sign up with {recipient}, which already has an rcpt \
             account. Nothing has changed. You can sign in here:"
        ))
        .button("Sign in", format!("{portal_url}/sign-in"))
        .text("If it wasn't you, there's nothing to do.")
        .with_opt_out(opt_out_token)
}

/// If another spelling of the mailbox has an account. The email doesn't name that spelling: the account's owner knows
/// it, and another reader learns nothing.
pub fn another_spelling(recipient: &str, portal_url: &str, opt_out_token: &str) -> Mail {
    Mail::new("You already have an account", portal_url)
        .text(format!(
            "Someone, perhaps you, tried to sign up with {recipient}. This mailbox has an rcpt account \
             under another spelling. Nothing has changed. Ask for a reset link with this address to find it:"
        ))
        .button("Find my account", format!("{portal_url}/forgot"))
        .text(
            "If you have no account here, please write to us. If it wasn't you who signed up, there's \
             nothing to do.",
        )
        .with_opt_out(opt_out_token)
}

pub fn confirm_change(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Confirm your new email address", portal_url)
        .text(format!(
            "Someone, hopefully you, wants {recipient} to be the address of their rcpt account. Confirm that it's you:"
        ))
        .button("Use this address", token.change_link(portal_url))
        .text(
            "This link expires in 24 hours and works once. If you didn't ask for it, ignore this email: \
             nothing changes unless someone opens the link and enters the account's password. The account gets this address \
             three days after we've told its current one.",
        )
}

/// To the old address after a change: no link, and not the new address.
pub fn address_changed_away(portal_url: &str) -> Mail {
    Mail::new("Your account has a new email address", portal_url).text(
        "Your rcpt account has its new email address now, and we'll write there. This is the last email to this address.",
    )
}

pub fn reset(recipient: &str, portal_url: &str, token: &MailedToken) -> Mail {
    Mail::new("Set a new password", portal_url)
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

/// Instead of a reset link if the address has no account. The mailbox's owner may have registered with another address.
pub fn no_account(recipient: &str, portal_url: &str, opt_out_token: &str) -> Mail {
    Mail::new("There is no account with this address", portal_url)
        .text(format!(
            "Someone, perhaps you, asked to reset the password for {recipient}, but there's no \
             confirmed rcpt account with this address. If you have one, it's under another address. \
             You can sign up here:"
        ))
        .button("Create an account", format!("{portal_url}/register"))
        .text("If it wasn't you, there's nothing to do.")
        .with_opt_out(opt_out_token)
}

pub fn deleted(portal_url: &str, event: &AccountEvent) -> Mail {
    Mail::new("Your account has been deleted", portal_url)
        .text(
            "Your rcpt account has been deleted, with its address, API keys, sessions and settings.",
        )
        .paragraph(event.facts())
        .text("If this wasn't you, someone knew your password. Change it wherever else you use it.")
        .button("Create a new account", format!("{portal_url}/register"))
}

pub fn plan_changed(portal_url: &str, plan: &str, until: Option<i64>) -> Mail {
    let end = until.and_then(format_time).map(|end| format!(", until {end}")).unwrap_or_default();
    Mail::new("Your plan has changed", portal_url)
        .text(format!("Your rcpt account is on the plan {plan} now{end}."))
        .button("See what it allows", format!("{portal_url}/overview"))
}

/// For every owner, when the secret of all keys is replaced. `end` (Unix seconds) is when earlier keys stop working;
/// `None` if they have stopped.
pub fn keys_end(portal_url: &str, end: Option<i64>) -> Mail {
    let (subject, end) = match end.and_then(format_time) {
        Some(end) => ("Your API keys will stop working", format!("will stop working on {end}")),
        None => ("Your API keys have stopped working", "have stopped working".to_owned()),
    };
    Mail::new(subject, portal_url)
        .text(format!(
            "API keys are made from a new secret now. Your keys, your webhook's secret and your guard's hook from before {end}."
        ))
        .text("Find the new ones in the portal, and replace your further keys there.")
        .button("See your keys", format!("{portal_url}/api-key"))
}

#[derive(Debug, Clone, Default)]
pub struct AccountEvent {
    pub at: i64,
    /// For example "Firefox on Linux".
    pub browser: String,
    pub country: String,
}

impl AccountEvent {
    fn facts(&self) -> Paragraph {
        let rows = [
            ("When", format_time(self.at).unwrap_or_default()),
            ("Browser", self.browser.clone()),
            ("Country", self.country.clone()),
        ];
        Paragraph::Facts(rows.into_iter().filter(|(_, value)| !value.is_empty()).collect())
    }
}

/// For example "7 May 2026, 08:05 UTC".
fn format_time(at: i64) -> Option<String> {
    let time = DateTime::from_timestamp(at, 0)?;
    let month = u8::try_from(time.month()).ok().and_then(|month| Month::try_from(month).ok())?;
    let (day, month, year) = (time.day(), month.name(), time.year());
    Some(format!("{day} {month} {year}, {:02}:{:02} UTC", time.hour(), time.minute()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        AccountEvent, Notice, already_registered, another_spelling, confirm, confirm_change,
        deleted, keys_end, no_account, plan_changed, reset,
    };
    use crate::credentials::mailed_token::MailedToken;

    const PORTAL: &str = "https://portal.example";

    #[test]
    fn the_link_stands_alone_on_its_line_and_is_built_from_the_portal_address() {
        let token = MailedToken::new(0, [1; 31]);
        for (mail, link) in [
            (confirm("ann@example.org", PORTAL, &token), token.confirmation_link(PORTAL)),
            (reset("ann@example.org", PORTAL, &token), token.reset_link(PORTAL)),
            (confirm_change("ann@example.org", PORTAL, &token), token.change_link(PORTAL)),
        ] {
            assert!(mail.to_text(None).lines().any(|line| line == link), "{}", mail.to_text(None));
            assert!(
                mail.to_html(None).contains(&format!("href=\"{link}\"")),
                "{}",
                mail.to_html(None)
            );
        }
    }

    #[test]
    fn notices_carry_no_token() {
        for mail in [
            Notice::KeyReplaced.mail(PORTAL, None, None),
            deleted(PORTAL, &AccountEvent::default()),
        ] {
            assert!(!mail.to_text(None).contains("token"), "{}", mail.to_text(None));
        }
    }

    #[test]
    fn what_a_stranger_can_cause_has_a_way_to_opt_out_and_no_other_token() {
        for mail in [
            already_registered("ann@example.org", PORTAL, "k.cafe.beef"),
            another_spelling("ann@example.org", PORTAL, "k.cafe.beef"),
            no_account("ann@example.org", PORTAL, "k.cafe.beef"),
        ] {
            let (text, link) =
                (mail.to_text(None), format!("{PORTAL}/stop-emails?token=k.cafe.beef"));
            assert!(text.lines().any(|line| line == link), "{text}");
            assert_eq!(text.matches("token").count(), 1, "{text}");
            assert!(mail.to_html(None).contains(&format!("href=\"{link}\"")));
            assert_eq!(mail.to("ann@example.org", None).opt_out_link, Some(link.as_str()));
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
            Notice::PlanChanged,
            Notice::EmailChangeAsked,
            Notice::EmailChanged,
            Notice::PasskeyAdded,
            Notice::PasskeyRemoved,
            Notice::KeysEnd,
            Notice::KeysEnded,
        ] {
            let read: Notice = serde_json::from_value(json!(notice.as_str())).unwrap();
            assert_eq!(read, notice);
        }
    }

    #[test]
    fn a_notice_says_to_whom_when_and_from_where() {
        let event = AccountEvent {
            at: 1_795_219_199,
            browser: "Firefox on Linux".into(),
            country: "DE".into(),
        };
        let mail = Notice::KeyReplaced.mail(PORTAL, Some(&event), None);
        let text = mail.to_text(None);
        for said in [
            "Hi,",
            "When: 20 November 2026, 23:59 UTC\nBrowser: Firefox on Linux\nCountry: DE",
            "https://portal.example/forgot",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert!(mail.to_html(None).contains("<th>Browser</th><td>Firefox on Linux</td>"));
        let unknown = Notice::KeyReplaced.mail(PORTAL, None, None).to_text(None);
        assert!(unknown.starts_with("Hi,\n") && !unknown.contains("When"), "{unknown}");
    }

    #[test]
    fn the_owner_of_a_key_that_ended_itself_is_led_to_the_keys_and_not_to_a_new_password() {
        let text = Notice::KeyEndedItself.mail(PORTAL, None, None).to_text(None);
        assert!(text.contains("\nhttps://portal.example/api-key\n"), "{text}");
        assert!(!text.contains("/forgot") && !text.contains("new password"), "{text}");
    }

    #[test]
    fn emails_about_a_new_address_say_that_its_link_needs_the_password() {
        let token = MailedToken::new(0, [1; 31]);
        for mail in [
            confirm_change("ann@example.org", PORTAL, &token),
            Notice::EmailChangeAsked.mail(PORTAL, None, None),
        ] {
            let text = mail.to_text(None).replace('\n', " ");
            assert!(text.contains("enters the account's password."), "{text}");
        }
    }

    #[test]
    fn a_changed_plan_is_named_with_its_end() {
        let mail = plan_changed(PORTAL, "pro", Some(1_795_219_199)).to_text(None);
        let sentence = "on the plan pro now, until 20 November 2026, 23:59 UTC.";
        assert!(
            mail.contains(sentence) && mail.contains("\nhttps://portal.example/overview\n"),
            "{mail}"
        );
        let endless = plan_changed(PORTAL, "free", None).to_text(None);
        assert!(endless.contains("on the plan free now.\n"), "{endless}");
    }

    #[test]
    fn who_must_replace_keys_is_told_until_when_and_where() {
        for (end, sentence) in [
            (Some(1_795_219_199), "from before will stop working on 20 November 2026, 23:59 UTC."),
            (None, "from before have stopped working."),
        ] {
            let text = keys_end(PORTAL, end).to_text(None);
            assert!(text.contains(sentence), "{text}");
            assert!(text.contains("\nhttps://portal.example/api-key\n"), "{text}");
        }
    }

    #[test]
    fn every_email_ends_with_whom_to_ask_where_that_is_known() {
        let mail = Notice::KeyReplaced.mail(PORTAL, None, None);
        for (contact, link) in [
            ("help@example.org", "mailto:help@example.org"),
            ("https://example.org/?a=1&b=2", "https://example.org/?a=1&amp;b=2"),
        ] {
            let text = mail.to_text(Some(contact));
            assert!(
                text.ends_with(&format!("\nhttps://portal.example\nQuestions? {contact}\n")),
                "{text}"
            );
            let html = mail.to_html(Some(contact));
            assert!(html.contains(&format!("<br>Questions? <a href=\"{link}\">")), "{html}");
        }
        assert!(!mail.to_text(None).contains("Questions?"));
        assert!(!mail.to_html(None).contains("Questions?"));
    }

    #[test]
    fn an_address_cannot_write_html() {
        let mail = no_account(r#""<img src=x onerror=y>&"@example.org"#, PORTAL, "k");
        let html = mail.to_html(None);
        assert!(html.contains("&quot;&lt;img src=x onerror=y&gt;&amp;&quot;@"), "{html}");
    }
}
