//! The commands, and the only function that encodes them.

/// Greatest length of a command line, including CRLF, in bytes (RFC 5321 §4.5.3.1.4).
const COMMAND_LINE_BYTES_MAX: usize = 512;

#[derive(Clone, Copy)]
pub enum Command<'a> {
    Ehlo(&'a str),
    Helo(&'a str),
    StartTls,
    /// The reverse-path without brackets; empty for the null reverse-path.
    Mail {
        reverse_path: &'a str,
        /// True to send the parameter for a UTF-8 mailbox (RFC 6531 §3.4).
        smtputf8: bool,
    },
    /// The forward-path without brackets.
    Rcpt(&'a str),
    Rset,
    Quit,
}

impl<'a> Command<'a> {
    /// The pieces leave out the CRLF.
    const fn pieces(self) -> [&'a str; 3] {
        match self {
            Self::Ehlo(name) => ["EHLO ", name, ""],
            Self::Helo(name) => ["HELO ", name, ""],
            Self::StartTls => ["STARTTLS", "", ""],
            Self::Mail { reverse_path, smtputf8: false } => ["MAIL FROM:<", reverse_path, ">"],
            Self::Mail { reverse_path, smtputf8: true } => {
                ["MAIL FROM:<", reverse_path, "> SMTPUTF8"]
            }
            Self::Rcpt(forward_path) => ["RCPT TO:<", forward_path, ">"],
            Self::Rset => ["RSET", "", ""],
            Self::Quit => ["QUIT", "", ""],
        }
    }
}

/// The line would contain CR, LF or NUL, or more than 512 bytes. The line isn't shown, because it may contain an
/// address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a command line")]
pub struct Unencodable;

impl Command<'_> {
    /// Appends the line and its CRLF to `flight`. Last check before sending: whatever the arguments, one command is one
    /// line. After an error, `flight` is unchanged.
    pub fn encode(&self, flight: &mut Vec<u8>) -> Result<(), Unencodable> {
        let start = flight.len();
        for piece in self.pieces() {
            flight.extend_from_slice(piece.as_bytes());
        }
        let line = flight.get(start..).unwrap_or_default();
        let breaks = line.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        if breaks || line.len() + 2 > COMMAND_LINE_BYTES_MAX {
            flight.truncate(start);
            return Err(Unencodable);
        }
        flight.extend_from_slice(b"\r\n");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Command, Unencodable};

    fn encoded(command: Command<'_>) -> Result<String, Unencodable> {
        let mut flight = Vec::new();
        command.encode(&mut flight)?;
        Ok(String::from_utf8(flight).unwrap())
    }

    #[test]
    fn writes_each_command_as_one_line() {
        for (command, line) in [
            (Command::Ehlo("probe.example.com"), "EHLO probe.example.com\r\n"),
            (Command::Helo("probe.example.com"), "HELO probe.example.com\r\n"),
            (Command::StartTls, "STARTTLS\r\n"),
            (Command::Mail { reverse_path: "", smtputf8: false }, "MAIL FROM:<>\r\n"),
            (Command::Mail { reverse_path: "", smtputf8: true }, "MAIL FROM:<> SMTPUTF8\r\n"),
            (Command::Mail { reverse_path: "a@b.c", smtputf8: false }, "MAIL FROM:<a@b.c>\r\n"),
            (Command::Rcpt("ä@example.org"), "RCPT TO:<ä@example.org>\r\n"),
            (Command::Rset, "RSET\r\n"),
            (Command::Quit, "QUIT\r\n"),
        ] {
            assert_eq!(encoded(command), Ok(line.to_owned()));
        }
    }

    #[test]
    fn refuses_anything_that_could_start_a_second_line() {
        for hostile in ["a\r\nDATA", "a\rb", "a\nb", "a\0b", "\r", "\n", "\0"] {
            for command in [
                Command::Ehlo(hostile),
                Command::Helo(hostile),
                Command::Mail { reverse_path: hostile, smtputf8: false },
                Command::Rcpt(hostile),
            ] {
                let mut flight = b"QUIT\r\n".to_vec();
                assert_eq!(command.encode(&mut flight), Err(Unencodable), "{hostile:?}");
                assert_eq!(flight, b"QUIT\r\n", "a refused command leaves nothing behind");
            }
        }
    }

    #[test]
    fn takes_512_octets_and_no_more() {
        // `RCPT TO:<`, `>` and CRLF are 12 bytes.
        assert_eq!(encoded(Command::Rcpt(&"a".repeat(500))).unwrap().len(), 512);
        assert_eq!(encoded(Command::Rcpt(&"a".repeat(501))), Err(Unencodable));
    }
}
