//! The truth about mailboxes, which the servers know and the figures compare verdicts with: it is in the local part.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A mailbox as its server knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mailbox {
    Live,
    Full,
    /// The mailbox does not exist; control recipients are of this kind.
    Dead,
}

/// Letters of a tag, behind its first.
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

/// A word that stands for the recipient in the replies about it: letters alone, as in a queue's id, and in brackets.
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
