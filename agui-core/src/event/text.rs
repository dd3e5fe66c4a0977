//! Text messages: open, content, close (`STREAM-1` to `STREAM-4`), and the compact spelling (`CHUNK-1`).

use crate::{MessageId, TextMessageRole};

event_object! {
    /// Opens a text message, or reopens a closed one so that more text appends to it.
    ///
    /// Opening an id that is open is fatal (`STREAM-1`); a reopening agrees with the message in role, name and owner
    /// (`STREAM-4`).
    TextMessageStartEvent attributable {
        fixed "type" = "TEXT_MESSAGE_START";
        required {
            /// Names the message in its thread.
            message_id "messageId": MessageId,
        }
        optional {
            /// Who speaks; absent means the assistant.
            role/with_role "role": TextMessageRole,
            /// The speaker's name, where several share a role.
            name/with_name "name": String,
        }
    }
}

event_object! {
    /// Text to append to an open message.
    ///
    /// Belongs to the message that a [`TextMessageStartEvent`] with the same id opened; with none open, a consumer
    /// rejects the stream (`STREAM-1`). Deltas concatenate in arrival order, and an empty one is legal (`STREAM-2`).
    ///
    /// # Examples
    /// ```
    /// # use agui_core::{Event, TextMessageContentEvent};
    /// let event = Event::from(TextMessageContentEvent::new("m1", "Hel"));
    /// assert_eq!(serde_json::to_string(&event)?, r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    TextMessageContentEvent attributable {
        fixed "type" = "TEXT_MESSAGE_CONTENT";
        required {
            /// The open message.
            message_id "messageId": MessageId,
            /// The text to append, exactly as it is.
            delta "delta": String,
        }
        optional {}
    }
}

event_object! {
    /// Closes an open text message (`STREAM-1`).
    TextMessageEndEvent attributable {
        fixed "type" = "TEXT_MESSAGE_END";
        required {
            /// The open message.
            message_id "messageId": MessageId,
        }
        optional {}
    }
}

event_object! {
    /// A piece of a text message in the compact spelling: opens, continues and closes by what comes next.
    ///
    /// The first one of a message carries its id (`CHUNK-1`); later ones may leave out everything but the delta.
    #[derive(Default)]
    TextMessageChunkEvent attributable {
        fixed "type" = "TEXT_MESSAGE_CHUNK";
        required {}
        optional {
            /// The message; absent continues the open chunk stream (`CHUNK-5`).
            message_id/with_message_id "messageId": MessageId,
            /// Who speaks; a repetition has to agree with the opener (`CHUNK-3`).
            role/with_role "role": TextMessageRole,
            /// The text to append.
            delta/with_delta "delta": String,
            /// The speaker's name.
            name/with_name "name": String,
        }
    }
}
