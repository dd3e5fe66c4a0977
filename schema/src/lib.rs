//! The AG-UI 1.0 JSON Schema, vendored, and validation of frames against it.
//!
//! [`Validator`] judges one JSON value at a time: an event, a run input, a capabilities declaration or any other
//! [`Definition`] of the schema. Its answer is a list of [`Violation`]s that a person can act on: where a value may
//! be one of several things, it is held to the one it claims to be (an event by its `type`, a message by its
//! `role`), so that a mistake deep inside a snapshot is reported where it stands.
//!
//! [`compare`] tells in which definitions two schemas differ in meaning, whatever their spelling.
//!
//! The crate knows shapes only. The order of events is judged by `agui-core`, and tolerance towards newer peers is
//! not its business either: the schema is closed, made for authoring and tests, never for the receive path
//! (`PROC-13`).
//!
//! # Examples
//! ```
//! use agui_schema::Validator;
//! use serde_json::json;
//!
//! let validator = Validator::shared();
//! assert!(validator.event(&json!({"type": "RUN_ERROR", "message": "out of tokens"})).is_ok());
//!
//! let snapshot = json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "1", "role": "user", "content": 5}]});
//! let violations = validator.event(&snapshot).unwrap_err();
//! assert_eq!(violations.to_string(), "/messages/0/content: expected string or array, found 5 (UserMessage, type)");
//! ```

pub mod compare;
mod definition;
mod document;
mod explain;
pub mod json;
mod macros;
mod union;
mod validator;
mod violation;

pub use definition::{Definition, UnknownDefinition};
pub use document::{SCHEMA_JSON, document};
#[doc(hidden)]
pub use macros::check;
pub use validator::{Instance, Validator};
pub use violation::{Violation, Violations};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
