//! What the text frames of a client say.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::http::{Refusal, RefusalCode};

/// What kind of frame it is. The input itself is read by whoever starts its run.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Hello(Hello),
    Stop(Stop),
    Input { agent: Option<String> },
    Refused(Refusal),
    NotJson,
}

/// What ends the run in progress, if it is the one that is named.
#[derive(Debug, PartialEq)]
pub(super) struct Stop {
    pub(super) run_id: Option<String>,
}

/// The first frame of a client that has something to say about itself.
#[derive(PartialEq, Default)]
pub(super) struct Hello {
    pub(super) token: Option<String>,
    pub(super) attributes: HelloAttributes,
}

impl fmt::Debug for Hello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hello").field("attributes", &self.attributes).finish_non_exhaustive()
    }
}

/// What a client said about itself when it opened its socket: the string members of its hello, the token left out. They
/// are claims, and nothing here interprets them.
///
/// Every run of the socket carries them among its [extensions](agui_core::Run::extensions), if there was a hello.
///
/// # Examples
/// ```
/// use agui_core::{Run, RunEnd, RunError};
/// use agui_encoder::ws::HelloAttributes;
///
/// async fn agent(run: Run) -> Result<RunEnd, RunError> {
///     let client = run.extensions().get::<HelloAttributes>().and_then(|hello| hello.get("client"));
///     run.text(format!("Hello {}", client.unwrap_or("stranger"))).await?;
///     Ok(RunEnd::success())
/// }
/// # let _ = agent;
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HelloAttributes(BTreeMap<String, String>);

impl HelloAttributes {
    /// The attribute of a name; `client` is one that clients usually send.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for HelloAttributes {
    /// Shows the names: a value may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The members that decide what a frame is. Reading them passes over everything else without keeping it.
#[derive(Deserialize, Default)]
struct Peek {
    #[serde(rename = "type", default)]
    kind: Option<Value>,
    #[serde(rename = "runId", default)]
    run_id: Option<Value>,
    #[serde(rename = "agentId", default)]
    agent_id: Option<Value>,
}

impl Frame {
    pub(super) fn read(text: &[u8]) -> Self {
        let peek: Peek = match serde_json::from_slice(text) {
            Ok(peek) => peek,
            // JSON, but no object, or one with a member twice: the reader of inputs says what is wrong with it.
            Err(error) if error.is_data() => Peek::default(),
            Err(_) => return Self::NotJson,
        };
        match peek.kind.as_ref().map(Value::as_str) {
            None => match peek.agent_id {
                None | Some(Value::Null) => Self::Input { agent: None },
                Some(Value::String(agent)) => Self::Input { agent: Some(agent) },
                Some(_) => Self::Refused(
                    Refusal::new(RefusalCode::InvalidInput)
                        .with_message("agentId should be a string.")
                        .with_path("agentId"),
                ),
            },
            Some(Some("hello")) => match serde_json::from_slice(text) {
                Ok(members) => Self::Hello(Hello::new(members)),
                Err(_) => Self::NotJson,
            },
            Some(Some("stop")) => match peek.run_id {
                None | Some(Value::Null) => Self::Stop(Stop { run_id: None }),
                Some(Value::String(run_id)) => Self::Stop(Stop { run_id: Some(run_id) }),
                Some(_) => Self::Refused(
                    Refusal::new(RefusalCode::InvalidInput)
                        .with_message("runId should be a string.")
                        .with_path("runId"),
                ),
            },
            Some(_) => Self::Refused(
                Refusal::new(RefusalCode::InvalidRequest)
                    .with_message("A frame with a type is a hello or a stop; an input has none."),
            ),
        }
    }
}

impl Hello {
    fn new(members: Map<String, Value>) -> Self {
        let mut hello = Self::default();
        for (name, value) in members {
            let Value::String(value) = value else { continue };
            match name.as_str() {
                "type" => {}
                "token" => hello.token = Some(value),
                _ => drop(hello.attributes.0.insert(name, value)),
            }
        }
        hello
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_gives_its_strings_and_shows_neither_token_nor_values() {
        let text = br#"{"type":"hello","token":"s3cret","client":"desk","n":1,"plan":"gold"}"#;
        let Frame::Hello(hello) = Frame::read(text) else { panic!("no hello") };
        assert_eq!(hello.token.as_deref(), Some("s3cret"));
        assert_eq!(hello.attributes.iter().collect::<Vec<_>>(), [("client", "desk"), ("plan", "gold")]);
        assert_eq!(format!("{hello:?}"), r#"Hello { attributes: {"client", "plan"}, .. }"#);
    }

    #[test]
    fn a_frame_without_a_type_is_an_input_and_may_name_its_agent() {
        assert_eq!(Frame::read(br#"{"threadId":"t"}"#), Frame::Input { agent: None });
        assert_eq!(Frame::read(br#"{"agentId":"a"}"#), Frame::Input { agent: Some("a".to_owned()) });
        assert_eq!(Frame::read(b"[]"), Frame::Input { agent: None });
        let Frame::Refused(refusal) = Frame::read(br#"{"agentId":1}"#) else { panic!("not refused") };
        assert_eq!(refusal.code(), RefusalCode::InvalidInput);
    }

    #[test]
    fn a_stop_may_name_its_run() {
        assert_eq!(Frame::read(br#"{"type":"stop"}"#), Frame::Stop(Stop { run_id: None }));
        let named = Frame::read(br#"{"type":"stop","runId":"r"}"#);
        assert_eq!(named, Frame::Stop(Stop { run_id: Some("r".to_owned()) }));
        assert!(matches!(Frame::read(br#"{"type":"stop","runId":1}"#), Frame::Refused(_)));
    }

    #[test]
    fn how_deep_an_input_is_its_reader_judges() {
        let deep = |key: &str| format!("{{\"{key}\":{}{}}}", "[".repeat(200), "]".repeat(200));
        assert_eq!(Frame::read(deep("a").as_bytes()), Frame::Input { agent: None });
        assert_eq!(Frame::read(deep("type").as_bytes()), Frame::NotJson);
    }

    #[test]
    fn what_is_no_json_is_told_from_what_is_no_frame() {
        for text in ["", "{", "hi", "{} {}", "{\"threadId\":\"t\""] {
            assert_eq!(Frame::read(text.as_bytes()), Frame::NotJson, "{text}");
        }
        for text in [r#"{"type":"x"}"#, r#"{"type":1}"#, r#"{"type":"RUN_STARTED"}"#] {
            assert!(matches!(Frame::read(text.as_bytes()), Frame::Refused(_)), "{text}");
        }
    }
}
