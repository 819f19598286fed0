//! RFC 5893 §2, the Bidi rule: labels in right-to-left scripts, and labels next to them, must have only one reading
//! order. The platform's URL checks only labels that start right-to-left.

use icu_properties::{CodePointMapData, props::BidiClass as Class};

/// True for a mark that is drawn on the letter before it, such as U+0300.
pub(super) fn is_mark(c: char) -> bool {
    !c.is_ascii() && class(c) == Class::NonspacingMark
}

/// The labels are decoded.
#[cfg(any(target_arch = "wasm32", test))]
pub(super) fn agree(labels: &[Vec<char>]) -> bool {
    let is_from_right = |c: &char| {
        matches!(class(*c), Class::RightToLeft | Class::ArabicLetter | Class::ArabicNumber)
    };
    !labels.iter().flatten().any(is_from_right) || labels.iter().all(|label| is_in_order(label))
}

fn class(c: char) -> Class {
    CodePointMapData::<Class>::new().get(c)
}

#[cfg(any(target_arch = "wasm32", test))]
fn is_in_order(label: &[char]) -> bool {
    let classes: Vec<_> = label.iter().map(|c| class(*c)).collect();
    let last = classes.iter().rfind(|class| **class != Class::NonspacingMark);
    let (Some(first), Some(last)) = (classes.first(), last) else { return true };
    let is_neutral = |class: &Class| {
        matches!(
            *class,
            Class::EuropeanNumber
                | Class::EuropeanSeparator
                | Class::CommonSeparator
                | Class::EuropeanTerminator
                | Class::OtherNeutral
                | Class::BoundaryNeutral
                | Class::NonspacingMark
        )
    };
    match *first {
        Class::LeftToRight => {
            matches!(*last, Class::LeftToRight | Class::EuropeanNumber)
                && classes.iter().all(|class| *class == Class::LeftToRight || is_neutral(class))
        }
        Class::RightToLeft | Class::ArabicLetter => {
            let is_allowed = |class: &Class| {
                matches!(*class, Class::RightToLeft | Class::ArabicLetter | Class::ArabicNumber)
                    || is_neutral(class)
            };
            matches!(
                *last,
                Class::RightToLeft
                    | Class::ArabicLetter
                    | Class::EuropeanNumber
                    | Class::ArabicNumber
            ) && classes.iter().all(is_allowed)
                && !(classes.contains(&Class::EuropeanNumber)
                    && classes.contains(&Class::ArabicNumber))
        }
        _ => false,
    }
}
