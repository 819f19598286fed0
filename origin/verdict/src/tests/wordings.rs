//! Wordings that were misread, each with words that are close to it and mean something else.

use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;

use crate::judge;

fn read(raw: &str) -> (Status, Reason) {
    let reply = Reply::parse(&format!("{raw}\r\n")).unwrap_or_else(|| panic!("not a reply: {raw}"));
    let finding = judge(Stage::Rcpt, &reply);
    (finding.status, finding.reason)
}

#[test]
fn the_name_of_a_condition_is_read_like_its_words() {
    for raw in ["550 RecipNotFound", "550 RESOLVER.ADR.RecipientNotFound", "550 UserUnknown"] {
        assert_eq!(read(raw), (Status::Refused, Reason::NoSuchMailbox), "{raw}");
    }
    for raw in ["550 NotFound", "550 HostUnknown", "550 RecipientDenied", "550 ClientUnknown"] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

/// RFC 821 §3.3 and RFC 3463 §3.2 (5.1.4): the mailbox can't be told from another.
#[test]
fn an_ambiguous_recipient_is_no_mailbox() {
    for raw in [
        "553 User ambiguous",
        "550 ambiguous recipient",
        "553 <user@example.org> mailbox is ambiguous",
    ] {
        assert_eq!(read(raw), (Status::Refused, Reason::NoSuchMailbox), "{raw}");
    }
    for raw in ["553 ambiguous", "550 sender address ambiguous", "550 ambiguous command"] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn a_host_or_a_route_that_takes_no_mail_is_the_recipient_s() {
    for raw in ["550 Host does not accept mail", "521 mx.example.org host does not accept mail"] {
        assert_eq!(read(raw), (Status::Refused, Reason::DomainRefusesMail), "{raw}");
    }
    let route = read("550 Route does not accept incoming messages");
    assert_eq!(route, (Status::Refused, Reason::MailboxDisabled));
    for raw in [
        "550 your host does not accept mail",
        "550 host does not accept mail from you",
        "550 the host of the sender does not accept mail",
        "550 the sender's host does not accept mail",
        "550 host does not accept messages",
        "550 this route does not accept your messages",
    ] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn a_domain_without_a_mail_server_is_the_recipient_s_by_its_code_alone() {
    let text = "Unknown mail server. Could not find a mail server for mx.example.org";
    let told = read(&format!("553 5.1.2 {text}"));
    assert_eq!(told, (Status::Refused, Reason::DomainRefusesMail));
    for raw in
        [format!("553 {text}"), "553 5.1.2 Could not find a mail server for your domain".into()]
    {
        assert_ne!(read(&raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn a_mailbox_limit_is_read_as_it_is_misspelled() {
    let told = read("552 Mailbox limit exeeded for this email address");
    assert_eq!(told, (Status::Refused, Reason::MailboxFull));
    assert_ne!(read("552 limit exeeded").0, Status::Refused);
}

/// A user who may not, must log in, or stands in a table isn't the recipient.
#[test]
fn a_user_of_something_else_is_not_the_mailbox() {
    for raw in [
        "550 not a valid user of this relay, log in first",
        "550 unknown user, please log in",
        "550 no such user may send mail here from outside",
        "550 database table user does not exist",
    ] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
    for raw in
        ["550 User unknown in local recipient table", "550 no such user in virtual mailbox table"]
    {
        assert_eq!(read(raw), (Status::Refused, Reason::NoSuchMailbox), "{raw}");
    }
}
