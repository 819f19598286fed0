//! Replies to the connection, EHLO and MAIL: the recipient wasn't mentioned yet, so none of them is
//! about the mailbox.

use rcpt_shared::{
    Reason::{DomainRefusesMail, ProtocolError, ServerUnavailable, Smtputf8Unsupported},
    Stage::{Banner, Mail, StartTls},
};

use super::{
    Enhanced::{Exactly, Subject},
    Rule, rule,
};
use crate::phrases::Meaning::{
    Address, Client, Domain, DomainRule, Encryption, Greylisting, MessageSize, NoDomain,
    OurAddress, OurName, Outage, Policy, Rate, Recipient, RecipientDenied, Relay, ReverseDns,
    Sender, Sending, Trouble, TryLater, Unavailable, Wordless,
};

pub(crate) const BEFORE_RCPT: &[Rule] = &[
    // The session continues without TLS unless encryption was demanded.
    rule("early.starttls").stage(StartTls).unanswered(ProtocolError),
    rule("early.out-of-place").classes(&[2, 3]).unanswered(ProtocolError),
    rule("early.greylisting").classes(&[4]).says(&[Greylisting]).greylisted(),
    // RFC 7372 §3.3: validation of our reverse DNS failed.
    rule("early.reverse-dns-code").enhanced(&[Exactly(7, 25)]).reverse_dns_required(),
    rule("early.domain-rule").says(&[DomainRule]).blocked(),
    rule("early.reverse-dns").says(&[ReverseDns]).reverse_dns_required(),
    rule("early.relay").says(&[Relay]).relay_denied(),
    rule("early.rate").says(&[Rate]).rate_limited(),
    rule("early.our-address").says(&[OurAddress]).our_address(),
    rule("early.us").says(&[Client, Encryption]).blocked(),
    rule("early.their-trouble").says(&[Trouble]).unanswered(ServerUnavailable),
    rule("early.security-421").codes(&[421]).enhanced(&[Subject(7)]).rate_limited(),
    rule("early.security-later").enhanced(&[Subject(7)]).says(&[TryLater]).rate_limited(),
    rule("early.security").enhanced(&[Subject(7)]).blocked(),
    // RFC 6531 §3.5: the server rejects the parameter of MAIL.
    rule("early.smtputf8").enhanced(&[Exactly(6, 7)]).unanswered(Smtputf8Unsupported),
    // At MAIL, an address status (RFC 3463 §3.2) is about the sender's address.
    rule("early.sender-code").stage(Mail).enhanced(&[Subject(1)]).blocked(),
    // Codes about our syntax, whatever the words.
    rule("early.syntax").codes(&[500, 501, 502, 503, 504]).unanswered(ServerUnavailable),
    // At MAIL, words about a missing address mean the sender's address.
    rule("early.sender-words")
        .stage(Mail)
        .classes(&[5])
        .says(&[Recipient, Address, Unavailable, Domain, NoDomain])
        .blocked(),
    // RFC 7504: a host that accepts no mail. The verdict is `false` only if all hosts say so;
    // otherwise the next host is tried.
    rule("early.takes-no-mail")
        .codes(&[521, 554, 556])
        .says(&[Domain])
        .silent_on(&[OurName, Policy, Sender, Sending])
        .unanswered(DomainRefusesMail),
    rule("early.policy").says(&[Policy, RecipientDenied, Sender]).blocked(),
    // At MAIL, only our address has been named.
    rule("early.sending")
        .stage(Mail)
        .classes(&[5])
        .says(&[Sending])
        .silent_on(&[Outage, MessageSize])
        .perhaps_blocked(),
    // RFC 5321 §3.1: a client that is refused before it has sent anything is refused for its
    // address, whatever the code, unless the words give another reason or there are no words.
    rule("early.refused-greeting")
        .stage(Banner)
        .classes(&[5])
        .silent_on(&[Outage, TryLater, MessageSize, Domain, Wordless])
        .perhaps_blocked(),
    rule("early.otherwise").unanswered(ServerUnavailable),
];
