//! Activities: structured progress shown between messages (`STATE-7` to `STATE-9`).

use crate::{JsonObject, JsonPatchOperation, MessageId};

event_object! {
    /// The whole content of an activity message, created where it first arrives (`STATE-7`).
    ActivitySnapshotEvent attributable {
        fixed "type" = "ACTIVITY_SNAPSHOT";
        required {
            /// Names the activity message in its thread.
            message_id "messageId": MessageId,
            /// What kind of activity it is; the set is open.
            activity_type "activityType": String,
            /// The content, whose members are the application's.
            content "content": JsonObject,
        }
        optional {
            /// Whether an existing activity is replaced; absent means yes (`STATE-7`).
            replace/with_replace "replace": bool,
        }
    }
}

event_object! {
    /// A change of an activity's content; needs a snapshot before it (`STATE-8`, `STATE-11`).
    ActivityDeltaEvent attributable {
        fixed "type" = "ACTIVITY_DELTA";
        required {
            /// The activity message.
            message_id "messageId": MessageId,
            /// The activity's kind from now on; repeated unless it changes (`STATE-8`).
            activity_type "activityType": String,
            /// The operations on the content, in order (RFC 6902).
            patch "patch": Vec<JsonPatchOperation>,
        }
        optional {}
    }
}
