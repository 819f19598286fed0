//! The interface of the portal, which runs the crate in a worker of the page.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Additions, Unreadable, Workbook, read};

/// A sheet, and the names of all sheets.
#[wasm_bindgen(js_name = ReadSheet)]
pub struct ReadSheet(Workbook);

/// Reads a sheet. Throws `damaged`, `too-large`, or the kind of the file and an advice, with a line end between them.
#[wasm_bindgen(js_name = readSheet)]
pub fn read_sheet(bytes: &[u8], sheet: Option<usize>) -> Result<ReadSheet, String> {
    read(bytes, sheet).map(ReadSheet).map_err(|why| match why {
        Unreadable::Damaged => "damaged".to_owned(),
        Unreadable::TooLarge => "too-large".to_owned(),
        Unreadable::Other(what, advice) => format!("{what}\n{advice}"),
    })
}

#[wasm_bindgen(js_name = isXlsx)]
pub fn is_xlsx(bytes: &[u8]) -> bool {
    crate::is_xlsx(bytes)
}

/// Throws as `readSheet` does.
#[wasm_bindgen(js_name = copySheet)]
#[expect(clippy::too_many_arguments, reason = "each is an array of its own in JavaScript")]
pub fn copy_sheet(
    bytes: &[u8],
    sheet: usize,
    columns: Vec<u32>,
    address: u32,
    numbers: Vec<u32>,
    values: Vec<String>,
    alone: Vec<String>,
    dropped: Vec<u32>,
) -> Result<Vec<u8>, String> {
    let additions = Additions { sheet, columns, address, numbers, values, alone, dropped };
    crate::copy(bytes, &additions).map_err(|_| "damaged".to_owned())
}

#[wasm_bindgen(js_class = ReadSheet)]
impl ReadSheet {
    #[wasm_bindgen(getter)]
    pub fn sheets(&self) -> Vec<String> {
        self.0.sheets.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn sheet(&self) -> usize {
        self.0.sheet
    }

    #[wasm_bindgen(getter)]
    pub fn others(&self) -> Vec<usize> {
        self.0.others.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn text(&self) -> String {
        self.0.text.clone()
    }

    #[wasm_bindgen(getter)]
    pub fn numbers(&self) -> Vec<u32> {
        self.0.numbers.clone()
    }
}
