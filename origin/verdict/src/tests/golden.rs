//! The replies in `golden.txt`, written from experience, and in `seen.txt` and the folder `seen`,
//! each from a public page.

use std::{collections::HashSet, net::IpAddr};

use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;
use serde_json::{Value, from_value};

use super::{Case, check, judge};

const GOLDEN: &str = include_str!("golden.txt");
/// Whole refusals with labels; a name begins with `dead`, `us` or `trouble`.
const PAGES: &str = include_str!("seen/pages.txt");
const SEEN: [&str; 4] = [
    include_str!("seen.txt"),
    include_str!("seen/providers.txt"),
    include_str!("seen/software.txt"),
    PAGES,
];

fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn case(columns: &[&'static str], raw: &'static str) -> Option<Case> {
    let [name, stage, status, reason] = *columns else { return None };
    let status = Status::ALL.into_iter().find(|known| known.as_str() == status)?;
    let reason = Reason::ALL.into_iter().find(|known| known.as_str() == reason)?;
    let stage: Stage = from_value(Value::from(stage)).ok()?;
    Some((name, stage, raw, status, reason))
}

fn seen() -> Vec<Case> {
    SEEN.into_iter().flat_map(cases).collect()
}

fn cases(text: &'static str) -> impl Iterator<Item = Case> {
    rows(text).map(|row| {
        let columns: Vec<_> = row.splitn(6, " | ").collect();
        assert!(columns[4].starts_with("http"), "where was it seen? {row}");
        case(&columns[..4], columns[5]).unwrap_or_else(|| panic!("not a case: {row}"))
    })
}

#[test]
fn replies_in_the_wording_of_real_servers_get_their_verdict() {
    let cases: Vec<Case> = rows(GOLDEN)
        .map(|row| {
            let columns: Vec<_> = row.splitn(5, " | ").collect();
            case(&columns[..4], columns[4]).unwrap_or_else(|| panic!("not a case: {row}"))
        })
        .collect();
    assert!(cases.len() >= 300, "{} replies", cases.len());
    check(&cases);
}

#[test]
fn replies_that_public_pages_quote_get_their_verdict() {
    let cases = seen();
    assert!(cases.len() >= 300, "{} replies", cases.len());
    check(&cases);
}

#[test]
fn no_reply_is_among_those_seen_twice() {
    let mut replies = HashSet::new();
    let again: Vec<_> =
        seen().into_iter().map(|(_, _, raw, ..)| raw).filter(|raw| !replies.insert(*raw)).collect();
    assert!(again.is_empty(), "{}", again.join("\n"));
}

/// Whatever the columns say: a refusal of us or a trouble is never a statement about the mailbox.
#[test]
fn no_refusal_of_us_and_no_trouble_that_a_page_quotes_is_a_no() {
    let (mut dead, mut others) = (0, 0);
    for (name, stage, raw, ..) in cases(PAGES) {
        let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n")).unwrap();
        let is_refused = judge(stage, &reply).status == Status::Refused;
        match name.split_once(':') {
            Some(("dead", _)) => {
                dead += 1;
                assert!(is_refused, "{name}: {raw}");
            }
            Some(("us" | "trouble", _)) => {
                others += 1;
                assert!(!is_refused, "{name}: {raw}");
            }
            _ => panic!("no label: {name}"),
        }
    }
    assert!(dead >= 130 && others >= 170, "{dead} {others}");
}

#[test]
fn no_page_names_a_person_or_a_machine() {
    for row in rows(PAGES) {
        let raw = row.rsplit(" | ").next().unwrap();
        for word in raw.split(|c: char| c.is_whitespace() || "<>()[],;:\"'".contains(c)) {
            let is_masked = ["example", "xxx", "*"].iter().any(|it| word.contains(it));
            assert!(!word.contains('@') || is_masked || word.ends_with('@'), "{raw}");
            let ours = |ip: IpAddr| word.starts_with("192.0.2.") || ip.is_loopback();
            assert!(word.parse().map_or(true, ours), "{raw}");
        }
    }
}
