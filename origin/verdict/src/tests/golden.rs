//! The replies in `golden.txt`, written from experience, and in `seen.txt` and the folder `seen`,
//! each from a public page.

use std::collections::HashSet;

use rcpt_shared::{Reason, Stage, Status};
use serde_json::{Value, from_value};

use super::{Case, check};

const GOLDEN: &str = include_str!("golden.txt");
const SEEN: [&str; 3] = [
    include_str!("seen.txt"),
    include_str!("seen/providers.txt"),
    include_str!("seen/software.txt"),
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
    SEEN.into_iter()
        .flat_map(rows)
        .map(|row| {
            let columns: Vec<_> = row.splitn(6, " | ").collect();
            assert!(columns[4].starts_with("http"), "where was it seen? {row}");
            case(&columns[..4], columns[5]).unwrap_or_else(|| panic!("not a case: {row}"))
        })
        .collect()
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
