//! Files that aren't lists, told by how they begin.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAList {
    Empty,
    /// It is something else, such as `a PNG picture`; the second is what to do.
    Other(String, String),
    /// A workbook that can't be opened: damaged, or with a password.
    Workbook,
    /// A workbook that is too large when it is unpacked.
    TooLarge,
}

const SAVE: &str = "Choose a file with one address in each row, such as a CSV or an Excel file.";
const OPEN: &str =
    "Open it in your spreadsheet program, and save it as CSV or as an Excel workbook.";

impl fmt::Display for NotAList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "This has no text in it. {SAVE}"),
            Self::Other(what, advice) => write!(f, "This is {what}, not a list. {advice}"),
            Self::Workbook => f.write_str(
                "This workbook can't be opened: it's damaged, or it has a password. Save it as CSV, then choose that \
                 file.",
            ),
            Self::TooLarge => {
                f.write_str("This workbook is too large to read here. Save it as CSV, then choose that file.")
            }
        }
    }
}

impl std::error::Error for NotAList {}

impl NotAList {
    fn other(what: &str, advice: &str) -> Self {
        Self::Other(what.to_owned(), advice.to_owned())
    }

    pub(crate) fn binary() -> Self {
        Self::other("no text", SAVE)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl From<rcpt_workbooks::Unreadable> for NotAList {
    fn from(why: rcpt_workbooks::Unreadable) -> Self {
        match why {
            rcpt_workbooks::Unreadable::Damaged => Self::Workbook,
            rcpt_workbooks::Unreadable::TooLarge => Self::TooLarge,
            rcpt_workbooks::Unreadable::Other(what, advice) => Self::other(what, advice),
        }
    }
}

const STARTS: [(&[u8], &str, &str); 22] = [
    (b"\x89PNG", "a PNG picture", SAVE),
    (b"\xFF\xD8\xFF", "a JPEG picture", SAVE),
    (b"GIF8", "a GIF picture", SAVE),
    (b"RIFF", "a picture or a sound", SAVE),
    (b"BM\0\0", "a picture", SAVE),
    (b"%PDF", "a PDF document", "Ask for the list as a CSV or an Excel file."),
    (b"{\\rtf", "an RTF document", OPEN),
    (b"\x1F\x8B", "a gzip archive", "Unpack it, then choose the file in it."),
    (b"7z\xBC\xAF", "a 7z archive", "Unpack it, then choose the file in it."),
    (b"Rar!", "a RAR archive", "Unpack it, then choose the file in it."),
    (b"BZh", "a bzip2 archive", "Unpack it, then choose the file in it."),
    (b"\xFD7zXZ", "an xz archive", "Unpack it, then choose the file in it."),
    (b"SQLite format 3", "a database", SAVE),
    (b"PAR1", "a Parquet file", "Export it as CSV."),
    (b"\x7FELF", "a program", SAVE),
    (b"MZ\x90", "a program", SAVE),
    (b"BEGIN:VCARD", "an address book (vCard)", "Export your contacts as CSV."),
    (b"BEGIN:VCALENDAR", "a calendar", SAVE),
    (b"<!DOCTYPE HTML", "a web page", OPEN),
    (b"<HTML", "a web page", OPEN),
    (b"<TABLE", "a web page", OPEN),
    (b"<?XML", "an XML file", OPEN),
];

/// `None` for a workbook, and for a text that may be a table.
pub(crate) fn other(bytes: &[u8]) -> Option<NotAList> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    let starts =
        |start: &[u8]| text.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start));
    if let Some((_, what, advice)) = STARTS.iter().find(|(start, ..)| starts(start)) {
        return Some(NotAList::other(what, advice));
    }
    is_json(text).then(|| NotAList::other("a JSON file", "Export it as CSV."))
}

fn is_json(text: &[u8]) -> bool {
    let after = |start: &[u8]| text.strip_prefix(start).map(<[u8]>::trim_ascii_start);
    let ends = |end: u8| text.trim_ascii_end().ends_with(&[end]);
    match (after(b"{"), after(b"[")) {
        (Some([b'"' | b'}', ..]), _) => ends(b'}'),
        (_, Some([b'{' | b'[' | b'"' | b']', ..])) => ends(b']'),
        _ => false,
    }
}

pub(crate) fn is_binary(text: &str) -> bool {
    let sample = crate::delimiter::sample(text);
    let is_odd = |c: &char| c.is_control() && !"\t\r\n\u{b}\u{c}".contains(*c) || *c == '\u{fffd}';
    let odd = sample.chars().filter(is_odd).count();
    odd * 8 > sample.chars().count()
}
