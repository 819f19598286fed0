//! The results of a scan, by position.

use std::collections::HashMap;

use rcpt_client::{Client, Deliverability, ScanResult};
use rcpt_lists::{Answer, Part};
use serde_json::Value;

use super::{list::List, progress::Progress};
use crate::{
    args,
    failure::{Failure, Kind},
};

#[derive(Debug, Default)]
pub struct Verdicts {
    reasons: Vec<String>,
    numbers: HashMap<String, u16>,
    rows: Vec<Option<VerdictRow>>,
}

#[derive(Debug, Clone, Copy)]
struct VerdictRow {
    verdict: Deliverability,
    reason: u16,
    disposable: Option<bool>,
    role: Option<bool>,
    free: Option<bool>,
    is_final: bool,
}

impl Verdicts {
    pub fn fetch(
        client: &Client,
        id: &str,
        total: usize,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let mut verdicts = Self { rows: vec![None; total], ..Self::default() };
        let mut after = None;
        loop {
            let page = client.results(id, after)?;
            for result in page.results {
                let row = verdicts.row(&result);
                if let Some(place) = verdicts.rows.get_mut(result.position) {
                    *place = Some(row);
                }
                progress.say(format!("fetching {}", result.position));
            }
            match page.next {
                Some(next) if after.is_none_or(|after| next > after) => after = Some(next),
                Some(_) => break,
                None => break,
            }
        }
        let missing = verdicts.rows.iter().filter(|row| row.is_none()).count();
        if missing == 0 {
            return Ok(verdicts);
        }
        let message = format!(
            "The service has no result for {missing} of {total} addresses yet. Run the same command again."
        );
        Err(Failure::new(Kind::Service, message))
    }

    fn row(&mut self, result: &ScanResult) -> VerdictRow {
        let text = |name: &str| result.further.get(name).and_then(Value::as_str);
        let is = |name: &str| result.further.get(name).and_then(Value::as_bool);
        let reason = self.number(text("reason").unwrap_or_else(|| result.status.as_str()));
        VerdictRow {
            verdict: result.verdict,
            reason,
            disposable: is("disposable"),
            role: is("role_account"),
            free: is("free_provider"),
            is_final: is("final").unwrap_or(true),
        }
    }

    fn number(&mut self, reason: &str) -> u16 {
        if let Some(number) = self.numbers.get(reason) {
            return *number;
        }
        let number = u16::try_from(self.reasons.len()).unwrap_or(u16::MAX);
        self.reasons.push(reason.to_owned());
        self.numbers.insert(reason.to_owned(), number);
        number
    }

    fn answer(&self, position: u32) -> Option<Answer> {
        let row = (*self.rows.get(usize::try_from(position).ok()?)?)?;
        Some(Answer {
            verdict: row.verdict,
            reason: self.reasons.get(usize::from(row.reason)).cloned().unwrap_or_default(),
            disposable: row.disposable,
            role: row.role,
            free: row.free,
            is_final: row.is_final,
        })
    }

    pub fn copy(&self, list: &List, args: &args::Scan) -> Vec<u8> {
        let answer = |position| self.answer(position);
        let only = |positions: &[u32], verdict: Option<Deliverability>| {
            let is_wanted =
                args.only.is_empty() || verdict.is_some_and(|verdict| args.only.contains(&verdict));
            let mut answers = positions.iter().filter_map(|position| answer(*position));
            is_wanted && !(args.without_traits && answers.any(|answer| answer.has_traits()))
        };
        let part = Part { answer: &answer, only: &only, split: args.split_cells };
        let book = list.book.as_ref();
        let book = book.and_then(|book| list.read.workbook_copy(book, &list.plan, &part));
        book.unwrap_or_else(|| list.read.copy(&list.plan, &part))
    }
}
