//! The retired THINKING family, translated into reasoning (`VER-3`).
//!
//! The old events name no message; one span and one message can be open at a time, so the translator remembers their
//! ids. It judges no order: an orphan gets an id that nothing opened and is refused where every orphan is.

use serde_json::Value;

use crate::id::mint;
use crate::{MessageId, Warning};

/// Translates THINKING events of 0.x producers into the events that replaced them.
///
/// # Examples
/// ```
/// use agui_core::consumer::ThinkingTranslator;
/// use serde_json::json;
///
/// let mut translator = ThinkingTranslator::new();
/// let mut warnings = Vec::new();
/// let mut raw = json!({"type": "THINKING_START", "title": "Weighing"});
/// translator.translate(&mut raw, &mut warnings);
/// assert_eq!(raw["type"], "REASONING_START");
/// assert_eq!(warnings[0].path(), "/title"); // there is no place for a title any more
/// ```
#[derive(Debug, Clone, Default)]
pub struct ThinkingTranslator {
    span: Option<MessageId>,
    message: Option<MessageId>,
}

impl ThinkingTranslator {
    /// A translator with nothing open.
    pub const fn new() -> Self {
        Self { span: None, message: None }
    }

    /// Translates the event if it is of the family; leaves every other as it is.
    pub fn translate(&mut self, raw: &mut Value, warnings: &mut Vec<Warning>) {
        let Value::Object(event) = raw else { return };
        let Some(retired) = event.get("type").and_then(Value::as_str) else { return };
        let (kind, id) = match retired {
            "RUN_STARTED" => {
                *self = Self::new();
                return;
            }
            "THINKING_START" => ("REASONING_START", open(&mut self.span)),
            "THINKING_END" => ("REASONING_END", close(&mut self.span)),
            "THINKING_TEXT_MESSAGE_START" => ("REASONING_MESSAGE_START", open(&mut self.message)),
            "THINKING_TEXT_MESSAGE_CONTENT" => ("REASONING_MESSAGE_CONTENT", current(self.message.as_ref())),
            "THINKING_TEXT_MESSAGE_END" => ("REASONING_MESSAGE_END", close(&mut self.message)),
            _ => return,
        };
        if retired == "THINKING_START" && event.remove("title").is_some() {
            warnings.push(
                Warning::new("VER-3", "the title of THINKING_START is lost: reasoning has none")
                    .with_event_type("THINKING_START")
                    .with_path("/title"),
            );
        }
        event.insert("type".to_owned(), kind.into());
        event.insert("messageId".to_owned(), String::from(id).into());
        if kind == "REASONING_MESSAGE_START" {
            event.insert("role".to_owned(), "reasoning".into());
        }
    }
}

/// The id of what opens. One that is open already keeps its id, so that the second opening is refused.
fn open(slot: &mut Option<MessageId>) -> MessageId {
    slot.get_or_insert_with(|| mint("thinking-")).clone()
}

fn current(slot: Option<&MessageId>) -> MessageId {
    slot.cloned().unwrap_or_else(|| mint("thinking-"))
}

fn close(slot: &mut Option<MessageId>) -> MessageId {
    slot.take().unwrap_or_else(|| mint("thinking-"))
}
