//! Writes each email to a file once, and prints its link.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use rcpt_tests::{Mail, Mailbox, service::clock};

use super::say;

#[derive(Debug)]
pub(super) struct Mails {
    pub mailbox: Mailbox,
    folder: PathBuf,
    delivered: usize,
    bytes: u64,
}

impl Mails {
    pub fn new(mailbox: Mailbox, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        Ok(Self { mailbox, folder: folder.to_owned(), delivered: 0, bytes: 0 })
    }

    pub fn deliver(&mut self) -> Result<()> {
        let bytes = self.mailbox.log_bytes();
        if bytes == self.bytes {
            return Ok(());
        }
        self.bytes = bytes;
        for mail in self.mailbox.mails().iter().skip(self.delivered) {
            self.delivered += 1;
            let path = self.folder.join(file_name(mail, clock::now(), self.delivered));
            let Mail { from, to, subject, text, .. } = mail;
            let whole = format!("From: {from}\nTo: {to}\nSubject: {subject}\n\n{text}");
            fs::write(&path, whole).with_context(|| format!("writing {}", path.display()))?;
            say(&format!("mail to {to}: {}", path.display()));
            if let Some(link) = mail.link() {
                say(&format!("  {link}"));
            }
        }
        Ok(())
    }
}

/// The name sorts by time; only harmless characters of the recipient are used.
fn file_name(mail: &Mail, now: u64, count: usize) -> String {
    let harmless = |c: char| if c.is_ascii_alphanumeric() || "@.+-".contains(c) { c } else { '_' };
    let to: String = mail.to.chars().map(harmless).collect();
    format!("{now}-{count:03}-{to}.txt")
}

#[cfg(test)]
mod tests {
    use rcpt_tests::Mail;

    use super::file_name;

    #[test]
    fn a_recipient_cannot_leave_the_folder() {
        let to = "../../etc/passwd\"@x.test".to_owned();
        let [from, subject, text, html] = [const { String::new() }; 4];
        let mail = Mail { from, to, subject, text, html };
        assert_eq!(file_name(&mail, 7, 1), "7-001-.._.._etc_passwd_@x.test.txt");
    }
}
