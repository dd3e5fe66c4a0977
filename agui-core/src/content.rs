//! Content: text, or a list of parts with media.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::shape::{Kind, Seed, Wire};

/// The content of a user or tool message, and of a tool result: a string or a list of parts.
///
/// # Examples
/// ```
/// # use agui_core::{Content, ContentPart, DataSource, ImagePart, TextPart};
/// let content = Content::Parts(vec![
///     TextPart::new("What is ").into(),
///     ImagePart::new(DataSource::new("aGk=", "image/png")).into(),
///     TextPart::new("this?").into(),
/// ]);
/// assert_eq!(content.text(), "What is this?");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the schema gives the two forms and the binary wire has no third"
)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Parts, in order.
    Parts(Vec<ContentPart>),
}

impl Content {
    /// The text: the string, or the text parts in order with nothing between them (`STREAM-11`). Media parts are skipped.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let mut texts = parts.iter().filter_map(ContentPart::as_text);
                match (texts.next(), texts.next()) {
                    (None, _) => Cow::Borrowed(""),
                    (Some(only), None) => Cow::Borrowed(only),
                    (Some(first), Some(second)) => {
                        let mut text = [first, second].concat();
                        text.extend(texts);
                        Cow::Owned(text)
                    }
                }
            }
        }
    }

    /// The parts; none where the content is a string.
    pub fn parts(&self) -> &[ContentPart] {
        match self {
            Self::Text(_) => &[],
            Self::Parts(parts) => parts,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<ContentPart>> for Content {
    fn from(parts: Vec<ContentPart>) -> Self {
        Self::Parts(parts)
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;

        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content parts")
            }

            fn visit_str<E: de::Error>(self, v: &str) -> Result<Content, E> {
                Ok(Content::Text(v.to_owned()))
            }

            fn visit_string<E: de::Error>(self, v: String) -> Result<Content, E> {
                Ok(Content::Text(v))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = seq.next_element_seed(Seed::new())? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }

        deserializer.deserialize_any(ContentVisitor)
    }
}

impl Wire for Content {
    const KIND: Kind = Kind::TextOrParts;

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl_json_schema!(Content);

protocol_union! {
    /// One part of a content list. A part the agent cannot use is skipped, the run does not fail (`INPUT-2`).
    ContentPart ("type") {
        /// Text.
        Text "text": TextPart,
        /// An image.
        Image "image": ImagePart,
        /// Sound.
        Audio "audio": AudioPart,
        /// Moving pictures.
        Video "video": VideoPart,
        /// Any other file.
        Document "document": DocumentPart,
    }
}

impl ContentPart {
    /// The text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(part) => Some(&part.text),
            _ => None,
        }
    }

    /// Where a media part's bytes are; `None` for text.
    pub fn source(&self) -> Option<&PartSource> {
        match self {
            Self::Text(_) => None,
            Self::Image(part) => Some(&part.source),
            Self::Audio(part) => Some(&part.source),
            Self::Video(part) => Some(&part.source),
            Self::Document(part) => Some(&part.source),
        }
    }
}

protocol_object! {
    /// A part of text.
    TextPart {
        fixed "type" = "text";
        required {
            /// The text.
            text "text": String,
        }
        optional {
            /// Names the part.
            id/with_id "id": String,
            /// What the part does not model: any JSON but `null` (`META-4`).
            metadata/with_metadata "metadata": Value,
        }
    }
}

macro_rules! media_part {
    ($( #[doc = $doc:literal] $Name:ident $tag:literal; )+) => { $(
        protocol_object! {
            #[doc = $doc]
            $Name {
                fixed "type" = $tag;
                required {
                    /// Where the bytes are.
                    source "source": PartSource,
                }
                optional {
                    /// Names the part.
                    id/with_id "id": String,
                    /// What the part does not model: any JSON but `null` (`META-4`).
                    metadata/with_metadata "metadata": Value,
                }
            }
        }
    )+ };
}

media_part! {
    /// A part with an image.
    ImagePart "image";
    /// A part with sound.
    AudioPart "audio";
    /// A part with moving pictures.
    VideoPart "video";
    /// A part with any other file.
    DocumentPart "document";
}

protocol_union! {
    /// Where a media part's bytes are.
    PartSource ("type") {
        /// In the part itself.
        Data "data": DataSource,
        /// At an address.
        Url "url": UrlSource,
        /// Behind a provider's file handle.
        File "file": FileSource,
    }
}

protocol_object! {
    /// Bytes in the part itself.
    DataSource {
        fixed "type" = "data";
        required {
            /// The bytes in base64; carried as text and not decoded here.
            value "value": String,
            /// The bytes' media type.
            mime_type "mimeType": String,
        }
        optional {}
    }
}

protocol_object! {
    /// Bytes at an address. This SDK fetches nothing.
    UrlSource {
        fixed "type" = "url";
        required {
            /// The address.
            value "value": String,
        }
        optional {
            /// The media type, where it is known.
            mime_type/with_mime_type "mimeType": String,
        }
    }
}

protocol_object! {
    /// A provider's handle of an uploaded file: opaque, neither fetched nor parsed (`INPUT-4`).
    FileSource {
        fixed "type" = "file";
        required {
            /// The handle.
            value "value": String,
        }
        optional {
            /// The provider that issued it, as the lowercase vendor id of usage entries.
            provider/with_provider "provider": String,
            /// The media type, where it is known.
            mime_type/with_mime_type "mimeType": String,
        }
    }
}
