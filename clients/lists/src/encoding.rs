//! The encoding of a file: told by its mark, by being UTF-8, or guessed; and the file's text.

use std::{borrow::Cow, ops::Range};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::{
    rows::{end_of_line, line_end},
    source::{Line, Raw, Source},
};

/// Encodings that a person can choose, as programs name them.
pub const ENCODINGS: [&str; 28] = [
    "UTF-8",
    "windows-1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "windows-874",
    "ISO-8859-2",
    "ISO-8859-5",
    "ISO-8859-7",
    "KOI8-R",
    "KOI8-U",
    "IBM866",
    "macintosh",
    "x-mac-cyrillic",
    "Shift_JIS",
    "EUC-JP",
    "ISO-2022-JP",
    "GBK",
    "gb18030",
    "Big5",
    "EUC-KR",
    "UTF-16LE",
    "UTF-16BE",
];

const WORDS: usize = 3;
const WORD_CHARACTERS: usize = 24;
/// Bytes that decide whether a file without a mark is UTF-16.
const SAMPLE: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding {
    pub name: &'static str,
    /// A few of the file's words with letters beyond ASCII, by which a person sees whether the encoding is right.
    pub words: Vec<String>,
    /// The encoding isn't told by the file, and wasn't chosen: it is the likeliest.
    pub is_guess: bool,
    /// Lines in another encoding in a file that is UTF-8 elsewhere: their encoding, number, and the first line's
    /// number.
    pub odd_lines: Option<(&'static str, usize, u32)>,
}

/// A chosen encoding applies to the file; where some of its lines are UTF-8 and others aren't, to the others.
pub(crate) fn decode(
    bytes: Vec<u8>,
    chosen: Option<&'static encoding_rs::Encoding>,
) -> (Source, Encoding) {
    let mark = match bytes.get(..3) {
        Some([0xEF, 0xBB, 0xBF]) => 3,
        _ if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") => 2,
        _ => 0,
    };
    let marked = match (mark, bytes.first()) {
        (3, _) => Some(UTF_8),
        (2, Some(0xFF)) => Some(UTF_16LE),
        (2, _) => Some(UTF_16BE),
        _ => wide(&bytes),
    };
    let body = bytes.get(mark..).unwrap_or_default();
    let (main, odd) = match marked {
        Some(marked) if marked != UTF_8 && chosen.is_none() => (marked, None),
        _ => Lines::of(body).encodings(body, chosen, marked == Some(UTF_8)),
    };
    let is_guess = chosen.is_none() && (odd.is_some() || (marked.is_none() && main != UTF_8));
    if main == UTF_8 && odd.is_none() && std::str::from_utf8(body).is_ok() {
        let text = String::from_utf8(bytes).unwrap_or_default();
        let encoding = Encoding {
            name: UTF_8.name(),
            words: words(text.get(mark..)),
            is_guess,
            odd_lines: None,
        };
        return (Source::utf8(text, mark), encoding);
    }
    let mut text = String::with_capacity(body.len());
    let mut lines = Vec::new();
    let mut odd_lines: Option<(&'static str, usize, u32)> = None;
    for range in line_ranges(body, main) {
        let (content, end) = range;
        let line = body.get(content.clone()).unwrap_or_default();
        let encoding = match odd {
            Some(odd) if std::str::from_utf8(line).is_err() => {
                let number = u32::try_from(lines.len() + 1).unwrap_or(u32::MAX);
                let before = odd_lines.unwrap_or((odd.name(), 0, number));
                odd_lines = Some((before.0, before.1 + 1, before.2));
                odd
            }
            _ => main,
        };
        lines.push(Line { text: text.len(), raw: mark + content.start, encoding });
        text.push_str(&decoded(encoding, line));
        text.push_str(end);
    }
    let encoding = Encoding { name: main.name(), words: words(Some(&text)), is_guess, odd_lines };
    (Source::decoded(text, Raw { bytes, lines }, mark, main), encoding)
}

fn decoded<'l>(encoding: &'static encoding_rs::Encoding, line: &'l [u8]) -> Cow<'l, str> {
    encoding.decode_without_bom_handling(line).0
}

/// Recognises UTF-16 without a mark: every second byte of Western text is zero.
fn wide(bytes: &[u8]) -> Option<&'static encoding_rs::Encoding> {
    let sample = bytes.get(..SAMPLE.min(bytes.len()) & !1).unwrap_or_default();
    let zeros =
        |from: usize| sample.iter().skip(from).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), sample.len() / 2);
    let is_even = bytes.len().is_multiple_of(2) && half > 1;
    match () {
        () if is_even && odd * 2 > half && even * 8 < half => Some(UTF_16LE),
        () if is_even && even * 2 > half && odd * 8 < half => Some(UTF_16BE),
        () => None,
    }
}

struct Lines {
    utf8: usize,
    other: usize,
    odd: EncodingDetector,
    whole: EncodingDetector,
}

impl Lines {
    fn of(body: &[u8]) -> Self {
        let detector = || EncodingDetector::new(Iso2022JpDetection::Allow);
        let mut lines = Self { utf8: 0, other: 0, odd: detector(), whole: detector() };
        if std::str::from_utf8(body).is_err() || body.contains(&0x1B) {
            for (content, _) in line_ranges(body, WINDOWS_1252) {
                let line = body.get(content).unwrap_or_default();
                match std::str::from_utf8(line) {
                    Ok(text) => lines.utf8 += usize::from(!text.is_ascii()),
                    Err(_) => {
                        lines.other += 1;
                        lines.odd.feed(line, false);
                        lines.odd.feed(b"\n", false);
                    }
                }
            }
            lines.odd.feed(b"", true);
        }
        lines.whole.feed(body, true);
        lines
    }

    fn encodings(
        &self,
        body: &[u8],
        chosen: Option<&'static encoding_rs::Encoding>,
        has_mark: bool,
    ) -> (&'static encoding_rs::Encoding, Option<&'static encoding_rs::Encoding>) {
        let guess = |detector: &EncodingDetector| match detector.guess(None, Utf8Detection::Deny) {
            guess if guess == UTF_8 => WINDOWS_1252,
            guess => guess,
        };
        if self.other == 0 {
            let is_japanese = body.contains(&0x1B) && guess(&self.whole) == ISO_2022_JP;
            return (chosen.unwrap_or(if is_japanese { ISO_2022_JP } else { UTF_8 }), None);
        }
        let whole = guess(&self.whole);
        // Two bytes of Chinese or Japanese can happen to be a letter of UTF-8; in Europe's code pages they can't.
        let are_joined =
            has_mark || (self.utf8 > 0 && (self.utf8 >= self.other || whole.is_single_byte()));
        match chosen {
            Some(chosen) if chosen == UTF_8 || !are_joined => (chosen, None),
            Some(chosen) => (UTF_8, Some(chosen)),
            None if are_joined => (UTF_8, Some(guess(&self.odd))),
            None => (whole, None),
        }
    }
}

/// In all encodings but UTF-16, CR and LF are bytes of their own.
fn line_ranges(
    body: &[u8],
    encoding: &'static encoding_rs::Encoding,
) -> impl Iterator<Item = (Range<usize>, &'static str)> {
    let unit = if encoding == UTF_16LE || encoding == UTF_16BE { 2 } else { 1 };
    let is_big = encoding == UTF_16BE;
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= body.len() {
            return None;
        }
        let start = at;
        let (end, length) = if unit == 1 {
            let end = end_of_line(body, start);
            (end, line_end(body, end))
        } else {
            wide_line(body, start, is_big)
        };
        at = end + length * unit;
        let first = if is_big { body.get(end + 1) } else { body.get(end) };
        let terminator = match (length, first) {
            (2, _) => "\r\n",
            (1, Some(b'\r')) => "\r",
            (1, _) => "\n",
            _ => "",
        };
        Some((start..end, terminator))
    })
}

fn wide_line(body: &[u8], start: usize, is_big: bool) -> (usize, usize) {
    let unit = |at: usize| match body.get(at..at + 2) {
        Some([high, low]) if is_big => Some(u16::from_be_bytes([*high, *low])),
        Some([low, high]) => Some(u16::from_be_bytes([*high, *low])),
        _ => None,
    };
    let mut at = start;
    loop {
        match unit(at) {
            None => return (body.len(), 0),
            Some(0x0D) if unit(at + 2) == Some(0x0A) => return (at, 2),
            Some(0x0D | 0x0A) => return (at, 1),
            Some(_) => at += 2,
        }
    }
}

fn words(text: Option<&str>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let text = text.unwrap_or_default();
    if text.is_ascii() {
        return words;
    }
    let is_end = |c: char| c.is_ascii_punctuation() || c.is_whitespace() || c.is_control();
    for word in text.split(is_end).filter(|word| !word.is_ascii()) {
        let word: String = word.chars().take(WORD_CHARACTERS).collect();
        if !words.contains(&word) {
            words.push(word);
        }
        if words.len() == WORDS {
            break;
        }
    }
    words
}
