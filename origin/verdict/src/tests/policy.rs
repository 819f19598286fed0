//! Tests every row of the tables of `docs/verdicts.md`.

use rcpt_shared::{
    Reason::{
        Accepted, Blocked, ConnectionFailed, DomainRefusesMail, Greylisted, MailboxBusy,
        MailboxDisabled, MailboxFull, NoSuchMailbox, OurLimit, ProtocolError, RateLimited,
        RelayDenied, ReverseDnsRequired, ServerUnavailable, Smtputf8Unsupported, Unclear,
    },
    Stage::{Banner, Ehlo, Mail, Rcpt, StartTls},
    Status,
    Status::{BlockedByProvider, FatalException, Refused, SmtpConnectError},
};
use rcpt_smtp::{Broken, Reply};

use super::{Case, check, judge};

use crate::{judge_broken, smtputf8_unsupported};

#[test]
fn connect_eof_garbage_and_tls() {
    for (row, broken, status, reason) in [
        ("refused, unreachable, reset, EOF", Broken::Closed, SmtpConnectError, ConnectionFailed),
        ("garbage at any stage", Broken::Garbage, SmtpConnectError, ProtocolError),
        ("TLS broken", Broken::Tls, SmtpConnectError, ProtocolError),
        ("our own command refused by the writer", Broken::Unencodable, FatalException, OurLimit),
    ] {
        let finding = judge_broken(broken);
        assert_eq!((finding.status, finding.reason), (status, reason), "{row}");
    }
}

#[test]
fn banner_ehlo_mail_policy_ip_reputation_rdns_rate() {
    check(&[
        ("policy code", Banner, "554 5.7.1 rejected", BlockedByProvider, Blocked),
        ("policy code", Ehlo, "550 5.7.0 rejected", BlockedByProvider, Blocked),
        ("policy code", Mail, "550 5.7.1 rejected", BlockedByProvider, Blocked),
        ("policy text", Banner, "554 blocked by policy", BlockedByProvider, Blocked),
        ("IP", Banner, "554 Your IP is not welcome", BlockedByProvider, Blocked),
        ("reputation", Banner, "554 poor reputation", BlockedByProvider, Blocked),
        ("rDNS", Banner, "554 no reverse DNS", BlockedByProvider, ReverseDnsRequired),
        ("rDNS", Mail, "550 5.7.25 sorry", BlockedByProvider, ReverseDnsRequired),
        ("rate", Banner, "421 Too many connections", BlockedByProvider, RateLimited),
        ("rate", Ehlo, "421 4.7.0 Try again later", BlockedByProvider, RateLimited),
        ("rate", Mail, "451 4.7.1 rate limited", BlockedByProvider, RateLimited),
        ("sender", Mail, "550 5.1.8 Bad sender", BlockedByProvider, Blocked),
        ("sender", Mail, "550 address does not exist", BlockedByProvider, Blocked),
        ("HELO", Ehlo, "550 HELO is forged", BlockedByProvider, Blocked),
        ("TLS", Mail, "550 TLS required", BlockedByProvider, Blocked),
        ("greylisting", Mail, "451 4.7.1 Greylisted", BlockedByProvider, Greylisted),
        ("listed", Banner, "554 host [192.0.2.7] is listed on a", BlockedByProvider, Blocked),
        ("bounces", Mail, "550 Bounces not accepted here", BlockedByProvider, Blocked),
        ("MX", Mail, "550 No MX for your FROM address", BlockedByProvider, Blocked),
    ]);
}

#[test]
fn banner_ehlo_mail_other() {
    check(&[
        ("4xx", Banner, "421 Service not available", SmtpConnectError, ServerUnavailable),
        ("5xx", Banner, "554 No SMTP service here", SmtpConnectError, ServerUnavailable),
        ("RFC 7504", Banner, "521 does not accept mail", SmtpConnectError, DomainRefusesMail),
        ("4xx", Ehlo, "451 Local error", SmtpConnectError, ServerUnavailable),
        ("5xx", Ehlo, "502 Not implemented", SmtpConnectError, ServerUnavailable),
        ("syntax", Ehlo, "501 HELO with a name", SmtpConnectError, ServerUnavailable),
        ("syntax", Mail, "501 Domain name required", SmtpConnectError, ServerUnavailable),
        ("4xx", Mail, "452 4.3.1 Insufficient storage", SmtpConnectError, ServerUnavailable),
        ("5xx", Mail, "503 5.5.1 Bad sequence", SmtpConnectError, ServerUnavailable),
        ("a code out of place", Banner, "354 go ahead", SmtpConnectError, ProtocolError),
        ("a code out of place", Mail, "354 go ahead", SmtpConnectError, ProtocolError),
        ("STARTTLS refused", StartTls, "454 4.7.0 not now", SmtpConnectError, ProtocolError),
    ]);
}

#[test]
fn before_rcpt_nothing_is_about_the_mailbox() {
    for text in ["5.1.1 User unknown", "No such user", "5.2.1 disabled", "5.2.2 Mailbox full", ""] {
        for code in [421, 450, 452, 500, 521, 550, 551, 552, 553, 554, 556] {
            for stage in [Banner, Ehlo, StartTls, Mail] {
                let reply = Reply::parse(&format!("{code} {text}\r\n")).unwrap();
                let status = judge(stage, &reply).status;
                assert!(!matches!(status, Refused | Status::Accepted), "{stage:?} {code} {text}");
            }
        }
    }
}

#[test]
fn rcpt_accepted() {
    check(&[
        ("250", Rcpt, "250 2.1.5 Ok", Status::Accepted, Accepted),
        ("251", Rcpt, "251 User not local; will forward", Status::Accepted, Accepted),
        ("252, by its first digit", Rcpt, "252 will try", Status::Accepted, Accepted),
        ("220 answers something else", Rcpt, "220 mx", SmtpConnectError, ProtocolError),
        ("3xx", Rcpt, "354 go ahead", SmtpConnectError, ProtocolError),
    ]);
}

#[test]
fn rcpt_no_such_mailbox() {
    check(&[
        ("550", Rcpt, "550 nope", BlockedByProvider, Unclear),
        ("551", Rcpt, "551 nope", BlockedByProvider, Unclear),
        ("553", Rcpt, "553 nope", BlockedByProvider, Unclear),
        ("5.1.0", Rcpt, "550 5.1.0 nope", BlockedByProvider, Unclear),
        ("5.1.0 of a recipient", Rcpt, "550 5.1.0 no such user", Refused, NoSuchMailbox),
        ("5.1.1 of a message", Rcpt, "550 5.1.1 your message", BlockedByProvider, Blocked),
        ("5.1.1", Rcpt, "550 5.1.1 nope", Refused, NoSuchMailbox),
        ("5.1.1 beats 554", Rcpt, "554 5.1.1 nope", Refused, NoSuchMailbox),
        ("5.1.3", Rcpt, "501 5.1.3 nope", Refused, NoSuchMailbox),
        ("5.1.6", Rcpt, "550 5.1.6 moved", Refused, NoSuchMailbox),
        ("5.1.10", Rcpt, "550 5.1.10 not found", Refused, NoSuchMailbox),
        (
            "5.4.1, recipient wording",
            Rcpt,
            "550 5.4.1 Recipient address rejected: Access denied",
            Refused,
            NoSuchMailbox,
        ),
        ("5.4.1 alone", Rcpt, "550 5.4.1 No answer from host", SmtpConnectError, ServerUnavailable),
        ("556", Rcpt, "556 5.1.10 null MX", Refused, DomainRefusesMail),
        ("556", Rcpt, "556 nope", Refused, DomainRefusesMail),
        ("521", Rcpt, "521 nope", BlockedByProvider, Unclear),
        ("521", Rcpt, "521 does not accept mail", Refused, DomainRefusesMail),
        ("521 of us", Rcpt, "521 access denied", BlockedByProvider, Blocked),
        ("556 of a mailbox", Rcpt, "556 no such user", Refused, NoSuchMailbox),
        ("5.1.2", Rcpt, "550 5.1.2 nope", Refused, DomainRefusesMail),
        ("5.1.2 of a mailbox", Rcpt, "550 5.1.2 no mailbox", Refused, NoSuchMailbox),
        ("5.1.2 of a domain", Rcpt, "550 5.1.2 no such domain", Refused, DomainRefusesMail),
    ]);
}

#[test]
fn rcpt_mailbox_disabled() {
    check(&[
        ("5.2.1", Rcpt, "550 5.2.1", Refused, MailboxDisabled),
        ("5.2.1 of whom?", Rcpt, "550 5.2.1 nope", BlockedByProvider, Unclear),
        ("5.2.1 of sending", Rcpt, "550 5.2.1 Message rejected", BlockedByProvider, Blocked),
        ("disabled", Rcpt, "554 This account is disabled", Refused, MailboxDisabled),
        ("inactive", Rcpt, "550 Mailbox inactive", Refused, MailboxDisabled),
        ("suspended", Rcpt, "550 User suspended", Refused, MailboxDisabled),
    ]);
}

#[test]
fn rcpt_mailbox_full() {
    check(&[
        ("5.2.2", Rcpt, "550 5.2.2 nope", Refused, MailboxFull),
        ("4.2.2", Rcpt, "452 4.2.2 nope", Refused, MailboxFull),
        ("552", Rcpt, "552 exceeded storage allocation", Refused, MailboxFull),
        ("552", Rcpt, "552 nope", BlockedByProvider, Unclear),
        ("552 beats 5.1.1", Rcpt, "552 5.1.1 user is over quota", Refused, MailboxFull),
        ("nothing but a quota", Rcpt, "550 Over quota", Refused, MailboxFull),
        ("452 full", Rcpt, "452 Mailbox full", Refused, MailboxFull),
        ("452 quota", Rcpt, "452 user is over quota", Refused, MailboxFull),
        ("452 storage", Rcpt, "452 user is out of storage", Refused, MailboxFull),
        (
            "the system's storage",
            Rcpt,
            "452 Insufficient system storage",
            SmtpConnectError,
            ServerUnavailable,
        ),
    ]);
}

#[test]
fn rcpt_blocked_reverse_dns_relay() {
    check(&[
        ("5.7.x", Rcpt, "550 5.7.1 nope", BlockedByProvider, Blocked),
        ("5.7.x", Rcpt, "553 5.7.999 nope", BlockedByProvider, Blocked),
        ("5.7.1 of a mailbox", Rcpt, "550 5.7.1 No such user", Refused, NoSuchMailbox),
        ("5.7.0 of a mailbox", Rcpt, "550 5.7.0 Account suspended", Refused, MailboxDisabled),
        ("5.7.1 of both", Rcpt, "550 5.7.1 No such user: denied", BlockedByProvider, Blocked),
        ("5.7.1 of both", Rcpt, "550 5.7.1 your user is unknown", BlockedByProvider, Blocked),
        ("5.7.26 of a mailbox", Rcpt, "550 5.7.26 No such user", BlockedByProvider, Blocked),
        ("unavailable", Rcpt, "550 5.7.1 mailbox unavailable", BlockedByProvider, Blocked),
        ("their rule", Rcpt, "550 5.7.51 nope", BlockedByProvider, Blocked),
        ("IP", Rcpt, "550 your IP address", BlockedByProvider, Blocked),
        ("client host", Rcpt, "550 Client host rejected", BlockedByProvider, Blocked),
        ("blocklist", Rcpt, "550 blocked using Spamhaus", BlockedByProvider, Blocked),
        ("reputation", Rcpt, "550 bad reputation", BlockedByProvider, Blocked),
        ("SPF", Rcpt, "550 SPF failed", BlockedByProvider, Blocked),
        ("rDNS", Rcpt, "550 no reverse DNS", BlockedByProvider, ReverseDnsRequired),
        ("5.7.25", Rcpt, "550 5.7.25 nope", BlockedByProvider, ReverseDnsRequired),
        ("5.7.25 beats text", Rcpt, "550 5.7.25 your IP", BlockedByProvider, ReverseDnsRequired),
        ("relaying", Rcpt, "550 relaying denied", BlockedByProvider, RelayDenied),
        ("relaying", Rcpt, "554 5.7.1 Relay access denied", BlockedByProvider, RelayDenied),
        ("access", Rcpt, "550 Access denied", BlockedByProvider, Blocked),
        ("authentication", Rcpt, "530 Authentication required", BlockedByProvider, Blocked),
        (
            "about us, whatever the code",
            Rcpt,
            "550 5.1.1 blocked using Spamhaus",
            BlockedByProvider,
            Blocked,
        ),
    ]);
}

#[test]
fn rcpt_greylisted() {
    check(&[
        ("450 4.7.x", Rcpt, "450 4.7.1 nope", BlockedByProvider, Greylisted),
        ("451 4.7.x", Rcpt, "451 4.7.0 nope", BlockedByProvider, Greylisted),
        ("4.2.0", Rcpt, "450 4.2.0 nope", BlockedByProvider, Greylisted),
        ("greylisting", Rcpt, "451 Greylisted", BlockedByProvider, Greylisted),
        ("greylisting for ever", Rcpt, "550 Greylisted", BlockedByProvider, Greylisted),
        ("try again later", Rcpt, "451 Please try again later", BlockedByProvider, Greylisted),
    ]);
    let greylisted = judge(Rcpt, &Reply::parse("450 4.7.1 back in 10 minutes\r\n").unwrap());
    assert_eq!(greylisted.retry_after, Some(600));
    let limited = judge(Rcpt, &Reply::parse("421 4.7.0 slow down\r\n").unwrap());
    assert_eq!(limited.retry_after, None);
}

#[test]
fn rcpt_rate_limited() {
    check(&[
        (
            "a domain's rule",
            Rcpt,
            "421 4.7.0 IP not in whitelist for RCPT domain",
            BlockedByProvider,
            Blocked,
        ),
        ("4.2.1", Rcpt, "450 4.2.1 nope", BlockedByProvider, MailboxBusy),
        ("421", Rcpt, "421 nope", BlockedByProvider, RateLimited),
        ("421 4.7.x", Rcpt, "421 4.7.0 nope", BlockedByProvider, RateLimited),
        ("too many", Rcpt, "452 4.5.3 Too many recipients", BlockedByProvider, RateLimited),
        ("rate", Rcpt, "451 rate limit exceeded", BlockedByProvider, RateLimited),
        ("5.5.3 is too many", Rcpt, "552 5.5.3 nope", BlockedByProvider, RateLimited),
    ]);
}

#[test]
fn rcpt_other_transient() {
    check(&[
        (
            "4.7.0",
            Rcpt,
            "451 4.7.0 Temporary server error. Try again",
            SmtpConnectError,
            ServerUnavailable,
        ),
        ("4.3.x", Rcpt, "451 4.3.0 nope", SmtpConnectError, ServerUnavailable),
        ("4.3.x beats 421", Rcpt, "421 4.3.2 shutting down", SmtpConnectError, ServerUnavailable),
        ("4.4.x", Rcpt, "451 4.4.1 nope", SmtpConnectError, ServerUnavailable),
        (
            "451 local error",
            Rcpt,
            "451 local error in processing",
            SmtpConnectError,
            ServerUnavailable,
        ),
        (
            "4.1.1 is not for ever",
            Rcpt,
            "450 4.1.1 unverified address",
            SmtpConnectError,
            ServerUnavailable,
        ),
    ]);
}

#[test]
fn rcpt_protocol_error() {
    check(&[
        (
            "552 message size",
            Rcpt,
            "552 Message size exceeds limit",
            SmtpConnectError,
            ProtocolError,
        ),
        ("500", Rcpt, "500 Syntax error", SmtpConnectError, ProtocolError),
        ("501", Rcpt, "501 Syntax error", SmtpConnectError, ProtocolError),
        ("502", Rcpt, "502 5.5.1 Unknown command", SmtpConnectError, ProtocolError),
        ("503", Rcpt, "503 5.5.1 Bad sequence", SmtpConnectError, ProtocolError),
        ("504", Rcpt, "504 nope", SmtpConnectError, ProtocolError),
        ("555", Rcpt, "555 5.5.4 Unknown parameter", SmtpConnectError, ProtocolError),
        (
            "5.5.x says nothing about a mailbox",
            Rcpt,
            "550 5.5.1 nope",
            SmtpConnectError,
            ProtocolError,
        ),
    ]);
}

#[test]
fn rcpt_no_enhanced_code() {
    check(&[
        ("550 no match", Rcpt, "550 nope", BlockedByProvider, Unclear),
        ("553 no match", Rcpt, "553 nope", BlockedByProvider, Unclear),
        ("554 no match", Rcpt, "554 nope", BlockedByProvider, Unclear),
        ("554 recipient", Rcpt, "554 no such user", Refused, NoSuchMailbox),
        ("us wins", Rcpt, "550 no such user, your IP is listed", BlockedByProvider, Blocked),
        ("policy and no mailbox", Rcpt, "550 5.1.1 policy", BlockedByProvider, Blocked),
        ("policy and no mailbox", Rcpt, "521 5.2.1 spam", BlockedByProvider, Blocked),
        ("us wins", Rcpt, "554 mailbox not found: policy", BlockedByProvider, Blocked),
        ("their trouble", Rcpt, "550 internal server error", SmtpConnectError, ServerUnavailable),
        ("their trouble", Rcpt, "550 try again", SmtpConnectError, ServerUnavailable),
        ("about sending", Rcpt, "550 this message is rejected", BlockedByProvider, Blocked),
        ("recipient", Rcpt, "550 your message: unknown user", Refused, NoSuchMailbox),
        ("an unknown 5yz", Rcpt, "571 nope", BlockedByProvider, Unclear),
        ("RFC 5321", Rcpt, "551 User not local", Refused, NoSuchMailbox),
    ]);
}

#[test]
fn rcpt_smtputf8() {
    check(&[("5.6.7", Rcpt, "553 5.6.7 nope", SmtpConnectError, Smtputf8Unsupported)]);
    let finding = smtputf8_unsupported();
    assert_eq!((finding.status, finding.reason), (SmtpConnectError, Smtputf8Unsupported));
}

#[test]
fn a_quoted_address_is_no_evidence() {
    let cases: [Case; 3] = [
        ("brackets", Rcpt, "550 5.1.1 <spamhaus@x.org>: User unknown", Refused, NoSuchMailbox),
        ("bare", Rcpt, "550 your-ip-blacklist@x.org no such user", Refused, NoSuchMailbox),
        ("quoted", Rcpt, "550 <\"too many\"@x.org>: no such user", Refused, NoSuchMailbox),
    ];
    check(&cases);
}

/// Words that seem to be about the mailbox but are about us.
#[test]
fn words_of_the_mailbox_that_are_said_of_us() {
    check(&[
        ("a quota of ours", Rcpt, "452 quota exceeded in your network", BlockedByProvider, Blocked),
        ("a quota of ours", Rcpt, "452 quota of this host", SmtpConnectError, ServerUnavailable),
        ("a quota of ours", Rcpt, "452 host is over quota", SmtpConnectError, ServerUnavailable),
        ("a quota by policy", Rcpt, "552 policy: over quota", BlockedByProvider, Blocked),
        ("the sender's", Rcpt, "452 the sender mailbox is full", BlockedByProvider, Blocked),
        ("the sender's", Rcpt, "550 the sender mailbox is full", BlockedByProvider, Blocked),
        ("the sender's", Rcpt, "452 4.2.2 the sender is over quota", BlockedByProvider, Blocked),
        ("listed", Rcpt, "452 4.2.2 mailbox full of spamhaus", BlockedByProvider, Blocked),
        ("the sender's", Rcpt, "550 5.4.1 sender is an unknown user", BlockedByProvider, Blocked),
        ("5.1.0 of policy", Rcpt, "550 5.1.0 no such user: denied", BlockedByProvider, Blocked),
        ("whose domain?", Rcpt, "550 no such domain from here", BlockedByProvider, Blocked),
        ("556 of a message", Rcpt, "556 for your message", BlockedByProvider, Blocked),
        ("an IP", Rcpt, "550 mailbox unavailable [192.0.2.1]", BlockedByProvider, Blocked),
        ("an IP", Rcpt, "550 5.7.1 no such user [192.0.2.1]", BlockedByProvider, Blocked),
        ("two sentences", Rcpt, "550 ask the user. Unknown error", BlockedByProvider, Unclear),
        ("an outage", Rcpt, "550 user unknown: server error", SmtpConnectError, ServerUnavailable),
    ]);
}

#[test]
fn a_system_for_members_alone_speaks_of_us() {
    for text in [
        "This system is for members only",
        "You are not a member of this list",
        "Only members may post here, unknown sender",
        "this list is for subscribers only; you are not a subscriber",
        "Mail accepted for registered users only",
        "only registered senders may write to this account",
        "Private system, not for you",
        "This server serves only its own customers",
        "for customers only, no such user",
        "restricted to authorized users",
    ] {
        for code in ["550", "550 5.7.1", "554", "553"] {
            let reply = Reply::parse(&format!("{code} {text}\r\n")).unwrap();
            assert_eq!(judge(Rcpt, &reply).status, BlockedByProvider, "{code} {text}");
        }
    }
}

/// RFC 5321 §3.1: before the client has sent anything, a 5yz is about the client.
#[test]
fn a_greeting_that_refuses_us_by_a_code_or_a_list_is_no_broken_server() {
    for text in [
        "HL:IHU 163 smtp",
        "(RLY:B1) see https://example.org/codes",
        "Not in our list",
        "You are not on the list",
        "no entry in access list",
        "SC-001 rejected",
        "go away",
        "Sorry, no.",
        "ESMTP refused [R-17]",
        "E-4711",
    ] {
        for code in [550, 553, 554, 571] {
            let reply = Reply::parse(&format!("{code} {text}\r\n")).unwrap();
            assert_eq!(judge(Banner, &reply).status, BlockedByProvider, "{code} {text}");
        }
    }
    for own in ["554 No SMTP service here", "554 mx.example.org", "550 internal server error"] {
        let reply = Reply::parse(&format!("{own}\r\n")).unwrap();
        assert_eq!(judge(Banner, &reply).status, SmtpConnectError, "{own}");
    }
}

#[test]
fn a_501_of_relaying_is_no_syntax_error() {
    for text in [
        "relaying to example.org not allowed",
        "We do not relay mail for strangers",
        "This system is not configured to relay mail",
        "<user@example.org>: domain is not hosted here",
        "user@example.org is not one of our domains",
        "5.7.1 Relaying denied",
        "open relay is not allowed",
        "not a local domain",
    ] {
        let reply = Reply::parse(&format!("501 {text}\r\n")).unwrap();
        let finding = judge(Rcpt, &reply);
        assert_eq!((finding.status, finding.reason), (BlockedByProvider, RelayDenied), "{text}");
    }
}

#[test]
fn a_destination_that_the_server_cannot_reach_is_its_trouble() {
    for text in [
        "Unable to connect to destination server",
        "Could not connect to downstream host",
        "cannot reach the recipient's server",
        "4.7.0 Backend is not responding, closing connection",
        "Connection to backend failed",
        "upstream connection timed out",
        "destination unreachable, try again later",
        "The next hop is down",
    ] {
        let reply = Reply::parse(&format!("421 {text}\r\n")).unwrap();
        let finding = judge(Rcpt, &reply);
        assert_eq!(
            (finding.status, finding.reason),
            (SmtpConnectError, ServerUnavailable),
            "{text}"
        );
    }
    let ours = Reply::parse("421 Too many connections from your host\r\n").unwrap();
    assert_eq!(judge(Rcpt, &ours).reason, RateLimited);
}

#[test]
fn a_recipient_that_is_not_accepted_is_one_that_does_not_exist() {
    for text in [
        "5.1.0 Recipient not accepted",
        "5.1.0 <user@example.org>: recipient refused",
        "5.1.0 <user@example.org> recipient rejected",
        "5.1.0 Address rejected user@example.org",
        "#5.1.0 Address rejected.",
        "5.1.0 Recipient address not accepted",
        "5.1.0 The recipient is not accepted here",
        "5.1.0 Unknown recipient",
    ] {
        let reply = Reply::parse(&format!("550 {text}\r\n")).unwrap();
        let finding = judge(Rcpt, &reply);
        assert_eq!((finding.status, finding.reason), (Refused, NoSuchMailbox), "{text}");
    }
    for ours in ["550 5.1.0 Sender not accepted", "550 5.1.0 Your address was not accepted"] {
        assert_ne!(judge(Rcpt, &Reply::parse(&format!("{ours}\r\n")).unwrap()).status, Refused);
    }
}

#[test]
fn a_code_of_the_recipient_over_words_that_no_table_knows_is_doubtful() {
    for (text, doubtful) in [
        ("550 5.1.1 No such user", false),
        ("550 5.1.1", false),
        ("550 5.1.1 <user@example.org>", false),
        ("550 5.1.1 Unknown", false),
        ("556 5.1.10 null MX", false),
        ("550 5.1.1 Hozzáférés megtagadva: az Ön címe feketelistán van", true),
        ("550 5.1.1 تم رفض الوصول", true),
        ("550 5.1.1 Η πρόσβαση απορρίφθηκε", true),
        ("452 4.2.2 Mailbox is full", true),
        ("552 5.2.2 Mailbox is full", false),
        ("550 5.1.2 no such domain", false),
    ] {
        let finding = judge(Rcpt, &Reply::parse(&format!("{text}\r\n")).unwrap());
        assert_eq!((finding.status, finding.is_doubtful), (Refused, doubtful), "{text}");
    }
}

#[test]
fn a_code_that_no_rfc_defines_is_read_by_its_first_digit() {
    check(&[
        ("2yz", Rcpt, "254 fine", Status::Accepted, Accepted),
        ("2yz", Rcpt, "299 2.1.5 Ok", Status::Accepted, Accepted),
        ("of another command", Rcpt, "220 ready", SmtpConnectError, ProtocolError),
        ("of another command", Rcpt, "221 bye", SmtpConnectError, ProtocolError),
        ("of another command", Rcpt, "235 2.7.0 welcome", SmtpConnectError, ProtocolError),
        ("3yz", Rcpt, "354 go on", SmtpConnectError, ProtocolError),
        ("4yz", Rcpt, "471 4.7.1 come back", BlockedByProvider, Greylisted),
        ("4yz", Rcpt, "499 sorry", SmtpConnectError, ServerUnavailable),
        ("5yz", Rcpt, "577 does not accept mail", Refused, DomainRefusesMail),
        ("5yz", Rcpt, "599 no such user", Refused, NoSuchMailbox),
        ("5yz", Rcpt, "591 your host is blacklisted", BlockedByProvider, Blocked),
        ("5yz", Rcpt, "577 sorry", BlockedByProvider, Unclear),
        ("5yz", Rcpt, "570 try again", SmtpConnectError, ServerUnavailable),
        ("5yz", Mail, "577 no such address", BlockedByProvider, Blocked),
    ]);
}

/// Replies that other verifiers read as a missing mailbox or as greylisting.
#[test]
fn a_refusal_of_our_names_our_sender_or_our_volume_is_about_us() {
    check(&[
        (
            "volume",
            Banner,
            "421 Too many concurrent SMTP connections; please try again later.",
            BlockedByProvider,
            RateLimited,
        ),
        (
            "HELO",
            Rcpt,
            "504 5.5.2 <probe>: Helo command rejected: need fully-qualified hostname",
            BlockedByProvider,
            Blocked,
        ),
        (
            "HELO",
            Rcpt,
            "450 4.7.1 <probe.example.org>: Helo command rejected: Host not found",
            BlockedByProvider,
            Blocked,
        ),
        ("EHLO", Ehlo, "550 5.5.0 Invalid EHLO domain.", BlockedByProvider, Blocked),
        ("EHLO", Rcpt, "550 5.5.0 Invalid EHLO domain.", BlockedByProvider, Blocked),
        ("null sender", Rcpt, "550 - missing BATV signature", BlockedByProvider, Blocked),
        ("null sender", Rcpt, "550 5.7.1 Invalid prvs tag", BlockedByProvider, Blocked),
        (
            "sender",
            Rcpt,
            "450 4.1.8 <probe@example.org>: Sender address rejected: Domain not found",
            BlockedByProvider,
            Blocked,
        ),
    ]);
}

#[test]
fn a_reply_about_the_recipient_is_read_in_an_unusual_form() {
    check(&[
        (
            "251",
            Rcpt,
            "251 2.1.5 User not local; will forward to <ann@other.example.net>",
            Status::Accepted,
            Accepted,
        ),
        (
            "a code around an ordinary verification",
            Rcpt,
            "577 5.1.1 <ann@example.org>: Recipient address rejected: undeliverable address: host \
             barracuda.example.net[192.0.2.1] said: 550 No such user (ann@example.org) (in reply to RCPT TO command)",
            Refused,
            NoSuchMailbox,
        ),
        ("invalid", Rcpt, "550 ann@example.org refused: user invalid", Refused, NoSuchMailbox),
        (
            "verification under way",
            Rcpt,
            "450 4.1.1 <ann@example.org>: Recipient address rejected: unverified address: host \
             192.0.2.5[192.0.2.5] said: 550 5.1.1 User unknown",
            SmtpConnectError,
            ServerUnavailable,
        ),
    ]);
    let reply = Reply::parse("421 Recipient not in route list\r\n").unwrap();
    let status = judge(Rcpt, &reply).status;
    assert!(!matches!(status, Refused | Status::Accepted), "{status:?}");
}
