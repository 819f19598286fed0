//! Refusals that quote our side or the recipient.

use rcpt_shared::{
    Reason::{Blocked, DomainRefusesMail, NoSuchMailbox},
    Stage,
    Status::{BlockedByProvider, Refused},
};
use rcpt_smtp::Reply;

use super::super::{Parties, Scope, judge};

const RECIPIENT: &str = "ann@victim.example";

fn outcome(recipient: &str, raw: &str) -> (rcpt_shared::Status, rcpt_shared::Reason) {
    let parties = Parties {
        recipient,
        sender: Some("check@rcpt.example"),
        helo_names: vec!["probe.rcpt.example"],
    };
    let reply = Reply::parse(&format!("{raw}\r\n")).unwrap_or_else(|| panic!("not a reply: {raw}"));
    let finding = judge(Stage::Rcpt, &reply, &parties);
    (finding.status, finding.reason)
}

/// Words and codes for a mailbox or a domain, each with a place for the quoted name.
const TEMPLATES: [&str; 21] = [
    "550 5.1.1 unknown address <{}>",
    "550 No such user <{}>",
    "550 5.1.0 <{}>: Address rejected",
    "550 5.1.1 <{}>: user does not exist",
    "550 5.1.1 {} is not a valid mailbox",
    "553 5.1.3 <{}> mailbox name not valid",
    "550 5.1.2 <{}>: domain does not exist",
    "550-5.1.1 The email account\r\n550 5.1.1 {} does not exist",
    "550 5.2.1 <{}> is disabled",
    "552 5.2.2 <{}>: mailbox full",
    "452 4.2.2 <{}>: mailbox full",
    "450 {}: mailbox full",
    "450 {}: quota exceeded",
    "450 4.4.4 {}: no mail-enabled subscriptions",
    "550 5.4.1 {}: Recipient address rejected: Access denied",
    "556 5.1.10 {} accepts no mail",
    "550 5.7.1 {}: user unknown",
    "550 Empf\u{e4}nger {} existiert nicht",
    "550 {} \u{7528}\u{6237}\u{4e0d}\u{5b58}\u{5728}",
    "500 No such user {}",
    "521 {} does not accept mail",
];

#[test]
fn a_refusal_that_quotes_us_and_not_the_recipient_is_never_a_no() {
    for template in TEMPLATES {
        for ours in
            ["check@rcpt.example", "CHECK@RCPT.example", "rcpt.example", "probe.rcpt.example"]
        {
            let raw = template.replace("{}", ours);
            assert_ne!(outcome(RECIPIENT, &raw).0, Refused, "{raw}");
        }
    }
    let raw = "550 5.1.1 probe.rcpt.example: unknown host";
    assert_eq!(outcome(RECIPIENT, raw), (BlockedByProvider, Blocked));
    let raw = "550 5.1.1 <check@rcpt.example>: user unknown";
    assert_eq!(outcome(RECIPIENT, raw), (BlockedByProvider, Blocked));
    let parties = Parties { sender: Some("check@rcpt.example"), ..Parties::default() };
    let reply = Reply::parse("554 rcpt.example does not accept mail\r\n").unwrap();
    let reason = judge(Stage::Ehlo, &reply, &parties).reason;
    assert_ne!(reason, DomainRefusesMail, "our own domain");
    let reply = Reply::parse(&format!("{raw}\r\n")).unwrap();
    let scope = judge(Stage::Rcpt, &reply, &parties).reception.scope;
    assert_eq!(scope, Scope::DomainRule, "other domains may not verify senders");
}

#[test]
fn a_refusal_that_quotes_the_recipient_or_nobody_is_read_as_before() {
    for template in TEMPLATES {
        let unquoted = outcome(RECIPIENT, &template.replace("{}", "somebody@other.example"));
        let quoted = outcome(RECIPIENT, &template.replace("{}", RECIPIENT));
        assert_eq!(quoted, unquoted, "{template}");
        if template.contains("<{}>") {
            assert_eq!(quoted.0, Refused, "{template}");
        }
    }
    for raw in [
        "550 5.1.1 <ann@victim.example>: user unknown, client probe.rcpt.example[192.0.2.1]",
        "550 5.1.1 check@rcpt.example to ann@victim.example: user unknown",
    ] {
        assert_eq!(outcome(RECIPIENT, raw), (Refused, NoSuchMailbox), "{raw}");
    }
}

#[test]
fn our_own_mailbox_and_our_neighbours_are_recipients_like_others() {
    for recipient in ["check@rcpt.example", "ann@rcpt.example", "ann@mail.rcpt.example"] {
        let raw = format!("550 5.1.1 <{recipient}>: user unknown at rcpt.example");
        assert_eq!(outcome(recipient, &raw), (Refused, NoSuchMailbox), "{raw}");
        let raw = "550 5.1.1 user unknown at rcpt.example";
        let due = (Refused, NoSuchMailbox);
        assert_eq!(outcome(recipient, raw), due, "{recipient}: {raw}");
    }
    let raw = "550 5.1.1 <check@rcpt.example>: user unknown";
    assert_eq!(outcome("ann@rcpt.example", raw), (BlockedByProvider, Blocked));
}
