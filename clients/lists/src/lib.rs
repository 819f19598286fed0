//! Reads lists of email addresses as people have them: a file's bytes become rows, a column of addresses, a dialect and
//! notices. Every line of the file belongs to exactly one row or one notice. A copy with verdicts has the bytes of the
//! file, and our columns.
//!
//! No I/O, clock or random numbers: the command uses the crate natively, the portal as wasm.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, clippy::expect_used)
)]

mod cell;
mod column;
mod copy;
mod delimiter;
mod encoding;
mod kind;
mod list;
mod notice;
mod plan;
mod recipients;
mod rows;
mod source;
mod typing;
#[cfg(target_arch = "wasm32")]
mod wasm;

pub use cell::{Problem, Subject, subject};
pub use copy::{Answer, COLUMNS, NOT_AN_ADDRESS, Part, SheetCopy};
pub use delimiter::{DELIMITERS, Delimiter};
pub use encoding::{ENCODINGS, Encoding};
pub use kind::NotAList;
pub use list::{Choices, Column, List, Sheet, read, read_pasted, read_sheet};
pub use notice::Notice;
pub use plan::{Counts, Plan, Repeats, RowPlan, TAG_BYTES};
pub use rcpt_shared::Deliverability;
#[cfg(not(target_arch = "wasm32"))]
pub use rcpt_workbooks::is_xlsx;
