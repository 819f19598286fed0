//! RCPT answered with 4yz: rarely about the mailbox, and then about its storage or its load.

use rcpt_shared::Reason::{DomainRefusesMail, MailboxFull as Full, ServerUnavailable};

use super::{
    Enhanced::{Exactly, Subject},
    Rule, rule,
};
use crate::phrases::Meaning::{
    Busy, Client, Domain, DomainRule, Encryption, Greylisting, MailboxFull, OurAddress, OurName,
    Outage, Policy, Quota, Rate, RecipientDenied, Relay, ReverseDns, Sender, Sending, Trouble,
    TryLater, Unreachable,
};

pub(crate) const RCPT_TRANSIENT: &[Rule] = &[
    rule("4yz.greylisting").says(&[Greylisting]).greylisted(),
    // Other domains at this server get other replies.
    rule("4yz.domain-rule").says(&[DomainRule]).blocked(),
    rule("4yz.full-code")
        .enhanced(&[Exactly(2, 2)])
        .silent_on(&[ReverseDns, Relay, Rate, OurAddress, OurName, Client, Encryption, Sender])
        .refused(Full),
    // The limit is the recipient's own: other recipients there aren't affected.
    rule("4yz.busy")
        .says(&[Busy])
        .silent_on(&[ReverseDns, Relay, Rate, OurAddress, Client, Encryption, Sender])
        .busy(),
    // Exchange Online sends `4.4.4 … no mail-enabled subscriptions`.
    rule("4yz.domain-without-mail")
        .enhanced(&[Exactly(4, 4)])
        .says(&[Domain])
        .silent_on(&[OurName])
        .refused(DomainRefusesMail),
    // Status of mail system and network (RFC 3463 §3.4, §3.5): the server's own failure, in which
    // an "IP address" may be one of its own. But Sendmail sends 4.4.0 about our reverse DNS, and
    // Exchange 4.3.2 about our rate.
    rule("4yz.system-reverse-dns")
        .enhanced(&[Subject(3), Subject(4)])
        .says(&[ReverseDns])
        .reverse_dns_required(),
    rule("4yz.system-rate")
        .enhanced(&[Subject(3), Subject(4)])
        .says(&[Rate])
        .silent_on(&[Relay])
        .rate_limited(),
    rule("4yz.system").enhanced(&[Subject(3), Subject(4)]).unanswered(ServerUnavailable),
    rule("4yz.reverse-dns-code").enhanced(&[Exactly(7, 25)]).reverse_dns_required(),
    rule("4yz.reverse-dns").says(&[ReverseDns]).reverse_dns_required(),
    rule("4yz.relay").says(&[Relay]).relay_denied(),
    rule("4yz.rate").says(&[Rate]).rate_limited(),
    rule("4yz.our-address").says(&[OurAddress]).our_address(),
    rule("4yz.us").says(&[Client, Encryption]).blocked(),
    rule("4yz.their-trouble").says(&[Trouble]).unanswered(ServerUnavailable),
    // A gateway that can't reach the server behind it, or look the recipient up: neither our rate nor greylisting.
    rule("4yz.unreachable").says(&[Unreachable]).silent_on(&[Sender]).unanswered(ServerUnavailable),
    rule("4yz.security-450").codes(&[450, 451]).enhanced(&[Subject(7)]).greylisted(),
    rule("4yz.mailbox-later").enhanced(&[Exactly(2, 0)]).greylisted(),
    rule("4yz.busy-code").enhanced(&[Exactly(2, 1)]).busy(),
    rule("4yz.security-421").codes(&[421]).enhanced(&[Subject(7)]).rate_limited(),
    rule("4yz.security-or-sender").enhanced(&[Subject(7), Exactly(1, 7), Exactly(1, 8)]).blocked(),
    // Status of protocol and content (RFC 3463 §3.6, §3.7).
    rule("4yz.protocol").enhanced(&[Subject(5), Subject(6)]).unanswered(ServerUnavailable),
    rule("4yz.421-outage")
        .codes(&[421])
        .says(&[Outage])
        .silent_on(&[TryLater])
        .unanswered(ServerUnavailable),
    rule("4yz.421").codes(&[421]).rate_limited(),
    rule("4yz.full").says(&[MailboxFull]).silent_on(&[OurName, Sender]).refused(Full),
    rule("4yz.quota").says(&[Quota]).silent_on(&[OurName, Sender, Sending]).refused(Full),
    rule("4yz.later").says(&[TryLater]).greylisted(),
    rule("4yz.policy").says(&[Policy, RecipientDenied, Sender]).blocked(),
    rule("4yz.otherwise").unanswered(ServerUnavailable),
];
