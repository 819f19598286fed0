//! Accuracy of the verdicts: a table of given and correct statuses for all replies of the corpus. The results are printed
//! and written to `target/bench/verdicts.json`.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context as _, Result};
use rcpt_shared::{Reason, Stage, Status};
use rcpt_smtp::Reply;
use rcpt_verdict::{Parties, judge};
use serde::Serialize;

use crate::figure::Figure;

/// Name and text of each corpus; true if a column before the reply names its source.
const CORPORA: [(&str, &str, bool); 7] = [
    ("golden", include_str!("../../../origin/verdict/src/tests/golden.txt"), false),
    ("seen", include_str!("../../../origin/verdict/src/tests/seen.txt"), true),
    ("seen_providers", include_str!("../../../origin/verdict/src/tests/seen/providers.txt"), true),
    ("seen_software", include_str!("../../../origin/verdict/src/tests/seen/software.txt"), true),
    ("seen_pages", include_str!("../../../origin/verdict/src/tests/seen/pages.txt"), true),
    (
        "refusals_in_languages",
        include_str!("../../../origin/verdict/src/tests/languages/refusals.txt"),
        true,
    ),
    (
        "dead_in_languages",
        include_str!("../../../origin/verdict/src/tests/languages/dead.txt"),
        true,
    ),
];

#[derive(Debug, Serialize)]
struct Report {
    /// Numbers of replies and of correct verdicts, by corpus.
    corpora: BTreeMap<&'static str, Share>,
    /// Given status → correct status → number of replies.
    given_by_right: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
    /// Replies that are reported as `false` although another status is correct.
    false_no: Vec<String>,
    /// Replies with a wrong status.
    wrong: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Share {
    replies: usize,
    right: usize,
    /// Number of replies whose reason, if the corpus names one, is also correct.
    right_reason: usize,
}

struct Row {
    name: &'static str,
    stage: Stage,
    status: Status,
    /// `None` if any reason of the status is correct.
    reason: Option<Reason>,
    reply: Reply,
}

pub fn measure() -> Result<Vec<Figure>> {
    let mut report = Report {
        corpora: BTreeMap::new(),
        given_by_right: BTreeMap::new(),
        false_no: Vec::new(),
        wrong: Vec::new(),
    };
    for (name, text, has_source) in CORPORA {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            let row = row(line, has_source).with_context(|| format!("not a row: {line}"))?;
            report.add(name, &row);
        }
    }
    report.print();
    report.write()?;
    let all: usize = report.corpora.values().map(|share| share.replies).sum();
    let earlier = report.corpora.iter().filter(|(name, _)| !name.ends_with("languages"));
    let (replies, right) = earlier.fold((0, 0), |(replies, right), (_, share)| {
        (replies + share.replies, right + share.right_reason)
    });
    let dead = report.corpora.get("dead_in_languages").context("no dead mailboxes")?;
    let share = |part: usize, of: usize| part as f64 / of as f64;
    Ok(vec![
        Figure::new("corpus_accuracy", share(right, replies), "share", replies),
        Figure::new("false_no", report.false_no.len() as f64, "replies", all),
        Figure::new("dead_told", share(dead.right, dead.replies), "share", dead.replies),
    ])
}

impl Report {
    fn add(&mut self, corpus: &'static str, row: &Row) {
        let finding = judge(row.stage, &row.reply, &Parties::default());
        let right = finding.status == row.status;
        let share = self.corpora.entry(corpus).or_default();
        share.replies += 1;
        share.right += usize::from(right);
        let reason = row.reason.is_none_or(|reason| reason == finding.reason);
        share.right_reason += usize::from(right && reason);
        let given = self.given_by_right.entry(finding.status.as_str()).or_default();
        *given.entry(row.status.as_str()).or_default() += 1;
        let name = || format!("{}: {}", row.name, row.reply.text().replace('\n', " "));
        if finding.status == Status::Refused && !right {
            self.false_no.push(name());
        }
        if !right {
            self.wrong.push(name());
        }
    }

    fn print(&self) {
        let right: Vec<_> = Status::ALL
            .map(Status::as_str)
            .into_iter()
            .filter(|name| self.given_by_right.values().any(|row| row.contains_key(name)))
            .collect();
        println!("{:<22}{}", "given \\ right", line(&right, |name| name.to_owned()));
        for (given, row) in &self.given_by_right {
            let count = |name: &str| row.get(name).copied().unwrap_or_default();
            println!("{given:<22}{}", line(&right, |name| count(name).to_string()));
        }
    }

    fn write(&self) -> Result<()> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("verdicts.json"), serde_json::to_string_pretty(self)? + "\n")?;
        Ok(())
    }
}

fn row(line: &'static str, has_source: bool) -> Option<Row> {
    let columns: Vec<_> = line.splitn(5 + usize::from(has_source), " | ").collect();
    let [name, stage, status, reason, .., reply] = columns[..] else { return None };
    Some(Row {
        name,
        stage: serde_json::from_value(stage.into()).ok()?,
        status: Status::ALL.into_iter().find(|known| known.as_str() == status)?,
        reason: match reason {
            "*" => None,
            name => Some(Reason::ALL.into_iter().find(|known| known.as_str() == name)?),
        },
        reply: Reply::parse(&(reply.replace("\\n", "\r\n") + "\r\n"))?,
    })
}

fn line(names: &[&str], cell: impl Fn(&str) -> String) -> String {
    names.iter().map(|name| format!("{:>20}", cell(name))).collect()
}
