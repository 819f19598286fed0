//! The emails that a local Worker "sends": miniflare writes each email's text and HTML to temporary files, and its
//! envelope and the files' paths to the log.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(60);

/// An email as its recipient sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    pub from: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
}

impl Mail {
    /// The first link in the text.
    pub fn link(&self) -> Option<&str> {
        self.text
            .split_whitespace()
            .find(|word| word.starts_with("https://") || word.starts_with("http://"))
    }

    /// The token in the link `{PORTAL_URL}/verify?token=…` or `/reset?token=…`.
    pub fn token(&self) -> Option<&str> {
        self.link()?.split_once("?token=").map(|(_, token)| token)
    }
}

/// The emails in the log of miniflare or `wrangler dev`.
#[derive(Debug, Clone)]
pub struct Mailbox {
    log: PathBuf,
}

impl Mailbox {
    /// Creates the mailbox for this log.
    pub fn of_log(log: &Path) -> Self {
        Self { log: log.to_owned() }
    }

    /// All emails so far, in the order sent.
    pub fn mails(&self) -> Vec<Mail> {
        self.read(|_| true)
    }

    fn read(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Mail> {
        let log = fs::read(&self.log).unwrap_or_default();
        parse(&String::from_utf8_lossy(&log), is_wanted, |path| fs::read_to_string(path).ok())
    }

    /// The length of the log: an unchanged length means no new emails.
    pub fn log_bytes(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |data| data.len())
    }

    /// All emails to this address so far, in the order sent.
    pub fn mails_to(&self, to: &str) -> Vec<Mail> {
        self.read(|recipient| recipient == to)
    }

    /// Waits for the first email to this address.
    pub async fn wait_for_mail(&self, to: &str) -> Result<Mail> {
        self.wait_for_nth_mail(to, 1).await
    }

    /// Waits for the `nth` email to this address with this subject, counted from 1.
    pub async fn wait_for_titled(&self, to: &str, subject: &str, nth: usize) -> Result<Mail> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            let mut titled = self.mails_to(to).into_iter().filter(|mail| mail.subject == subject);
            if let Some(mail) = titled.nth(nth.saturating_sub(1)) {
                return Ok(mail);
            }
            if Instant::now() > deadline {
                bail!("{subject:?} to {to} did not come for the {nth}. time within {WAIT_MAX:?}");
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for the `nth` email to this address, counted from 1.
    pub async fn wait_for_nth_mail(&self, to: &str, nth: usize) -> Result<Mail> {
        let deadline = Instant::now() + WAIT_MAX;
        loop {
            let mails = self.mails_to(to);
            if let Some(mail) = mails.get(nth.saturating_sub(1)) {
                return Ok(mail.clone());
            }
            if Instant::now() > deadline {
                bail!("mail {nth} to {to} did not come within {WAIT_MAX:?}; there were {mails:#?}");
            }
            sleep(POLL_INTERVAL).await;
        }
    }
}

/// Parses envelopes, which are logged as `From: …`, `To: …`, `Subject: …`, an empty line, `Text: <path>` and
/// `HTML: <path>`. An entry with unreadable files is left for later; files of emails to other recipients aren't read.
fn parse(
    log: &str,
    is_wanted: impl Fn(&str) -> bool,
    read: impl Fn(&str) -> Option<String>,
) -> Vec<Mail> {
    let mut mails = Vec::new();
    let (mut from, mut to, mut subject, mut text) = ("", "", "", "");
    let mut within = false;
    for line in log.lines() {
        if line.contains("send_email binding called with MessageBuilder:") {
            (from, to, subject, within) = ("", "", "", true);
        } else if !within {
        } else if let Some(rest) = line.strip_prefix("From: ") {
            from = rest;
        } else if let Some(rest) = line.strip_prefix("To: ") {
            to = rest;
        } else if let Some(rest) = line.strip_prefix("Subject: ") {
            subject = rest;
        } else if let Some(path) = line.strip_prefix("Text: ") {
            text = path.trim();
        } else if let Some(path) = line.strip_prefix("HTML: ") {
            if is_wanted(to)
                && let (Some(text), Some(html)) = (read(text), read(path.trim()))
            {
                let [from, to, subject] = [from, to, subject].map(str::to_owned);
                mails.push(Mail { from, to, subject, text, html });
            }
            within = false;
        }
    }
    mails
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_mails_out_of_a_log_with_other_lines() {
        let log = "[mf:inf] GET /v1/health 200 OK (1ms)\nTo: nobody\nText: /tmp/other\n\
            [mf:inf] \u{1b}[34msend_email binding called with MessageBuilder:\u{1b}[39m\n\
            From: \"rcpt\" <rcpt@example.org>\nTo: ann@example.org\nSubject: Confirm\n\nText: /tmp/a\nHTML: /tmp/b\n\
            [mf:inf] POST /v1/auth/register 201 Created (9ms)\n";
        let read = |path: &str| {
            ["/tmp/a", "/tmp/b"]
                .contains(&path)
                .then(|| "Open\n\nhttp://p/verify?token=abc\n\nsoon".to_owned())
        };
        assert_eq!(parse(log, |to| to != "ann@example.org", read), []);
        let mails = parse(log, |to| to == "ann@example.org", read);
        let [mail] = &mails[..] else { panic!("{mails:?}") };
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("ann@example.org", "Confirm"));
        assert_eq!(mail.token(), Some("abc"));
    }
}
