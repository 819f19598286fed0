//! Replies to the connection itself, EHLO and MAIL: the recipient was not mentioned yet, so nothing
//! here is ever about the mailbox.

use rcpt_shared::{
    Reason::{
        Blocked, ProtocolError, RateLimited, RelayDenied, ReverseDnsRequired, ServerUnavailable,
        Smtputf8Unsupported, TlsFailed,
    },
    Stage::{Mail, StartTls},
};

use super::table::{
    Enhanced::{Exactly, Subject},
    Rule, rule,
};
use crate::verdict::phrases::Meaning::{
    Client, Domain, Greylisting, Policy, Rate, Recipient, Relay, ReverseDns, Trouble, TryLater,
};

pub(in crate::verdict) const BEFORE_RCPT: &[Rule] = &[
    // The session goes on in the clear where nobody demanded encryption.
    rule("early.starttls").stage(StartTls).unanswered(TlsFailed),
    rule("early.out-of-place").classes(&[2, 3]).unanswered(ProtocolError),
    rule("early.greylisting").classes(&[4]).says(&[Greylisting]).greylisted(),
    // RFC 7372 §3.3: reverse DNS validation failed.
    rule("early.reverse-dns-code").enhanced(&[Exactly(7, 25)]).blocked(ReverseDnsRequired),
    rule("early.reverse-dns").says(&[ReverseDns]).blocked(ReverseDnsRequired),
    rule("early.relay").says(&[Relay]).blocked(RelayDenied),
    rule("early.rate").says(&[Rate]).blocked(RateLimited),
    rule("early.us").says(&[Client]).blocked(Blocked),
    rule("early.their-trouble").says(&[Trouble]).unanswered(ServerUnavailable),
    rule("early.security-421").codes(&[421]).enhanced(&[Subject(7)]).blocked(RateLimited),
    rule("early.security-later").enhanced(&[Subject(7)]).says(&[TryLater]).blocked(RateLimited),
    rule("early.security").enhanced(&[Subject(7)]).blocked(Blocked),
    // RFC 6531 §3.5: the parameter of MAIL was not taken.
    rule("early.smtputf8").enhanced(&[Exactly(6, 7)]).unanswered(Smtputf8Unsupported),
    // At MAIL an address status (RFC 3463 §3.2) is about the reverse-path.
    rule("early.sender-code").stage(Mail).enhanced(&[Subject(1)]).blocked(Blocked),
    // Of our syntax, whatever the words were about.
    rule("early.syntax").codes(&[500, 501, 502, 503, 504]).unanswered(ServerUnavailable),
    // So are, at MAIL, words about an address that does not exist.
    rule("early.sender-words")
        .stage(Mail)
        .classes(&[5])
        .says(&[Recipient, Domain])
        .blocked(Blocked),
    rule("early.policy").says(&[Policy]).blocked(Blocked),
    rule("early.otherwise").unanswered(ServerUnavailable),
];
