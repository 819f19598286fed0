//! Refusals of us and dead mailboxes in eighteen languages (docs/security.md, N6).
//!
//! - English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Chinese, Japanese, Korean, Turkish,
//!   Swedish, Danish, Norwegian, Slovenian and Ukrainian; at least 60 refusals of us and 60 dead mailboxes.
//! - No phrase about us inside unknown text gives `false`, and no refusal that quotes our sender, its domain or HELO
//!   name.

use rcpt_shared::{Stage, Status};
use rcpt_smtp::Reply;

use super::judge;

const REFUSALS: &str = include_str!("languages/refusals.txt");
const DEAD: &str = include_str!("languages/dead.txt");

/// Name, reason and reply of each row.
fn rows(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, Reply)> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|row| {
        let columns: Vec<_> = row.splitn(6, " | ").collect();
        let [name, "rcpt", _, reason, _, raw] = columns[..] else { panic!("not a row: {row}") };
        let reply = Reply::parse(&(raw.replace("\\n", "\r\n") + "\r\n"));
        (name, reason, reply.unwrap_or_else(|| panic!("not a reply: {raw}")))
    })
}

#[test]
fn no_refusal_of_us_is_a_false_in_any_language() {
    let mut count = 0;
    let wrong: Vec<_> = rows(REFUSALS)
        .inspect(|_| count += 1)
        .map(|(name, _, reply)| (name, judge(Stage::Rcpt, &reply), reply))
        .filter(|(_, finding, _)| finding.status == Status::Refused)
        .map(|(name, finding, reply)| format!("{name}: {} {finding:?}", reply.text()))
        .collect();
    assert!(count >= 60, "{count} refusals");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nine_of_ten_dead_mailboxes_are_a_false_in_any_language() {
    let mut count = 0;
    let missed: Vec<_> = rows(DEAD)
        .inspect(|_| count += 1)
        .map(|(name, reason, reply)| (name, reason, judge(Stage::Rcpt, &reply), reply))
        .filter(|(_, reason, finding, _)| {
            (finding.status, finding.reason.as_str()) != (Status::Refused, reason)
        })
        .map(|(name, _, finding, reply)| format!("{name}: {} {finding:?}", reply.text()))
        .collect();
    println!("{} of {count} dead mailboxes are told", count - missed.len());
    assert!(count >= 60, "{count} dead mailboxes");
    assert!(missed.len() * 10 <= count, "{} of {count}:\n{}", missed.len(), missed.join("\n"));
}
