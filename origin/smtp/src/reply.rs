//! Replies with their enhanced codes and extensions, and a parser with size limits that splits a byte stream into them.

use std::{borrow::Cow, fmt};

/// Greatest length of a reply line in bytes, without its line break. RFC 5321 §4.5.3.1.5 says 512;
/// real servers exceed it.
const LINE_BYTES_MAX: usize = 2_048;
const MAX_LINES: usize = 100;
/// Per recipient, including the start of the session. A normal conversation needs about 1 KiB.
const SESSION_BYTES_MAX: usize = 64 * 1_024;
/// Capabilities and reasons are within the first 1 KiB; the rest would stay in memory during a later silence, tripled
/// if each byte becomes U+FFFD.
const TEXT_BYTES_MAX: usize = 8 * 1_024;
/// Bytes of text that are interpreted. Real replies are shorter; folding 8 KiB of letters such as
/// U+FDFA (which becomes 18) took milliseconds.
const READ_BYTES: usize = 1_024;

/// An EHLO reply has about 250 bytes.
const TEXT_BYTES: usize = 512;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Reply code, 200–599.
    pub code: u16,
    pub enhanced: Option<EnhancedCode>,
    /// Text of the lines without their codes, joined by `\n`; at most [`TEXT_BYTES_MAX`] bytes. The text may quote the
    /// address: never log it.
    text: String,
}

impl Reply {
    /// `None` unless `raw` is exactly one reply.
    pub fn parse(raw: &str) -> Option<Self> {
        let mut parser = ReplyParser::default();
        parser.feed(raw.as_bytes()).ok()?;
        let reply = parser.next_reply().ok()??;
        parser.is_empty().then_some(reply)
    }

    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.split('\n')
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first 1 KiB of the text, which contains the reply's meaning.
    pub fn beginning(&self) -> &str {
        self.text.get(..self.text.floor_char_boundary(READ_BYTES)).unwrap_or(&self.text)
    }

    pub const fn is_positive(&self) -> bool {
        self.code / 100 == 2
    }

    pub const fn is_transient(&self) -> bool {
        self.code / 100 == 4
    }

    pub const fn is_permanent(&self) -> bool {
        self.code / 100 == 5
    }
}

/// The input isn't a reply, or exceeds a reply's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    #[error("a line does not begin with a code from 200 to 599 and a space or hyphen")]
    Garbage,
    #[error("the lines of one reply refuse and then accept")]
    MixedCodes,
    #[error("a line is longer than {LINE_BYTES_MAX} octets")]
    LongLine,
    #[error("a reply has more than {MAX_LINES} lines")]
    ManyLines,
    #[error("a session has more than {SESSION_BYTES_MAX} octets for one recipient")]
    LongSession,
}

/// Splits a byte stream into replies. The parser does no I/O, and never holds more than its limits.
#[derive(Debug, Default)]
pub struct ReplyParser {
    buffer: Vec<u8>,
    read: usize,
    /// Bytes received for the current recipient.
    session: usize,
    partial: Option<(Reply, usize)>,
}

impl ReplyParser {
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), ReplyError> {
        self.buffer.drain(..self.read);
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
        self.session += bytes.len();
        if self.session > SESSION_BYTES_MAX { Err(ReplyError::LongSession) } else { Ok(()) }
    }

    pub const fn next_recipient(&mut self) {
        self.session = 0;
    }

    /// The next complete reply; `None` when more input is needed.
    pub fn next_reply(&mut self) -> Result<Option<Reply>, ReplyError> {
        loop {
            let rest = self.buffer.get(self.read..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
                // The last byte may be a CR whose LF hasn't arrived.
                return if rest.len() > LINE_BYTES_MAX + 1 {
                    Err(ReplyError::LongLine)
                } else {
                    Ok(None)
                };
            };
            let line = rest.get(..end).unwrap_or_default();
            self.read += end + 1;
            // RFC 5321 §2.3.8 requires CRLF; a bare LF is common and harmless in a reply.
            let (code, more, text) = split(line.strip_suffix(b"\r").unwrap_or(line))?;
            if let Some(reply) = append(&mut self.partial, code, more, &text)? {
                return Ok(Some(reply));
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.partial.is_none() && self.read == self.buffer.len()
    }

    /// Discards unread input: plaintext received before a TLS handshake mustn't be read as the
    /// server's later replies (CVE-2011-0411).
    pub fn discard(&mut self) {
        self.buffer.clear();
        self.read = 0;
        self.partial = None;
    }
}

fn split(line: &[u8]) -> Result<(u16, bool, Cow<'_, str>), ReplyError> {
    if line.len() > LINE_BYTES_MAX {
        return Err(ReplyError::LongLine);
    }
    let (&[hundreds @ b'2'..=b'5', tens @ b'0'..=b'9', ones @ b'0'..=b'9'], rest) =
        line.split_first_chunk().ok_or(ReplyError::Garbage)?
    else {
        return Err(ReplyError::Garbage);
    };
    let digit = |byte: u8| u16::from(byte - b'0');
    let (more, text) = match rest {
        [] => (false, rest),
        [b' ', text @ ..] => (false, text),
        [b'-', text @ ..] => (true, text),
        _ => return Err(ReplyError::Garbage),
    };
    let code = digit(hundreds) * 100 + digit(tens) * 10 + digit(ones);
    // Nearly every line is valid, and validating is faster than repairing.
    let text = str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed);
    Ok((code, more, text))
}

fn append(
    partial: &mut Option<(Reply, usize)>,
    code: u16,
    more: bool,
    text: &str,
) -> Result<Option<Reply>, ReplyError> {
    let leading = EnhancedCode::leading(text);
    let own_text = leading.map_or(text, |(_, rest)| rest).trim();
    // Only refusals use this form.
    let hashed = || if code >= 400 { EnhancedCode::after_hash(text) } else { None };
    let enhanced = leading.map(|(enhanced, _)| enhanced).or_else(hashed);
    let before = partial.take();
    let lines = before.as_ref().map_or(1, |(_, lines)| lines + 1);
    let reply = match before {
        // The last line of a refusal may be missing, and this line be the reply to another command.
        Some((reply, _)) if reply.code >= 400 && code < 400 => return Err(ReplyError::MixedCodes),
        Some((mut reply, _)) if reply.code == code => {
            if reply.text.len() + own_text.len() < TEXT_BYTES_MAX {
                reply.text.push('\n');
                reply.text.push_str(own_text);
            }
            reply.enhanced = reply.enhanced.or(enhanced);
            reply
        }
        // If the codes differ, the last line decides; what was said under another code doesn't count.
        None | Some(_) => {
            let mut reply = Reply { code, enhanced, text: String::new() };
            // The first of several lines reserves room for a whole EHLO reply; a single line needs
            // only its own size.
            reply.text.reserve_exact(if more { TEXT_BYTES } else { own_text.len() });
            reply.text.push_str(own_text);
            reply
        }
    };
    if lines > MAX_LINES {
        return Err(ReplyError::ManyLines);
    }
    if more {
        *partial = Some((reply, lines));
        return Ok(None);
    }
    Ok(Some(reply))
}

/// Of RFC 3463.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnhancedCode {
    pub class: u8,
    pub subject: u16,
    pub detail: u16,
}

impl EnhancedCode {
    /// Parses the code at the start of `text` (RFC 2034 §4), and returns it with the rest.
    pub fn leading(text: &str) -> Option<(Self, &str)> {
        // A quick check, because most reply lines have no code.
        let [class @ (b'2' | b'4' | b'5'), b'.', ..] = text.as_bytes() else { return None };
        let part_of_it = |octet: u8| octet.is_ascii_digit() || octet == b'.';
        let end = text.bytes().position(|octet| !part_of_it(octet)).unwrap_or(text.len());
        let (code, rest) = text.split_at_checked(end)?;
        let mut parts = code.as_bytes().split(|octet| *octet == b'.').skip(1);
        let code = Self {
            class: class - b'0',
            subject: component(parts.next()?)?,
            detail: component(parts.next()?)?,
        };
        // With a fourth number, the text would be an IP address.
        parts.next().is_none().then_some((code, rest))
    }

    /// Parses the forms that some servers use instead: `#5.1.0 …` (Cisco) and `… (#5.1.1)` (qmail).
    pub fn after_hash(text: &str) -> Option<Self> {
        text.split('#').skip(1).find_map(|rest| Self::leading(rest).map(|(code, _)| code))
    }
}

/// A component has one to three digits (RFC 3463 §2).
fn component(digits: &[u8]) -> Option<u16> {
    if !(1..=3).contains(&digits.len()) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

impl fmt::Display for EnhancedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

/// The extensions that a server lists in its reply to EHLO (RFC 5321 §4.1.1.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub pipelining: bool,
    pub starttls: bool,
    pub smtputf8: bool,
}

impl Capabilities {
    /// The reply's first line is the greeting and is ignored.
    pub fn parse(ehlo: &Reply) -> Self {
        let mut offered = Self::default();
        for line in ehlo.lines().skip(1) {
            let keyword = line.split_ascii_whitespace().next().unwrap_or_default();
            let is = |name: &str| keyword.eq_ignore_ascii_case(name);
            offered.pipelining |= is("PIPELINING");
            offered.starttls |= is("STARTTLS");
            offered.smtputf8 |= is("SMTPUTF8");
        }
        offered
    }
}

#[cfg(test)]
mod tests;
