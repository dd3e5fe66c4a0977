//! Agents over pipes, with real child processes: this program, started again, is the child.
//!
//! It has its own `main` because libtest writes to the standard output, which belongs to the child's events. What runs the
//! tests is asked for them as by libtest.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "all of this is a test")]

mod common;

#[path = "../../agui-encoder/examples/stdio.rs"]
mod example;

use std::io::Read;
use std::process::Stdio;

use agui_client::agui_core::consumer::RunStatus;
use agui_client::agui_core::{Event, Message, RunAgentInput, UserMessage};
use agui_client::{Agent, AgentSession, DialError, RunFailure, StdioAgent, TruncationCause};
use agui_encoder::http::Endpoint;
use agui_encoder::stdio::LineServer;
use common::{demo, read, script, scripted, within_a_minute};
use libtest_mimic::{Arguments, Trial};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::runtime::Runtime;

/// Names what the child does.
const ROLE: &str = "AGUI_TEST_CHILD";
/// Where a child that hangs connects to, so that its end is seen.
const HELD: &str = "AGUI_TEST_HELD";

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("example") => example::main().unwrap(),
        Ok("script") => serve(Endpoint::new(agui_demo::ScriptAgent)),
        Ok("demo") => serve(agui_demo::plain_endpoint(&agui_demo::Settings::default())),
        Ok("exits") => {}
        Ok("breaks off") => {
            std::io::stdin().read_line(&mut String::new()).unwrap();
            print!("{{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}}\n{{\"type\":");
        }
        Ok("hangs") => {
            let mut held = std::net::TcpStream::connect(std::env::var(HELD).unwrap()).unwrap();
            std::io::stdin().read_line(&mut String::new()).unwrap();
            println!("{{\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\"}}");
            held.read_to_end(&mut Vec::new()).unwrap();
        }
        Ok(other) => panic!("no such role: {other}"),
        Err(_) => libtest_mimic::run(&Arguments::from_args(), tests()).exit(),
    }
}

fn serve(endpoint: Endpoint) {
    Runtime::new().unwrap().block_on(LineServer::new(endpoint).serve_process()).unwrap();
}

/// The tests by their names, to a runner that asks for them as it asks libtest.
fn tests() -> Vec<Trial> {
    macro_rules! tests {
        ($($test:ident)*) => { vec![$( Trial::test(stringify!($test), || {
            Runtime::new()?.block_on(within_a_minute($test()));
            Ok(())
        }) ),*] };
    }
    tests! {
        the_example_answers_a_line_with_lines_and_ends_with_its_input
        a_child_gives_the_same_events_as_http_run_after_run
        bad_lines_are_answered_and_the_next_one_is_served
        a_session_goes_over_a_child_as_over_http
        a_child_that_dies_is_a_truncated_run_and_the_next_run_starts_another
        a_run_that_is_dropped_takes_its_child_with_it
    }
}

/// This program in another role.
fn child(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, role).stderr(Stdio::null());
    command
}

fn agent(role: &'static str) -> StdioAgent {
    StdioAgent::new(move || child(role))
}

fn input(run_id: &str) -> RunAgentInput {
    RunAgentInput::new("t", run_id, [Message::from(UserMessage::new("q", "Hi"))])
}

async fn the_example_answers_a_line_with_lines_and_ends_with_its_input() {
    let mut child = child("example").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let asked = json!({ "threadId": "t", "runId": "r", "protocolVersion": "1.0",
        "messages": [{ "id": "q", "role": "user", "content": "Hi" }] });
    stdin.write_all(format!("{asked}\n").as_bytes()).await.unwrap();
    // The child is still there and waits for more while its events are read.
    let mut types = Vec::new();
    while types.last().is_none_or(|kind| kind != "RUN_FINISHED") {
        let event: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        types.push(event["type"].as_str().unwrap().to_owned());
    }
    assert_eq!(types.len(), 6, "{types:?}");
    // An input that is there when the pipe ends is served all the same.
    stdin.write_all(asked.to_string().as_bytes()).await.unwrap();
    drop(stdin);
    let mut rest = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        rest.push(line);
    }
    assert_eq!(rest.len(), 6);
    assert!(child.wait().await.unwrap().success());
}

async fn a_child_gives_the_same_events_as_http_run_after_run() {
    let (url, _) = demo().await;
    let (http, pipe) = (scripted(&url), agent("script"));
    for steps in [
        json!([{ "deltas": ["Grüße, ", "世界\n"] }, { "toolCall": { "name": "pick" } }]),
        json!([{ "text": "a" }, { "error": "no", "code": "x" }]),
        json!([{ "flood": { "count": 500, "bytes": 1000 } }]),
        json!([{ "panic": "secret" }]),
        json!([{ "cancel": true }]),
    ] {
        let (expected, _) = read(&mut http.run(script(&steps)).await.unwrap()).await;
        let mut run = pipe.run(script(&steps)).await.unwrap();
        let (events, failure) = read(&mut run).await;
        assert!(failure.is_none(), "{failure:?}");
        assert!(events == expected, "{steps}: {events:?}");
    }
}

async fn bad_lines_are_answered_and_the_next_one_is_served() {
    let mut child = child("demo").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let good = r#"{"threadId":"t","runId":"r","protocolVersion":"1.0","messages":[]}"#;
    let bad = [
        "{".to_owned(),
        "[]".to_owned(),
        r#"{"threadId":"t","messages":[]}"#.to_owned(),
        good.replace('}', r#","agentId":"nobody"}"#),
        "x".repeat(2_000_000),
    ];
    stdin.write_all(format!("{}\n{good}\n", bad.join("\n")).as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    let events: Vec<Value> = output
        .stdout
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let codes: Vec<_> = events.iter().filter_map(|event| event["code"].as_str()).collect();
    assert_eq!(
        codes,
        ["invalid_json", "invalid_input", "invalid_input", "agent_not_found", "body_too_large"]
    );
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}

async fn a_session_goes_over_a_child_as_over_http() {
    let mut session = AgentSession::new(agent("example"), "t");
    for said in ["one", "two"] {
        session.say(said);
        assert_eq!(session.run().await.unwrap().finish().await.unwrap(), RunStatus::Success);
    }
    let texts: Vec<_> =
        session.conversation().messages().map(|message| message.text().into_owned()).collect();
    assert_eq!(texts, ["one", "You said: one", "two", "You said: two"]);
}

async fn a_child_that_dies_is_a_truncated_run_and_the_next_run_starts_another() {
    let agent = agent("breaks off");
    for _ in 0..2 {
        let (events, failure) = read(&mut agent.run(input("r")).await.unwrap()).await;
        assert_eq!(events.len(), 1);
        let failure = failure.unwrap();
        assert!(matches!(failure, RunFailure::Truncated(TruncationCause::InsideFrame(_))), "{failure:?}");
    }
    // One that is gone at once is either not there to be written to or ends without a word.
    match self::agent("exits").run(input("r")).await {
        Ok(mut run) => assert!(run.finish().await.unwrap_err().is_truncation()),
        Err(error) => assert!(matches!(error, DialError::Unreachable(_)), "{error:?}"),
    }
    let nowhere = StdioAgent::new(|| Command::new("/no/such/program"));
    assert!(matches!(nowhere.run(input("r")).await, Err(DialError::Unreachable(_))));
}

async fn a_run_that_is_dropped_takes_its_child_with_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let agent = StdioAgent::new(move || {
        let mut command = child("hangs");
        command.env(HELD, &address);
        command
    });
    let mut run = agent.run(input("r")).await.unwrap();
    let (mut held, _) = listener.accept().await.unwrap();
    assert!(matches!(run.next().await, Some(Ok(Event::RunStarted(_)))));
    drop(run);
    // Nothing comes from it, and then it is gone.
    assert!(matches!(held.read(&mut [0]).await, Ok(0) | Err(_)));
    // The next run starts another.
    let _run = agent.run(input("r")).await.unwrap();
    listener.accept().await.unwrap();
}
