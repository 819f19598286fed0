//! Sentences about values from outside that don't fit their type.

use std::fmt;

use serde::de::{self, Error as _, Expected, Unexpected};

/// The first value that doesn't fit its type, as a sentence for the sender of the text. It may quote the value.
#[derive(Debug)]
pub struct Misfit {
    /// The member's path, like `list[1].name`.
    path: String,
    before: &'static str,
    after: String,
    /// True if the sentence names a member without the objects around it.
    is_name: bool,
    /// Index of the struct's field that is missing.
    missing: Option<usize>,
}

impl Misfit {
    fn new(path: &str, before: &'static str, after: impl Into<String>) -> Self {
        Self { path: path.to_owned(), before, after: after.into(), is_name: false, missing: None }
    }

    /// Doesn't show the value: the code that writes a float would be 14 KB of the Worker.
    pub fn must_be(expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        let kind = kind(&expected).unwrap_or(&expected);
        Self::new("", THE, format!("' field must be {kind}."))
    }

    /// Puts `step`, a member or an element, before the path.
    pub fn within(mut self, step: &str) -> Self {
        if !self.is_name {
            let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
            self.path = format!("{step}{dot}{}", self.path);
        }
        Self { missing: None, ..self }
    }

    /// The missing field's misfit, where a struct found too few values.
    pub fn of(self, fields: &'static [&'static str]) -> Self {
        let name = self.missing.and_then(|missing| fields.get(missing));
        name.map_or(self, |name| Self::missing_field(name))
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "." } else { &self.path };
        write!(f, "{}{path}{}", self.before, self.after)
    }
}

impl std::error::Error for Misfit {}

const THE: &str = "The '";

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(cause: T) -> Self {
        Self::new("", THE, format!("' field isn't valid: {cause}."))
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::must_be(expected)
    }

    fn invalid_value(own: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(own, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let other = Self::custom(format_args!("{length} elements instead of {expected}"));
        Self { missing: Some(length), ..other }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::new(name, "Missing '", "' field in request body.")
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::new(name, THE, "' field is there twice.")
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let meant = known.iter().find(|known| are_alike(name, known));
        let meant = meant.map(|meant| format!(" Did you mean '{meant}'?")).unwrap_or_default();
        Self { is_name: true, ..Self::new(name, "There is no '", format!("' field.{meant}")) }
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        let known = known.join(", ");
        Self::new("", THE, format!("' field can't be '{name}'. It is one of: {known}."))
    }
}

fn are_alike(name: &str, member: &str) -> bool {
    let alike = name.bytes().zip(member.bytes()).take_while(|(a, b)| a == b);
    alike.count() >= ALIKE_BYTES_MIN
}

/// Number of first bytes that a misspelt member shares with the one that was meant.
const ALIKE_BYTES_MIN: usize = 4;

fn kind(expected: &str) -> Option<&'static str> {
    Some(match expected {
        "a string" | "a borrowed string" => "a string",
        "a boolean" => "a boolean",
        "a sequence" => "a list",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        expected if expected.starts_with("struct ") || expected == "a map" => "an object",
        _ => return None,
    })
}
