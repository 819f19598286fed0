//! Words and rows that no other reply of the tests needs, and what a finding says besides status and reason.

use rcpt_shared::{
    Reason::{
        Blocked, DomainRefusesMail, NoSuchMailbox, ProtocolError, RateLimited, RelayDenied,
        ReverseDnsRequired, ServerUnavailable,
    },
    Stage::Rcpt,
    Status::{BlockedByProvider, Refused, SmtpConnectError},
};
use rcpt_smtp::Reply;

use super::{check, judge};
use crate::Scope::{DomainRule, Nothing, OurAddress, Rate};

/// Each line is without notice if its row, or the word that it names, is taken out of the tables.
#[test]
fn one_word_of_another_kind_withholds_a_no_and_rare_rows_decide() {
    check(&[
        (
            "full, encryption",
            Rcpt,
            "450 4.2.2 must issue a STARTTLS command first",
            BlockedByProvider,
            Blocked,
        ),
        ("full, relay", Rcpt, "452 4.2.2 relay access denied", BlockedByProvider, RelayDenied),
        (
            "5.7.1, outage",
            Rcpt,
            "550 5.7.1 user unknown, temporary failure",
            BlockedByProvider,
            Blocked,
        ),
        (
            "5.7.1, later",
            Rcpt,
            "550 5.7.1 user unknown, try again later",
            BlockedByProvider,
            Blocked,
        ),
        (
            "500, outage",
            Rcpt,
            "500 user unknown, temporary failure",
            SmtpConnectError,
            ProtocolError,
        ),
        (
            "500, sending",
            Rcpt,
            "500 user unknown, message refused",
            SmtpConnectError,
            ProtocolError,
        ),
        ("552, sending", Rcpt, "552 quota exceeded, message refused", BlockedByProvider, Blocked),
        ("routing", Rcpt, "550 5.4.1 user unknown", Refused, NoSuchMailbox),
        ("OpenSMTPD", Rcpt, "550 5.2.4 invalid", Refused, NoSuchMailbox),
        ("4yz reverse DNS", Rcpt, "450 4.7.25 no", BlockedByProvider, ReverseDnsRequired),
        ("503, store", Rcpt, "503 5.1.1 cannot open it", SmtpConnectError, ServerUnavailable),
        ("503, recipient", Rcpt, "503 5.1.1 user unknown", Refused, NoSuchMailbox),
        ("421, outage", Rcpt, "421 Service shutting down", SmtpConnectError, ServerUnavailable),
        ("421, later", Rcpt, "421 Temporary failure, try again", BlockedByProvider, RateLimited),
        (
            "look-up",
            Rcpt,
            "451 4.7.1 Recipient lookup failed, try again",
            SmtpConnectError,
            ServerUnavailable,
        ),
        ("state, policy", Rcpt, "550 account closed due to abuse", Refused, NoSuchMailbox),
        ("policy, policy", Rcpt, "550 account closed, abuse", BlockedByProvider, Blocked),
        (
            "state, sender",
            Rcpt,
            "550 account disabled due to abuse by the sender",
            BlockedByProvider,
            Blocked,
        ),
        (
            "state, ours",
            Rcpt,
            "550 account disabled due to abuse by you ",
            BlockedByProvider,
            Blocked,
        ),
        ("undelivered", Rcpt, "550 Message not delivered: address unknown", Refused, NoSuchMailbox),
        ("rejected", Rcpt, "550 Message rejected: address unknown", BlockedByProvider, Blocked),
        ("domain", Rcpt, "550 the recipient's domain has expired", Refused, DomainRefusesMail),
        ("their domain", Rcpt, "550 the sender's domain has expired", BlockedByProvider, Blocked),
    ]);
}

/// Scope, seconds of the hint, and a name missing in a list.
#[test]
fn a_reply_says_how_far_it_reaches_and_whether_a_name_was_looked_up() {
    for (raw, scope, hint, by_name) in [
        ("550 5.1.1 no", Nothing, None, true),
        ("550 5.1.10 no", Nothing, None, true),
        ("550 5.4.1 user unknown", Nothing, None, true),
        ("550 5.1.3 no", Nothing, None, false),
        ("550 user unknown", Nothing, None, false),
        ("421 4.3.2 bye", Rate, None, false),
        ("550 blocked using zen.spamhaus.org", OurAddress, None, false),
        ("550 relay access denied", DomainRule, None, false),
        ("450 4.7.1 greylisted, try again in 5 minutes", DomainRule, Some(300), false),
    ] {
        let reply = Reply::parse(&format!("{raw}\r\n")).unwrap();
        let finding = judge(Rcpt, &reply);
        let told = (finding.reception.scope, finding.reception.hint, finding.by_name);
        assert_eq!(told, (scope, hint, by_name), "{raw}");
    }
}
