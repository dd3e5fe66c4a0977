//! What an agent calls, into bytes, without a server: `Run`, writer, queue and encoder.

use std::hint::black_box;
use std::rc::Rc;
use std::sync::Arc;

use agui_core::producer::{Launched, RunSetup, launch};
use agui_core::{Event, Run, RunAgentInput, RunEnd, RunError};
use agui_encoder::SseEncoder;
use bytes::BytesMut;
use futures_util::future::join;

use super::{Case, Subject, Targets};
use crate::floor::plain::{Plain, TextMessageContent};
use crate::measure::Meter;
use crate::workloads::Random;

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let chat = &subjects[0];
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (mut buffer, mut written) = (Vec::with_capacity(64 * 1024), BytesMut::with_capacity(64 * 1024));
    cases.push(Case {
        operation: "producer: Run to bytes",
        workload: chat.name,
        events: chat.count,
        targets: Targets::NONE,
        floor: Box::new(move |meter: &mut Meter| {
            meter.run(|| {
                let mut random = Random::new(1);
                let id = random.id("msg_");
                for _ in 0..2_000 {
                    buffer.clear();
                    delta(&id, random.token()).write(b"data: ", b"\n\n", &mut buffer);
                    black_box(&buffer);
                }
            });
        }),
        ours: Box::new(move |meter: &mut Meter| {
            let setup = RunSetup::new(RunAgentInput::new("thread", "run", []));
            meter.run(|| runtime.block_on(bytes_of_a_run(setup, &mut written)));
        }),
    });
}

fn delta(id: &str, text: &str) -> Plain {
    Plain::TextMessageContent(TextMessageContent {
        message_id: id.to_owned(),
        delta: text.to_owned(),
        subagent_run_id: None,
        timestamp: None,
        metadata: None,
        raw_event: None,
    })
}

/// The agent of the chat, whose tokens are drawn as it goes.
pub(crate) async fn chat_agent(run: Run) -> Result<RunEnd, RunError> {
    let mut random = Random::new(1);
    let mut message = run.message();
    for _ in 0..2_000 {
        message.delta(random.token()).await?;
    }
    message.end().await?;
    Ok(RunEnd::success())
}

async fn bytes_of_a_run(setup: RunSetup, buffer: &mut BytesMut) {
    let Launched { task, mut events, control, .. } = launch(Arc::new(chat_agent), setup);
    let encoder = SseEncoder::new();
    let work = async { control.settle(task.await) };
    let read = async {
        let mut batch: Vec<Event> = Vec::new();
        while std::future::poll_fn(|cx| events.poll_refill(cx, &mut batch)).await {
            buffer.clear();
            for event in &batch {
                encoder.encode(event, buffer).expect("events are JSON");
            }
            black_box(&buffer);
        }
    };
    join(work, read).await;
}
