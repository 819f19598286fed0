//! Tests of when the reader is asked, and of its limits.

use rcpt_shared::Stage;
use rcpt_smtp::Reply;

use super::{MODEL, explain, percent};
use crate::judge;

fn reply(raw: &str) -> Reply {
    Reply::parse(&format!("{raw}\r\n")).unwrap_or_else(|| panic!("not a reply: {raw}"))
}

fn percent_of(stage: Stage, raw: &str) -> Option<u8> {
    let reply = reply(raw);
    percent(stage, &reply, &judge(stage, &reply), [])
}

#[test]
fn the_reader_is_asked_only_where_no_rule_understands_a_permanent_refusal_at_rcpt() {
    let open = "550 no one here by that name";
    assert_eq!(judge(Stage::Rcpt, &reply(open)).rule, Some("5yz.otherwise"));
    assert!(percent_of(Stage::Rcpt, open).is_some());
    assert_eq!(percent_of(Stage::Mail, open), None);
    for decided in [
        "550 no such user here, sorry about that",
        "550 there is nobody here by this name for spammers on a blacklist",
        "450 no one here by that name",
        "250 no one here by that name",
    ] {
        assert_eq!(percent_of(Stage::Rcpt, decided), None, "{decided}");
    }
}

#[test]
fn the_parts_of_an_explanation_add_up_to_its_percentage() {
    let (finding, opinion) = explain(&reply("550 no one here by that name"));
    assert_eq!(finding.rule, Some("5yz.otherwise"));
    let opinion = opinion.unwrap();
    let logit: f64 = opinion.bias + opinion.features.iter().map(|(_, part)| part).sum::<f64>();
    let percent = super::chance(logit) * 100.0;
    assert!((percent - f64::from(opinion.percent.unwrap())).abs() <= 1.0, "{percent}");
    assert!(explain(&reply("550 no such user here")).1.is_none());
}

#[test]
fn the_model_was_trained() {
    assert_ne!(MODEL.inputs, [0; 32]);
    assert!((50..=100).contains(&MODEL.threshold) && MODEL.words_min > 0);
}

/// Each was read as a dead mailbox, or would be if the reader guessed the missing subject.
#[test]
fn what_names_no_mailbox_or_an_unknown_subject_is_not_read() {
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
    ] {
        assert_eq!(percent_of(Stage::Rcpt, raw), None, "{raw}");
    }
}
