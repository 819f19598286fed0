//! JSON from outside, read in two steps: a tree, and from the tree a value of a type.
//!
//! The reader of a type is compiled once for each kind of source. With the tree as the only source that is once, and
//! its errors name the member. A struct ignores further members, also with `deny_unknown_fields`: [`Strict`] doesn't.

use std::fmt;

use serde::{
    Deserialize,
    de::{self, DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

mod misfit;
mod reader;
#[cfg(test)]
mod tests;

pub use misfit::Misfit;
pub use reader::Strict;

/// A JSON value. Members are in the order of the text, repeated ones included.
#[derive(Debug)]
pub enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Reads a value from its text in UTF-8.
///
/// # Errors
/// [`Misfit`], also if the text isn't JSON.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, Misfit> {
    T::deserialize(&Tree::parse(text).ok_or_else(|| Misfit::custom("not JSON"))?)
}

impl Tree {
    /// `None` if the text isn't JSON in UTF-8.
    pub fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// A list's elements; none of another value.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: de::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(Builder)
    }
}

struct Builder;

impl<'de> Visitor<'de> for Builder {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Tree::Object(object))
    }
}
