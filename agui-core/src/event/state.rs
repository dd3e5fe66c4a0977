//! State and the conversation as a whole (`STATE-1` to `STATE-6`).

use serde_json::Value;

use crate::{JsonPatchOperation, Message};

event_object! {
    /// The whole state, which replaces what the consumer holds (`STATE-1`).
    StateSnapshotEvent attributable {
        fixed "type" = "STATE_SNAPSHOT";
        required {
            /// The state: any JSON, `null` included.
            snapshot "snapshot": Value,
        }
        optional {}
    }
}

event_object! {
    /// A change of the state: a JSON Patch applied wholly or not at all (`STATE-2`).
    StateDeltaEvent attributable {
        fixed "type" = "STATE_DELTA";
        required {
            /// The operations, in order (RFC 6902).
            delta "delta": Vec<JsonPatchOperation>,
        }
        optional {}
    }
}

event_object! {
    /// The whole conversation: known messages are replaced, new ones appended, missing ones dropped (`STATE-6`).
    MessagesSnapshotEvent {
        fixed "type" = "MESSAGES_SNAPSHOT";
        required {
            /// Every message of the conversation, in order.
            messages "messages": Vec<Message>,
        }
        optional {}
    }
}
