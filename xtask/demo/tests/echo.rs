//! What the echo agent answers.

mod runner;

use agui_demo::EchoAgent;
use runner::{finished, start};
use serde_json::{Value, json};

async fn answer(messages: Value) -> Vec<Value> {
    let input = json!({ "threadId": "t", "runId": "r", "messages": messages });
    start(EchoAgent, input).rest().await.split_off(1)
}

#[tokio::test]
async fn the_last_user_message_comes_back_word_by_word() {
    let events = answer(json!([
        { "id": "1", "role": "user", "content": "first" },
        { "id": "2", "role": "user", "content": "hello  big world" },
        { "id": "3", "role": "assistant", "content": "third" },
    ]))
    .await;
    let content = |delta| json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "r:m1", "delta": delta });
    assert_eq!(
        events,
        [
            json!({ "type": "TEXT_MESSAGE_START", "messageId": "r:m1", "role": "assistant" }),
            content("hello  "),
            content("big "),
            content("world"),
            json!({ "type": "TEXT_MESSAGE_END", "messageId": "r:m1" }),
            finished(),
        ]
    );
}

#[tokio::test]
async fn text_parts_are_joined_and_media_skipped() {
    let events = answer(json!([{ "id": "1", "role": "user", "content": [
        { "type": "text", "text": "what is " },
        { "type": "image", "source": { "type": "url", "value": "https://example.com/a.png" } },
        { "type": "text", "text": "this" },
    ] }]))
    .await;
    let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
    assert_eq!(text, "what is this");
}

#[tokio::test]
async fn nothing_to_repeat_is_an_empty_message() {
    for messages in [json!([]), json!([{ "id": "1", "role": "user", "content": "" }])] {
        let types: Vec<_> = answer(messages).await.iter().map(|event| event["type"].clone()).collect();
        assert_eq!(types, ["TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
    }
}
