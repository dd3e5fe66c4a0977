//! Messages of a conversation the short way, for events that hold a list of them.
//!
//! As in `typed.rs` nothing is judged here: a message that has what its role allows and nothing else becomes one,
//! anything else is nothing and goes the long way. That includes what is well-formed and written by no encoder, such
//! as a function in two pieces.

use agui_core::{
    ActivityMessage, AssistantMessage, AudioPart, Content, ContentPart, DataSource, DeveloperMessage,
    DocumentPart, FileSource, FunctionCall, ImagePart, JsonObject, Message, Metadata, PartSource,
    ReasoningMessage, SystemMessage, TextPart, ToolCall, ToolMessage, UrlSource, UserMessage, VideoPart,
};
use serde_json::Value;

use super::budget::Budget;
use super::reader::{Field, Reader};
use super::value::{merge_object, merge_value};

/// What is written of one message besides its id and role.
#[derive(Default)]
struct Fields<'a> {
    content: Option<&'a str>,
    name: Option<&'a str>,
    tool_calls: Option<Vec<ToolCall>>,
    tool_call_id: Option<&'a str>,
    error: Option<&'a str>,
    parts: Option<Vec<ContentPart>>,
    metadata: Option<Metadata>,
    subagent_run_id: Option<&'a str>,
    encrypted_value: Option<&'a str>,
    activity_type: Option<&'a str>,
    object: Option<JsonObject>,
}

/// Moves what every message may have into one, and the members that this one may have besides.
macro_rules! with {
    ($message:expr, $fields:ident, $( $member:ident ),*) => {{
        let mut message = $message;
        message.metadata = $fields.metadata.take();
        message.subagent_run_id = $fields.subagent_run_id.take().map(Into::into);
        $( message.$member = $fields.$member.take().map(Into::into); )*
        Message::from(message)
    }};
}

/// One message. `level` is that of its object.
pub(super) fn message(mut reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<Message> {
    budget.object()?;
    let (mut id, mut role, mut fields) = ("", "", Fields::default());
    let f = &mut fields;
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => id = field.text().ok()?,
            2 => role = field.text().ok()?,
            3 => f.content = Some(field.text().ok()?),
            4 => f.name = Some(field.text().ok()?),
            5 => {
                let call = tool_call(field.message().ok()?, level + 2, budget)?;
                f.tool_calls.get_or_insert_default().push(call);
            }
            6 => f.tool_call_id = Some(field.text().ok()?),
            7 => f.error = Some(field.text().ok()?),
            8 => {
                let part = part(field.message().ok()?, level + 2, budget)?;
                f.parts.get_or_insert_default().push(part);
            }
            9 => merge_object(f.metadata.get_or_insert_default(), field.message().ok()?, level + 1).ok()?,
            10 => f.subagent_run_id = Some(field.text().ok()?),
            11 => f.encrypted_value = Some(field.text().ok()?),
            12 => f.activity_type = Some(field.text().ok()?),
            13 => merge_object(f.object.get_or_insert_default(), field.message().ok()?, level + 1).ok()?,
            _ => return None,
        }
    }
    let message = match role {
        "user" => with!(UserMessage::new(id, f.content()?), f, name, encrypted_value),
        "assistant" => {
            let mut message = AssistantMessage::new(id);
            message.tool_calls = f.tool_calls.take();
            with!(message, f, content, name, encrypted_value)
        }
        "tool" => {
            let message = ToolMessage::new(id, f.tool_call_id.take()?, f.content()?);
            with!(message, f, error, encrypted_value)
        }
        "reasoning" => with!(ReasoningMessage::new(id, f.content.take()?), f, encrypted_value),
        "system" => with!(SystemMessage::new(id, f.content.take()?), f, name, encrypted_value),
        "developer" => with!(DeveloperMessage::new(id, f.content.take()?), f, name, encrypted_value),
        "activity" => with!(ActivityMessage::new(id, f.activity_type.take()?, f.object.take()?), f,),
        _ => return None,
    };
    f.is_spent().then_some(message)
}

impl Fields<'_> {
    /// Content in the one form it came in.
    #[inline]
    fn content(&mut self) -> Option<Content> {
        match (self.content.take(), self.parts.take()) {
            (Some(text), None) => Some(text.into()),
            // No parts is how the wire says that the list is empty.
            (None, parts) => Some(parts.unwrap_or_default().into()),
            (Some(_), Some(_)) => None,
        }
    }

    /// Whether the message took everything that was written.
    #[inline]
    const fn is_spent(&self) -> bool {
        self.content.is_none()
            && self.name.is_none()
            && self.tool_calls.is_none()
            && self.tool_call_id.is_none()
            && self.error.is_none()
            && self.parts.is_none()
            && self.encrypted_value.is_none()
            && self.activity_type.is_none()
            && self.object.is_none()
    }
}

fn tool_call(mut reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<ToolCall> {
    budget.object()?;
    let (mut id, mut kind, mut function, mut metadata, mut encrypted) = ("", "", None, None, None);
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => id = field.text().ok()?,
            2 => kind = field.text().ok()?,
            3 if function.is_none() => function = Some(self::function(field.message().ok()?, budget)?),
            4 => {
                let metadata: &mut Metadata = metadata.get_or_insert_default();
                merge_object(metadata, field.message().ok()?, level + 1).ok()?;
            }
            5 => encrypted = Some(field.text().ok()?),
            _ => return None,
        }
    }
    if kind != "function" {
        return None;
    }
    let mut call = ToolCall::new(id, function?);
    call.metadata = metadata;
    call.encrypted_value = encrypted.map(Into::into);
    Some(call)
}

fn function(mut reader: Reader<'_>, budget: &mut Budget) -> Option<FunctionCall> {
    budget.object()?;
    let (mut name, mut arguments) = ("", "");
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => name = field.text().ok()?,
            2 => arguments = field.text().ok()?,
            _ => return None,
        }
    }
    Some(FunctionCall::new(name, arguments))
}

/// The only field of a union's message; nothing if there is none or another behind it.
fn only<'a>(reader: &mut Reader<'a>) -> Option<Field<'a>> {
    let field = reader.next().ok()??;
    (reader.len() == 0).then_some(field)
}

/// A content part. `level` is that of its object.
fn part(mut reader: Reader<'_>, level: usize, budget: &mut Budget) -> Option<ContentPart> {
    budget.object()?;
    let arm = only(&mut reader)?;
    let mut reader = arm.message().ok()?;
    if arm.tag == 1 {
        let (mut text, mut id, mut metadata) = ("", None, None);
        while let Some(field) = reader.next().ok()? {
            match field.tag {
                1 => text = field.text().ok()?,
                2 => id = Some(field.text().ok()?),
                3 => merge_value(&mut metadata, field.message().ok()?, level + 1).ok()?,
                _ => return None,
            }
        }
        let mut part = TextPart::new(text);
        part.id = id.map(Into::into);
        part.metadata = not_null(metadata)?;
        return Some(part.into());
    }
    let (mut source, mut metadata, mut id) = (None, None, None);
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 if source.is_none() => source = Some(self::source(field.message().ok()?, budget)?),
            2 => merge_value(&mut metadata, field.message().ok()?, level + 1).ok()?,
            3 => id = Some(field.text().ok()?),
            _ => return None,
        }
    }
    let (source, metadata) = (source?, not_null(metadata)?);
    macro_rules! media {
        ($Part:ident) => {{
            let mut part = $Part::new(source);
            part.id = id.map(Into::into);
            part.metadata = metadata;
            part.into()
        }};
    }
    Some(match arm.tag {
        2 => media!(ImagePart),
        3 => media!(AudioPart),
        4 => media!(VideoPart),
        5 => media!(DocumentPart),
        _ => return None,
    })
}

fn source(mut reader: Reader<'_>, budget: &mut Budget) -> Option<PartSource> {
    budget.object()?;
    let arm = only(&mut reader)?;
    let mut reader = arm.message().ok()?;
    let (mut value, mut second, mut third) = ("", None, None);
    while let Some(field) = reader.next().ok()? {
        match field.tag {
            1 => value = field.text().ok()?,
            2 => second = Some(field.text().ok()?),
            3 if arm.tag == 3 => third = Some(field.text().ok()?),
            _ => return None,
        }
    }
    Some(match arm.tag {
        1 => DataSource::new(value, second.unwrap_or_default()).into(),
        2 => {
            let mut source = UrlSource::new(value);
            source.mime_type = second.map(Into::into);
            source.into()
        }
        3 => {
            let mut source = FileSource::new(value);
            source.provider = second.map(Into::into);
            source.mime_type = third.map(Into::into);
            source.into()
        }
        _ => return None,
    })
}

/// Open JSON that may be absent; nothing at all if it is null, which is the long way's to judge.
#[expect(clippy::option_option, reason = "null is not absent")]
pub(super) fn not_null(json: Option<Value>) -> Option<Option<Value>> {
    match json {
        Some(Value::Null) => None,
        other => Some(other),
    }
}
