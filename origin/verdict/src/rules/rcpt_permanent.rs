//! RCPT answered with 5yz: the only place where a refusal may be about the mailbox, if it says so.

use rcpt_shared::Reason::{
    DomainRefusesMail, MailboxDisabled, MailboxFull as Full, NoSuchMailbox, ProtocolError,
    ServerUnavailable, Smtputf8Unsupported,
};

use super::table::{
    Enhanced::{Exactly, Subject},
    Rule, rule,
};
use crate::phrases::Meaning::{
    Address, Busy, Client, Disabled, Domain, DomainRule, Encryption, Greylisting, Mailbox,
    MailboxFull, MessageSize, NoDomain, OurAddress, Outage, Policy, Quota, Rate, Recipient,
    RecipientDenied, Relay, ReverseDns, Sender, Sending, Trouble, TryLater, Unavailable, Wordless,
};

pub(crate) const RCPT_PERMANENT: &[Rule] = &[
    // About us, believed over any code: servers reuse 5.1.1 for a hit on a blocklist.
    rule("5yz.reverse-dns-code").enhanced(&[Exactly(7, 25)]).reverse_dns_required(),
    rule("5yz.domain-rule-code").enhanced(&[Exactly(7, 51)]).blocked(),
    rule("5yz.domain-rule").says(&[DomainRule]).blocked(),
    rule("5yz.reverse-dns").says(&[ReverseDns]).reverse_dns_required(),
    rule("5yz.relay").says(&[Relay]).relay_denied(),
    rule("5yz.rate").says(&[Rate]).rate_limited(),
    rule("5yz.our-address").says(&[OurAddress]).our_address(),
    rule("5yz.us").says(&[Client, Encryption]).blocked(),
    rule("5yz.busy").says(&[Busy]).silent_on(&[Sender]).busy(),
    // Some say for ever and mean for now.
    rule("5yz.greylisting").says(&[Greylisting]).greylisted(),
    rule("5yz.their-trouble").says(&[Trouble]).unanswered(ServerUnavailable),
    // By the enhanced code. Yandex and others say 5.7.1 of a mailbox that does not exist.
    rule("5yz.security-of-recipient")
        .enhanced(&[Exactly(7, 0), Exactly(7, 1)])
        .says(&[Recipient, Address])
        .silent_on(&[Policy, Sender, Sending, Domain, Outage, TryLater])
        .refused(NoSuchMailbox),
    rule("5yz.security-of-disabled")
        .enhanced(&[Exactly(7, 0), Exactly(7, 1)])
        .says(&[Disabled])
        .silent_on(&[Policy, Sender, Sending, Domain, Outage, TryLater])
        .refused(MailboxDisabled),
    // 5.1.7 and 5.1.8 are about the sender's address (RFC 3463 §3.2).
    rule("5yz.security-or-sender").enhanced(&[Subject(7), Exactly(1, 7), Exactly(1, 8)]).blocked(),
    // A code about the mailbox, and words about policy and no mailbox: AOL and others did that.
    rule("5yz.mailbox-code-of-policy")
        .enhanced(&[Subject(1), Subject(2)])
        .says(&[Policy, RecipientDenied, Sender])
        .silent_on(&[Recipient, Address, Unavailable, Disabled, MailboxFull, Quota])
        .blocked(),
    // "Bad destination system address" (RFC 3463 §3.2), which Stalwart uses for a mailbox.
    rule("5yz.domain-code-and-words")
        .enhanced(&[Exactly(1, 2)])
        .says(&[Domain, NoDomain])
        .refused(DomainRefusesMail),
    rule("5yz.domain-code-of-mailbox")
        .enhanced(&[Exactly(1, 2)])
        .says(&[Recipient, Address])
        .refused(NoSuchMailbox),
    // RFC 7505 §4.2 pairs 5.1.10 with 556; Exchange uses it for an unknown recipient.
    rule("5yz.556-null-mx").codes(&[556]).enhanced(&[Exactly(1, 10)]).refused(DomainRefusesMail),
    rule("5yz.556-domain")
        .codes(&[556])
        .enhanced(&[Subject(1)])
        .says(&[Domain])
        .refused(DomainRefusesMail),
    // 5.1.1 is a code of the recipient, and servers say it of our message.
    rule("5yz.address-code-of-sending")
        .enhanced(&[Subject(1)])
        .says(&[Sending])
        .silent_on(&[Recipient, Address, Unavailable, Disabled, MailboxFull, Quota])
        .perhaps_blocked(),
    // 552 concerns storage (RFC 5321 §4.2.3) and the text agrees: Comcast and Orange use 5.1.1 with it.
    rule("5yz.552-full-under-address-code")
        .codes(&[552])
        .enhanced(&[Subject(1)])
        .says(&[MailboxFull, Quota])
        .refused(Full),
    rule("5yz.address-code")
        .enhanced(&[Exactly(1, 1), Exactly(1, 3), Exactly(1, 4), Exactly(1, 6), Exactly(1, 10)])
        .refused(NoSuchMailbox),
    rule("5yz.domain-code").enhanced(&[Exactly(1, 2)]).refused(DomainRefusesMail),
    // 5.1.0 doesn't say whose address is wrong: it may be ours.
    rule("5yz.other-address-code")
        .enhanced(&[Subject(1)])
        .says(&[Recipient, Address, Unavailable])
        .silent_on(&[Policy, RecipientDenied, Sender])
        .refused(NoSuchMailbox),
    // AOL says 5.2.1 of our message and of our address: only a word of a mailbox, or none at all, makes it the recipient's.
    rule("5yz.disabled-code-of-sending")
        .enhanced(&[Exactly(2, 1)])
        .says(&[Sending])
        .silent_on(&[Recipient, Address, Unavailable, Disabled, MailboxFull, Quota])
        .perhaps_blocked(),
    rule("5yz.disabled-code")
        .enhanced(&[Exactly(2, 1)])
        .says(&[Mailbox, Recipient, Address, Unavailable, Disabled, MailboxFull, Quota, Wordless])
        .refused(MailboxDisabled),
    rule("5yz.full-code").enhanced(&[Exactly(2, 2)]).refused(Full),
    rule("5yz.mailbox-code-of-quota").enhanced(&[Subject(2)]).says(&[Quota]).refused(Full),
    rule("5yz.smtputf8").enhanced(&[Exactly(6, 7)]).unanswered(Smtputf8Unsupported),
    // By its name a mailing list that cannot be expanded; OpenSMTPD says it of every address that its
    // table of addresses lacks.
    rule("5yz.opensmtpd").enhanced(&[Exactly(2, 4)]).refused(NoSuchMailbox),
    // The message is larger than the mailbox or the system takes; we sent none.
    rule("5yz.size-code").enhanced(&[Exactly(2, 3), Exactly(3, 4)]).unanswered(ProtocolError),
    // Exchange Online's recipient lookup; otherwise a routing status.
    rule("5yz.exchange-lookup")
        .enhanced(&[Exactly(4, 1)])
        .says(&[RecipientDenied])
        .refused(NoSuchMailbox),
    rule("5yz.routing-code-of-recipient")
        .enhanced(&[Subject(4)])
        .says(&[Recipient])
        .silent_on(&[Sender])
        .refused(NoSuchMailbox),
    rule("5yz.routing-code-of-policy")
        .enhanced(&[Subject(4)])
        .says(&[Policy, RecipientDenied, Sender])
        .blocked(),
    rule("5yz.routing-code").enhanced(&[Subject(4)]).unanswered(ServerUnavailable),
    // The enhanced code is absent, or says nothing about whom the refusal is about.
    rule("5yz.syntax").codes(&[500, 501, 502, 503, 504, 555]).unanswered(ProtocolError),
    rule("5yz.full").says(&[MailboxFull]).silent_on(&[Sender]).refused(Full),
    // The size of a message that hasn't been sent.
    rule("5yz.size").says(&[MessageSize]).unanswered(ProtocolError),
    rule("5yz.policy").says(&[Policy, RecipientDenied, Sender]).blocked(),
    // RFC 5321 §4.2.3: 552 concerns storage. Under another code a quota may be one of sending.
    rule("5yz.quota").codes(&[552]).says(&[Quota]).silent_on(&[Sending]).refused(Full),
    rule("5yz.disabled").says(&[Disabled]).refused(MailboxDisabled),
    rule("5yz.outage").says(&[Outage]).unanswered(ServerUnavailable),
    rule("5yz.recipient").says(&[Recipient]).silent_on(&[Domain]).refused(NoSuchMailbox),
    rule("5yz.unavailable")
        .says(&[Address, Unavailable])
        .silent_on(&[Sending])
        .refused(NoSuchMailbox),
    // RFC 7504, RFC 7505 §4.2: the host or the domain accepts no mail. 521 is used for clients too.
    rule("5yz.556").codes(&[556]).silent_on(&[Sending]).refused(DomainRefusesMail),
    rule("5yz.domain")
        .codes(&[521, 550, 551, 553])
        .says(&[Domain])
        .silent_on(&[Sending])
        .refused(DomainRefusesMail),
    // Mail system, protocol and content status (RFC 3463 §3.4, §3.6, §3.7): nothing about a mailbox.
    rule("5yz.system-code").enhanced(&[Subject(3)]).unanswered(ServerUnavailable),
    rule("5yz.too-many-code").enhanced(&[Exactly(5, 3)]).rate_limited(),
    rule("5yz.protocol-code").enhanced(&[Subject(5), Subject(6)]).unanswered(ProtocolError),
    rule("5yz.later").codes(&[550, 551, 553]).says(&[TryLater]).unanswered(ServerUnavailable),
    rule("5yz.sending").says(&[Sending]).perhaps_blocked(),
    // No code about the recipient and no known word: nothing was said about the mailbox.
    rule("5yz.otherwise").unclear(),
];
