//! From the tree to a value of a type.

use std::slice;

use serde::{
    de::{
        self, DeserializeSeed, Deserializer as _, EnumAccess, Error as _, IntoDeserializer as _,
        MapAccess, SeqAccess, VariantAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::{Misfit, Tree};

impl Tree {
    fn has_only(&self, fields: &'static [&'static str]) -> Result<(), Misfit> {
        let Self::Object(members) = self else { return Ok(()) };
        let unknown = members.iter().find(|(name, _)| !fields.contains(&name.as_str()));
        unknown.map_or(Ok(()), |(name, _)| Err(Misfit::unknown_field(name, fields)))
    }
}

impl<'de> de::Deserializer<'de> for &'de Tree {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Number(_) => self.deserialize_u64(visitor),
            Tree::Text(text) => visitor.visit_str(text),
            Tree::List(_) => self.deserialize_seq(visitor),
            Tree::Object(_) => self.deserialize_map(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::Bool(value) => visitor.visit_bool(*value),
            _ => Err(Misfit::must_be(&visitor)),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let Tree::Number(number) = self else { return Err(Misfit::must_be(&visitor)) };
        if let Some(number) = number.as_u64() {
            visitor.visit_u64(number)
        } else if let Some(number) = number.as_i64() {
            visitor.visit_i64(number)
        } else {
            visitor.visit_f64(number.as_f64().unwrap_or_default())
        }
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::Text(text) => visitor.visit_str(text),
            _ => Err(Misfit::must_be(&visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::List(items) => visitor.visit_seq(Elements { items: items.iter(), index: 0 }),
            _ => Err(Misfit::must_be(&visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self {
            Tree::Object(members) => visitor.visit_map(Members { rest: members.iter(), of: None }),
            _ => Err(Misfit::must_be(&visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let Tree::Object(members) = self else { return Err(Misfit::must_be(&visitor)) };
        visitor.visit_seq(Fields { members, names: names.iter() }).map_err(|error| error.of(names))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self {
            Tree::Text(name) => visitor.visit_enum(Variant { name, content: &Tree::Null }),
            Tree::Object(members) => match &members[..] {
                [(name, content)] => visitor.visit_enum(Variant { name, content }),
                _ => Err(Misfit::must_be(&visitor)),
            },
            _ => Err(Misfit::must_be(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
    }
}

struct Elements<'de> {
    items: slice::Iter<'de, Tree>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misfit> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.within(&format!("[{index}]")))
    }
}

/// The members of a struct in the order of its fields, so that a type needs no code that finds a field by its name.
struct Fields<'de> {
    members: &'de [(String, Tree)],
    names: slice::Iter<'static, &'static str>,
}

impl<'de> Fields<'de> {
    fn value(&self, name: &'static str) -> Result<Option<&'de Tree>, Misfit> {
        let mut values = self.members.iter().filter(|(own, _)| own == name).map(|(_, value)| value);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Misfit::duplicate_field(name)),
            (value, None) => Ok(value),
        }
    }
}

impl<'de> SeqAccess<'de> for Fields<'de> {
    type Error = Misfit;

    /// `None` for a missing member that can't be `null`: the type has a default, or finds the sequence too short. A
    /// missing member that can be `null` is `null`, so an `Option`'s default must be `None`.
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misfit> {
        let Some(name) = self.names.next() else { return Ok(None) };
        let value = self.value(name)?;
        match seed.deserialize(value.unwrap_or(&Tree::Null)) {
            Ok(read) => Ok(Some(read)),
            Err(_) if value.is_none() => Ok(None),
            Err(error) => Err(error.within(name)),
        }
    }
}

/// An object whose members must all be fields of the type.
#[derive(Clone, Copy)]
pub struct Strict<'de>(pub &'de Tree);

impl<'de> de::Deserializer<'de> for Strict<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.0.has_only(fields)?;
        self.0.deserialize_struct(name, fields, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct Members<'de> {
    rest: slice::Iter<'de, (String, Tree)>,
    /// The member whose name was read last.
    of: Option<&'de (String, Tree)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Misfit> {
        self.of = self.rest.next();
        let Some((name, _)) = self.of else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let (name, value) = self.of.ok_or_else(|| Misfit::custom("no member"))?;
        seed.deserialize(value).map_err(|error| error.within(name))
    }
}

/// An enum's variant: a name alone has no content, which is `null`.
struct Variant<'de> {
    name: &'de str,
    content: &'de Tree,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Misfit> {
        Ok((seed.deserialize(self.name.into_deserializer())?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        match self.content {
            Tree::Null => Ok(()),
            _ => Err(Misfit::must_be(&"nothing").within(self.name)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Misfit> {
        seed.deserialize(self.content).map_err(|error| error.within(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        self.content.deserialize_seq(visitor).map_err(|error| error.within(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let read = self.content.deserialize_struct("", names, visitor);
        read.map_err(|error| error.within(self.name))
    }
}
