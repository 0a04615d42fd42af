//! The names of the fields of a struct that can be read, as serde knows them.

use serde::de::value::Error;
use serde::de::{Deserialize, Deserializer, Visitor};

/// The names of the fields of `T`, in their order; empty if `T` is no struct.
pub(super) fn names<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Reading ends where the names are told.
    let _ = T::deserialize(Names(&mut names));
    names
}

struct Names<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = fields;
        self.deserialize_any_end()
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        self.deserialize_any_end()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl Names<'_> {
    fn deserialize_any_end<T>(self) -> Result<T, Error> {
        Err(serde::de::Error::custom("only the names are wanted"))
    }
}
