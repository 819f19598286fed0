//! How many replies of real servers get the verdict they should.

use anyhow::{Context as _, Result};
use rcpt_origin::{smtp::Reply, verdict::judge};
use rcpt_shared::{Reason, Stage, Status};

use crate::figure::Figure;

const GOLDEN: &str = include_str!("../../src/verdict/tests/golden.txt");
/// With one more column, before the reply: where it was seen.
const SEEN: [&str; 3] = [
    include_str!("../../src/verdict/tests/seen.txt"),
    include_str!("../../src/verdict/tests/seen/providers.txt"),
    include_str!("../../src/verdict/tests/seen/software.txt"),
];

/// How many of the replies of real servers get the verdict they should, and how many of those that do
/// not speak of the mailbox are told as `false`.
pub fn measure() -> Result<Vec<Figure>> {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let golden = GOLDEN.lines().filter(is_row).map(|row| (row, 0));
    let seen = SEEN.into_iter().flat_map(str::lines).filter(is_row).map(|row| (row, 1));
    let (mut all, mut right, mut false_no) = (0, 0, 0);
    for (row, skipped) in golden.chain(seen) {
        let (stage, status, reason, reply) =
            columns(row, skipped).with_context(|| format!("not a row: {row}"))?;
        let told = judge(stage, &reply);
        all += 1;
        right += usize::from(told.status.as_str() == status && told.reason == reason);
        false_no += usize::from(told.status == Status::Refused && status != "false");
    }
    Ok(vec![
        Figure::new("corpus_accuracy", right as f64 / all as f64, "share", all),
        Figure::new("false_no", false_no as f64, "replies", all),
    ])
}

fn columns(row: &str, skipped: usize) -> Option<(Stage, &str, Reason, Reply)> {
    let mut columns = row.splitn(5 + skipped, " | ").skip(1);
    let stage = serde_json::from_value(columns.next()?.into()).ok()?;
    let status = columns.next()?;
    let reason = serde_json::from_value(columns.next()?.into()).ok()?;
    let reply = Reply::parse(&(columns.nth(skipped)?.replace("\\n", "\r\n") + "\r\n"))?;
    Some((stage, status, reason, reply))
}
