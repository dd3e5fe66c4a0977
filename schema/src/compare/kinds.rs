//! Sets of JSON types.
//!
//! "Any value but null" is a set like any other, so that the ways to write it need no telling apart.

use std::fmt;

use serde_json::Value;

/// A set of JSON types. Numbers are two of them, the integers and the rest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NULL: Self = Self(1);
    const INTEGER: Self = Self(1 << 2);
    const NUMBER: Self = Self(0b1100);
    const ALL: Self = Self(0b111_1111);
    /// The names in the order in which they are listed. `number` includes the integers.
    const NAMES: [(&'static str, Self); 7] = [
        ("null", Self::NULL),
        ("boolean", Self(1 << 1)),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("string", Self(1 << 4)),
        ("array", Self(1 << 5)),
        ("object", Self(1 << 6)),
    ];

    /// The set that a `type` keyword names.
    pub(super) fn named(value: &Value) -> Option<Self> {
        let one = |value: &Value| {
            let name = value.as_str()?;
            Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kinds)| *kinds)
        };
        match value {
            Value::Array(names) => {
                names.iter().try_fold(Self(0), |kinds, name| Some(Self(kinds.0 | one(name)?.0)))
            }
            name => one(name),
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self(1 << 1),
            Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => {
                Self::INTEGER
            }
            Value::Number(_) => Self(1 << 3),
            Value::String(_) => Self(1 << 4),
            Value::Array(_) => Self(1 << 5),
            Value::Object(_) => Self(1 << 6),
        }
    }

    pub(super) fn of_values(values: &[Value]) -> Self {
        Self(values.iter().fold(0, |kinds, value| kinds | Self::of(value).0))
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) fn complement(self) -> Self {
        Self(Self::ALL.0 & !self.0)
    }

    pub(super) fn contains(self, value: &Value) -> bool {
        self.0 & Self::of(value).0 != 0
    }

    pub(super) fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("any value");
        }
        if *self == Self::NULL.complement() {
            return f.write_str("any value but null");
        }
        let mut left = *self;
        let mut names = Vec::new();
        for (name, kinds) in Self::NAMES {
            if kinds.0 & left.0 == kinds.0 {
                names.push(name);
                left = left.and(kinds.complement());
            }
        }
        f.write_str(&if names.is_empty() { "nothing".to_owned() } else { names.join(" or ") })
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
