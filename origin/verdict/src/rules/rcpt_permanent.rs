//! RCPT answered with 5yz: these replies may be about the mailbox, if code or words refer to it.

use rcpt_shared::Reason::{
    DomainRefusesMail, MailboxDisabled, MailboxFull as Full, NoSuchMailbox, ProtocolError,
    Restricted, ServerUnavailable, Smtputf8Unsupported,
};

use super::{
    Enhanced::{Exactly, Subject},
    Rule, rule,
};
use crate::phrases::Meaning::{
    Address, Busy, Client, Disabled, Domain, DomainRule, Encryption, Greylisting, Mailbox,
    MailboxFull, MembersOnly, MessageSize, NoDomain, OurAddress, OurName, Outage, Policy, Quota,
    Rate, Recipient, RecipientDenied, Relay, ReverseDns, Sender, Sending, Trouble, TryLater,
    Unavailable, Wordless,
};

pub(crate) const RCPT_PERMANENT: &[Rule] = &[
    // Nobody outside can send to such an address of Exchange: group, mailbox, public folder, mail user. 5.7.124 and
    // 5.7.129, where a list names who may, stay refusals of us: our caller may be on it.
    rule("5yz.restricted-code")
        .enhanced(&[Exactly(7, 133), Exactly(7, 134), Exactly(7, 135), Exactly(7, 136)])
        .refused(Restricted),
    rule("5yz.restricted").says(&[MembersOnly]).silent_on(&[OurAddress, Rate]).refused(Restricted),
    // Words about us override any code: servers reuse 5.1.1 for a blocklist hit.
    rule("5yz.reverse-dns-code").enhanced(&[Exactly(7, 25)]).reverse_dns_required(),
    rule("5yz.domain-rule-code").enhanced(&[Exactly(7, 51)]).blocked(),
    rule("5yz.domain-rule").says(&[DomainRule]).blocked(),
    rule("5yz.reverse-dns").says(&[ReverseDns]).reverse_dns_required(),
    rule("5yz.relay").says(&[Relay]).relay_denied(),
    rule("5yz.rate").says(&[Rate]).rate_limited(),
    rule("5yz.our-address").says(&[OurAddress]).our_address(),
    rule("5yz.us").says(&[Client, Encryption]).blocked(),
    rule("5yz.busy").says(&[Busy]).silent_on(&[Sender]).busy(),
    // Some servers send a permanent code for a temporary refusal.
    rule("5yz.greylisting").says(&[Greylisting]).greylisted(),
    rule("5yz.their-trouble").says(&[Trouble]).unanswered(ServerUnavailable),
    // A server that verifies senders refuses at RCPT, with the codes and words for a mailbox.
    rule("5yz.our-name").says(&[OurName]).blocked(),
    // "Bad sequence of commands": a store or TLS that the server couldn't reach, whatever the enhanced code.
    rule("5yz.sequence-code")
        .codes(&[503])
        .enhanced(&[Subject(1), Subject(2)])
        .silent_on(&[Recipient, Address, Disabled, MailboxFull, Quota])
        .unanswered(ServerUnavailable),
    // The next rows decide by the enhanced code. Yandex and others send 5.7.1 for a mailbox that
    // doesn't exist.
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
    // A code about the mailbox, with words about policy and not about a mailbox: AOL and others
    // sent this combination.
    rule("5yz.mailbox-code-of-policy")
        .enhanced(&[Subject(1), Subject(2)])
        .says(&[Policy, RecipientDenied, Sender])
        .silent_on(&[Recipient, Address, Unavailable, Disabled, MailboxFull, Quota])
        .blocked(),
    // "Bad destination system address" (RFC 3463 §3.2), which Stalwart sends for a mailbox.
    rule("5yz.domain-code-and-words")
        .enhanced(&[Exactly(1, 2)])
        .says(&[Domain, NoDomain])
        .refused(DomainRefusesMail),
    rule("5yz.domain-code-of-mailbox")
        .enhanced(&[Exactly(1, 2)])
        .says(&[Recipient, Address])
        .refused(NoSuchMailbox),
    // RFC 7505 §4.2 pairs 5.1.10 with 556; Exchange uses 5.1.10 for an unknown recipient.
    rule("5yz.556-null-mx").codes(&[556]).enhanced(&[Exactly(1, 10)]).refused(DomainRefusesMail),
    rule("5yz.556-domain")
        .codes(&[556])
        .enhanced(&[Subject(1)])
        .says(&[Domain])
        .refused(DomainRefusesMail),
    // 5.1.1 is a code for the recipient, but some servers send it about our message.
    rule("5yz.address-code-of-sending")
        .enhanced(&[Subject(1)])
        .says(&[Sending])
        .silent_on(&[Recipient, Address, Unavailable, Disabled, MailboxFull, Quota])
        .perhaps_blocked(),
    // 552 is about storage (RFC 5321 §4.2.3) and the text agrees: Comcast and Orange add 5.1.1.
    rule("5yz.552-full-under-address-code")
        .codes(&[552])
        .enhanced(&[Subject(1)])
        .says(&[MailboxFull, Quota])
        .refused(Full),
    // The missing mailbox is the sender's: `5.1.1 sender address rejected: user unknown`.
    rule("5yz.mailbox-code-of-sender")
        .enhanced(&[Subject(1), Exactly(2, 1)])
        .says(&[Sender])
        .perhaps_blocked(),
    rule("5yz.address-code")
        .enhanced(&[Exactly(1, 1), Exactly(1, 3), Exactly(1, 4), Exactly(1, 6), Exactly(1, 10)])
        .refused(NoSuchMailbox),
    rule("5yz.domain-code").enhanced(&[Exactly(1, 2)]).refused(DomainRefusesMail),
    // 5.1.0 doesn't say which address is wrong: it may be ours.
    rule("5yz.other-address-code")
        .enhanced(&[Subject(1)])
        .says(&[Recipient, Address, Unavailable])
        .silent_on(&[Policy, RecipientDenied, Sender])
        .refused(NoSuchMailbox),
    // AOL sends 5.2.1 about our message and our address: only words about a mailbox, or no words at
    // all, make it the recipient's.
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
    // 5.2.4 means a mailing list that can't be expanded, but OpenSMTPD sends it for every address
    // missing in its table.
    rule("5yz.opensmtpd").enhanced(&[Exactly(2, 4)]).refused(NoSuchMailbox),
    // The message is too large for the mailbox or the system, but we sent no message.
    rule("5yz.size-code").enhanced(&[Exactly(2, 3), Exactly(3, 4)]).unanswered(ProtocolError),
    // 5.4.1 is Exchange Online's recipient lookup; from other servers, it is a routing status.
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
    // The enhanced code is absent, or doesn't say what the refusal is about. `500 No such user` isn't a syntax error.
    rule("5yz.syntax-code-of-recipient")
        .codes(&[500, 504])
        .says(&[Recipient])
        .silent_on(&[Policy, Sender, Sending, RecipientDenied, Domain, Outage, TryLater])
        .refused(NoSuchMailbox),
    rule("5yz.syntax-code-of-disabled")
        .codes(&[500, 504])
        .says(&[Disabled])
        .silent_on(&[Policy, Sender, Sending, RecipientDenied, Domain, Outage, TryLater])
        .refused(MailboxDisabled),
    rule("5yz.syntax").codes(&[500, 501, 502, 503, 504, 555]).unanswered(ProtocolError),
    rule("5yz.full").says(&[MailboxFull]).silent_on(&[Sender, MessageSize]).refused(Full),
    // About the size of a message, which we haven't sent.
    rule("5yz.size").says(&[MessageSize]).unanswered(ProtocolError),
    rule("5yz.policy").says(&[Policy, RecipientDenied, Sender]).blocked(),
    // 552 is about storage (RFC 5321 §4.2.3). With another code, the quota may be a quota for
    // sending.
    rule("5yz.quota").codes(&[552]).says(&[Quota]).silent_on(&[Sending]).refused(Full),
    rule("5yz.disabled").says(&[Disabled]).refused(MailboxDisabled),
    rule("5yz.outage").says(&[Outage]).unanswered(ServerUnavailable),
    rule("5yz.recipient").says(&[Recipient]).silent_on(&[Domain]).refused(NoSuchMailbox),
    rule("5yz.unavailable")
        .says(&[Address, Unavailable])
        .silent_on(&[Sending])
        .refused(NoSuchMailbox),
    // The host or the domain accepts no mail (RFC 7504, RFC 7505 §4.2). 521 is also sent to
    // unwanted clients.
    rule("5yz.556").codes(&[556]).silent_on(&[Sending]).refused(DomainRefusesMail),
    rule("5yz.domain")
        .codes(&[521, 550, 551, 553])
        .says(&[Domain])
        .silent_on(&[Sending])
        .refused(DomainRefusesMail),
    // Status of mail system, protocol and content (RFC 3463 §3.4, §3.6, §3.7): not about a mailbox.
    rule("5yz.system-code").enhanced(&[Subject(3)]).unanswered(ServerUnavailable),
    rule("5yz.too-many-code").enhanced(&[Exactly(5, 3)]).rate_limited(),
    rule("5yz.protocol-code").enhanced(&[Subject(5), Subject(6)]).unanswered(ProtocolError),
    rule("5yz.later").codes(&[550, 551, 553]).says(&[TryLater]).unanswered(ServerUnavailable),
    rule("5yz.sending").says(&[Sending]).perhaps_blocked(),
    // Neither a code about the recipient nor a known word: says nothing about the mailbox.
    rule("5yz.otherwise").unclear(),
];
