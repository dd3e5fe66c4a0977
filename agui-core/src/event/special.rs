//! What the standard events do not cover (`PASS-1`, `PASS-2`).

use serde_json::Value;

event_object! {
    /// An event of another system, passed on whole; nothing is derived from it (`PASS-1`).
    RawEvent attributable {
        fixed "type" = "RAW";
        required {
            /// The foreign event: any JSON, `null` included.
            event "event": Value,
        }
        optional {
            /// The system it came from.
            source/with_source "source": String,
        }
    }
}

event_object! {
    /// An event of the application's own; a name the consumer does not know is ignored (`PASS-2`).
    CustomEvent attributable {
        fixed "type" = "CUSTOM";
        required {
            /// The event's name; names without a prefix are the protocol's.
            name "name": String,
            /// The payload: any JSON, `null` included.
            value "value": Value,
        }
        optional {}
    }
}
