//! Counts of final verdicts, by status and by verdict: each is a JSON column and a member of the
//! API.

use std::{borrow::Cow, fmt, marker::PhantomData};

use rcpt_shared::{Deliverability, Status};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{Object, OneOf, RefOr, Schema, Type},
};

use crate::json;

/// Schema of `true`, `false` or one of the seven strings.
pub fn status_schema() -> Schema {
    let strings =
        Status::ALL.into_iter().map(Status::as_str).filter(|s| !matches!(*s, "true" | "false"));
    let boolean = Object::builder().schema_type(Type::Boolean).build();
    let string = Object::builder().schema_type(Type::String).enum_values(Some(strings)).build();
    OneOf::builder()
        .item(boolean)
        .item(string)
        .description(Some(
            "`true`: the mail server accepts the address. `false`: it refuses it. `invalid_format`, \
             `domain_not_found` and `no_mx_records`: the address can't receive mail either. The \
             other strings: it isn't known, and the mailbox may well exist. Compare with `true` and \
             `false` themselves: a non-empty string counts as true in many languages.",
        ))
        .build()
        .into()
}

/// Names under which verdicts are counted.
pub trait Class: Copy + PartialEq + 'static {
    const ALL: &'static [Self];
    /// Name of the API schema for the counts of this class.
    const SCHEMA: &'static str;
    const DESCRIPTION: &'static str;

    fn name(self) -> &'static str;
}

impl Class for Status {
    const ALL: &'static [Self] = &Self::ALL;
    const SCHEMA: &'static str = "StatusCounts";
    const DESCRIPTION: &'static str = "Final verdicts by status.";

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl Class for Deliverability {
    const ALL: &'static [Self] = &Self::ALL;
    const SCHEMA: &'static str = "VerdictCounts";
    const DESCRIPTION: &'static str = "Final verdicts in one word. `risky` means accepted, but the server may accept every address.";

    fn name(self) -> &'static str {
        self.as_str()
    }
}

/// A number for each class, in the order of [`Class::ALL`]. Its JSON has a member for each class; a
/// missing member is read as 0, and an unknown member is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally<C> {
    numbers: Vec<u32>,
    class: PhantomData<C>,
}

pub type StatusCounts = Tally<Status>;
pub type VerdictCounts = Tally<Deliverability>;

impl<C: Class> Default for Tally<C> {
    fn default() -> Self {
        Self { numbers: vec![0; C::ALL.len()], class: PhantomData }
    }
}

impl<C: Class> Tally<C> {
    fn each(&self) -> impl Iterator<Item = (C, u32)> {
        C::ALL.iter().copied().zip(self.numbers.iter().copied())
    }

    pub fn add(&mut self, class: C, number: u32) {
        let all = C::ALL.iter().zip(&mut self.numbers);
        for (_, count) in all.filter(|(other, _)| **other == class) {
            *count = count.saturating_add(number);
        }
    }

    pub fn of(&self, class: C) -> u32 {
        self.each().filter(|(other, _)| *other == class).map(|(_, number)| number).sum()
    }

    pub fn sum(&self) -> u32 {
        self.numbers.iter().sum()
    }

    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<C: Class> Serialize for Tally<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.each().map(|(class, number)| (class.name(), number)))
    }
}

impl<'de, C: Class> Deserialize<'de> for Tally<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers<C>(PhantomData<C>);

        impl<'de, C: Class> Visitor<'de> for Numbers<C> {
            type Value = Tally<C>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tally<C>, A::Error> {
                let mut tally = Tally::default();
                while let Some((name, number)) = map.next_entry::<String, u32>()? {
                    for class in C::ALL.iter().filter(|class| class.name() == name) {
                        tally.add(*class, number);
                    }
                }
                Ok(tally)
            }
        }

        deserializer.deserialize_map(Numbers(PhantomData))
    }
}

pub fn from_column<'de, C: Class, D: Deserializer<'de>>(from: D) -> Result<Tally<C>, D::Error> {
    let text = String::deserialize(from)?;
    json::read(text.as_bytes()).map_err(|_| D::Error::custom("counts of another form"))
}

impl<C: Class> PartialSchema for Tally<C> {
    fn schema() -> RefOr<Schema> {
        let number = || Object::builder().schema_type(Type::Integer).minimum(Some(0)).build();
        let mut object = Object::builder().description(Some(C::DESCRIPTION));
        for class in C::ALL {
            object = object.property(class.name(), number()).required(class.name());
        }
        RefOr::T(object.build().into())
    }
}

impl<C: Class> ToSchema for Tally<C> {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed(C::SCHEMA)
    }
}

#[cfg(test)]
mod tests {
    use rcpt_shared::{Deliverability, Status};

    use super::Tally;

    #[test]
    fn json_has_every_class_and_what_is_read_back_is_the_same() {
        let mut tally = Tally::<Deliverability>::default();
        tally.add(Deliverability::Risky, 2);
        tally.add(Deliverability::Risky, 1);
        let text = tally.to_text();
        assert_eq!(text, r#"{"deliverable":0,"undeliverable":0,"risky":3,"unknown":0}"#);
        assert_eq!(serde_json::from_str::<Tally<Deliverability>>(&text).unwrap(), tally);
        assert_eq!((tally.of(Deliverability::Risky), tally.sum()), (3, 3));
    }

    #[test]
    fn a_class_that_another_release_has_or_lacks_does_no_harm() {
        let read: Tally<Status> = serde_json::from_str(r#"{"true":4,"of_next_year":1}"#).unwrap();
        assert_eq!((read.of(Status::Accepted), read.sum()), (4, 4));
    }
}
