//! Reads what a person or a file gives as an address: one [`Address`], or the mistake in it (docs/api.md, What is read
//! from a text).

use crate::{
    address::{Address, marks::trimmed},
    malformed,
    name_address::{FormMistake, Parts, parts},
    suggestion,
};

#[derive(Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The text without blanks and invisible characters around it.
    whole: String,
    /// The part of `whole` that should be an address.
    text: String,
    /// `None` if the text was reduced, and what is left isn't an address.
    mistake: Option<FormMistake>,
}

/// Reads a bare address or `Name <address>`. Blanks, line ends and invisible characters around either are removed;
/// nothing else is.
pub fn read(text: &str) -> Result<Address, Malformed> {
    let whole = trimmed(text);
    let malformed =
        |text: &str, mistake| Malformed { whole: whole.to_owned(), text: text.to_owned(), mistake };
    let Parts { name, address } =
        parts(whole).map_err(|mistake| malformed(whole, Some(mistake)))?;
    let address = Address::parse(address).map_err(|_| malformed(address, None))?;
    if suggestion::holds_other_than(name, &address) {
        return Err(malformed(whole, Some(FormMistake::SecondAddress)));
    }
    Ok(address)
}

/// Bare, and without anything around it.
pub fn read_bare(text: &str) -> Result<Address, Malformed> {
    Address::parse(text).map_err(|_| {
        let mistake = text.is_empty().then_some(FormMistake::Empty);
        Malformed { whole: text.to_owned(), text: text.to_owned(), mistake }
    })
}

/// Reads a domain, which may end in a dot: lower-case A-labels, at least two. `None` if the text isn't a domain.
#[must_use]
pub fn read_domain(text: &str) -> Option<String> {
    let text = trimmed(text);
    let text = text.strip_suffix(suggestion::DOTS).unwrap_or(text);
    let address = Address::parse(&["a@", text].concat()).ok()?;
    Some(address.domain().to_owned()).filter(|name| name.contains('.'))
}

impl Malformed {
    /// The text without blanks and invisible characters around it and, if it has the form, the text in the brackets of
    /// `Name <text>`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        matches!(self.mistake, Some(FormMistake::Empty))
    }

    /// True if the text can't be reduced to one text that may be an address: it is empty, or its angle brackets aren't
    /// one pair around something, at the end.
    #[must_use]
    pub const fn is_unreadable(&self) -> bool {
        matches!(
            self.mistake,
            Some(
                FormMistake::Empty
                    | FormMistake::Unbalanced
                    | FormMistake::Pairs
                    | FormMistake::Hollow
                    | FormMistake::After
            )
        )
    }

    /// The person who typed the text gets one or two sentences, which quote at most one character of it.
    #[must_use]
    pub fn problem(&self) -> String {
        self.mistake.map_or_else(
            || malformed::problem(&self.text),
            |mistake| malformed::problem_of_form(mistake, &self.text).to_owned(),
        )
    }

    #[must_use]
    pub fn suggestion(&self) -> Option<String> {
        suggestion::suggestion(&self.whole)
    }

    /// The domains that stand in the text after an `@`, as DNS sees them, for lists of blocked domains: comments,
    /// brackets, dots at the end and invisible characters don't hide a domain.
    #[must_use]
    pub fn domains(&self) -> Vec<String> {
        suggestion::domains(&self.whole)
    }
}

/// Doesn't show the text: `{:?}` may end up in logs, which contain no checked addresses (docs/security.md, A10).
impl std::fmt::Debug for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Malformed(…)")
    }
}
