//! `RetryOptions` and `RetryPolicy` as configuration: the `serde` feature.
//!
//! Read by hand rather than by derive, so that every error names its option.

mod value;

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{self, Serialize, SerializeMap, Serializer};

use self::value::Value;
use crate::options::{Replay, RetryAfterExcess, RetryOptions};
use crate::policy::RetryPolicy;
use crate::status::StatusSet;

/// Options as configuration: a map of their names, in any self-describing format. What is absent stays unset.
///
/// | option | value |
/// |---|---|
/// | `max_retries` | a whole number up to `u64::MAX`; above `u32::MAX` it reads as `u32::MAX` |
/// | `backoff_initial`, `backoff_max`, `retry_after_min`, `retry_after_max` | whole milliseconds up to `u64::MAX` |
/// | `budget` | whole milliseconds, or null or `"none"` for no limit |
/// | `backoff_jitter`, `retry_after_jitter` | a number from 0 to 1 |
/// | `statuses` | a list of codes and of inclusive ranges: `[408, 429, "500-599"]`; it may be empty |
/// | `unsafe_statuses` | such a list, or null or `"same"` for those of `statuses` |
/// | `respect_retry_after`, `respect_should_retry` | `true` or `false` |
/// | `retry_connection_errors`, `retry_timeout_errors` | `true`, `false` or `"auto"` |
/// | `retry_after_excess` | `"clamp"` or `"give_up"` |
///
/// A value of another type (500.0 is no integer) and one that is out of bounds are errors that name the option, the value
/// and what was expected; an unknown or repeated name is an error that says so. (What a format's own value type, such as
/// `serde_json::Value`, has dropped already cannot be seen here.)
///
/// ```
/// use std::time::Duration;
/// use retry_machine::{RetryOptions, RetryPolicy};
///
/// let options: RetryOptions = serde_json::from_str(r#"{"statuses": [429, "500-504"], "budget": 60000}"#)?;
/// assert_eq!(options, RetryOptions::default().statuses([429, 500, 501, 502, 503, 504]).budget(Duration::from_secs(60)));
///
/// let error = serde_json::from_str::<RetryPolicy>(r#"{"budget": -1}"#).unwrap_err();
/// assert!(error.to_string().starts_with(
///     "`budget`: found -1, expected milliseconds as an integer from 0 to 18446744073709551615, or null or \"none\" for no limit"
/// ));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de> Deserialize<'de> for RetryOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct("RetryOptions", OPTIONS, OptionsVisitor)
    }
}

/// Reads [`RetryOptions`] over the defaults, through the same checks: no invalid policy can be read.
impl<'de> Deserialize<'de> for RetryPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RetryPolicy::new(RetryOptions::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Writes the options that are set, in the form in which they are read.
///
/// A duration that is not a whole number of milliseconds, or of more than `u64::MAX`, cannot be written and is an error;
/// so is an option that is out of bounds. A format without null, TOML for instance, refuses to write a budget of none.
impl Serialize for RetryOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.validate().map_err(ser::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        write(&mut map, "max_retries", self.max_retries)?;
        write(&mut map, "backoff_initial", self.backoff_initial.map(Millis))?;
        write(&mut map, "backoff_max", self.backoff_max.map(Millis))?;
        write(&mut map, "backoff_jitter", self.backoff_jitter)?;
        write(&mut map, "statuses", self.statuses.and_then(Result::ok).map(Statuses))?;
        let unsafe_statuses = self.unsafe_statuses.map(|statuses| UnsafeStatuses(statuses.and_then(Result::ok)));
        write(&mut map, "unsafe_statuses", unsafe_statuses)?;
        write(&mut map, "respect_retry_after", self.respect_retry_after)?;
        write(&mut map, "retry_after_min", self.retry_after_min.map(Millis))?;
        write(&mut map, "retry_after_max", self.retry_after_max.map(Millis))?;
        write(&mut map, "retry_after_excess", self.retry_after_excess.map(Excess))?;
        write(&mut map, "retry_after_jitter", self.retry_after_jitter)?;
        write(&mut map, "respect_should_retry", self.respect_should_retry)?;
        write(&mut map, "retry_connection_errors", self.retry_connection_errors.map(Toggle))?;
        write(&mut map, "retry_timeout_errors", self.retry_timeout_errors.map(Toggle))?;
        write(&mut map, "budget", self.budget.map(Budget))?;
        map.end()
    }
}

/// Writes every option. The marked method is none.
impl Serialize for RetryPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RetryOptions::from(self).serialize(serializer)
    }
}

struct OptionsVisitor;

impl<'de> Visitor<'de> for OptionsVisitor {
    type Value = RetryOptions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of retry options")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RetryOptions, A::Error> {
        let mut options = RetryOptions::default();
        while let Some(name) = map.next_key::<String>()? {
            let map = &mut map;
            match name.as_str() {
                "max_retries" => read(map, "max_retries", &mut options.max_retries, &COUNT)?,
                "backoff_initial" => read(map, "backoff_initial", &mut options.backoff_initial, &MILLIS)?,
                "backoff_max" => read(map, "backoff_max", &mut options.backoff_max, &MILLIS)?,
                "backoff_jitter" => read(map, "backoff_jitter", &mut options.backoff_jitter, &FRACTION)?,
                "statuses" => read(map, "statuses", &mut options.statuses, &STATUSES)?,
                "unsafe_statuses" => read(map, "unsafe_statuses", &mut options.unsafe_statuses, &UNSAFE_STATUSES)?,
                "respect_retry_after" => read(map, "respect_retry_after", &mut options.respect_retry_after, &SWITCH)?,
                "retry_after_min" => read(map, "retry_after_min", &mut options.retry_after_min, &MILLIS)?,
                "retry_after_max" => read(map, "retry_after_max", &mut options.retry_after_max, &MILLIS)?,
                "retry_after_excess" => read(map, "retry_after_excess", &mut options.retry_after_excess, &EXCESS)?,
                "retry_after_jitter" => read(map, "retry_after_jitter", &mut options.retry_after_jitter, &FRACTION)?,
                "respect_should_retry" => {
                    read(map, "respect_should_retry", &mut options.respect_should_retry, &SWITCH)?;
                }
                "retry_connection_errors" => {
                    read(map, "retry_connection_errors", &mut options.retry_connection_errors, &TOGGLE)?;
                }
                "retry_timeout_errors" => {
                    read(map, "retry_timeout_errors", &mut options.retry_timeout_errors, &TOGGLE)?;
                }
                "budget" => read(map, "budget", &mut options.budget, &BUDGET)?,
                unknown => return Err(de::Error::unknown_field(unknown, OPTIONS)),
            }
        }
        Ok(options)
    }
}

/// Reads the value of an option that must not be set yet.
fn read<'de, A: MapAccess<'de>, T>(
    map: &mut A,
    option: &'static str,
    slot: &mut Option<T>,
    kind: &Kind<T>,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(option));
    }
    let value: Value = map.next_value().map_err(|error| de::Error::custom(format_args!("`{option}`: {error}")))?;
    let read = (kind.read)(&value).map_err(|found| {
        de::Error::custom(format_args!("`{option}`: found {found}, expected {expected}", expected = kind.expected))
    })?;
    *slot = Some(read);
    Ok(())
}

/// Writes the value of an option that is set.
fn write<M: SerializeMap>(map: &mut M, option: &'static str, value: Option<impl Serialize>) -> Result<(), M::Error> {
    match value {
        Some(value) => {
            map.serialize_entry(option, &value).map_err(|error| ser::Error::custom(format_args!("`{option}`: {error}")))
        }
        None => Ok(()),
    }
}

/// How the values of some options are read. Where one does not fit, the error is the part that does not.
struct Kind<T> {
    expected: &'static str,
    read: fn(&Value) -> Result<T, &Value>,
}

const COUNT: Kind<u32> = Kind {
    expected: "an integer from 0 to 18446744073709551615",
    // More than a u32 holds is more than anyone retries.
    read: |value| Ok(u32::try_from(value.as_u64()?).unwrap_or(u32::MAX)),
};

const MILLIS: Kind<Duration> = Kind {
    expected: "milliseconds as an integer from 0 to 18446744073709551615",
    read: |value| Ok(Duration::from_millis(value.as_u64()?)),
};

const BUDGET: Kind<Option<Duration>> = Kind {
    expected: "milliseconds as an integer from 0 to 18446744073709551615, or null or \"none\" for no limit",
    read: |value| match value {
        Value::Null => Ok(None),
        Value::Text(text) if text == NONE => Ok(None),
        value => (MILLIS.read)(value).map(Some),
    },
};

const FRACTION: Kind<f64> = Kind {
    expected: "a number from 0 to 1",
    read: |value| match *value {
        Value::Float(fraction) if (0.0..=1.0).contains(&fraction) => Ok(fraction),
        Value::Integer(0) => Ok(0.0),
        Value::Integer(1) => Ok(1.0),
        _ => Err(value),
    },
};

const SWITCH: Kind<bool> = Kind {
    expected: "true or false",
    read: |value| match value {
        Value::Bool(switch) => Ok(*switch),
        _ => Err(value),
    },
};

const TOGGLE: Kind<Replay> = Kind {
    expected: "true, false or \"auto\"",
    read: |value| match value {
        Value::Bool(replay) => Ok(Replay::from(*replay)),
        Value::Text(text) if text == AUTO => Ok(Replay::Auto),
        _ => Err(value),
    },
};

const EXCESS: Kind<RetryAfterExcess> = Kind {
    expected: "\"clamp\" or \"give_up\"",
    read: |value| match value {
        Value::Text(text) if text == CLAMP => Ok(RetryAfterExcess::Clamp),
        Value::Text(text) if text == GIVE_UP => Ok(RetryAfterExcess::GiveUp),
        _ => Err(value),
    },
};

const STATUSES: Kind<Result<StatusSet, u16>> = Kind {
    expected: "a list of statuses from 100 to 999 and of ascending ranges such as \"500-599\"",
    read: |value| {
        let Value::List(items) = value else {
            return Err(value);
        };
        match items.iter().find(|item| item.as_statuses().is_none()) {
            Some(bad) => Err(bad),
            // Every code has been checked, so this is a set.
            None => Ok(StatusSet::collect(items.iter().filter_map(Value::as_statuses).flatten())),
        }
    },
};

const UNSAFE_STATUSES: Kind<Option<Result<StatusSet, u16>>> = Kind {
    expected: "a list of statuses from 100 to 999 and of ascending ranges such as \"500-599\", or null or \"same\" for those of `statuses`",
    read: |value| match value {
        Value::Null => Ok(None),
        Value::Text(text) if text == SAME => Ok(None),
        value => (STATUSES.read)(value).map(Some),
    },
};

const OPTIONS: &[&str] = &[
    "max_retries",
    "backoff_initial",
    "backoff_max",
    "backoff_jitter",
    "statuses",
    "unsafe_statuses",
    "respect_retry_after",
    "retry_after_min",
    "retry_after_max",
    "retry_after_excess",
    "retry_after_jitter",
    "respect_should_retry",
    "retry_connection_errors",
    "retry_timeout_errors",
    "budget",
];

const AUTO: &str = "auto";
const CLAMP: &str = "clamp";
const GIVE_UP: &str = "give_up";
const SAME: &str = "same";
const NONE: &str = "none";

/// A duration as whole milliseconds; one that is none cannot be written.
struct Millis(Duration);

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = u64::try_from(self.0.as_millis()).ok().filter(|millis| Duration::from_millis(*millis) == self.0);
        match millis {
            Some(millis) => serializer.serialize_u64(millis),
            None => Err(ser::Error::custom(format_args!("found {:?}, expected {}", self.0, MILLIS.expected))),
        }
    }
}

/// A budget; none is null. As a unit and not a `None`: a format without null refuses a unit, where it might leave a `None`
/// out, which would read back as unset.
struct Budget(Option<Duration>);

impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(budget) => Millis(budget).serialize(serializer),
            None => serializer.serialize_unit(),
        }
    }
}

/// Statuses of their own, or the word: every format has to be able to write what most policies have.
struct UnsafeStatuses(Option<StatusSet>);

impl Serialize for UnsafeStatuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(statuses) => Statuses(statuses).serialize(serializer),
            None => serializer.serialize_str(SAME),
        }
    }
}

/// Codes that stand alone as numbers, and the others as ranges: `[408, 429, "500-599"]`.
struct Statuses(StatusSet);

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Collected, since some formats ask for the length of a list first.
        let ranges: Vec<_> = self.0.ranges().map(|range| StatusRange(*range.start(), *range.end())).collect();
        serializer.collect_seq(ranges)
    }
}

struct StatusRange(u16, u16);

impl Serialize for StatusRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self(first, last) if first == last => serializer.serialize_u16(first),
            Self(first, last) => serializer.collect_str(&format_args!("{first}-{last}")),
        }
    }
}

struct Toggle(Replay);

impl Serialize for Toggle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Replay::Auto => serializer.serialize_str(AUTO),
            Replay::Always => serializer.serialize_bool(true),
            Replay::Never => serializer.serialize_bool(false),
        }
    }
}

struct Excess(RetryAfterExcess);

impl Serialize for Excess {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self.0 {
            RetryAfterExcess::Clamp => CLAMP,
            RetryAfterExcess::GiveUp => GIVE_UP,
        })
    }
}
