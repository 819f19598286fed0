//! The interface of the portal, which runs the crate in a worker of the page.

use rcpt_shared::Deliverability;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Answer, Choices, Column, Counts, ENCODINGS, List, NotAList, Plan, Repeats, RowPlan, Sheet,
    read, read_pasted, subject,
};

/// A list that was read, with its plan.
#[wasm_bindgen(js_name = ReadList)]
pub struct ReadList {
    list: List,
    plan: Plan,
}

/// The portal prints curved apostrophes.
fn printed(sentence: &impl ToString) -> String {
    sentence.to_string().replace('\'', "\u{2019}")
}

/// Reads a sheet that the other module has read as CSV.
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

/// The sentence about a workbook that can't be read, by the other module's word.
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

/// The encodings that can be chosen.
#[wasm_bindgen]
pub fn encodings() -> Vec<String> {
    ENCODINGS.map(str::to_owned).to_vec()
}

#[wasm_bindgen(js_class = ReadList)]
impl ReadList {
    /// Chooses the column by its index.
    pub fn choose(&mut self, column: usize) {
        self.list.choose(Some(&Column::Number(column)));
    }

    #[wasm_bindgen(getter)]
    pub fn column(&self) -> Option<usize> {
        self.list.column()
    }

    /// The heading of each column, or its number.
    #[wasm_bindgen(getter)]
    pub fn columns(&self) -> Vec<String> {
        (0..self.list.width()).map(|column| self.list.column_name(column)).collect()
    }

    /// Columns with addresses besides the chosen one.
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

    /// Names of a workbook's sheets; empty for other files.
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

    /// The first filled cells of the column.
    pub fn values(&self, count: usize) -> Vec<String> {
        let cells = (0..self.list.len()).map(|row| self.list.cell(row).into_owned());
        cells.filter(|cell| !cell.trim().is_empty()).take(count).collect()
    }

    /// Plans the checks. Returns the numbers of rows, addresses, repeats, texts that aren't addresses, empty cells,
    /// cells with several addresses, and rows that a joined scan doesn't have.
    pub fn plan(&mut self, once: bool, case_matters: bool) -> Vec<usize> {
        self.plan = self.list.plan(Repeats { once, case_matters });
        self.counts()
    }

    /// The tags of a scan of this plan, to be kept for [`ReadList::join`].
    pub fn tags(&self, scan: &str, case_matters: bool) -> Vec<u8> {
        self.plan.tags(scan, case_matters)
    }

    /// Joins the list with a scan by its tags. Returns the numbers of [`ReadList::plan`].
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

    /// The address of each position.
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

    /// The copy with verdicts. `codes` has a number for each position: a verdict's number from 1 in bits 0 to 2 (0 if
    /// there is none), throw-away, role and free provider in two bits each (0 unknown, 1 no, 2 yes), a bit for final
    /// verdicts, and the reason's index in `reasons`. `only` is a set of the verdicts' bits; 0 means all rows.
    pub fn copy(
        &self,
        codes: &[u32],
        reasons: Vec<String>,
        only: u8,
        without_traits: bool,
    ) -> Vec<u8> {
        let part = |code: u32, from: u32, bits: u32| (code >> from) & ((1 << bits) - 1);
        let known = |code: u32, from: u32| match part(code, from, 2) {
            0 => None,
            value => Some(value == 2),
        };
        let answer = |position: u32| {
            let code = *codes.get(usize::try_from(position).ok()?)?;
            let verdict = usize::try_from(part(code, 0, 3)).ok()?.checked_sub(1)?;
            let reason = reasons.get(usize::try_from(code >> 10).ok()?);
            Some(Answer {
                verdict: *Deliverability::ALL.get(verdict)?,
                reason: reason.cloned().unwrap_or_default(),
                suggestion: None,
                disposable: known(code, 3),
                role: known(code, 5),
                free: known(code, 7),
                is_final: part(code, 9, 1) == 1,
            })
        };
        let has_trait = |row: usize| {
            let positions = self.plan.rows.get(row).map_or(&[][..], RowPlan::positions);
            let answers = positions.iter().filter_map(|position| answer(*position));
            answers.into_iter().any(|it| it.disposable == Some(true) || it.role == Some(true))
        };
        let bit = |verdict| {
            Deliverability::ALL.iter().position(|it| *it == verdict).map_or(0, |at| 1 << at)
        };
        self.list.copy(&self.plan, &answer, &|row, verdict| {
            let is_wanted = only == 0 || verdict.is_some_and(|verdict| only & bit(verdict) != 0);
            is_wanted && !(without_traits && has_trait(row))
        })
    }
}
