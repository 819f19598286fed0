//! Words that read alone would mislead: `mailbox is blocked` does not say that we are.
//!
//! Where one of these stands, it is taken out of the text before the other tables are searched.

use super::{
    Meaning::{
        Client, Disabled, MailboxFull, Outage, Quota, Rate, Recipient, RecipientDenied, Trouble,
    },
    Phrase, row,
};

pub(in super::super) const IDIOMS: &[Phrase] = &[
    row(Trouble, "helo command rejected: server configuration error", "Postfix"),
    row(Trouble, "sender address rejected: server configuration error", "Postfix"),
    row(Trouble, "policy engine error", "BT"),
    row(Trouble, "too many recursive forwards", "hMailServer"),
    row(Trouble, "no helo given before mail", "Exim"),
    row(Trouble, "helo required before mail", "Exim"),
    row(Outage, "queue quota exceeded", "Outlook.com"),
    row(Rate, "policy rejection: quota exceeded", "iRedAPD"),
    row(Client, "too many dnsbls", "policyd-weight"),
    row(Client, "temporarily deferred due to unresolvable", "Yahoo"),
    row(Client, "relaying denied - your ip", "Postfix"),
    row(MailboxFull, "user has too many messages on the server", "Web.de"),
    row(Quota, "quota violation", "Comcast"),
    row(Disabled, "blocked due to inactivity", "Free"),
    row(Disabled, "mailbox is blocked", "a hosting provider"),
    row(Disabled, "recipient account isblocked", "La Poste"),
    row(Disabled, "mail is not being accepted at this address", "spamdyke"),
    row(Recipient, "no thank you rejected: account unavailable", "a bounce list"),
    row(Recipient, "mailbox is not allowed", "Symantec"),
    row(Recipient, "mailbox syntax not allowed", "chkuser"),
    row(Recipient, "denied by secumail valid-address-filter", "SecuMail"),
    row(
        Recipient,
        "5.4.1 recipient address rejected: access denied",
        "Barracuda before Exchange Online",
    ),
    row(RecipientDenied, "recipient address rejected: access denied", "Exchange Online, Postfix"),
];
