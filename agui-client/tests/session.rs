//! A thread over several runs.

mod common;

use agui_axum::Endpoint;
use agui_client::agui_core::consumer::{Change, Conversation, RunStatus};
use agui_client::agui_core::{
    Context, Event, Message, Run, RunAgentInput, RunEnd, RunError, Tool, UserMessage,
};
use agui_client::agui_core::{Interrupt, ResumeStatus};
use agui_client::{Agent, AgentSession, DialError, HttpAgent};
use axum::Router;
use common::{Scripted, demo, scripted, serve, within_a_minute};
use serde_json::{Value, json};

/// Asks for a place by the application's tool, then for a confirmation, then books.
async fn guide(run: Run) -> Result<RunEnd, RunError> {
    if let Some(answer) = run.input().resume_entry("book") {
        if answer.status == ResumeStatus::Cancelled {
            return Err(RunError::public("a pity"));
        }
        run.text(format!("booked: {}", answer.payload.as_ref().unwrap_or(&Value::Null))).await?;
        return Ok(RunEnd::interrupt(Interrupt::new("book", "again?")));
    }
    if let Some(Message::Tool(picked)) = run.input().messages.last() {
        run.state().set("/place", picked.content.text()).await?;
        return Ok(RunEnd::interrupt(Interrupt::new("book", "confirm")));
    }
    run.tool_call("pick").end().await?;
    Ok(RunEnd::success())
}

#[expect(clippy::unwrap_used, reason = "this is part of tests")]
async fn guided() -> AgentSession<HttpAgent> {
    let app = Router::new().route("/agui", agui_axum::endpoint(Endpoint::new(guide)));
    let agent = HttpAgent::new(format!("{}/agui", serve(app).await)).unwrap();
    AgentSession::new(agent, "t").with_tools([Tool::new("pick", "Picks.")])
}

#[tokio::test]
async fn turns_tool_results_state_and_answers_go_from_run_to_run() {
    within_a_minute(async {
        let mut session = guided().await;
        session.say("Find me a place.");
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Success);
        let calls = session.conversation().pending_tool_call_ids().to_vec();
        assert_eq!(calls.len(), 1);
        session.answer_call(calls[0].clone(), "Porto");
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Interrupted);
        assert_eq!(session.conversation().state(), &json!({ "place": "Porto" }));

        // An open interrupt wants an answer.
        let error = session.run().await.unwrap_err();
        assert!(matches!(&error, DialError::NotSent(error) if error.rule() == "INT-2"), "{error:?}");
        session.abandon("book");
        session.resolve("book", json!({ "yes": true }));
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Interrupted);
        let texts: Vec<_> =
            session.conversation().messages().map(|message| message.text().into_owned()).collect();
        assert_eq!(texts.last().unwrap(), r#"booked: {"yes":true}"#);

        // The same question once more: the answer of before is used up.
        assert!(matches!(session.run().await, Err(DialError::NotSent(_))));
        session.abandon("book");
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Failed);
        // A run that failed has answered nothing, and is repeated with the same answers.
        assert_eq!(session.next_input().resume.unwrap().len(), 1);
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Failed);
        assert_eq!(session.conversation().runs().len(), 5);
    })
    .await;
}

#[tokio::test]
async fn what_the_application_sets_goes_out_with_every_run_under_fresh_run_ids() {
    within_a_minute(async {
        let (url, _) = demo().await;
        let mut session = AgentSession::new(scripted(&url), "t")
            .with_context([Context::new("today", "Monday")])
            .with_forwarded_props(json!({ "script": [{ "inputEcho": true }] }));
        let mut runs = Vec::new();
        for _ in 0..2 {
            session.say("Hi");
            let mut run = session.run().await.unwrap();
            while let Some(event) = run.next().await {
                if let Event::Custom(echo) = event.unwrap() {
                    assert_eq!(
                        echo.value["input"]["context"],
                        json!([{ "description": "today", "value": "Monday" }])
                    );
                    assert_eq!(echo.value["input"]["protocolVersion"], "1.0");
                    runs.push((
                        echo.value["input"]["runId"].clone(),
                        echo.value["input"]["messages"].as_array().unwrap().len(),
                    ));
                }
            }
        }
        assert_ne!(runs[0].0, runs[1].0);
        assert_eq!((runs[0].1, runs[1].1), (1, 2));
    })
    .await;
}

#[tokio::test]
async fn a_turn_that_was_refused_or_cut_off_can_be_run_again() {
    within_a_minute(async {
        let mut server = Scripted::answering("503 Service Unavailable", "", "{}").await;
        let mut session = AgentSession::new(server.agent(), "t");
        session.say("Hi");
        assert!(matches!(session.run().await, Err(DialError::Refused(_))));
        assert_eq!(session.conversation().message_count(), 1);
        let first: Value =
            serde_json::from_str(server.request().await.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(session.next_input().messages.len(), first["messages"].as_array().unwrap().len());
    })
    .await;
}

#[tokio::test]
async fn each_event_comes_with_what_it_changed() {
    within_a_minute(async {
        let (url, _) = demo().await;
        let agent = HttpAgent::new(&url).unwrap();
        let mut conversation = Conversation::new();
        let question = Message::from(UserMessage::new("q", "one two"));
        let mut run =
            agent.run_in(&mut conversation, RunAgentInput::new("t", "r", [question])).await.unwrap();
        let mut appended = String::new();
        while let Some(event) = run.next().await {
            if let (Event::TextMessageContent(content), Change::TextAppended(key)) =
                (event.unwrap(), run.change())
            {
                appended.push_str(&content.delta);
                assert!(run.conversation().message_at(key).unwrap().text().starts_with(&appended));
            }
        }
        assert_eq!(appended, "one two");
        drop(run);
        assert_eq!(conversation.message("r:m1").unwrap().text(), "one two");
    })
    .await;
}
