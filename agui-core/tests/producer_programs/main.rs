//! Random programs of helper calls, judged by rules written down a second time.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test may panic in its helpers too")]

mod consumed;
mod oracle;
mod program;
mod runs;
mod sync;

use agui_schema::Validator;
use serde_json::{Value, json};

/// An input with a history that events can collide with.
fn input() -> Value {
    json!({
        "threadId": "t", "runId": "r",
        "messages": [
            {"id": "u1", "role": "user", "content": "hi"},
            {"id": "a1", "role": "assistant", "content": "yes", "toolCalls": [
                {"id": "c0", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            ]},
            {"id": "t0", "role": "tool", "toolCallId": "c0", "content": "ok"},
        ],
        "state": {"plan": {"steps": ["wake", "eat"]}, "n": 1},
    })
}

fn is_valid(event: &Value) -> bool {
    match Validator::shared().event(event) {
        Ok(()) => true,
        Err(violations) => panic!("{event}: {violations}"),
    }
}
