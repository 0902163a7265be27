//! A value in a configuration before it is judged.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::status::CODES;

/// Any value that an option could have, right or wrong: what a format delivers, before it is judged.
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    /// No option is one, so what is in it does not matter.
    Map,
}

impl Value {
    pub(super) fn as_u64(&self) -> Result<u64, &Self> {
        match self {
            Self::Integer(number) => u64::try_from(*number).map_err(|_| self),
            _ => Err(self),
        }
    }

    /// A code, or a range of three digits, hyphen, three digits.
    pub(super) fn as_statuses(&self) -> Option<RangeInclusive<u16>> {
        let (first, last) = match self {
            Self::Integer(code) => {
                let code = u16::try_from(*code).ok()?;
                (code, code)
            }
            Self::Text(range) => {
                let (first, last) = range.split_once('-')?;
                let three_digits = |code: &str| code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
                if !(three_digits(first) && three_digits(last)) {
                    return None;
                }
                (first.parse().ok()?, last.parse().ok()?)
            }
            _ => return None,
        };
        (CODES.contains(&first) && CODES.contains(&last) && first <= last).then_some(first..=last)
    }
}

/// As in JSON, for error messages.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            // `{:?}` keeps the point of a whole number: it shows why 500.0 is not taken for 500.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Map => f.write_str("a map"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of an option")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut value = Value::Map;
        while let Some(key) = map.next_key::<String>()? {
            if key == ARBITRARY_PRECISION {
                value = map.next_value::<String>()?.parse().map_or(Value::Map, Value::Float);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(value)
    }
}

/// How `serde_json` delivers a float as a map where any crate of the build has turned on its feature
/// `arbitrary_precision`.
const ARBITRARY_PRECISION: &str = "$serde_json::private::Number";
