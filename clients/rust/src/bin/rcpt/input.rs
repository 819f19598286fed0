//! Addresses from the command line and from standard input, one per line.

use std::io::{self, BufRead, Read as _};

use serde::Serialize;

use crate::failure::{Failure, Kind};

/// Greatest length of a line in bytes; a file with longer lines isn't a list of addresses.
const LINE_BYTES_MAX: u64 = 64 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The argument as it is, or the line without blanks around it.
    pub input: String,
}

pub fn entries(arguments: &[String]) -> impl Iterator<Item = Result<Entry, Failure>> + '_ {
    arguments.iter().flat_map(|argument| -> Box<dyn Iterator<Item = _>> {
        match argument.as_str() {
            "-" => Box::new(Lines { from: io::stdin().lock(), number: 0, ended: false }),
            address => {
                Box::new(std::iter::once(Ok(Entry { line: None, input: address.to_owned() })))
            }
        }
    })
}

struct Lines<R> {
    from: R,
    number: usize,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut bytes = Vec::new();
        self.number += 1;
        let read = self.from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        let number = self.number;
        match read {
            Ok(0) => return Ok(None),
            Ok(read) if read as u64 == LINE_BYTES_MAX => {
                let message = format!(
                    "Line {number} of the input is longer than 64 KiB: not a list of addresses."
                );
                return Err(Failure::new(Kind::Input, message));
            }
            Ok(_) => {}
            Err(error) => {
                return Err(Failure::new(
                    Kind::Input,
                    format!("The input can't be read: {error}."),
                ));
            }
        }
        let text = if number == 1 {
            bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)
        } else {
            &bytes
        };
        let text = std::str::from_utf8(text).map_err(|_| not_utf8("The input", number, &bytes))?;
        if text.contains('\0') {
            return Err(not_utf8("The input", number, &bytes));
        }
        Ok(Some(text.trim().to_owned()))
    }
}

/// Builds the error for a file in another encoding. Most such files come from Windows, so the message names UTF-16 or
/// Windows-1252.
pub fn not_utf8(what: &str, line: usize, bytes: &[u8]) -> Failure {
    let is_wide =
        bytes.contains(&0) || bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    let likely = if is_wide { "UTF-16" } else { "WINDOWS-1252" };
    let message = format!(
        "{what} isn't UTF-8 (line {line}). If it is {likely}, convert it and try again: iconv -f {likely} \
         -t UTF-8 OLD > NEW"
    );
    Failure::new(Kind::Encoding, message)
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Entry, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            match self.line() {
                Ok(None) => self.ended = true,
                Ok(Some(line)) if line.is_empty() => {}
                Ok(Some(input)) => return Some(Ok(Entry { line: Some(self.number), input })),
                Err(failure) => {
                    self.ended = true;
                    return Some(Err(failure));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Kind, Lines};

    fn read(text: &[u8]) -> Vec<Result<Entry, Kind>> {
        let lines = Lines { from: text, number: 0, ended: false };
        lines.map(|line| line.map_err(|failure| failure.kind)).collect()
    }

    fn entry(line: usize, input: &str) -> Result<Entry, Kind> {
        Ok(Entry { line: Some(line), input: input.to_owned() })
    }

    #[test]
    fn lines_of_any_system_are_read_and_empty_ones_left_out() {
        let texts =
            [("a@b.example\nc@d.example", 2), ("\u{feff}a@b.example\r\n\r\n  c@d.example \r\n", 3)];
        for (text, second) in texts {
            let expected = [entry(1, "a@b.example"), entry(second, "c@d.example")];
            assert_eq!(read(text.as_bytes()), expected, "{text:?}");
        }
        assert!(read(b"").is_empty());
    }

    #[test]
    fn other_encodings_are_named_and_what_came_before_is_kept() {
        let ann = entry(1, "a@b.example");
        assert_eq!(
            read(b"a@b.example\nj\xf6rg@b.example\nc@d.example"),
            [ann, Err(Kind::Encoding)]
        );
        assert_eq!(read(b"\xff\xfea\0@\0b\0\n\0"), [Err(Kind::Encoding)]);
        assert_eq!(read(b"a\0@\0b\0\n\0"), [Err(Kind::Encoding)], "UTF-16 without a mark");
    }

    #[test]
    fn a_line_without_an_end_does_not_fill_the_memory() {
        assert_eq!(read(&vec![b'a'; 1 << 20]), [Err(Kind::Input)]);
    }
}
