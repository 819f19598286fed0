//! Extracts the address from `Name <address>`, a form that people paste from an email's header.

use crate::address::marks::{LINE_BREAKS, trimmed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormMistake {
    Empty,
    Unbalanced,
    Pairs,
    Hollow,
    After,
    /// A separator after the brackets, as email programs copy it.
    Separator,
    /// A line break before the brackets.
    LineBreak,
    /// Another address before the brackets.
    SecondAddress,
}

/// A text in parts; without angle brackets, all of it is the address.
pub struct Parts<'a> {
    pub name: &'a str,
    pub address: &'a str,
}

/// Takes a text apart, without blanks and invisible characters around it and around the address. Inside, such
/// characters stay, and [`Address::parse`](crate::Address::parse) rejects them.
pub fn parts(text: &str) -> Result<Parts<'_>, FormMistake> {
    let text = trimmed(text);
    if text.bytes().all(|byte| byte == b'"') {
        return Err(FormMistake::Empty);
    }
    let (open, close) = match brackets(text)[..] {
        [] => return Ok(Parts { name: "", address: text }),
        [(open, '<'), (close, '>')] => (open, close),
        ref all => {
            let opened = all.iter().filter(|(_, c)| *c == '<').count();
            let is_balanced = 2 * opened == all.len() && all.len() > 2;
            return Err(if is_balanced { FormMistake::Pairs } else { FormMistake::Unbalanced });
        }
    };
    let name = trimmed(text.get(..open).unwrap_or_default());
    let address = trimmed(text.get(open + 1..close).unwrap_or_default());
    let after = trimmed(text.get(close + 1..).unwrap_or_default());
    match after {
        _ if address.is_empty() => Err(FormMistake::Hollow),
        "" if name.contains(LINE_BREAKS) => Err(FormMistake::LineBreak),
        "" => Ok(Parts { name, address }),
        "," | ";" => Err(FormMistake::Separator),
        _ => Err(FormMistake::After),
    }
}

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
    use super::{
        FormMistake::{After, Empty, Hollow, LineBreak, Pairs, Separator, Unbalanced},
        parts,
    };

    #[test]
    fn reduces_a_name_and_address_to_the_address() {
        for (input, address) in [
            ("a@example.org", "a@example.org"),
            ("  a@example.org\t", "a@example.org"),
            ("<a@example.org>", "a@example.org"),
            ("Ann <a@example.org>", "a@example.org"),
            ("Ann < a@example.org > ", "a@example.org"),
            ("Ann <\u{200e}a@example.org\u{2060}>\u{feff}", "a@example.org"),
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
            assert_eq!(parts(input).map(|parts| parts.address), Ok(address), "{input}");
        }
    }

    #[test]
    fn does_not_guess_when_the_brackets_are_wrong() {
        for (input, mistake) in [
            ("", Empty),
            (" ", Empty),
            ("\t \t", Empty),
            ("\r\n", Empty),
            ("\u{feff}", Empty),
            ("\u{2800}\u{202a}", Empty),
            ("\"\"", Empty),
            ("Name <", Unbalanced),
            ("Name <a@example.org", Unbalanced),
            ("Name a@example.org>", Unbalanced),
            ("Name <>", Hollow),
            ("<  >", Hollow),
            ("<\u{200b}>", Hollow),
            (">a@example.org<", Unbalanced),
            ("<<a@example.org>>", Pairs),
            ("A <a@example.org>, B <b@example.org>", Pairs),
            ("A <a@example.org> trailing", After),
            ("A <a@example.org>;", Separator),
            ("A <a@example.org> ,\n", Separator),
            ("a@example.org\r\nRCPT TO:<b@example.org>", LineBreak),
        ] {
            assert_eq!(parts(input).map(|parts| parts.address), Err(mistake), "{input:?}");
        }
    }
}
