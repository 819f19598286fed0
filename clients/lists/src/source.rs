//! A file's bytes and its text, and the way back from the text to the bytes, so that a copy keeps them.

use std::ops::Range;

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    /// Length of the byte order mark; in UTF-8, `text` begins with it.
    mark: usize,
    /// Absent if the text's bytes are the file's.
    raw: Option<Raw>,
    main: &'static encoding_rs::Encoding,
}

#[derive(Debug)]
pub(crate) struct Raw {
    pub bytes: Vec<u8>,
    pub lines: Vec<Line>,
}

#[derive(Debug)]
pub(crate) struct Line {
    pub text: usize,
    pub raw: usize,
    pub encoding: &'static encoding_rs::Encoding,
}

#[derive(Debug)]
pub(crate) struct Edit {
    pub range: Range<usize>,
    pub by: String,
}

impl Source {
    /// `text` begins with a byte order mark of `mark` bytes.
    pub fn utf8(text: String, mark: usize) -> Self {
        Self { text, mark, raw: None, main: UTF_8 }
    }

    pub fn decoded(
        text: String,
        raw: Raw,
        mark: usize,
        main: &'static encoding_rs::Encoding,
    ) -> Self {
        Self { text, mark, raw: Some(raw), main }
    }

    pub fn text(&self) -> &str {
        let skipped = if self.raw.is_some() { 0 } else { self.mark };
        self.text.get(skipped..).unwrap_or_default()
    }

    pub fn mark(&self) -> &[u8] {
        let bytes = self.raw.as_ref().map_or(self.text.as_bytes(), |raw| &raw.bytes);
        bytes.get(..self.mark).unwrap_or_default()
    }

    pub fn into_bytes(self) -> Vec<u8> {
        match self.raw {
            Some(raw) => raw.bytes,
            None => self.text.into_bytes(),
        }
    }

    /// Writes a part of the file with edits, which are in order and don't overlap.
    pub fn write(&self, range: Range<usize>, edits: &[Edit], to: &mut Vec<u8>) {
        let mut at = range.start;
        for edit in edits {
            to.extend_from_slice(self.bytes(at..edit.range.start));
            self.encode(edit.range.start, &edit.by, to);
            at = edit.range.end;
        }
        to.extend_from_slice(self.bytes(at..range.end));
    }

    /// True if the file's encoding has all letters of the text.
    pub fn can_hold(&self, text: &str) -> bool {
        text.is_ascii() || self.main.output_encoding() == UTF_8 || !self.main.encode(text).2
    }

    fn bytes(&self, range: Range<usize>) -> &[u8] {
        let bytes = match &self.raw {
            None => self.text().as_bytes().get(range),
            Some(raw) => {
                raw.bytes.get(raw.place(&self.text, range.start)..raw.place(&self.text, range.end))
            }
        };
        bytes.unwrap_or_default()
    }

    fn encode(&self, at: usize, text: &str, to: &mut Vec<u8>) {
        let encoding = match &self.raw {
            Some(raw) => raw.line(at).map_or(self.main, |line| line.encoding),
            None => UTF_8,
        };
        if encoding == UTF_16LE {
            to.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else if encoding == UTF_16BE {
            to.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        } else {
            to.extend_from_slice(&encoding.encode(text).0);
        }
    }
}

impl Raw {
    fn line(&self, at: usize) -> Option<&Line> {
        self.lines.get(self.lines.partition_point(|line| line.text <= at).checked_sub(1)?)
    }

    fn place(&self, text: &str, at: usize) -> usize {
        let Some(line) = self.line(at) else { return self.bytes.len() };
        if line.text == at {
            return line.raw;
        }
        let next = self.lines.partition_point(|line| line.text <= at);
        let (text_end, raw_end) = self
            .lines
            .get(next)
            .map_or((text.len(), self.bytes.len()), |next| (next.text, next.raw));
        let unit = if line.encoding == UTF_16LE || line.encoding == UTF_16BE { 2 } else { 1 };
        // The line end's characters, and those after `at`, are the same in both.
        let rest = text.get(at..text_end).unwrap_or_default();
        if rest.bytes().all(|byte| matches!(byte, b'\r' | b'\n')) {
            // A broken last character of UTF-16 has one byte more.
            return raw_end - rest.len() * unit;
        }
        let bytes = self.bytes.get(line.raw..raw_end).unwrap_or_default();
        line.raw + read_until(line.encoding, bytes, at - line.text)
    }
}

fn read_until(encoding: &'static encoding_rs::Encoding, bytes: &[u8], length: usize) -> usize {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut read) = (String::with_capacity(length + 16), 0);
    while text.len() < length && read < bytes.len() {
        text.reserve(16);
        let next = bytes.get(read..read + 1).unwrap_or_default();
        let (_, used, _) = decoder.decode_to_string(next, &mut text, false);
        read += used;
    }
    // A byte that begins a letter and isn't one is decoded with the ASCII character after it.
    read - (text.len() - length.min(text.len())).min(read)
}
