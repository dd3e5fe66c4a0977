//! Everything an agent can do, over every wire: the same events, the same conversation.
#![cfg(feature = "protobuf")]

mod common;

use agui_client::Agent;
use agui_client::agui_core::{Event, EventType};
use common::{demo, read, script, scripted, within_a_minute};
use serde_json::{Value, json};

/// Scripts that between them have every kind of step.
fn scripts() -> Vec<Value> {
    vec![
        json!([
            { "text": "Hel", "role": "assistant", "name": "ada" },
            { "deltas": ["a", "", "b"], "gapMs": 1 },
            { "flood": { "count": 300, "bytes": 200 } },
            { "reasoning": ["hm", "so"], "encrypted": "c2VjcmV0" },
            { "toolCall": { "name": "clock", "result": "noon" } },
            { "toolCall": { "name": "look", "argsDeltas": ["{\"q\":", "1}"], "result": [{ "type": "text", "text": "x" }] } },
            { "toolCall": { "name": "pick", "args": { "n": 1.5, "deep": [null, { "a": [] }] } } },
            { "state": { "set": ["/plan", { "n": 1 }] } },
            { "state": { "patch": [{ "op": "test", "path": "/plan/n", "value": 1 }, { "op": "copy", "from": "/plan", "path": "/was" }] } },
            { "state": { "patch": [{ "op": "remove", "path": "/nowhere" }] } },
            { "activity": { "type": "PLAN", "content": { "steps": [] }, "id": "plan" } },
            { "activity": { "type": "PLAN", "patch": [{ "op": "add", "path": "/steps/-", "value": "go" }], "id": "plan" } },
            { "custom": { "name": "x", "value": null } },
            { "custom": { "name": "y", "value": { "z": [true, -0.5, "é"] } } },
            { "raw": { "any": 1 }, "source": "model" },
            { "step": { "name": "plan", "do": [
                { "subagent": { "name": "scout", "description": "looks", "do": [{ "text": "there" }], "result": [1] } },
                { "subagent": { "name": "lost", "do": [{ "reasoning": "?" }], "error": "no way", "code": "nav" } },
            ] } },
            { "inputEcho": true },
            { "event": { "type": "TEXT_MESSAGE_CHUNK", "messageId": "chunked", "delta": "chunk" } },
        ]),
        json!([{ "stateSnapshot": null }, { "stateSnapshot": { "a": 1 } },
            { "messagesSnapshot": [{ "id": "u", "role": "user", "content": "Hi" },
                { "id": "a", "role": "assistant", "toolCalls": [
                    { "id": "c", "type": "function", "function": { "name": "f", "arguments": "" } }] }] },
            { "finish": { "result": { "ok": false }, "usage": [{ "provider": "p", "model": "m", "inputTokens": 3 }] } }]),
        json!([{ "subagent": { "name": "s", "suspend": ["i"] } }, { "interrupt": [{ "id": "i", "reason": "confirm", "message": "Book?" }] }]),
        json!([{ "text": "a" }, { "cancel": true }]),
        json!([{ "text": "a" }, { "error": "no", "code": "x" }]),
        json!([{ "panic": "at the disco" }]),
        json!([{ "sleepMs": 1 }, { "nonsense": 1 }]),
    ]
}

#[tokio::test]
async fn every_step_gives_the_same_events_and_the_same_conversation_over_sse_and_protobuf() {
    within_a_minute(async {
        let (url, sent) = demo().await;
        let mut seen = std::collections::HashSet::new();
        for steps in scripts() {
            let mut both = Vec::new();
            for protobuf in [false, true] {
                let agent = scripted(&url).with_protobuf(protobuf);
                let mut run = agent.run(script(&steps)).await.unwrap();
                let (events, failure) = read(&mut run).await;
                assert!(failure.is_none(), "{failure:?}");
                let warnings: Vec<_> = run.warnings().map(ToString::to_string).collect();
                let held = run.into_conversation();
                let runs = held.runs().to_vec();
                both.push((events, warnings, held.to_messages(), held.state().clone(), runs));
            }
            let [sse, protobuf] = both.try_into().unwrap();
            seen.extend(sse.0.iter().map(Event::event_type));
            for (place, (one, other)) in sse.0.iter().zip(&protobuf.0).enumerate() {
                assert_eq!(one, other, "event {place} of {steps}");
            }
            assert_eq!(sse.1, protobuf.1);
            assert!(sse == protobuf, "{steps}");
        }
        let types = sent.content_types();
        let (sse, protobuf) = ("text/event-stream", "application/vnd.ag-ui.event+proto");
        assert!(types.chunks(2).all(|pair| pair == [sse, protobuf]), "{types:?}");
        // Everything has been there but the chunks, which are never delivered as such.
        let missing: Vec<_> =
            EventType::ALL.iter().filter(|kind| !seen.contains(*kind)).map(|kind| kind.as_str()).collect();
        assert_eq!(missing, ["TEXT_MESSAGE_CHUNK", "TOOL_CALL_CHUNK", "REASONING_MESSAGE_CHUNK"]);
    })
    .await;
}
