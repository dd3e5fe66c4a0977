//! Assertions for users' tests.
//!
//! They take whatever serializes (a typed event as well as a `serde_json::Value`), so that a test validates what would
//! go over the wire. JSON text goes through [`Validator`] instead: here a string would be taken for a JSON string.

use serde::Serialize;

use crate::{Definition, Validator};

/// Panics unless the value is a valid event of AG-UI 1.0.
///
/// Takes a reference to anything that serializes; the panic lists every violation. Further arguments are a message,
/// as with `assert!`.
///
/// # Examples
/// ```
/// use agui_schema::assert_valid_event;
/// use serde_json::json;
///
/// assert_valid_event!(&json!({"type": "STEP_STARTED", "stepName": "plan"}));
/// ```
/// ```should_panic
/// # use agui_schema::assert_valid_event;
/// # use serde_json::json;
/// assert_valid_event!(&json!({"type": "STEP_STARTED", "step": "plan"}), "the first step");
/// ```
#[macro_export]
macro_rules! assert_valid_event {
    ($value:expr $(, $($message:tt)+)?) => {
        $crate::assert_valid!($crate::Definition::EVENT, $value $(, $($message)+)?)
    };
}

/// Panics unless the value is a valid run input of AG-UI 1.0.
///
/// # Examples
/// ```
/// use agui_schema::assert_valid_input;
/// use serde_json::json;
///
/// assert_valid_input!(&json!({"threadId": "t1", "runId": "r1", "messages": []}));
/// ```
/// ```should_panic
/// # use agui_schema::assert_valid_input;
/// # use serde_json::json;
/// assert_valid_input!(&json!({"threadId": "t1", "runId": "r1"}));
/// ```
#[macro_export]
macro_rules! assert_valid_input {
    ($value:expr $(, $($message:tt)+)?) => {
        $crate::assert_valid!($crate::Definition::RUN_AGENT_INPUT, $value $(, $($message)+)?)
    };
}

/// Panics unless the value is valid by the given [`Definition`](crate::Definition).
///
/// # Examples
/// ```
/// use agui_schema::{Definition, assert_valid};
/// use serde_json::json;
///
/// assert_valid!(Definition::AGENT_CAPABILITIES, &json!({"transport": {"streaming": true}}));
/// assert_valid!("Tool".parse().unwrap(), &json!({"name": "search", "description": "Looks things up"}));
/// ```
/// ```should_panic
/// # use agui_schema::{Definition, assert_valid};
/// # use serde_json::json;
/// assert_valid!(Definition::MESSAGE, &json!({"id": "m1", "role": "narrator"}));
/// ```
#[macro_export]
macro_rules! assert_valid {
    ($definition:expr, $value:expr $(,)?) => {
        if let ::core::result::Result::Err(failure) = $crate::check($definition, $value) {
            ::core::panic!("{failure}");
        }
    };
    ($definition:expr, $value:expr, $($message:tt)+) => {
        if let ::core::result::Result::Err(failure) = $crate::check($definition, $value) {
            ::core::panic!("{}: {failure}", ::core::format_args!($($message)+));
        }
    };
}

/// What the macros expand to; not part of the crate's interface.
///
/// # Errors
/// The text of the panic: what was judged, and each violation on a line of its own.
#[doc(hidden)]
pub fn check<T: Serialize + ?Sized>(definition: Definition, value: &T) -> Result<(), String> {
    let value =
        serde_json::to_value(value).map_err(|error| format!("the value does not serialize: {error}"))?;
    Validator::shared()
        .definition(definition, &value)
        .map_err(|violations| format!("not a valid {definition}\n{violations}"))
}
