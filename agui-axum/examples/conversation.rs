//! Three runs of one conversation: the application runs a tool, a subagent searches in parallel, and the user is asked.
//!
//! `cargo run -p agui-axum --example conversation`. The agent keeps nothing between runs: what was said, called and
//! answered comes back in the messages of the next input, what it has noted in the state, and answers to its questions
//! in `resume`.

use agui_axum::agui_core::{Interrupt, JsonObject, Message, ResumeEntry, ResumeStatus};
use agui_axum::{Endpoint, Run, RunEnd, RunError};
use axum::Router;
use axum::serve::ListenerExt;
use serde_json::json;

/// The tool that the application offers: it shows a map and gives the place that the user picks.
const PICK_PLACE: &str = "pick_place";
/// The one question this agent asks.
const BOOK: &str = "book";

async fn agent(run: Run) -> Result<RunEnd, RunError> {
    if let Some(answer) = run.input().resume_entry(BOOK) {
        return book(&run, answer).await;
    }
    if let Some(Message::Tool(picked)) = run.input().messages.last() {
        return search(&run, &picked.content.text()).await;
    }
    pick(&run).await
}

/// The first run calls the application's tool. It gives no result: the application does, with the next run.
async fn pick(run: &Run) -> Result<RunEnd, RunError> {
    if !run.input().is_frontend_tool(PICK_PLACE) {
        return Err(RunError::public("This agent needs the tool pick_place."));
    }
    run.text("Where would you like to go?").await?;
    run.tool_call(PICK_PLACE).end().await?;
    Ok(RunEnd::success()) // names the call as pending
}

/// The second run has the tool's answer, lets a subagent search, and stops to ask.
async fn search(run: &Run, place: &str) -> Result<RunEnd, RunError> {
    run.state().set("/place", place).await?; // comes back with the next input

    let scout = run.subagent("scout").start().await?;
    // Whatever a clone of the subagent's run writes is the subagent's.
    let trains = look_up(scout.run().clone(), "trains", place);
    let rooms = look_up(scout.run().clone(), "rooms", place);
    let (trains, rooms) = tokio::try_join!(trains, rooms)?;
    scout.finish(json!([trains, rooms])).await?;

    let schema: JsonObject = serde_json::from_value(json!({ "type": "boolean" }))?;
    let question = Interrupt::new(BOOK, "confirmation")
        .with_message(format!("{trains} and {rooms} in {place}. Book the first of each?"))
        .with_response_schema(schema);
    Ok(RunEnd::interrupt(question))
}

/// A tool of the agent's own: the call and its result are written here.
async fn look_up(run: Run, what: &str, place: &str) -> Result<String, RunError> {
    let call = run.tool_call("look_up");
    call.args(json!({ "what": what, "place": place }).to_string()).await?;
    tokio::task::yield_now().await; // stands for the search, which takes its time
    let found = format!("3 {what}");
    call.result(found.as_str()).await?;
    Ok(found)
}

/// The third run has the user's answer.
async fn book(run: &Run, answer: &ResumeEntry) -> Result<RunEnd, RunError> {
    let state = run.state().get();
    let place = state["place"].as_str().unwrap_or("somewhere");
    if answer.status == ResumeStatus::Resolved && answer.payload == Some(json!(true)) {
        run.text(format!("Booked. Have a good time in {place}!")).await?;
    } else {
        run.text("Nothing is booked.").await?;
    }
    Ok(RunEnd::success())
}

pub(crate) fn app() -> Router {
    Router::new().route("/agui", agui_axum::endpoint(Endpoint::new(agent)))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    tracing_subscriber::fmt::init(); // tells why a run failed
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    axum::serve(listener.tap_io(|socket| drop(socket.set_nodelay(true))), app()).await
}
