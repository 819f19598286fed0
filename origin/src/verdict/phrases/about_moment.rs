//! What servers write of the moment and of the message: of nobody's address.

use super::{
    Meaning::{Greylisting, MessageSize, Trouble, TryLater},
    Phrase, row,
};

pub(super) const ABOUT_MOMENT: &[Phrase] = &[
    row(Greylisting, "greylist", "Postgrey"),
    row(Greylisting, "graylist", "Rspamd"),
    row(Greylisting, "grey list", "Kerio"),
    row(Greylisting, "grey-list", "sqlgrey"),
    row(Greylisting, "temporary rejected", "James"),
    row(Greylisting, "mail is temporarily denied", "qpsmtpd"),
    row(TryLater, "try again", "OpenBSD spamd"),
    row(TryLater, "try later", "La Poste"),
    row(TryLater, "retry", "Mail.ru"),
    row(TryLater, "come back later", "milter-greylist"),
    row(TryLater, "internal resource temporarily unavailable", "Mimecast"),
    row(TryLater, "internal resources are temporarily unavailable", "Mimecast"),
    row(Trouble, "configuration error", "Postfix, hMailServer"),
    row(Trouble, "mail system full", "a bounce list"),
    row(Trouble, "agent busy", "Outlook.com"),
    row(Trouble, "verification in progress", "Postfix, Proofpoint"),
    row(MessageSize, "message size", "Postfix"),
    row(MessageSize, "message too", "Exim"),
    row(MessageSize, "message exceeds", "Sendmail"),
    row(MessageSize, "maximum message", "Sendmail"),
    row(MessageSize, "maximum size", "qmail"),
    row(MessageSize, "size exceeds", "Exchange"),
    row(MessageSize, "too large", "Exchange"),
    row(MessageSize, "too big", "qmail"),
];
