//! Characters that nobody sees: blanks, and marks that are ignored when a text is shown.

use std::borrow::Cow;

use super::domain::to_a_labels;

/// Unicode's `White_Space`, and the empty Braille cell, which looks the same.
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}'
}

/// The characters after which a new line begins (UAX #14, classes BK, CR, LF and NL).
pub const LINE_BREAKS: &[char] = &['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

/// `Default_Ignorable_Code_Point` of Unicode (DerivedCoreProperties.txt), which has all bidirectional marks, and
/// U+FFF9 to U+FFFC, which annotate a text or stand for a picture in it.
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text without blanks and invisible characters around it.
#[inline(never)]
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(|c| is_blank(c) || is_invisible(c))
}

/// The text without the invisible characters that aren't in their place. In place are:
///
/// - a joiner (U+200C, U+200D) among letters where a domain may have it (UTS #46, `ContextJ`);
/// - a variation selector after a character that has variants, such as an emoji.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains(is_invisible) {
        return text.into();
    }
    let mut visible = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| c.is_ascii() != first.is_ascii()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        push_visible(&mut visible, run);
        rest = after;
    }
    visible.into()
}

pub fn has_hidden(text: &str) -> bool {
    without_hidden(text).len() < text.len()
}

/// A run is of ASCII or of other characters. Each run is converted at most once, so a text of many joiners costs no
/// more than another.
fn push_visible(visible: &mut String, run: &str) {
    let joins = run.contains(JOINERS) && to_a_labels(run).is_some();
    let mut chars = run.chars().peekable();
    while let Some(c) = chars.next() {
        let is_in_place = match c {
            _ if !is_invisible(c) => true,
            _ if JOINERS.contains(&c) => joins,
            _ if is_variation_selector(c) => {
                let before = visible.chars().next_back();
                before.is_some_and(has_variants) || chars.peek() == Some(&KEYCAP)
            }
            _ => false,
        };
        if is_in_place {
            visible.push(c);
        }
    }
}

const JOINERS: &[char] = &['\u{200c}', '\u{200d}'];
const KEYCAP: char = '\u{20e3}';

/// `Variation_Selector` of Unicode (PropList.txt).
const fn is_variation_selector(c: char) -> bool {
    matches!(
        c,
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    )
}

/// The letters of Latin, Greek, Cyrillic, Arabic and the other scripts below U+1000 have no variants
/// (StandardizedVariants.txt, emoji-variation-sequences.txt).
const fn has_variants(c: char) -> bool {
    matches!(c, '©' | '®' | '\u{1000}'..) && !is_invisible(c)
}

#[cfg(test)]
mod tests {
    use icu_properties::{CodePointSetData, props::DefaultIgnorableCodePoint};

    use super::{is_blank, is_invisible, trimmed, without_hidden};

    /// Neither in `Default_Ignorable_Code_Point` nor in `White_Space`.
    const OWN: &str = "\u{2800}\u{fff9}\u{fffa}\u{fffb}\u{fffc}";

    #[test]
    fn every_character_that_unicode_calls_ignorable_is_invisible() {
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        for c in '\0'..=char::MAX {
            let expected = ignorable.contains(c) || c.is_whitespace() || OWN.contains(c);
            assert_eq!(is_invisible(c) || is_blank(c), expected, "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn every_invisible_character_and_every_blank_is_removed_around_a_text() {
        for c in ('\0'..=char::MAX).filter(|c| is_invisible(*c) || is_blank(*c)) {
            assert_eq!(trimmed(&format!("{c}\n{c}a b{c}\t")), "a b", "U+{:04X}", u32::from(c));
        }
        assert_eq!(trimmed("\0a\u{1f}"), "\0a\u{1f}", "a control character is no blank");
    }

    #[test]
    fn an_invisible_character_stays_inside_only_in_its_place() {
        for (text, visible) in [
            ("ann", "ann"),
            ("an\u{200b}n", "ann"),
            ("an\u{ad}n\u{2060}é\u{34f}", "anné"),
            ("an\u{200c}n", "ann"),
            ("an\u{fe0f}n", "ann"),
            ("é\u{fe0f}", "é"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("❤\u{fe0f}\u{fe0f}", "❤\u{fe0f}"),
            ("\u{fe0f}❤", "❤"),
            ("1\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"),
            ("葛\u{e0100}", "葛\u{e0100}"),
            ("葛\u{e0020}", "葛"),
            ("نامه\u{200c}ای", "نامه\u{200c}ای"),
            ("क\u{94d}\u{200d}", "क\u{94d}\u{200d}"),
            ("测\u{200d}试", "测试"),
            ("نامه\u{200c}\u{200b}ای", "نامه\u{200c}ای"),
        ] {
            assert_eq!(without_hidden(text), visible, "{text:?}");
        }
    }
}
