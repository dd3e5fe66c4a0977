//! Tools, and the calls of them that messages carry.

use serde_json::Value;

use crate::{Metadata, ToolCallId};

protocol_object! {
    /// A tool the application offers to the agent for a run.
    Tool {
        required {
            /// The tool's name.
            name "name": String,
            /// What it is for, for the model to read.
            description "description": String,
        }
        optional {
            /// The JSON Schema of its arguments: any JSON but `null`; absent where it takes none.
            parameters/with_parameters "parameters": Value,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// A tool call as an assistant message carries it.
    ToolCall {
        fixed "type" = "function";
        required {
            /// Names the call.
            id "id": ToolCallId,
            /// What is called with what.
            function "function": FunctionCall,
        }
        optional {
            /// An opaque value that goes back to its issuer (`INT-5`).
            encrypted_value/with_encrypted_value "encryptedValue": String,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

protocol_object! {
    /// The function of a tool call.
    FunctionCall {
        required {
            /// The tool's name.
            name "name": String,
            /// The arguments as text, which need not be valid JSON (`STREAM-5`).
            arguments "arguments": String,
        }
        optional {}
    }
}

impl ToolCall {
    /// Parses the arguments; empty text stands for no arguments, an empty object.
    ///
    /// # Errors
    /// The text is not JSON. That is a failure of the tool, never of the stream (`STREAM-5`).
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{FunctionCall, ToolCall};
    /// let call = ToolCall::new("c1", FunctionCall::new("clock", ""));
    /// assert_eq!(call.parse_arguments()?, serde_json::json!({}));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn parse_arguments(&self) -> Result<Value, serde_json::Error> {
        if self.function.arguments.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        serde_json::from_str(&self.function.arguments)
    }
}
