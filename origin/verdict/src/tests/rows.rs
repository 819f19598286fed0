//! Words and rows that no other reply of the tests needs, and what a finding says besides status and reason.

use rcpt_shared::{
    Reason::{
        self, Blocked, DomainRefusesMail, MailboxDisabled, NoSuchMailbox, ProtocolError,
        RateLimited, RelayDenied, Restricted, ReverseDnsRequired, ServerUnavailable,
        Smtputf8Unsupported, Unclear,
    },
    Stage::{self, Banner, Ehlo, Mail, Rcpt},
    Status::{self, BlockedByProvider, Refused, SmtpConnectError},
};
use rcpt_smtp::Reply;

use super::{check, judge, reach};
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

/// A refusal of us without another reason.
#[test]
fn words_about_our_address_reach_further_than_a_rule_and_a_message_reaches_nobody() {
    for (stage, scope, replies) in [
        (Banner, OurAddress, ["554 your ip", "450 your ip"].as_slice()),
        (Banner, DomainRule, &["554 Ihre IP", "554 5.7.1 no", "554 policy", "421 helo name"]),
        (
            Mail,
            DomainRule,
            &["550 5.1.0 no", "550 user unknown", "554 not in whitelist for rcpt domain"],
        ),
        (Mail, Nothing, &["550 your message"]),
        (Rcpt, OurAddress, &["450 your ip", "550 your ip"]),
        (
            Rcpt,
            DomainRule,
            &[
                "450 not in whitelist for rcpt domain",
                "450 Ihre IP",
                "452 4.7.0 no",
                "450 policy",
                "550 5.7.51 no",
                "550 not in whitelist for rcpt domain",
                "550 Ihre IP",
                "550 5.7.9 no",
                "550 5.1.1 policy",
                "550 5.4.0 policy",
                "550 policy",
            ],
        ),
        (Rcpt, Nothing, &["550 5.1.1 your message", "550 5.2.1 your message", "550 your message"]),
    ] {
        for raw in replies {
            let finding = judge(stage, &Reply::parse(&format!("{raw}\r\n")).unwrap());
            let told = (finding.reason, finding.reception.scope);
            assert_eq!(told, (Blocked, scope), "{stage:?} {raw}");
        }
    }
}

type Told = (Status, Reason);

fn assert_told(stage: Stage, due: Told, replies: &[&str]) {
    for raw in replies {
        let reply = Reply::parse(&format!("{raw}\r\n")).unwrap();
        let finding = judge(stage, &reply);
        assert_eq!((finding.status, finding.reason), due, "{stage:?} {raw}");
        let scope = finding.reception.scope;
        assert_eq!(scope, reach(due.1, reply.code, &finding), "{stage:?} {raw}");
    }
}

/// With one word or digit less, each of these would be a `false`.
#[test]
fn a_word_or_a_code_beside_the_mailbox_s_withholds_a_no() {
    assert_told(
        Rcpt,
        (BlockedByProvider, Blocked),
        &[
            "450 4.1.7 mailbox full",
            "450 4.1.8 mailbox full",
            "452 4.7.0 mailbox full",
            "452 4.2.2 Ihre IP, mailbox full",
            "550 5.7.0 user unknown, does not accept mail",
            "550 5.7.0 account disabled, your message",
            "550 5.7.0 account disabled, temporary failure",
            "550 5.7.0 account disabled, policy",
            "550 5.7.0 account disabled, sender",
            "550 5.7.0 account disabled, does not accept mail",
            "550 not in whitelist for rcpt domain, mailbox full",
            "556 5.1.0 your message",
            "556 5.1.7 no",
            "556 5.1.8 no",
            "550 5.1.1 recipient address rejected: access denied",
            "556 recipient address rejected: access denied",
            "550 5.2.1 sender, mailbox full",
            "550 5.4.0 recipient address rejected: access denied",
            "550 5.7.1 RESOLVER.RST.AuthRequired, your ip",
        ],
    );
    assert_told(
        Rcpt,
        (BlockedByProvider, RateLimited),
        &["452 4.2.2 too many connections", "550 RESOLVER.RST.AuthRequired, too many connections"],
    );
    assert_told(Rcpt, (BlockedByProvider, ReverseDnsRequired), &["452 4.2.2 no ptr record"]);
    assert_told(
        Rcpt,
        (BlockedByProvider, Unclear),
        &[
            "530 user unknown, does not accept mail",
            "554 5.1.0 does not accept mail",
            "552 5.1.0 no",
            "521 try again later",
        ],
    );
    assert_told(
        Rcpt,
        (SmtpConnectError, ProtocolError),
        &[
            "500 user unknown, recipient address rejected: access denied",
            "500 user unknown, does not accept mail",
            "500 user unknown, try again later",
            "500 user unknown, policy",
            "500 user unknown, sender",
            "501 user unknown",
            "501 5.1.0 user unknown, recipient address rejected: access denied",
            "501 account disabled",
            "504 account disabled, sender",
            "504 account disabled, your message",
            "504 account disabled, recipient address rejected: access denied",
            "504 account disabled, does not accept mail",
            "504 account disabled, temporary failure",
            "504 account disabled, try again later",
            "555 mailbox full",
            "556 5.2.3 no",
            "503 5.1.0 mailbox full",
            "503 5.1.0 account disabled",
            "504 5.1.0 account disabled, policy",
            "504 5.1.0 quota exceeded, policy",
            "504 5.1.0 mailbox unavailable, policy",
            "504 5.1.0 address does not exist, policy",
            "504 5.1.0 mailbox full, your message",
            "504 5.1.0 mailbox full, policy",
            "504 5.1.0 account disabled, your message",
            "504 5.1.0 quota exceeded, your message",
        ],
    );
    let unavailable = (SmtpConnectError, ServerUnavailable);
    assert_told(
        Rcpt,
        unavailable,
        &["450 does not accept mail", "503 5.2.1 no", "450 4.6.1 mailbox full"],
    );
}

/// With one word or code less in the tables, each of these would be no `false`, or one for another reason.
#[test]
fn the_mailbox_is_told_by_rare_codes_and_beside_words_of_sending() {
    for (reason, replies) in [
        (
            Restricted,
            ["550 5.7.133 no", "550 5.7.134 no", "550 5.7.135 no", "550 5.7.136 no"].as_slice(),
        ),
        (
            NoSuchMailbox,
            &[
                "501 5.1.0 user unknown",
                "501 5.1.0 address does not exist",
                "501 5.1.0 mailbox unavailable",
                "550 5.1.0 mailbox unavailable, your message",
                "550 5.1.4 no",
                "504 user unknown",
                "503 5.1.0 address does not exist",
            ],
        ),
        (
            MailboxDisabled,
            &[
                "550 5.2.1 mailbox unavailable, your message",
                "550 5.2.1 mailbox full, your message",
                "550 5.2.1 quota exceeded, your message",
                "500 account disabled",
            ],
        ),
        (
            DomainRefusesMail,
            &[
                "556 5.1.1 does not accept mail",
                "553 does not accept mail",
                "551 does not accept mail",
            ],
        ),
    ] {
        assert_told(Rcpt, (Refused, reason), replies);
    }
}

#[test]
fn a_limit_of_the_mailbox_is_told_from_one_of_ours_and_an_outage_from_both() {
    const BUSY: &str = "receiving mail at a rate";
    for (word, reason) in [
        ("relaying", RelayDenied),
        ("too many connections", RateLimited),
        ("your ip", Blocked),
        ("must issue a starttls command first", Blocked),
        ("no ptr record", ReverseDnsRequired),
        ("Ihre IP", Blocked),
        ("sender", Blocked),
    ] {
        let reply = format!("450 {word}, {BUSY}");
        assert_told(Rcpt, (BlockedByProvider, reason), &[&reply]);
    }
    assert_told(
        Rcpt,
        (BlockedByProvider, Blocked),
        &[
            "550 sender, receiving mail at a rate",
            "550 5.7.51 greylisted",
            "452 4.7.0 no",
            "450 sender, temporary failure",
            "450 sender, recipient lookup failed",
            "450 recipient address rejected: access denied",
            "503 5.1.0 sender, quota exceeded",
        ],
    );
    assert_told(Rcpt, (BlockedByProvider, ReverseDnsRequired), &["421 4.3.0 no reverse dns"]);
    assert_told(
        Rcpt,
        (SmtpConnectError, ServerUnavailable),
        &["450 4.3.0 relaying, too many connections", "551 try again later", "553 try again later"],
    );
}

#[test]
fn before_rcpt_a_code_or_a_word_decides_between_us_and_the_server() {
    let (blocked, limited) = ((BlockedByProvider, Blocked), (BlockedByProvider, RateLimited));
    let unavailable = (SmtpConnectError, ServerUnavailable);
    let takes_no_mail = (SmtpConnectError, DomainRefusesMail);
    assert_told(Mail, blocked, &["421 4.7.0 IP not in whitelist for RCPT domain"]);
    assert_told(
        Mail,
        blocked,
        &["550 user unknown", "550 mailbox unavailable", "521 does not accept mail"],
    );
    assert_told(Mail, (BlockedByProvider, RelayDenied), &["550 relaying"]);
    assert_told(
        Mail,
        unavailable,
        &[
            "500 sender",
            "502 sender",
            "503 sender",
            "504 sender",
            "550 your message, temporary failure",
        ],
    );
    assert_told(Mail, (SmtpConnectError, ProtocolError), &["221 bye"]);
    assert_told(Ehlo, blocked, &["550 sender"]);
    assert_told(Mail, unavailable, &["421 user unknown", "421 your message"]);
    assert_told(Mail, (SmtpConnectError, Smtputf8Unsupported), &["553 5.6.7 no"]);
    assert_told(Ehlo, unavailable, &["421 4.1.0 no", "521 your message"]);
    assert_told(Banner, limited, &["421 4.7.0 no", "554 5.7.0 try again later"]);
    assert_told(Banner, takes_no_mail, &["554 does not accept mail", "556 does not accept mail"]);
    assert_told(
        Banner,
        blocked,
        &[
            "521 policy, does not accept mail",
            "521 sender, does not accept mail",
            "421 recipient address rejected: access denied",
        ],
    );
    assert_told(
        Banner,
        unavailable,
        &[
            "421 does not accept mail",
            "554 try again later",
            "554 message size exceeds",
            "530 does not accept mail",
            "521 your message, does not accept mail",
            "500 greylisted",
        ],
    );
}
