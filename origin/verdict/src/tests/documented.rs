//! `docs/verdicts.md` contains exactly these rules, in this order.

use rcpt_shared::Stage;

use crate::rules::{self, Rule};

const DOCUMENT: &str = include_str!("../../../../docs/verdicts.md");

#[test]
fn each_rule_stands_in_the_document_in_its_order() {
    let rules = [(Stage::Mail, 550), (Stage::Rcpt, 250), (Stage::Rcpt, 450), (Stage::Rcpt, 550)]
        .into_iter()
        .flat_map(|(stage, code)| rules::of(stage, code));
    let due: Vec<String> = rules.map(Rule::documented).collect();
    let is_rule = |line: &&str| {
        ["early.", "2yz.", "4yz.", "5yz."]
            .iter()
            .any(|table| line.strip_prefix("| `").is_some_and(|name| name.starts_with(table)))
    };
    let written: Vec<_> = DOCUMENT.lines().filter(is_rule).collect();
    for (number, due) in due.iter().enumerate() {
        let line = written.get(number).copied().unwrap_or_default();
        assert!(line.starts_with(due.as_str()), "row {number}\nwritten: {line}\nrule:    {due}");
    }
    assert_eq!(written.len(), due.len(), "the document has rules that do not exist");
}
