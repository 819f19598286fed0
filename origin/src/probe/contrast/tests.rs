//! The rows, and the document that has them.

mod worlds;

use rcpt_pool::HashKey;
use rcpt_shared::{Address, Stage};
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, Wording, judge};

use super::{Evidence, Invented, ROWS, people};

const DOCUMENT: &str = include_str!("../../../../docs/verdicts.md");

#[test]
fn each_row_stands_in_the_document_in_its_order() {
    let written: Vec<_> =
        DOCUMENT.lines().filter(|line| line.starts_with("| `contrast.")).collect();
    for (number, [name, invented, words, neighbours, then]) in ROWS.iter().enumerate() {
        let due = format!("| `{name}` | {invented} | {words} | {neighbours} | {then} |");
        let line = written.get(number).copied().unwrap_or_default();
        assert!(line.starts_with(due.as_str()), "row {number}\nwritten: {line}\nrow:     {due}");
    }
    assert_eq!(written.len(), ROWS.len(), "the document has rows that do not exist");
}

/// Of a reply that no rule decides.
fn wording(raw: &str) -> Wording {
    let (reply, nobody) = (Reply::parse(&format!("{raw}\r\n")).unwrap(), Parties::default());
    let finding = judge(Stage::Rcpt, &reply, &nobody);
    Wording::of(&reply, &finding, &nobody, |text| HashKey::new([1, 2]).hash_one(text)).unwrap()
}

fn evidence(invented: Invented, accepted: usize, is_accepted_again: bool) -> Evidence {
    Evidence { invented, accepted, is_accepted_again }
}

#[test]
fn who_is_refused_as_an_invented_name_is_nobody_among_enough_neighbours() {
    let (said, other) = (wording("550 kielletty"), wording("550 tapahtuma"));
    let nobody = Invented::Undecided(said);
    for (evidence, held, due) in [
        (evidence(nobody, 2, true), &[said][..], vec![true]),
        (evidence(nobody, 3, true), &[said, other, said], vec![true, false, true]),
        (evidence(nobody, 2, true), &[said, other, other], vec![true, false, false]),
        (evidence(nobody, 3, true), &[said, said, said], vec![false; 3]),
        (evidence(nobody, 4, true), &[said, said, said], vec![true; 3]),
        (evidence(nobody, 1, true), &[said], vec![false]),
        (evidence(nobody, 9, false), &[said], vec![false]),
        (evidence(nobody, 9, true), &[other], vec![false]),
        (evidence(Invented::Known, 9, true), &[said], vec![false]),
        (evidence(Invented::Accepted, 9, true), &[said], vec![false]),
        (evidence(Invented::Unknown, 9, true), &[said], vec![false]),
        (evidence(nobody, 9, true), &[], vec![]),
    ] {
        assert_eq!(evidence.decide(held), due, "{evidence:?} {held:?}");
    }
}

#[test]
fn one_person_counts_once_and_a_role_not_at_all() {
    let count = |names: &[&str]| {
        let addresses: Vec<_> = names
            .iter()
            .map(|name| Address::parse(&format!("{name}@victim.example")).unwrap())
            .collect();
        people(&addresses)
    };
    assert_eq!(count(&["ann", "bob"]), 2);
    assert_eq!(count(&["ann", "Ann", "ann+x", "ANN+y"]), 1);
    assert_eq!(count(&["ann", "postmaster", "info", "sales+x"]), 1);
    assert_eq!(count(&[]), 0);
}
