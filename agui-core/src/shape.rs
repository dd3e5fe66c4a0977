//! The protocol's shapes as data, and the macros that declare each protocol type once.
//!
//! One declaration gives the Rust struct, its exact JSON in both directions and a static [`Shape`]. Enforcement
//! (`PROC-2` to `PROC-5`) and the generated JSON Schema read the shape, so neither can disagree with the types.
//!
//! Deserialization is strict: it accepts what the 1.0 schema accepts and nothing else. That is the fast path of
//! every reader; what it refuses goes through [`enforce`](crate::enforce), which tells unknown from malformed.
//! Nothing here knows an order of events.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;
use crate::json::{read_object as read_open_object, read_value};

/// Largest integer that every JSON reader holds exactly, 2^53 − 1 (`SHAPE-3`).
pub(crate) const MAX_SAFE_INTEGER: i64 = 9_007_199_254_740_991;

/// What a member may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Any string.
    Text,
    /// A string in the syntax of RFC 6901.
    Pointer,
    /// `true` or `false`.
    Bool,
    /// An integer between two bounds, both included.
    Integer { min: i64, max: i64 },
    /// Any JSON value; in an optional member any but `null` (`SHAPE-6`).
    Any,
    /// An object whose members nobody describes (`SHAPE-2`).
    Open,
    /// One fixed string.
    Const(&'static str),
    /// One of several strings.
    Enum(&'static EnumShape),
    /// A described object.
    Object(&'static Shape),
    /// One of several described objects, told apart by a discriminator.
    Union(&'static UnionShape),
    /// A list.
    List { items: &'static Self, min_items: usize },
    /// A string or a list of content parts.
    TextOrParts,
}

/// A closed set of strings.
#[derive(Debug)]
#[cfg_attr(not(feature = "schemars"), expect(dead_code, reason = "the schema needs the names"))]
pub(crate) struct EnumShape {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [&'static str],
    /// Whether the schema describes the set under its own name or in place.
    pub(crate) named: bool,
}

/// A described object.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
    /// Whether members beyond the described ones are kept (`SHAPE-2`).
    pub(crate) open: bool,
}

/// One member of a described object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
}

/// A union of described objects.
#[derive(Debug)]
pub(crate) struct UnionShape {
    pub(crate) name: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) members: &'static [(&'static str, &'static Shape)],
}

impl UnionShape {
    /// The member that a discriminator names.
    pub(crate) fn member(&self, tag: &str) -> Option<&'static Shape> {
        self.members.iter().find(|(name, _)| *name == tag).map(|(_, shape)| *shape)
    }
}

impl Shape {
    /// The member of a name.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// A type that stands in a protocol member.
pub(crate) trait Wire: Sized + Serialize {
    /// What the member may hold.
    const KIND: Kind;

    /// Reads the value, refusing what the schema refuses.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Whether this is a JSON `null`, which an optional member never writes (`SHAPE-1`).
    fn is_null(&self) -> bool {
        false
    }
}

/// A described object that can be read from a map whose discriminator has been consumed already.
pub(crate) trait WireObject: Sized {
    const SHAPE: Shape;

    /// Reads the members; `tag_read` says that the fixed discriminator has been seen.
    fn read_map<'de, A: MapAccess<'de>>(map: A, tag_read: bool) -> Result<Self, A::Error>;
}

/// A union that dispatches on its discriminator.
pub(crate) trait WireUnion: Sized {
    const UNION: UnionShape;

    /// Reads the member that `tag` names.
    fn read_member<'de, A: MapAccess<'de>>(tag: &str, map: A) -> Result<Self, A::Error>;
}

/// Reads a [`Wire`] value where serde wants a seed.
pub(crate) struct Seed<T>(PhantomData<T>);

impl<T> Seed<T> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Wire> DeserializeSeed<'de> for Seed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::read(deserializer)
    }
}

/// Reads one required member of an object.
pub(crate) fn read_required<'de, A: MapAccess<'de>, T: Wire>(
    map: &mut A,
    slot: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value_seed(Seed::new())?);
    Ok(())
}

/// Reads one optional member of an object, which is never `null` (`SHAPE-6`).
pub(crate) fn read_optional<'de, A: MapAccess<'de>, T: Wire>(
    map: &mut A,
    slot: &mut Option<T>,
    name: &'static str,
) -> Result<(), A::Error> {
    read_required(map, slot, name)?;
    if slot.as_ref().is_some_and(Wire::is_null) {
        return Err(de::Error::invalid_type(de::Unexpected::Unit, &"a value that is not null"));
    }
    Ok(())
}

/// Reads one fixed member of an object.
pub(crate) fn read_fixed<'de, A: MapAccess<'de>>(
    map: &mut A,
    seen: &mut bool,
    name: &'static str,
    value: &'static str,
) -> Result<(), A::Error> {
    if *seen {
        return Err(de::Error::duplicate_field(name));
    }
    let found: Text<'de> = map.next_value()?;
    if found.0 != value {
        return Err(de::Error::invalid_value(de::Unexpected::Str(&found.0), &value));
    }
    *seen = true;
    Ok(())
}

/// A string, borrowed from the input where that is possible.
pub(crate) struct Text<'de>(pub(crate) Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(v)))
            }

            fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(v.to_owned())))
            }

            fn visit_string<E: de::Error>(self, v: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(v)))
            }
        }

        deserializer.deserialize_str(TextVisitor)
    }
}

/// Reads a union: the discriminator first, wherever it stands, then the member it names.
///
/// What stands before the discriminator is set aside: nothing where it comes first, as every encoder we know
/// writes it, and one short string where a message starts with its id.
pub(crate) fn read_union<'de, D: Deserializer<'de>, U: WireUnion>(deserializer: D) -> Result<U, D::Error> {
    struct UnionVisitor<U>(PhantomData<U>);

    impl<'de, U: WireUnion> Visitor<'de> for UnionVisitor<U> {
        type Value = U;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object with `{}` ({})", U::UNION.tag, U::UNION.name)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<U, A::Error> {
            let mut aside = Vec::new();
            while let Some(key) = map.next_key::<Text<'de>>()? {
                if key.0 == U::UNION.tag {
                    let tag: Text<'de> = map.next_value()?;
                    return if aside.is_empty() {
                        U::read_member(&tag.0, map)
                    } else {
                        U::read_member(&tag.0, Resumed { aside: aside.into_iter(), value: None, map })
                    };
                }
                aside.push((key.0, map.next_value::<Aside<'de>>()?));
            }
            Err(de::Error::missing_field(U::UNION.tag))
        }
    }

    deserializer.deserialize_map(UnionVisitor(PhantomData))
}

/// A value that stood before the discriminator.
enum Aside<'de> {
    Text(Cow<'de, str>),
    Value(Value),
}

impl<'de> Deserialize<'de> for Aside<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsideVisitor;

        impl<'de> Visitor<'de> for AsideVisitor {
            type Value = Aside<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_borrowed_str<E: de::Error>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Aside::Text(Cow::Borrowed(v)))
            }

            fn visit_str<E: de::Error>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Aside::Text(Cow::Owned(v.to_owned())))
            }

            fn visit_bool<E: de::Error>(self, v: bool) -> Result<Self::Value, E> {
                Ok(Aside::Value(v.into()))
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Self::Value, E> {
                Ok(Aside::Value(v.into()))
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Self::Value, E> {
                Ok(Aside::Value(v.into()))
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Self::Value, E> {
                Ok(Aside::Value(v.into()))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
                Ok(Aside::Value(Value::Null))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                read_value(de::value::SeqAccessDeserializer::new(seq)).map(Aside::Value)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                read_value(de::value::MapAccessDeserializer::new(map)).map(Aside::Value)
            }
        }

        deserializer.deserialize_any(AsideVisitor)
    }
}

/// The members set aside, followed by those that are still to be read.
struct Resumed<'de, A> {
    aside: std::vec::IntoIter<(Cow<'de, str>, Aside<'de>)>,
    value: Option<Aside<'de>>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Resumed<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.aside.next() {
            Some((key, value)) => {
                self.value = Some(value);
                match key {
                    Cow::Borrowed(key) => seed.deserialize(de::value::BorrowedStrDeserializer::new(key)),
                    Cow::Owned(key) => seed.deserialize(de::value::StringDeserializer::new(key)),
                }
                .map(Some)
            }
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(Aside::Text(Cow::Borrowed(v))) => {
                seed.deserialize(de::value::BorrowedStrDeserializer::new(v))
            }
            Some(Aside::Text(Cow::Owned(v))) => seed.deserialize(de::value::StringDeserializer::new(v)),
            Some(Aside::Value(value)) => seed.deserialize(value).map_err(de::Error::custom),
            None => self.map.next_value_seed(seed),
        }
    }
}

impl Wire for String {
    const KIND: Kind = Kind::Text;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Wire for bool {
    const KIND: Kind = Kind::Bool;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Wire for i64 {
    const KIND: Kind = Kind::Integer { min: -MAX_SAFE_INTEGER, max: MAX_SAFE_INTEGER };

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(IntegerVisitor { min: -MAX_SAFE_INTEGER })
    }
}

impl Wire for u64 {
    const KIND: Kind = Kind::Integer { min: 0, max: MAX_SAFE_INTEGER };

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(IntegerVisitor { min: 0 }).map(i64::unsigned_abs)
    }
}

impl Wire for Value {
    const KIND: Kind = Kind::Any;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_value(deserializer)
    }

    fn is_null(&self) -> bool {
        Self::is_null(self)
    }
}

impl Wire for JsonObject {
    const KIND: Kind = Kind::Open;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_open_object(deserializer)
    }
}

impl<T: Wire> Wire for Box<T> {
    const KIND: Kind = T::KIND;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self::new)
    }

    fn is_null(&self) -> bool {
        T::is_null(self)
    }
}

impl<T: Wire> Wire for Vec<T> {
    const KIND: Kind = Kind::List { items: &T::KIND, min_items: 0 };

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(PhantomData<T>);

        impl<'de, T: Wire> Visitor<'de> for ListVisitor<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element_seed(Seed::new())? {
                    list.push(item);
                }
                Ok(list)
            }
        }

        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

/// Reads an integer, also one written with a zero fraction (`SHAPE-3`).
struct IntegerVisitor {
    min: i64,
}

impl Visitor<'_> for IntegerVisitor {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an integer from {} to {MAX_SAFE_INTEGER}", self.min)
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<i64, E> {
        if (self.min..=MAX_SAFE_INTEGER).contains(&v) {
            Ok(v)
        } else {
            Err(de::Error::invalid_value(de::Unexpected::Signed(v), &self))
        }
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<i64, E> {
        match i64::try_from(v) {
            Ok(v) => self.visit_i64(v),
            Err(_) => Err(de::Error::invalid_value(de::Unexpected::Unsigned(v), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<i64, E> {
        match integral(v) {
            Some(v) => self.visit_i64(v),
            None => Err(de::Error::invalid_value(de::Unexpected::Float(v), &self)),
        }
    }
}

/// The integer that a double holds exactly, if it is one within ±(2^53 − 1).
pub(crate) fn integral(v: f64) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "the bound is exact in a double")]
    let bound = MAX_SAFE_INTEGER as f64;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be integral and in range")]
    (v.fract() == 0.0 && v.abs() <= bound).then_some(v as i64)
}

/// Declares a protocol object: the struct, its constructor and `with_…` methods, its JSON and its [`Shape`].
///
/// ```text
/// protocol_object! {
///     /// Docs of the type.
///     FileSource {
///         fixed "type" = "file";
///         required { /// Docs. value "value": String, }
///         optional { /// Docs. provider/with_provider "provider": String, }
///     }
/// }
/// ```
/// gives `pub struct FileSource { pub value: String, pub provider: Option<String> }`, `FileSource::new(value)`,
/// `with_provider(…)`, `Serialize`, `Deserialize`, `Wire`, `WireObject` and, with the feature, `JsonSchema`.
macro_rules! protocol_object {
    (
        $(#[$meta:meta])*
        $Name:ident {
            $( fixed $fixed:literal = $value:literal; )*
            required { $( $(#[$rmeta:meta])* $req:ident $rwire:literal: $rty:ty, )* }
            optional { $( $(#[$ometa:meta])* $opt:ident/$with:ident $owire:literal: $oty:ty, )* }
            $( open { $(#[$xmeta:meta])* $open:ident } )?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $Name {
            $( $(#[$rmeta])* pub $req: $rty, )*
            $( $(#[$ometa])* pub $opt: Option<$oty>, )*
            $( $(#[$xmeta])* pub $open: Option<Box<$crate::JsonObject>>, )?
        }

        impl $Name {
            /// Creates the value from its required members; every other member is absent.
            pub fn new($( $req: impl Into<$rty> ),*) -> Self {
                Self { $( $req: $req.into(), )* $( $opt: None, )* $( $open: None, )? }
            }

            $(
                #[doc = concat!("Sets the member `", $owire, "`. A JSON `null` leaves it absent (`SHAPE-1`).")]
                #[must_use]
                pub fn $with(mut self, value: impl Into<$oty>) -> Self {
                    let value: $oty = value.into();
                    self.$opt = (!$crate::shape::Wire::is_null(&value)).then_some(value);
                    self
                }
            )*
        }

        impl $crate::shape::WireObject for $Name {
            const SHAPE: $crate::shape::Shape = $crate::shape::Shape {
                name: stringify!($Name),
                fields: &[
                    $( $crate::shape::Field { name: $fixed, kind: $crate::shape::Kind::Const($value), required: true }, )*
                    $( $crate::shape::Field { name: $rwire, kind: <$rty as $crate::shape::Wire>::KIND, required: true }, )*
                    $( $crate::shape::Field { name: $owire, kind: <$oty as $crate::shape::Wire>::KIND, required: false }, )*
                ],
                open: protocol_object!(@is_open $($open)?),
            };

            fn read_map<'de, A: ::serde::de::MapAccess<'de>>(mut map: A, tag_read: bool) -> Result<Self, A::Error> {
                $( let mut $req: Option<$rty> = None; )*
                $( let mut $opt: Option<$oty> = None; )*
                $( let mut $open: Option<Box<$crate::JsonObject>> = None; )?
                let fixed_names: &[&str] = &[$( $fixed ),*];
                let mut fixed_seen = [$( { let _ = $fixed; false } ),*];
                if let (true, Some(first)) = (tag_read, fixed_seen.first_mut()) {
                    let first: &mut bool = first;
                    *first = true;
                }
                while let Some(key) = map.next_key::<$crate::shape::Text<'de>>()? {
                    match &*key.0 {
                        $( $rwire => $crate::shape::read_required(&mut map, &mut $req, $rwire)?, )*
                        $( $owire => $crate::shape::read_optional(&mut map, &mut $opt, $owire)?, )*
                        $(
                            $fixed => {
                                let position = fixed_names.iter().position(|name| *name == $fixed).unwrap_or_default();
                                if let Some(seen) = fixed_seen.get_mut(position) {
                                    $crate::shape::read_fixed(&mut map, seen, $fixed, $value)?;
                                }
                            }
                        )*
                        other => protocol_object!(@unknown map other $Name $($open)?),
                    }
                }
                if let Some(missing) = fixed_seen.iter().position(|seen: &bool| !seen) {
                    return Err(::serde::de::Error::missing_field(fixed_names.get(missing).copied().unwrap_or_default()));
                }
                Ok(Self {
                    $( $req: $req.ok_or_else(|| ::serde::de::Error::missing_field($rwire))?, )*
                    $( $opt, )*
                    $( $open, )?
                })
            }
        }

        impl $crate::shape::Wire for $Name {
            const KIND: $crate::shape::Kind = $crate::shape::Kind::Object(&<Self as $crate::shape::WireObject>::SHAPE);

            fn read<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::read_object(deserializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::read_object(deserializer)
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $( map.serialize_entry($fixed, $value)?; )*
                $( map.serialize_entry($rwire, &self.$req)?; )*
                $(
                    if let Some(value) = &self.$opt && !$crate::shape::Wire::is_null(value) {
                        map.serialize_entry($owire, value)?;
                    }
                )*
                $(
                    if let Some(members) = &self.$open {
                        for (name, value) in members.iter() {
                            map.serialize_entry(name, value)?;
                        }
                    }
                )?
                map.end()
            }
        }

        impl_json_schema!($Name);
    };

    (@is_open) => { false };
    (@is_open $open:ident) => { true };
    (@unknown $map:ident $other:ident $Name:ident) => {
        return Err($crate::shape::unknown_member(stringify!($Name), $other))
    };
    (@unknown $map:ident $other:ident $Name:ident $open:ident) => {{
        let name = $other.to_owned();
        let value = $map.next_value_seed($crate::shape::Seed::<::serde_json::Value>::new())?;
        if $open.get_or_insert_default().insert(name, value).is_some() {
            return Err(::serde::de::Error::duplicate_field("member"));
        }
    }};
}

/// Declares a closed set of strings as an enum.
macro_rules! protocol_enum {
    (
        $(#[$meta:meta])*
        $Name:ident ($named:literal) { $( $(#[$vmeta:meta])* $Variant:ident $wire:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $Name { $( $(#[$vmeta])* $Variant, )+ }

        impl $Name {
            /// Every value, in the schema's order.
            pub const ALL: &'static [Self] = &[$( Self::$Variant ),+];

            /// The value as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$Variant => $wire, )+ }
            }

            /// The value of a wire string; `None` for one the protocol does not know.
            pub fn from_wire(wire: &str) -> Option<Self> {
                match wire { $( $wire => Some(Self::$Variant), )+ _ => None }
            }
        }

        impl ::std::fmt::Display for $Name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $Name {
            type Err = $crate::UnknownValue;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                Self::from_wire(s).ok_or($crate::UnknownValue::new(stringify!($Name)))
            }
        }

        impl $crate::shape::Wire for $Name {
            const KIND: $crate::shape::Kind = $crate::shape::Kind::Enum(&$crate::shape::EnumShape {
                name: stringify!($Name),
                values: &[$( $wire ),+],
                named: $named,
            });

            fn read<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <$crate::shape::Text<'de> as ::serde::Deserialize>::deserialize(deserializer)?;
                Self::from_wire(&text.0).ok_or_else(|| {
                    ::serde::de::Error::unknown_variant(&text.0, &[$( $wire ),+])
                })
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <Self as $crate::shape::Wire>::read(deserializer)
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl_json_schema!($Name);
    };
}

/// Declares a union of described objects, told apart by a discriminator.
macro_rules! protocol_union {
    (
        $(#[$meta:meta])*
        $Name:ident ($tag:literal) { $( $(#[$vmeta:meta])* $Variant:ident $wire:literal: $Member:ident $(in $Box:ident)?, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub enum $Name { $( $(#[$vmeta])* $Variant(protocol_union!(@slot $Member $($Box)?)), )+ }

        $(
            impl From<$Member> for $Name {
                fn from(value: $Member) -> Self {
                    Self::$Variant(value.into())
                }
            }
        )+

        impl $crate::shape::WireUnion for $Name {
            const UNION: $crate::shape::UnionShape = $crate::shape::UnionShape {
                name: stringify!($Name),
                tag: $tag,
                members: &[$( ($wire, &<$Member as $crate::shape::WireObject>::SHAPE) ),+],
            };

            fn read_member<'de, A: ::serde::de::MapAccess<'de>>(tag: &str, map: A) -> Result<Self, A::Error> {
                match tag {
                    $( $wire => <$Member as $crate::shape::WireObject>::read_map(map, true).map(Self::from), )+
                    other => Err(::serde::de::Error::unknown_variant(other, &[$( $wire ),+])),
                }
            }
        }

        impl $crate::shape::Wire for $Name {
            const KIND: $crate::shape::Kind = $crate::shape::Kind::Union(&<Self as $crate::shape::WireUnion>::UNION);

            fn read<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::read_union(deserializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $Name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::read_union(deserializer)
            }
        }

        impl ::serde::Serialize for $Name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $( Self::$Variant(member) => member.serialize(serializer), )+ }
            }
        }

        impl_json_schema!($Name);
    };

    (@slot $Member:ident) => { $Member };
    (@slot $Member:ident $Box:ident) => { $Box<$Member> };
}

/// `JsonSchema` of a protocol type, from its [`Kind`].
macro_rules! impl_json_schema {
    ($Name:ident) => {
        #[cfg(feature = "schemars")]
        impl ::schemars::JsonSchema for $Name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::schema::definition(&<Self as $crate::shape::Wire>::KIND, generator)
            }
        }
    };
}

/// Reads a described object.
pub(crate) fn read_object<'de, D: Deserializer<'de>, T: WireObject>(deserializer: D) -> Result<T, D::Error> {
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: WireObject> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "an object ({})", T::SHAPE.name)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::read_map(map, false)
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// The error of a member that the object does not have.
pub(crate) fn unknown_member<E: de::Error>(object: &str, member: &str) -> E {
    de::Error::custom(format_args!("unknown member `{member}` of {object} (PROC-3)"))
}
