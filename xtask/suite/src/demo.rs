//! What every binding's examples serve: the demo server's routes, agents, settings and end, and who asks.
//!
//! The agents' vocabulary is tested where they are; this is about what is around them.

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};

use crate::client::{post_json, types};
use crate::{Client, Server, SocketClient};

/// The token the server has to be started with.
pub const TOKEN: &str = "demo-token";

fn asking(script: &Value) -> Value {
    json!({
        "threadId": "t", "runId": "r", "protocolVersion": "1.0",
        "messages": [{ "id": "q", "role": "user", "content": "hello big world" }],
        "forwardedProps": { "script": script },
    })
}

/// Both agents, by their header, on both paths.
pub async fn serves_both_agents(server: &Server) {
    let mut client = Client::connect(server).await;
    let token = format!("Bearer {TOKEN}");
    for path in ["/agui", "/secure/agui"] {
        for agent in [&[][..], &[("x-agent-id", "echo")]] {
            let headers = [agent, &[("authorization", &token)]].concat();
            let answer = client.send(post_json(path, &headers, &asking(&json!([])))).await;
            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            let events = answer.events().await;
            let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
            assert_eq!(text, "hello big world");
            assert_eq!(events[1]["messageId"], "r:m1");
        }
        let headers = [("x-agent-id", "script"), ("authorization", &token)];
        let script = asking(&json!([{ "text": "hi" }, { "inputEcho": true }]));
        let events = client.send(post_json(path, &headers, &script)).await.events().await;
        assert_eq!(types(&events)[1..4], ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
        assert_eq!(events[4]["value"], json!({ "agentId": "script", "input": script }));
    }
}

/// Both agents over WebSocket, by the member that names them; behind the token the hello brings it.
pub async fn serves_sockets(server: &Server) {
    for path in ["/agui/ws", "/secure/agui/ws"] {
        let mut socket = SocketClient::open_with(server, path, &[]).await;
        socket.say(&json!({ "type": "hello", "token": TOKEN })).await;
        assert_eq!(socket.frame().await["type"], "hello_ack");
        for agent in [None, Some("echo"), Some("script")] {
            let mut input = asking(&json!([{ "text": "hello big world" }]));
            if let Some(agent) = agent {
                input["agentId"] = json!(agent);
            }
            socket.say(&input).await;
            let events = socket.run().await;
            let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
            assert_eq!(text, "hello big world", "{path} {agent:?}");
        }
    }
    let mut stranger = SocketClient::open_with(server, "/secure/agui/ws", &[]).await;
    stranger.say(&json!({ "type": "hello", "token": "wrong" })).await;
    assert_eq!(stranger.close_code().await, 1008);
}

/// How deep the steps of a script lie inside each other is the client's say, and no danger to the server.
pub async fn survives_a_script_as_deep_as_json_may_be(server: &Server) {
    let mut client = Client::connect(server).await;
    let script =
        (0..40).fold(json!([]), |inner, _| json!([{ "subagent": { "name": "scout", "do": inner } }]));
    let events =
        client.send(post_json("/agui", &[("x-agent-id", "script")], &asking(&script))).await.events().await;
    assert_eq!(events.len(), 2 + 2 * 40);
    assert_eq!(events[81]["type"], "RUN_FINISHED");
}

/// Unknown paths and agents are 404, and behind the token strangers see nothing but 401.
pub async fn refuses_what_it_does_not_serve(server: &Server) {
    let mut client = Client::connect(server).await;
    let unknown = [("x-agent-id", "nobody")];
    let answer = client.send(post_json("/agui", &unknown, &asking(&json!([])))).await;
    assert_eq!(answer.json().await["code"], "agent_not_found");

    let token = format!("Bearer {TOKEN}");
    for (path, authorization, status, code) in [
        ("/threads", None, 404, "not_found"),
        ("/agui/more", None, 404, "not_found"),
        ("/secure/agui", None, 401, "unauthorized"),
        ("/secure/agui", Some("Bearer wrong"), 401, "unauthorized"),
        ("/secure/none", None, 401, "unauthorized"),
        ("/secure", None, 401, "unauthorized"),
        ("/secure/", None, 401, "unauthorized"),
        ("/secure/none", Some(&*token), 404, "not_found"),
    ] {
        for method in [Method::GET, Method::POST] {
            let mut request = Request::builder().method(&method).uri(path).header("host", "localhost");
            request = request.header("origin", "http://app.example");
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let answer = client.send(request.body(Full::default()).unwrap()).await;
            assert_eq!(answer.status().as_u16(), status, "{method} {path}");
            assert_eq!(answer.header("content-type"), "application/json", "{method} {path}");
            assert_eq!(answer.header("access-control-allow-origin"), "http://app.example", "{method} {path}");
            assert_eq!(answer.json().await["code"], code, "{method} {path}");
        }
    }
}

/// Both surfaces, with one record between them.
pub async fn serves_both_surfaces(server: &Server) {
    let mut client = Client::connect(server).await;
    let token = format!("Bearer {TOKEN}");
    let mut infos = Vec::new();
    for prefix in ["", "/secure"] {
        let info = Request::get(format!("{prefix}/info"))
            .header("host", "localhost")
            .header("authorization", &token);
        let answer = client.send(info.body(Full::default()).unwrap()).await;
        assert_eq!(answer.status(), StatusCode::OK, "{prefix}");
        infos.push(answer.json().await);
    }
    assert_eq!(infos[0], infos[1]);
    let names: Vec<_> = infos[0]["agents"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["echo", "script"]);

    let mut input = asking(&json!([{ "text": "hi" }]));
    input["threadId"] = json!("surface");
    let ran = client.send(post_json("/agent/script/run", &[], &input)).await.events().await;
    assert_eq!(types(&ran)[1..4], ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]);
    let holding = json!({ "threadId": "surface", "runId": "c", "protocolVersion": "1.0", "messages": [] });
    let headers = [("authorization", &*token)];
    let replay = client.send(post_json("/secure/agent/script/connect", &headers, &holding)).await;
    assert_eq!(types(&replay.events().await), types(&ran));
}

/// Runs that are in progress when the server is told to end get their ending, and so does who watches. `terminate` tells
/// it.
pub async fn ends_its_runs_when_it_is_told_to_end(server: &Server, terminate: impl FnOnce()) {
    let token = format!("Bearer {TOKEN}");
    let script = asking(&json!([{ "step": { "name": "wait", "do": [{ "sleepMs": 3_600_000 }] } }]));
    let mut left = script.clone();
    left["threadId"] = json!("left");
    let watching = json!({ "threadId": "t", "runId": "c", "protocolVersion": "1.0", "messages": [] });
    let mut streams = Vec::new();
    for (path, input) in [
        ("/agui", &script),
        ("/agent/script/run", &script),
        ("/agent/script/connect", &watching),
        ("/secure/agent/script/connect", &watching),
        ("/agent/script/run", &left),
    ] {
        let mut client = Client::connect(server).await;
        let headers = [("x-agent-id", "script"), ("authorization", &*token)];
        let mut answer = client.send(post_json(path, &headers, input)).await;
        assert_eq!(answer.event().await["type"], "RUN_STARTED");
        assert_eq!(answer.event().await["type"], "STEP_STARTED");
        streams.push((client, answer));
    }
    // A run that goes on without its client is no reason to stay up either.
    streams.pop();
    terminate();
    // Who watches from the other surface may be sent away by it before the run has ended.
    let (_client, answer) = streams.pop().unwrap();
    let events = answer.events().await;
    assert!(matches!(types(&events).last(), Some(&("RUN_FINISHED" | "RUN_ERROR"))), "{events:?}");
    for (_client, answer) in streams {
        let events = answer.events().await;
        assert_eq!(types(&events), ["STEP_FINISHED", "RUN_FINISHED"], "{events:?}");
        assert_eq!(events[1]["outcome"], json!({ "type": "cancelled" }));
    }
}

/// The example with sessions: a known one is greeted by name, an unknown one is turned away.
pub async fn knows_who_asks(server: &Server) {
    let input = json!({ "threadId": "t", "runId": "r", "messages": [] });
    let mut client = Client::connect(server).await;
    let answer = client.send(post_json("/agui", &[("x-session", "s-1")], &input)).await;
    assert_eq!(answer.events().await[2]["delta"], "Hello Ada");
    for unknown in [&[][..], &[("x-session", "s-2")]] {
        // A framework that refuses a request without its body may close the connection.
        let mut client = Client::connect(server).await;
        let answer = client.send(post_json("/agui", unknown, &input)).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
}
