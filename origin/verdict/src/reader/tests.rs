//! Tests of when the reader is used, and of its limits.

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

/// Replies that were once read as a dead mailbox, or would be if the reader guessed the subject.
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
        "550 file not found",
        "550 this tenant is closed for the day",
        "550 no such list",
        "550 no such rule here",
        "550 quota of this hour is full",
        "550 there is no account here for those who knock at this door",
        "550 this name is not known to us as one of our partners",
        "550 order does not exist",
        "550 kein Konto für Fremde hier",
    ] {
        assert_eq!(percent_of(Stage::Rcpt, raw), None, "{raw}");
    }
}

/// Replies written to look like those of dead mailboxes: none exceeds the threshold.
#[test]
fn hostile_forms_are_not_taken_for_a_dead_mailbox() {
    let long = format!("550 {} no such list here", "this one is closed ".repeat(100));
    let cut = format!("550 {}mailbox of the caller", "not known here ".repeat(60));
    for raw in [
        "550 do\u{7}es not\u{0} ex\u{8}ist, said the list",
        "550 \u{202e}tsixe ton seod",
        "550 n\u{200b}o su\u{200b}ch ru\u{200b}le here",
        "550 用户未授权 no such user name",
        "550 utente remoto non autorizzato, user not valid",
        "550 phone not reachable, no such number here",
        "550 guest not found on the list",
        &long,
        &cut,
    ] {
        let percent = percent_of(Stage::Rcpt, raw);
        assert!(percent.is_none_or(|percent| percent < MODEL.threshold), "{percent:?} {raw}");
    }
    // Replies at other stages are never read, whatever they say.
    for stage in [Stage::Banner, Stage::Ehlo, Stage::Mail] {
        assert_eq!(percent_of(stage, "550 no one here by that name"), None);
    }
}
