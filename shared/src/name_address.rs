//! Extracts the address from `Name <address>`, a form that people paste from an email's header.

/// The input is empty, or looks like `Name <address>` but doesn't contain exactly one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReduceError {
    #[error("the address is empty")]
    Empty,
    #[error("the angle brackets do not hold exactly one address")]
    Brackets,
}

/// Reduces `Name <address>` to the address. Any other text is returned without blanks, line breaks
/// and zero-width marks around it, which come from files and clipboards. Inside the text, such
/// characters stay, and [`Address::parse`](crate::Address::parse) rejects them.
///
/// # Errors
/// [`ReduceError`] if nothing is left, or the brackets are unbalanced, empty, repeated or not
/// at the end.
pub fn reduce(input: &str) -> Result<&str, ReduceError> {
    let input = trimmed(input);
    if input.is_empty() {
        return Err(ReduceError::Empty);
    }
    let inner = match brackets(input)[..] {
        [] => return Ok(input),
        [(open, '<'), (close, '>')] if close + 1 == input.len() => input.get(open + 1..close),
        _ => None,
    };
    match inner.map(trimmed) {
        Some("") | None => Err(ReduceError::Brackets),
        Some(address) => Ok(address),
    }
}

fn trimmed(text: &str) -> &str {
    // Byte order marks and zero-width spaces are invisible when copied.
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'))
}

/// Returns the positions in bytes of angle brackets outside quoted strings. An unclosed quote
/// quotes nothing.
fn brackets(input: &str) -> Vec<(usize, char)> {
    let mut outside = Vec::new();
    let mut in_open_quote = Vec::new();
    let mut quoted = false;
    let mut escaped = false;
    for (position, c) in input.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => {
                quoted = !quoted;
                in_open_quote.clear();
            }
            '<' | '>' if quoted => in_open_quote.push((position, c)),
            '<' | '>' => outside.push((position, c)),
            _ => {}
        }
    }
    if quoted {
        outside.append(&mut in_open_quote);
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::{ReduceError, reduce};

    #[test]
    fn reduces_a_name_and_address_to_the_address() {
        for (input, address) in [
            ("a@example.org", "a@example.org"),
            ("  a@example.org\t", "a@example.org"),
            ("<a@example.org>", "a@example.org"),
            ("Ann <a@example.org>", "a@example.org"),
            ("Ann < a@example.org > ", "a@example.org"),
            (r#""Doe, <Ann>" <a@example.org>"#, "a@example.org"),
            (r#""a \" <b" <a@example.org>"#, "a@example.org"),
            (r#""odd<local"@example.org"#, r#""odd<local"@example.org"#),
            (r#"Ann "A <a@example.org>"#, "a@example.org"),
            ("no address at all", "no address at all"),
            ("a@example.org\r\n", "a@example.org"),
            ("\u{feff}a@example.org\u{a0}", "a@example.org"),
            ("\u{200b}Ann <a@example.org>\n", "a@example.org"),
            ("a@exam\nple.org", "a@exam\nple.org"),
        ] {
            assert_eq!(reduce(input), Ok(address), "{input}");
        }
    }

    #[test]
    fn does_not_guess_when_the_brackets_are_wrong() {
        for input in ["", " ", "\t \t", "\r\n", "\u{feff}"] {
            assert_eq!(reduce(input), Err(ReduceError::Empty), "{input:?}");
        }
        for input in [
            "Name <",
            "Name <a@example.org",
            "Name a@example.org>",
            "Name <>",
            "<  >",
            ">a@example.org<",
            "<<a@example.org>>",
            "A <a@example.org>, B <b@example.org>",
            "A <a@example.org> trailing",
        ] {
            assert_eq!(reduce(input), Err(ReduceError::Brackets), "{input:?}");
        }
    }
}
