//! The truth about mailboxes, known to the servers and compared with verdicts: it is encoded in the
//! local part.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A mailbox from its server's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mailbox {
    Live,
    Full,
    /// The mailbox doesn't exist; control recipients are of this kind.
    Dead,
}

/// Number of letters of a tag after the first.
const LETTERS: usize = 9;

pub fn mailbox(recipient: &str) -> Mailbox {
    match recipient.split('.').next() {
        Some("live") => Mailbox::Live,
        Some("full") => Mailbox::Full,
        _ => Mailbox::Dead,
    }
}

pub fn domain(recipient: &str) -> &str {
    recipient.rsplit('@').next().unwrap_or_default()
}

/// A word that identifies the recipient in replies about it: letters only, like a queue id, in brackets.
pub fn tag(recipient: &str) -> String {
    let mut hasher = DefaultHasher::new();
    recipient.to_lowercase().hash(&mut hasher);
    let mut rest = hasher.finish();
    let mut tag = String::from("[q");
    for _ in 0..LETTERS {
        tag.push(char::from(b"bcdfghjklm"[(rest % 10) as usize]));
        rest /= 10;
    }
    tag.push(']');
    tag
}

/// The tag in a text, if there is one.
pub fn tag_in(text: &str) -> Option<&str> {
    text.split_whitespace()
        .find(|word| word.len() == LETTERS + 3 && word.starts_with("[q") && word.ends_with(']'))
}
