//! Converts letters to the tables' form: lower case, without accents, whatever the server's
//! encoding.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Replaces a lost letter: a byte that isn't UTF-8, or the `?` of a server that writes ASCII only.
pub(crate) const LOST: char = char::REPLACEMENT_CHARACTER;

const MAX_LETTERS: usize = 2_048;

pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for c in text
        .nfkd()
        .take(MAX_LETTERS)
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
    {
        match c {
            'ß' => folded.push_str("ss"),
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' => folded.push('d'),
            // Turkish: servers without support for the language write `i` for `ı`.
            'ı' => folded.push('i'),
            '\u{2018}' | '\u{2019}' | '\u{2bc}' | '`' | '\u{b4}' => folded.push('\''),
            // Removes combining marks, such as the rest of a lower-cased İ, and zero-width
            // characters.
            c if is_combining_mark(c) || is_invisible(c) => {}
            c => folded.push(c),
        }
    }
    folded
}

const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

/// Some servers write non-ASCII letters as quoted-printable (`=C3=A4`).
pub(crate) fn unquoted(text: &str) -> Cow<'_, str> {
    let mut decoded = String::new();
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('=') {
        let (octets, after) = octets(from);
        decoded.push_str(before);
        // A single non-ASCII byte isn't UTF-8, so `host=callback` contains no quoted byte.
        match String::from_utf8(octets) {
            Ok(letters) if !letters.is_empty() => {
                decoded.push_str(&letters);
                rest = after;
            }
            _ => {
                decoded.push('=');
                rest = from;
            }
        }
    }
    if decoded.is_empty() {
        return Cow::Borrowed(text);
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// `text` begins behind the `=` of the first byte.
fn octets(text: &str) -> (Vec<u8>, &str) {
    let (mut octets, mut rest) = (Vec::new(), text);
    while let Some((octet, after)) = octet(rest) {
        octets.push(octet);
        rest = after;
        match after.strip_prefix('=') {
            Some(next) if self::octet(next).is_some() => rest = next,
            _ => break,
        }
    }
    (octets, rest)
}

fn octet(text: &str) -> Option<(u8, &str)> {
    let (digits, after) = text.split_at_checked(2)?;
    let octet = u8::from_str_radix(digits, 16).ok()?;
    (octet >= 0x80).then_some((octet, after))
}

#[cfg(test)]
mod tests {
    use super::{fold, unquoted};

    #[test]
    fn letters_lose_case_accents_and_width() {
        for (text, folded) in [
            ("User Unknown", "user unknown"),
            ("EMPFÄNGER", "empfanger"),
            ("Empfa\u{308}nger", "empfanger"),
            ("Straße", "strasse"),
            ("GEÇERSİZ ALICI", "gecersiz alici"),
            ("Alıcı", "alici"),
            ("СКРЫТЫЙ Ё", "скрытыи е"),
            ("Nadawca zablokował", "nadawca zablokowal"),
            ("ＩＰアドレス", "ipアトレス"),
            ("n’existe", "n'existe"),
            ("un\u{200b}known", "unknown"),
            ("Empf\u{fffd}nger", "empf\u{fffd}nger"),
        ] {
            assert_eq!(fold(text), folded, "{text}");
        }
    }

    #[test]
    fn quoted_printable_is_read_and_other_equal_signs_stay() {
        for (text, read) in [
            ("Empf=C3=A4nger", "Empfänger"),
            ("a=b ip=12 q=AZ c==", "a=b ip=12 q=AZ c=="),
            ("Empf=E4nger", "Empf=E4nger"),
            ("=C3=A4=x", "ä=x"),
            ("host=callback", "host=callback"),
            ("=D0=BD=D0=B5=D1=82 =D1=82=D0=B0=D0=BA", "нет так"),
            ("=", "="),
        ] {
            assert_eq!(unquoted(text), read);
        }
    }
}
