//! The copy of a list with verdicts: the bytes of the file, and our columns in its dialect.

use rcpt_shared::Deliverability;

use crate::{
    cell::{Problem, Subject, subject},
    list::{Item, Kind, List},
    plan::{Plan, RowPlan},
    rows::{Cell, Form},
    source::Edit,
};

pub const COLUMNS: [&str; 7] = [
    "rcpt_verdict",
    "rcpt_reason",
    "rcpt_suggestion",
    "rcpt_disposable",
    "rcpt_role",
    "rcpt_free",
    "rcpt_final",
];

/// The verdict of a cell that isn't an address, in the copy alone: mail to it wouldn't come back, it can't be sent.
pub const NOT_AN_ADDRESS: &str = "not_an_address";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Deliverability,
    pub reason: String,
    pub disposable: Option<bool>,
    pub role: Option<bool>,
    pub free: Option<bool>,
    /// A retry can't change the verdict any more.
    pub is_final: bool,
}

pub struct Part<'a> {
    pub answer: &'a dyn Fn(u32) -> Option<Answer>,
    /// Selects rows by their positions and verdict, which rows without an address don't have.
    pub only: &'a dyn Fn(&[u32], Option<Deliverability>) -> bool,
    /// A row with several addresses in its cell becomes a row for each.
    pub split: bool,
}

pub(crate) struct Written {
    pub columns: [String; COLUMNS.len()],
    pub alone: Option<String>,
}

/// `rcpt-workbooks` explains the members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SheetCopy {
    pub columns: Vec<u32>,
    pub address: u32,
    pub numbers: Vec<u32>,
    pub values: Vec<String>,
    pub alone: Vec<String>,
    pub dropped: Vec<u32>,
}

impl Answer {
    #[must_use]
    pub fn has_traits(&self) -> bool {
        self.disposable == Some(true) || self.role == Some(true)
    }
}

impl List {
    #[must_use]
    pub fn copy(&self, plan: &Plan, part: &Part<'_>) -> Vec<u8> {
        let mut to = self.source.mark().to_vec();
        let mut row = 0;
        let mut is_ended = true;
        for item in &self.items {
            let rows = match item.kind {
                Kind::Above | Kind::Blank => vec![None],
                Kind::Header => {
                    vec![Some(Written { columns: COLUMNS.map(str::to_owned), alone: None })]
                }
                Kind::Data => {
                    row += 1;
                    self.written(row - 1, plan, part).into_iter().map(Some).collect()
                }
            };
            for written in &rows {
                if !is_ended {
                    to.extend_from_slice(b"\n");
                }
                self.write(item, written.as_ref(), &mut to);
                is_ended = item.row.next > item.row.end;
            }
        }
        to
    }

    pub(crate) fn written(&self, row: usize, plan: &Plan, part: &Part<'_>) -> Vec<Written> {
        let Some(planned) = plan.rows.get(row) else { return Vec::new() };
        let is_wanted = |positions: &[u32], verdict| (part.only)(positions, verdict);
        if let (true, RowPlan::Several(positions)) = (part.split, planned) {
            let each = positions.iter().map(|position| {
                let (columns, verdict) =
                    self.row_columns(row, &RowPlan::Position(*position), plan, part.answer);
                let alone = Some(plan.address(*position).to_owned());
                is_wanted(&[*position], verdict).then_some(Written { columns, alone })
            });
            return each.flatten().collect();
        }
        let (columns, verdict) = self.row_columns(row, planned, plan, part.answer);
        let written = is_wanted(planned.positions(), verdict);
        written.then_some(Written { columns, alone: None }).into_iter().collect()
    }

    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn workbook_copy(&self, book: &[u8], plan: &Plan, part: &Part<'_>) -> Option<Vec<u8>> {
        let sheet = self.workbook.as_ref().filter(|_| rcpt_workbooks::is_xlsx(book))?.sheet;
        let SheetCopy { columns, address, numbers, values, alone, dropped } =
            self.sheet_copy(plan, part);
        let additions =
            rcpt_workbooks::Additions { sheet, columns, address, numbers, values, alone, dropped };
        rcpt_workbooks::copy(book, &additions).ok()
    }

    #[must_use]
    pub fn sheet_copy(&self, plan: &Plan, part: &Part<'_>) -> SheetCopy {
        let index = |column: usize| u32::try_from(column).unwrap_or(u32::MAX);
        let columns = self.replaced.iter().copied().chain(self.width..).map(index);
        let mut copy = SheetCopy {
            columns: columns.take(COLUMNS.len()).collect(),
            address: self.column().map_or(u32::MAX, index),
            ..SheetCopy::default()
        };
        let mut row = 0;
        for (at, item) in self.items.iter().enumerate() {
            let number = self.number_of(at);
            let rows = match item.kind {
                Kind::Above | Kind::Blank => continue,
                Kind::Header => vec![Written { columns: COLUMNS.map(str::to_owned), alone: None }],
                Kind::Data => {
                    row += 1;
                    self.written(row - 1, plan, part)
                }
            };
            if rows.is_empty() {
                copy.dropped.push(number);
            }
            for Written { columns, alone } in rows {
                copy.numbers.push(number);
                copy.values.extend(columns);
                copy.alone.push(alone.unwrap_or_default());
            }
        }
        copy
    }

    fn row_columns(
        &self,
        row: usize,
        planned: &RowPlan,
        plan: &Plan,
        answer: &dyn Fn(u32) -> Option<Answer>,
    ) -> ([String; COLUMNS.len()], Option<Deliverability>) {
        let none = || [const { String::new() }; COLUMNS.len()];
        let answers: Vec<_> = planned.positions().iter().filter_map(|at| answer(*at)).collect();
        let columns = match planned {
            RowPlan::Empty | RowPlan::NotInScan => none(),
            RowPlan::NotAnAddress => match subject(&self.cell(row)) {
                Subject::NotAnAddress(problem) => self.problem(row, problem),
                Subject::Empty | Subject::Addresses(_) => none(),
            },
            RowPlan::Position(position) => match answers.first() {
                Some(answer) => [
                    answer.verdict.as_str().to_owned(),
                    answer.reason.clone(),
                    plan.meant(*position, &answer.reason).unwrap_or_default(),
                    word(answer.disposable),
                    word(answer.role),
                    word(answer.free),
                    answer.is_final.to_string(),
                ],
                None => none(),
            },
            // A row is as bad as its worst address. Until all have a verdict, none is known to be the worst.
            RowPlan::Several(positions) if answers.len() == positions.len() => {
                let any = |trait_of: fn(&Answer) -> Option<bool>| {
                    let known: Vec<_> = answers.iter().filter_map(trait_of).collect();
                    word((!known.is_empty()).then(|| known.contains(&true)))
                };
                let named = positions.iter().zip(&answers).map(|(position, answer)| {
                    let address = plan.address(*position);
                    format!("{address} {}: {}", answer.verdict.as_str(), answer.reason)
                });
                [
                    worst(answers.iter().map(|answer| answer.verdict))
                        .map_or("", Deliverability::as_str)
                        .to_owned(),
                    named.collect::<Vec<_>>().join("; "),
                    String::new(),
                    any(|answer| answer.disposable),
                    any(|answer| answer.role),
                    any(|answer| answer.free),
                    answers.iter().all(|answer| answer.is_final).to_string(),
                ]
            }
            RowPlan::Several(_) => none(),
        };
        let is_complete = answers.len() == planned.positions().len();
        let verdict = worst(answers.iter().map(|answer| answer.verdict)).filter(|_| is_complete);
        (columns, verdict)
    }

    /// If a comma without quotes has shifted the row, the address of the next columns is suggested.
    fn problem(&self, row: usize, problem: Problem) -> [String; COLUMNS.len()] {
        let suggestion = problem.suggestion.or_else(|| self.shifted_address(row));
        let mut columns = [const { String::new() }; COLUMNS.len()];
        let values = [NOT_AN_ADDRESS.to_owned(), problem.sentence, suggestion.unwrap_or_default()];
        for (column, value) in columns.iter_mut().zip(values) {
            *column = value;
        }
        columns
    }

    fn write(&self, item: &Item, written: Option<&Written>, to: &mut Vec<u8>) {
        let row = item.row;
        let Some(Written { columns, alone }) = written else {
            return self.source.write(row.start..row.next, &[], to);
        };
        let cells = row.cells(self.source.text(), self.delimiter);
        let delimiter = char::from(self.delimiter).to_string();
        let mut edits: Vec<Edit> = Vec::new();
        for (column, cell) in cells.iter().enumerate() {
            if self.replaced.contains(&column) {
                // With the delimiter before it; of the first column, with the one after it.
                let range = match column {
                    0 => {
                        cell.range.start
                            ..cells.get(1).map_or(cell.range.end, |next| next.range.start)
                    }
                    _ => cell.range.start - 1..cell.range.end,
                };
                edits.push(Edit { range, by: String::new() });
            } else if let Some(address) = alone.as_ref().filter(|_| self.column() == Some(column)) {
                let by = quoted(address, self.delimiter);
                edits.push(Edit { range: cell.range.clone(), by });
            } else {
                self.repair(cell, &mut edits);
            }
        }
        let missing = self.width.saturating_sub(cells.len());
        let kept_missing =
            (cells.len()..self.width).filter(|it| !self.replaced.contains(it)).count();
        let mut ours = delimiter.repeat(kept_missing.min(missing));
        for value in columns {
            let value = if self.source.can_hold(value) { value.as_str() } else { "" };
            ours.push_str(&delimiter);
            ours.push_str(&quoted(&guarded(value), self.delimiter));
        }
        edits.push(Edit { range: row.end..row.end, by: ours });
        merge(&mut edits);
        self.source.write(row.start..row.next, &edits, to);
    }

    /// A quote that is read as a character is written so that every program reads it so, and a text that looks like a
    /// formula so that none runs it.
    fn repair(&self, cell: &Cell, edits: &mut Vec<Edit>) {
        let text = self.source.text();
        let written = text.get(cell.range.clone()).unwrap_or_default();
        let insert = |at: usize, by: &str| Edit { range: at..at, by: by.to_owned() };
        if cell.form == Form::Stray {
            edits.push(insert(cell.range.start, "\""));
            let quotes = written.match_indices('"');
            edits.extend(quotes.map(|(at, _)| insert(cell.range.start + at, "\"")));
            edits.push(insert(cell.range.end, "\""));
        }
        if self.workbook.is_some() && guarded(&cell.value(text)).starts_with('\'') {
            let value = cell.value(text);
            if guarded(&value) != value {
                let inside = match &cell.form {
                    Form::Quoted(inner) => inner.start,
                    Form::Plain | Form::Stray => cell.range.start,
                };
                edits.push(insert(inside, "'"));
            }
        }
    }

    fn shifted_address(&self, row: usize) -> Option<String> {
        let mut found =
            self.cells(row).into_iter().filter(|cell| crate::delimiter::is_address(cell));
        match (found.next(), found.next()) {
            (Some(address), None) => Some(address.trim().to_owned()),
            _ => None,
        }
    }
}

/// Mail to a cell goes to all of its addresses, so the worst verdict counts. An unknown one may be as bad as an
/// undeliverable one.
fn worst(verdicts: impl Iterator<Item = Deliverability>) -> Option<Deliverability> {
    verdicts.max_by_key(|verdict| match verdict {
        Deliverability::Deliverable => 0,
        Deliverability::Risky => 1,
        Deliverability::Unknown => 2,
        Deliverability::Undeliverable => 3,
    })
}

fn merge(edits: &mut Vec<Edit>) {
    edits.dedup_by(|next, before| {
        let is_adjacent = before.range.end == next.range.start;
        if is_adjacent {
            before.range.end = next.range.end;
            before.by.push_str(&next.by);
        }
        is_adjacent
    });
}

pub(crate) fn replaced(headings: &[String]) -> Vec<usize> {
    let is_ours = |heading: &String| COLUMNS.contains(&heading.trim());
    let columns = headings.iter().enumerate();
    columns.filter(|(_, heading)| is_ours(heading)).map(|(column, _)| column).collect()
}

fn word(value: Option<bool>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(crate) fn quoted(text: &str, delimiter: u8) -> String {
    let needs =
        text.contains([char::from(delimiter), '"', '\r', '\n']) || text.trim().len() < text.len();
    if needs { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Puts an apostrophe before a text that a spreadsheet would read as a formula.
fn guarded(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let is_number = text.parse::<f64>().is_ok();
    if is_formula && !is_number { format!("'{text}") } else { text.to_owned() }
}
