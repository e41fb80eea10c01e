//! A string of a JSON document, by pointer.
//!
//! The document is read to find the span of the string, and never written again: numbers, white space, order
//! and escapes stay as the client wrote them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::InjectError;
use super::body::Slot;

pub(super) fn locate<'a>(body: &'a [u8], pointer: &str) -> Slot<'a> {
    let Ok(mut here) = serde_json::from_slice::<&'a RawValue>(body) else { return Slot::Malformed };
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let mut document = serde_json::Deserializer::from_str(here.get());
        match (Step { name: &step }).deserialize(&mut document) {
            Ok(Taken::Nothing) => return Slot::Absent,
            Ok(Taken::Twice) => return Slot::Several,
            Ok(Taken::One(value)) => here = value,
            Err(_) => return Slot::Malformed,
        }
    }
    let text = here.get();
    if text == "null" || text == "\"\"" {
        return Slot::Absent;
    }
    let Ok(Text(value)) = serde_json::from_str(text) else { return Slot::Malformed };
    let start = text.as_ptr().addr() - body.as_ptr().addr();
    Slot::One(start..start + text.len(), value)
}

/// The secret as a JSON string, with its quotes.
pub(super) fn written(secret: &[u8]) -> Result<Zeroizing<Vec<u8>>, InjectError> {
    let text = std::str::from_utf8(secret).map_err(|_| InjectError::Unfit)?;
    // The longest escape is six bytes for one.
    let mut out = Zeroizing::new(Vec::with_capacity(6 * text.len() + 2));
    serde_json::to_writer(&mut *out, text).map_err(|_| InjectError::Unfit)?;
    Ok(out)
}

/// What a step of a pointer leads to.
enum Taken<'a> {
    Nothing,
    One(&'a RawValue),
    /// The key is there twice; which of them counts is up to the upstream's parser.
    Twice,
}

struct Step<'s> {
    name: &'s str,
}

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Taken<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Taken<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Step<'_> {
    type Value = Taken<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Taken<'de>, A::Error> {
        let mut taken = Taken::Nothing;
        while let Some(Text(key)) = map.next_key()? {
            if *key != *self.name.as_bytes() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value()?;
            taken = match taken {
                Taken::Nothing => Taken::One(value),
                Taken::One(_) | Taken::Twice => Taken::Twice,
            };
        }
        Ok(taken)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Taken<'de>, A::Error> {
        let mut taken = Taken::Nothing;
        let mut index = 0_usize;
        while let Some(value) = seq.next_element::<&RawValue>()? {
            if index.to_string() == self.name {
                taken = Taken::One(value);
            }
            index += 1;
        }
        Ok(taken)
    }

    fn visit_unit<E>(self) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }

    fn visit_str<E>(self, _: &str) -> Result<Taken<'de>, E> {
        Ok(Taken::Nothing)
    }
}

/// A string, borrowed where it has no escapes.
struct Text<'a>(Cow<'a, [u8]>);

impl<'de> serde::Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text.as_bytes())))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.as_bytes().to_vec())))
            }
        }
        deserializer.deserialize_str(Either)
    }
}
