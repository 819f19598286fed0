//! Oddities of a list, for the person who reads it.

use std::fmt;

/// Something about a list that isn't as it should be, or that a person may want to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// These lines stand above the headings, or tell a program something: they have no verdict.
    Above { lines: Vec<u32> },
    /// Lines without any text.
    Blank { count: u32 },
    /// Lines in which a quotation mark is read as a character.
    StrayQuotes { lines: Vec<u32> },
    /// Rows that have more cells than the headings, no address in the column and one elsewhere.
    Shifted { lines: Vec<u32> },
    /// Lines in another encoding than UTF-8, in a file that is UTF-8 elsewhere.
    OddLines { count: usize, first: u32, encoding: &'static str },
    /// Other columns with addresses, which aren't checked.
    OtherColumns { names: Vec<String> },
    /// Another sheet of the workbook that has addresses.
    OtherSheets { names: Vec<String> },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above { lines } => {
                let verb = if lines.len() == 1 { "isn't" } else { "aren't" };
                write!(f, "{} above the list {verb} part of it.", places("Line", lines))
            }
            Self::Blank { count: 1 } => f.write_str("One line is empty."),
            Self::Blank { count } => write!(f, "{count} lines are empty."),
            Self::StrayQuotes { lines } => write!(
                f,
                "{}: a quotation mark is out of place, so it's read as a character.",
                places("Line", lines)
            ),
            Self::Shifted { lines } => write!(
                f,
                "{}: more cells than the headings, and the address isn't in its column. Is a comma without quotes?",
                places("Line", lines)
            ),
            Self::OddLines { count: 1, first, encoding } => {
                write!(f, "Line {first} isn't UTF-8 like the others: it's read as {encoding}.")
            }
            Self::OddLines { count, first, encoding } => write!(
                f,
                "{count} lines aren't UTF-8 like the others (the first is line {first}): they're read as {encoding}."
            ),
            Self::OtherColumns { names } => {
                write!(
                    f,
                    "Other columns have addresses too, which aren't checked: {}.",
                    names.join(", ")
                )
            }
            Self::OtherSheets { names } => {
                write!(
                    f,
                    "Other sheets have addresses too, which aren't checked: {}.",
                    names.join(", ")
                )
            }
        }
    }
}

fn places(word: &str, numbers: &[u32]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<_> = numbers.iter().take(SHOWN).map(u32::to_string).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    match numbers.len().saturating_sub(SHOWN) {
        0 => format!("{word}{plural} {}", shown.join(", ")),
        more => format!("{word}{plural} {} and {more} more", shown.join(", ")),
    }
}
