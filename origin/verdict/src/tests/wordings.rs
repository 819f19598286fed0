//! Wordings that were misread, each with words that are close to it and mean something else.

use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;

use super::judge;

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

/// RFC 821 §3.3 and RFC 3463 §3.2 (5.1.4): the name fits several mailboxes.
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
    let reading = read(&format!("553 5.1.2 {text}"));
    assert_eq!(reading, (Status::Refused, Reason::DomainRefusesMail));
    for raw in
        [format!("553 {text}"), "553 5.1.2 Could not find a mail server for your domain".into()]
    {
        assert_ne!(read(&raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn a_mailbox_limit_is_read_as_it_is_misspelled() {
    let reading = read("552 Mailbox limit exeeded for this email address");
    assert_eq!(reading, (Status::Refused, Reason::MailboxFull));
    assert_ne!(read("552 limit exeeded").0, Status::Refused);
}

/// A user who must log in, may not send, or only names a table isn't the recipient.
#[test]
fn a_user_of_something_else_is_not_the_mailbox() {
    for raw in [
        "550 not a valid user of this relay, log in first",
        "550 unknown user, please log in",
        "550 account disabled, please log in",
        "550 5.2.1 your account is disabled, please log in first",
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

/// Sendmail asked the name server about the recipient's host.
#[test]
fn a_host_that_sendmail_s_name_server_does_not_know_is_the_recipient_s() {
    for raw in [
        "550 Host unknown (Name server: mail.example.org: host not found)",
        "550 5.1.2 <user@example.org>... Host unknown (Name server: example.org.: host not found)",
        "550 <user@example.org>... Host unknown (Name server: example.org: no data known)",
        "550 Host unknown (Name server: host not found)",
    ] {
        assert_eq!(read(raw), (Status::Refused, Reason::DomainRefusesMail), "{raw}");
    }
    for raw in [
        "550 Host unknown",
        "550 your host is unknown (name server: host not found)",
        "550 5.1.8 <user@example.org>... Host unknown (Name server: example.org: host not found)",
        "550 sender: host unknown (Name server: example.org: host not found)",
        "550 Client host unknown (Name server: host not found)",
        "550 Host unknown (Name server: [192.0.2.1]: host not found)",
        "550 Access denied: host unknown (Name server: mx.example.org: host not found)",
    ] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

/// Codes for mailboxes are also used for an account's limit on message size, and for trouble of the server.
#[test]
fn a_size_or_trouble_is_not_the_mailbox_under_its_code() {
    for raw in [
        "552 message exceeds size limit - the account user may have messages of 5 MB",
        "503 5.1.1 Internal error while searching for the recipient",
        "503 5.1.1 Failed to add user to recipients",
        "550 5.1.1 internal error",
    ] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

/// RFC 5321's words for 552 are also quoted after a refusal of the message.
#[test]
fn an_exceeded_allocation_is_not_the_mailbox_s_after_words_of_spam() {
    let text = "Requested mail action aborted: exceeded storage allocation";
    assert_eq!(read(&format!("552 {text}")), (Status::Refused, Reason::MailboxFull));
    assert_ne!(read(&format!("552 Spam Message Rejected -- {text}")).0, Status::Refused);
}

/// A thing's name needs the whole name: a machine before the mailbox, with a word for `of` between them.
#[test]
fn a_mailbox_beside_a_part_of_a_thing_s_name_is_still_a_mailbox() {
    for raw in [
        "550 la dirección de usuario no existe, usuario desconocido",
        "550 servidor: usuario desconocido",
        "550 serveur, utilisateur inconnu",
        "550 de usuario desconocido",
        "550 почтовый ящик не найден",
    ] {
        assert_eq!(read(raw), (Status::Refused, Reason::NoSuchMailbox), "{raw}");
    }
    for raw in ["550 servidor de usuario desconocido", "550 сервер почтового ящика не найден"]
    {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn a_person_who_has_left_is_no_mailbox() {
    for raw in [
        "550 User is no longer employed here",
        "550 5.1.1 the recipient has left the organisation",
        "550 person no longer works for us",
        "550 <user@example.org> is no longer on staff",
    ] {
        assert_eq!(read(raw), (Status::Refused, Reason::NoSuchMailbox), "{raw}");
    }
    for raw in ["550 sender is no longer employed here", "550 blocked: recipient has left feedback"]
    {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

/// In these refusals an unknown or ambiguous thing is missing, not a mailbox.
#[test]
fn what_names_no_mailbox_or_an_unknown_subject_is_not_a_no() {
    for raw in [
        "550 PTR not found",
        "550 mailbox server is not available",
        "550 peer does not exist",
        "550 unknown peer",
        "550 the address of the caller is not known",
        "550 this account of a reseller is closed",
        "550 certificate expired",
        "550 user backend not found",
        "550 identity unknown",
        "550 neznámý odesílatel",
        "550 file not found",
        "550 this tenant is closed for the day",
        "550 no such list",
        "550 no such rule here",
        "550 quota of this hour is full",
        "550 there is no account here for those who knock at this door",
        "550 this name is not known to us as one of our partners",
        "550 order does not exist",
        "550 kein Konto für Fremde hier",
        "550 do\u{7}es not\u{0} ex\u{8}ist, said the list",
        "550 \u{202e}tsixe ton seod",
        "550 n\u{200b}o su\u{200b}ch ru\u{200b}le here",
        "550 phone not reachable, no such number here",
        "550 guest not found on the list",
    ] {
        assert_ne!(read(raw).0, Status::Refused, "{raw}");
    }
}

#[test]
fn the_log_has_codes_rule_and_our_own_phrase_and_no_word_of_the_server() {
    for (raw, shown) in [
        ("550 5.7.1 annasmith: your IP was bad", "550 5.7.1, rule 5yz.our-address: your ip"),
        ("550 Ihre IP-Adresse, annasmith", "550, rule 5yz.us: Ihre IP*"),
        ("550 5.7.25 annasmith", "550 5.7.25, rule 5yz.reverse-dns-code"),
        ("554 annasmith: https://www.spamhaus.org/x", "554, rule 5yz.our-address"),
        ("421 annasmith", "421, rule 4yz.421"),
        ("550 annasmith", "550, rule 5yz.otherwise"),
    ] {
        let reply = Reply::parse(&format!("{raw}\r\n")).unwrap();
        let finding = judge(Stage::Rcpt, &reply);
        assert_eq!(crate::in_our_words(Stage::Rcpt, &reply, &finding), shown, "{raw}");
    }
}
