//! The replies of `golden.txt`.

use rcpt_shared::{Reason, Stage, Status};
use serde_json::{Value, from_value};

use super::{Case, check};

const GOLDEN: &str = include_str!("golden.txt");

fn cases() -> Vec<Case> {
    let rows = GOLDEN.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| case(row).unwrap_or_else(|| panic!("not a case: {row}"))).collect()
}

fn case(row: &'static str) -> Option<Case> {
    let mut columns = row.splitn(5, " | ");
    let mut column = || columns.next();
    let (name, stage, status, reason, raw) =
        (column()?, column()?, column()?, column()?, column()?);
    let status = Status::ALL.into_iter().find(|known| known.as_str() == status)?;
    let reason = Reason::ALL.into_iter().find(|known| known.as_str() == reason)?;
    let stage: Stage = from_value(Value::from(stage)).ok()?;
    Some((name, stage, raw, status, reason))
}

#[test]
fn real_replies_get_their_verdict() {
    let cases = cases();
    assert!(cases.len() >= 300, "{} replies", cases.len());
    check(&cases);
}
