//! The interface of the portal, which runs the crate in a worker of the page.

use rcpt_shared::Deliverability;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Answer, Choices, Column, Counts, ENCODINGS, List, NotAList, Part, Plan, Repeats, RowPlan,
    Sheet, SheetCopy, read, read_pasted, subject,
};

#[wasm_bindgen(js_name = ReadList)]
pub struct ReadList {
    list: List,
    plan: Plan,
}

/// The portal prints curved apostrophes.
fn printed(sentence: &impl ToString) -> String {
    sentence.to_string().replace('\'', "\u{2019}")
}

#[wasm_bindgen(js_name = readSheet)]
pub fn read_sheet(
    csv: &str,
    sheets: Vec<String>,
    sheet: usize,
    others: Vec<usize>,
    numbers: Vec<u32>,
    column: Option<usize>,
) -> Result<ReadList, String> {
    let choices = Choices { column: column.map(Column::Number), ..Choices::default() };
    let sheet = Sheet { sheets, sheet, others, numbers };
    let list = crate::read_sheet(csv, sheet, &choices).map_err(|error| printed(&error))?;
    Ok(ReadList { list, plan: Plan::default() })
}

#[wasm_bindgen]
pub fn unreadable(word: &str) -> String {
    printed(&match word.split_once('\n') {
        Some((what, advice)) => NotAList::Other(what.to_owned(), advice.to_owned()),
        None if word == "too-large" => NotAList::TooLarge,
        None => NotAList::Workbook,
    })
}

/// Reads a file, or a pasted text. Throws a sentence if it isn't a list.
#[wasm_bindgen(js_name = readList)]
pub fn read_list(
    bytes: Vec<u8>,
    pasted: bool,
    encoding: Option<String>,
    delimiter: Option<u8>,
    column: Option<usize>,
) -> Result<ReadList, String> {
    let column = column.map(Column::Number);
    let choices = Choices { encoding, delimiter, column, sheet: None };
    let read = if pasted { read_pasted } else { read };
    let list = read(bytes, &choices).map_err(|error| printed(&error))?;
    let plan = Plan::default();
    Ok(ReadList { list, plan })
}

#[wasm_bindgen]
pub fn encodings() -> Vec<String> {
    ENCODINGS.map(str::to_owned).to_vec()
}

#[wasm_bindgen(js_class = ReadList)]
impl ReadList {
    pub fn choose(&mut self, column: usize) {
        self.list.choose(Some(&Column::Number(column)));
    }

    #[wasm_bindgen(getter)]
    pub fn column(&self) -> Option<usize> {
        self.list.column()
    }

    #[wasm_bindgen(getter)]
    pub fn columns(&self) -> Vec<String> {
        (0..self.list.width()).map(|column| self.list.column_name(column)).collect()
    }

    #[wasm_bindgen(getter, js_name = otherColumns)]
    pub fn other_columns(&self) -> Vec<usize> {
        self.list.other_columns().to_vec()
    }

    #[wasm_bindgen(getter, js_name = hasHeadings)]
    pub fn has_headings(&self) -> bool {
        self.list.headings().is_some()
    }

    #[wasm_bindgen(getter)]
    pub fn delimiter(&self) -> u8 {
        self.list.delimiter()
    }

    #[wasm_bindgen(getter)]
    pub fn encoding(&self) -> String {
        self.list.encoding().name.to_owned()
    }

    #[wasm_bindgen(getter)]
    pub fn words(&self) -> Vec<String> {
        self.list.encoding().words.clone()
    }

    #[wasm_bindgen(getter, js_name = isGuess)]
    pub fn is_guess(&self) -> bool {
        self.list.encoding().is_guess
    }

    #[wasm_bindgen(getter)]
    pub fn sheets(&self) -> Vec<String> {
        self.list.sheets().map_or_else(Vec::new, |(names, _)| names.to_vec())
    }

    #[wasm_bindgen(getter)]
    pub fn sheet(&self) -> usize {
        self.list.sheets().map_or(0, |(_, sheet)| sheet)
    }

    #[wasm_bindgen(getter)]
    pub fn notices(&self) -> Vec<String> {
        self.list.notices().iter().map(printed).collect()
    }

    pub fn values(&self, count: usize) -> Vec<String> {
        let cells = (0..self.list.len()).map(|row| self.list.cell(row).into_owned());
        cells.filter(|cell| !cell.trim().is_empty()).take(count).collect()
    }

    /// The numbers of rows, addresses, repeats, texts that aren't addresses, empty cells, cells with several addresses,
    /// and rows that a joined scan doesn't have.
    pub fn plan(&mut self, once: bool, case_matters: bool) -> Vec<usize> {
        self.plan = self.list.plan(Repeats { once, case_matters });
        self.counts()
    }

    /// The tags of a scan of this plan, to be kept for [`ReadList::join`].
    pub fn tags(&self, scan: &str, case_matters: bool) -> Vec<u8> {
        self.plan.tags(scan, case_matters)
    }

    /// The numbers of [`ReadList::plan`].
    pub fn join(&mut self, scan: &str, tags: &[u8], case_matters: bool) -> Vec<usize> {
        self.plan = self.list.joined(scan, tags, case_matters);
        self.counts()
    }

    fn counts(&self) -> Vec<usize> {
        let counts = self.plan.counts;
        let Counts { rows, addresses, repeated, not_an_address, empty, several, not_in_scan } =
            counts;
        [rows, addresses, repeated, not_an_address, empty, several, not_in_scan].to_vec()
    }

    pub fn addresses(&self) -> Vec<String> {
        self.plan.addresses.clone()
    }

    /// The number in the file of each position's first row; 0 if the joined list doesn't have it.
    pub fn numbers(&self) -> Vec<u32> {
        let number = |row: &u32| self.list.number(usize::try_from(*row).unwrap_or(usize::MAX));
        self.plan.first_rows.iter().map(number).collect()
    }

    /// The rows that can't be read as addresses, as triples of number, problem and suggestion; at most `count`.
    pub fn problems(&self, count: usize) -> Vec<String> {
        let rows = self.plan.rows.iter().enumerate();
        let rows = rows.filter(|(_, row)| **row == RowPlan::NotAnAddress).take(count);
        let of = |(row, _): (usize, &RowPlan)| match subject(&self.list.cell(row)) {
            crate::Subject::NotAnAddress(problem) => {
                let number = self.list.number(row).to_string();
                [number, printed(&problem.sentence), problem.suggestion.unwrap_or_default()]
            }
            _ => [const { String::new() }; 3],
        };
        rows.flat_map(of).collect()
    }

    /// The addresses that were probably meant, by position; `codes` and `reasons` as of [`ReadList::copy`].
    pub fn meant(&self, codes: &[u32], reasons: Vec<String>) -> Vec<String> {
        let reason = |code: u32| reasons.get(usize::try_from(code >> 10).ok()?);
        let meant = |(code, position): (&u32, u32)| self.plan.meant(position, reason(*code)?);
        codes.iter().zip(0..).map(|each| meant(each).unwrap_or_default()).collect()
    }

    /// The copy with verdicts. `codes` has a number for each position: a verdict's number from 1 in bits 0 to 2 (0 if
    /// there is none), throw-away, role and free provider in two bits each (0 unknown, 1 no, 2 yes), a bit for final
    /// verdicts, and the reason's index in `reasons`. `only` is a set of the verdicts' bits; 0 means all rows.
    pub fn copy(
        &self,
        codes: &[u32],
        reasons: Vec<String>,
        only: u8,
        without_traits: bool,
        split: bool,
    ) -> Vec<u8> {
        let answer = |position| answer(codes, &reasons, position);
        let only = |positions: &[u32], verdict| {
            is_wanted(only, without_traits, verdict, positions, &answer)
        };
        self.list.copy(&self.plan, &Part { answer: &answer, only: &only, split })
    }

    #[wasm_bindgen(js_name = sheetCopy)]
    pub fn sheet_copy(
        &self,
        codes: &[u32],
        reasons: Vec<String>,
        only: u8,
        without_traits: bool,
        split: bool,
    ) -> CopiedSheet {
        let answer = |position| answer(codes, &reasons, position);
        let only = |positions: &[u32], verdict| {
            is_wanted(only, without_traits, verdict, positions, &answer)
        };
        CopiedSheet(self.list.sheet_copy(&self.plan, &Part { answer: &answer, only: &only, split }))
    }
}

fn answer(codes: &[u32], reasons: &[String], position: u32) -> Option<Answer> {
    let code = *codes.get(usize::try_from(position).ok()?)?;
    let part = |from: u32, bits: u32| (code >> from) & ((1 << bits) - 1);
    let known = |from: u32| match part(from, 2) {
        0 => None,
        value => Some(value == 2),
    };
    let verdict = usize::try_from(part(0, 3)).ok()?.checked_sub(1)?;
    let reason = reasons.get(usize::try_from(code >> 10).ok()?);
    Some(Answer {
        verdict: *Deliverability::ALL.get(verdict)?,
        reason: reason.cloned().unwrap_or_default(),
        disposable: known(3),
        role: known(5),
        free: known(7),
        is_final: part(9, 1) == 1,
    })
}

fn is_wanted(
    only: u8,
    without_traits: bool,
    verdict: Option<Deliverability>,
    positions: &[u32],
    answer: &dyn Fn(u32) -> Option<Answer>,
) -> bool {
    let bit =
        |verdict| Deliverability::ALL.iter().position(|it| *it == verdict).map_or(0, |at| 1 << at);
    let is_wanted = only == 0 || verdict.is_some_and(|verdict| only & bit(verdict) != 0);
    let mut answers = positions.iter().filter_map(|position| answer(*position));
    is_wanted && !(without_traits && answers.any(|answer| answer.has_traits()))
}

#[wasm_bindgen(js_name = CopiedSheet)]
pub struct CopiedSheet(SheetCopy);

#[wasm_bindgen(js_class = CopiedSheet)]
impl CopiedSheet {
    #[wasm_bindgen(getter)]
    pub fn columns(&self) -> Vec<u32> {
        self.0.columns.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn address(&self) -> u32 {
        self.0.address
    }

    #[wasm_bindgen(getter)]
    pub fn numbers(&self) -> Vec<u32> {
        self.0.numbers.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn values(&self) -> Vec<String> {
        self.0.values.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn alone(&self) -> Vec<String> {
        self.0.alone.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn dropped(&self) -> Vec<u32> {
        self.0.dropped.clone()
    }
}
