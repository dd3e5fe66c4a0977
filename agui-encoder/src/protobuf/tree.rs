//! A payload to the tree of its event, by the table: well-formedness, envelope, base event, integers, inner unions,
//! content forms, and then the mapping to JSON.
//!
//! What the wire can carry and the schema forbids comes through. Strings that are required appear even if unwritten,
//! because the wire cannot say that one was missing.

use agui_core::warning::MAX_PER_VALUE;
use agui_core::{EventType, JsonObject, Warning};
use serde_json::{Map, Value};

use super::budget::Budget;
use super::error::{ProtobufError, Reason};
use super::read::Decoded;
use super::reader::{Content, Reader};
use super::schema::{self, Arm, EventFields, Field, Item, Kind, Presence};
use super::value::{merge_object, merge_value};

/// Decodes a payload.
pub(super) fn decode(payload: &[u8]) -> Result<Decoded, ProtobufError> {
    let Some((event, segments)) = envelope(payload)? else {
        let warning = Warning::new("PROC-6", "a frame with an event of a later protocol dropped");
        return Ok(Decoded::Dropped { warning });
    };
    let mut decoding = Decoding { event, warnings: Vec::new(), left_out: 0, budget: Budget::of(payload) };
    let tree = decoding.event(&segments)?;
    Ok(Decoded::Tree { tree: tree.into(), warnings: decoding.into_warnings() })
}

/// The event's fields and all that is written of it; nothing for an event of a later protocol.
type Envelope<'a> = Option<(&'static EventFields, Vec<Reader<'a>>)>;

fn envelope(payload: &[u8]) -> Result<Envelope<'_>, ProtobufError> {
    let mut reader = Reader::new(payload);
    let mut known: Option<&'static EventFields> = None;
    let mut segments = Vec::new();
    let mut unknown = None;
    while let Some(field) = reader.next()? {
        match (schema::by_arm(field.tag), field.content) {
            (Some(event), Content::Bytes(_)) => {
                if known.is_some_and(|known| known.arm != event.arm) {
                    return Err(field.fail(Reason::TwoEvents));
                }
                known = Some(event);
                segments.push(field.message()?);
            }
            (Some(_), _) => return Err(field.fail(Reason::WireType)),
            (None, Content::Bytes(_)) => {
                unknown = Some(unknown.unwrap_or(true) & is_message(field.message()?));
            }
            (None, _) => {}
        }
    }
    match (known, unknown) {
        (Some(event), _) => Ok(Some((event, segments))),
        (None, Some(true)) => Ok(None),
        (None, _) => Err(ProtobufError::new(Reason::NoEvent, 0)),
    }
}

/// Whether bytes are a well-formed message, looked at one level deep.
fn is_message(mut reader: Reader<'_>) -> bool {
    loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Where in the event a message stands; text only once something is to be reported.
#[derive(Clone, Copy)]
enum Path<'p> {
    Root,
    Member(&'p Self, &'static str),
    Item(&'p Self, usize),
}

impl Path<'_> {
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, name) => format!("{}/{name}", parent.pointer()),
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// What a message's fields came to: its members, and what has a rule of its own.
#[derive(Default)]
struct Members {
    object: JsonObject,
    text: Option<Value>,
    parts: Option<Vec<Value>>,
    /// How many parts came, those that were dropped included.
    written: usize,
    content: Option<JsonObject>,
    outcome: Option<String>,
    lists: Vec<(&'static str, Vec<Value>)>,
}

struct Decoding {
    event: &'static EventFields,
    warnings: Vec<Warning>,
    left_out: usize,
    budget: Budget,
}

impl Decoding {
    fn event(&mut self, segments: &[Reader<'_>]) -> Result<JsonObject, ProtobufError> {
        let start = segments.first().map_or(0, Reader::at);
        let mut members = self.members(self.event.fields, segments, 1, &Path::Root)?;
        let mut base = Vec::new();
        for mut segment in segments.iter().copied() {
            while let Some(field) = segment.next()? {
                if field.tag == 1 {
                    base.push(field.message()?);
                }
            }
        }
        let Some(first) = base.first() else { return Err(ProtobufError::new(Reason::NoBase, start)) };
        let base_at = first.at();
        let mut number = 0;
        for mut segment in base.iter().copied() {
            while let Some(field) = segment.next()? {
                if field.tag == 1 {
                    number = field.number()?;
                }
            }
        }
        if number != self.event.number {
            return Err(ProtobufError::new(Reason::OtherType, base_at));
        }
        members.object.append(&mut self.members(schema::BASE, &base, 1, &Path::Root)?.object);
        if let Some(Kind::ContentParts) = self.event.fields.last().map(|field| field.kind) {
            let content = match (members.text.take(), members.parts.take()) {
                (Some(_), Some(_)) => return Err(ProtobufError::new(Reason::ContentForm, start)),
                (Some(text), None) => text,
                (None, parts) => parts.unwrap_or_default().into(),
            };
            members.object.insert("content".to_owned(), content);
        }
        members.settle_outcome(self.event.event_type == EventType::RunFinished);
        members.object.insert("type".to_owned(), self.event.event_type.as_str().into());
        Ok(members.object)
    }

    /// Reads the fields of one message, written in one piece or in several that merge. `level` is that of its object.
    fn members(
        &mut self,
        fields: &'static [Field],
        segments: &[Reader<'_>],
        level: usize,
        path: &Path<'_>,
    ) -> Result<Members, ProtobufError> {
        let mut members = Members::default();
        let mut nested: Vec<(&'static Field, Vec<Reader<'_>>)> = Vec::new();
        for mut segment in segments.iter().copied() {
            while let Some(field) = segment.next()? {
                let Some(known) = fields.iter().find(|known| known.tag == field.tag) else { continue };
                let object = &mut members.object;
                match known.kind {
                    Kind::Text | Kind::Optional => set(object, known.name, field.text()?),
                    Kind::Bool => set(object, known.name, field.varint()? != 0),
                    Kind::Integer => set(object, known.name, field.integer()?),
                    Kind::Value | Kind::Nullable => {
                        let mut slot = object.remove(known.name);
                        merge_value(&mut slot, field.message()?, level + 1)?;
                        if let Some(value) = slot {
                            set(object, known.name, value);
                        }
                    }
                    Kind::Struct => {
                        let slot = object.entry(known.name).or_insert_with(|| Map::new().into());
                        if let Value::Object(slot) = slot {
                            merge_object(slot, field.message()?, level + 1)?;
                        }
                    }
                    Kind::Message(_) | Kind::Source => {
                        let message = field.message()?;
                        match nested.iter_mut().find(|(nested, _)| nested.tag == known.tag) {
                            Some((_, pieces)) => pieces.push(message),
                            None => nested.push((known, vec![message])),
                        }
                    }
                    Kind::List(item, _) => {
                        let list = object.entry(known.name).or_insert_with(|| Value::Array(Vec::new()));
                        if let Value::Array(list) = list {
                            let at = Path::Member(path, known.name);
                            let message = field.message()?;
                            list.push(self.item(item, message, level + 2, &Path::Item(&at, list.len()))?);
                        }
                    }
                    Kind::Operation => set(object, known.name, operation(field.number()?)),
                    Kind::ContentText => members.text = Some(field.text()?.into()),
                    Kind::ContentParts => {
                        let parts = members.parts.get_or_insert_default();
                        let at = Path::Member(path, known.name);
                        let index = members.written;
                        members.written += 1;
                        if let Some(part) =
                            self.part(&[field.message()?], schema::PARTS, level + 2, &Path::Item(&at, index))?
                        {
                            parts.push(part);
                        }
                    }
                    Kind::ContentObject => {
                        let slot = members.content.get_or_insert_default();
                        merge_object(slot, field.message()?, level + 1)?;
                    }
                    Kind::Outcome => members.outcome = Some(field.text()?.to_owned()),
                    Kind::OutcomeList(fields) => {
                        let message = field.message()?;
                        // The event, the outcome, the list, the item.
                        let item = self.object(fields, &[message], level + 3, path)?;
                        members.push_outcome(known.name, item);
                    }
                    Kind::OutcomeTexts => members.push_outcome(known.name, field.text()?.into()),
                }
            }
        }
        for (known, pieces) in nested {
            let at = Path::Member(path, known.name);
            let value = match known.kind {
                Kind::Message(fields) => Some(self.object(fields, &pieces, level + 1, &at)?),
                _ => self.part(&pieces, schema::SOURCES, level + 1, &at)?,
            };
            members.object.insert(known.name.to_owned(), value.unwrap_or_default());
        }
        for field in fields {
            let default: Value = match field.kind {
                Kind::Text => "".into(),
                Kind::Operation => operation(0),
                Kind::List(_, Presence::Required | Presence::Always) => Value::Array(Vec::new()),
                _ => continue,
            };
            if !members.object.contains_key(field.name) {
                members.object.insert(field.name.to_owned(), default);
            }
        }
        if !members.object.is_empty() {
            let start = segments.first().map_or(0, Reader::at);
            self.budget.object().ok_or(ProtobufError::new(Reason::TooMany, start))?;
        }
        Ok(members)
    }

    /// A message without rules of its own.
    fn object(
        &mut self,
        fields: &'static [Field],
        segments: &[Reader<'_>],
        level: usize,
        path: &Path<'_>,
    ) -> Result<Value, ProtobufError> {
        self.members(fields, segments, level, path).map(|members| members.object.into())
    }

    fn item(
        &mut self,
        item: Item,
        message: Reader<'_>,
        level: usize,
        path: &Path<'_>,
    ) -> Result<Value, ProtobufError> {
        match item {
            Item::Of(fields) => self.object(fields, &[message], level, path),
            Item::Message => {
                let members = self.members(schema::MESSAGE, &[message], level, path)?;
                members.into_message().ok_or(ProtobufError::new(Reason::ContentForm, message.at()))
            }
        }
    }

    /// A part or a source: exactly one arm, or nothing and a warning. A part goes with its source.
    fn part(
        &mut self,
        pieces: &[Reader<'_>],
        arms: &'static [Arm],
        level: usize,
        path: &Path<'_>,
    ) -> Result<Option<Value>, ProtobufError> {
        let mut known: Option<&'static Arm> = None;
        let mut segments = Vec::new();
        for mut piece in pieces.iter().copied() {
            while let Some(field) = piece.next()? {
                let Some(arm) = arms.iter().find(|(tag, _, _)| *tag == field.tag) else { continue };
                if known.is_some_and(|known| known.0 != arm.0) {
                    return Err(field.fail(Reason::TwoArms));
                }
                known = Some(arm);
                segments.push(field.message()?);
            }
        }
        let Some((_, name, fields)) = known else {
            // The source's own place is not what is dropped; its part says so.
            if let Path::Item(..) = path {
                self.warn(path);
            }
            return Ok(None);
        };
        let mut members = self.members(fields, &segments, level, path)?.object;
        if members.get("source").is_some_and(Value::is_null) {
            self.warn(path);
            return Ok(None);
        }
        members.insert("type".to_owned(), (*name).into());
        Ok(Some(members.into()))
    }

    fn warn(&mut self, path: &Path<'_>) {
        if self.warnings.len() < MAX_PER_VALUE {
            let warning =
                Warning::new("PROC-4", "a content part of a kind that this version does not know dropped");
            self.warnings
                .push(warning.with_path(path.pointer()).with_event_type(self.event.event_type.as_str()));
        } else {
            self.left_out += 1;
        }
    }

    fn into_warnings(mut self) -> Vec<Warning> {
        if self.left_out > 0 {
            let more = Warning::new("PROC-4", format!("{} more warnings left out", self.left_out));
            self.warnings.push(more.with_event_type(self.event.event_type.as_str()));
        }
        self.warnings
    }
}

impl Members {
    fn push_outcome(&mut self, name: &'static str, item: Value) {
        match self.lists.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(item),
            None => self.lists.push((name, vec![item])),
        }
    }

    /// Gathers the outcome again. Lists that came without one become members of the event.
    fn settle_outcome(&mut self, of_run: bool) {
        let lists =
            std::mem::take(&mut self.lists).into_iter().map(|(name, list)| (name.to_owned(), list.into()));
        let Some(outcome) = self.outcome.take().filter(|outcome| !outcome.is_empty()) else {
            self.object.extend(lists);
            return;
        };
        let mut object: JsonObject = lists.collect();
        if of_run && outcome == "interrupt" {
            object.entry("interrupts").or_insert_with(|| Value::Array(Vec::new()));
        }
        object.insert("type".to_owned(), outcome.into());
        self.object.insert("outcome".to_owned(), object.into());
    }

    /// The message, its content in whichever form it came; nothing if its role cannot have it in that form.
    fn into_message(mut self) -> Option<Value> {
        let (text, parts, content) = (self.text.is_some(), self.parts.is_some(), self.content.is_some());
        let role = self.object.get("role").and_then(Value::as_str).unwrap_or_default();
        let is_list = matches!(role, "user" | "tool");
        let sound = match role {
            "user" | "tool" => !(content || text && parts),
            "activity" => !text && !parts,
            "assistant" | "developer" | "system" | "reasoning" => !parts && !content,
            _ => usize::from(text) + usize::from(parts) + usize::from(content) <= 1,
        };
        if !sound {
            return None;
        }
        let content = match (self.text, self.parts, self.content) {
            (Some(text), ..) => Some(text),
            (_, Some(parts), _) => Some(parts.into()),
            (.., Some(content)) => Some(content.into()),
            _ => is_list.then(|| Value::Array(Vec::new())),
        };
        if let Some(content) = content {
            self.object.insert("content".to_owned(), content);
        }
        Some(self.object.into())
    }
}

fn set(object: &mut JsonObject, name: &'static str, value: impl Into<Value>) {
    object.insert(name.to_owned(), value.into());
}

/// The name of a patch operation; one without a name is its number.
fn operation(number: i32) -> Value {
    let name = usize::try_from(number).ok().and_then(|number| schema::OPERATIONS.get(number));
    name.map_or_else(|| number.to_string().into(), |name| (*name).into())
}
