//! Which requests there are below a prefix, and that a framework leaves their paths alone.

use std::sync::Arc;

use agui_core::{Run, RunEnd, RunError};
use agui_encoder::http::AgentServer;
use http::header::HOST;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::site::{PREFIX, Site, expect, holding_nothing, said, silent, soon, text_of, turn, words};
use crate::client::types;
use crate::cors::{assert_preflight, preflight};
use crate::{Client, StartServer};

/// An agent that says which run of which thread this is.
fn telling() -> AgentServer {
    AgentServer::new().with_agent("a", async |run: Run| {
        run.custom("run", json!([run.thread_id().as_str(), run.run_id().as_str()])).await?;
        Ok::<_, RunError>(RunEnd::success())
    })
}

/// The four routes and the door, at the root, below a prefix and deep below one.
pub async fn every_route_is_served_below_any_prefix(start: StartServer) {
    for prefix in ["", "/agents", "/a/b/c"] {
        let site = Site::below(start, telling(), prefix).await;
        let info = site.ask(Method::GET, "/info").await;
        assert_eq!(info.status(), StatusCode::OK, "{prefix}");
        assert_eq!(info.header("content-type"), "application/json");
        let info = info.json().await;
        assert_eq!(info["agents"]["a"]["name"], "a");
        assert_eq!(info["mode"], "sse");

        let events = site.run(&turn("t", "r1")).await.events().await;
        assert_eq!(types(&events), ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"], "{prefix}");
        let replay = site.connect(&holding_nothing("t")).await.events().await;
        assert_eq!(types(&replay), types(&events), "{prefix}");
        assert_eq!(site.stop("t").await["stopped"], false, "{prefix}");

        let doors: &[&str] = if prefix.is_empty() { &["/"] } else { &["", "/"] };
        for door in doors {
            let info_again = site.post(door, r#"{"method":"info"}"#).await;
            assert_eq!(info_again.status(), StatusCode::OK, "{prefix}{door}");
            assert_eq!(info_again.json().await, info);
            let thread = format!("t{door}");
            let run =
                json!({ "method": "agent/run", "params": { "agentId": "a" }, "body": turn(&thread, "r") });
            let events = site.post(door, run.to_string()).await.events().await;
            assert_eq!(events[1]["value"], json!([thread, "r"]), "{prefix}{door}");
        }
    }
}

/// A path beside the routes is a 404 of ours, and not one of the framework's.
pub async fn what_is_no_route_is_not_found(start: StartServer) {
    let site = Site::new(start, silent()).await;
    for path in [
        "/threads",
        "/agent",
        "/agent/a",
        "/agent/a/run/x",
        "/agent/a/stop",
        "/agent/a/stop/t/x",
        "/infos",
        "/info/x",
    ] {
        for method in [Method::GET, Method::POST] {
            expect(site.ask(method, path).await, 404, "not_found").await;
        }
    }
    for path in ["/agent/b/run", "/agent/b/connect", "/agent/b/stop/t", "/agent/A/run"] {
        expect(site.post(path, turn("t", "r").to_string()).await, 404, "agent_not_found").await;
    }
    for path in ["/agent/%zz/run", "/agent/a/stop/%", "/agent/a/stop/%4"] {
        expect(site.post(path, "").await, 400, "invalid_request").await;
    }
}

/// Every method reaches the surface, which knows what is allowed.
pub async fn a_route_has_its_methods(start: StartServer) {
    let site = Site::new(start, silent()).await;
    for path in ["", "/agent/a/run", "/agent/a/connect", "/agent/a/stop/t"] {
        for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::PATCH] {
            let is_head = method == Method::HEAD;
            let answer = site.ask(method.clone(), path).await;
            assert_eq!(answer.header("allow"), "POST", "{method} {path}");
            if is_head {
                assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
                assert_eq!(answer.text().await, "");
            } else {
                expect(answer, 405, "method_not_allowed").await;
            }
        }
    }
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = site.ask(method.clone(), "/info").await;
        let allow = answer.header("allow");
        assert!(allow.contains("GET") && !allow.contains(method.as_str()), "{method}: {allow}");
        expect(answer, 405, "method_not_allowed").await;
    }
    let head = site.ask(Method::HEAD, "/info").await;
    assert_eq!(head.status(), StatusCode::OK);
    assert_eq!(head.text().await, "");
}

/// By either version, and the connection goes on after it.
pub async fn a_head_is_the_head_of_its_get(start: StartServer) {
    let server = start(telling(), PREFIX).await;
    let clients = [Client::connect(&server).await, Client::connect_http2(&server).await];
    for mut client in clients {
        for path in ["/info", "/nowhere"] {
            let mut ask = async |method| {
                let request = Request::builder().method(method).uri(format!("{PREFIX}{path}"));
                client.send(request.header(HOST, "localhost").body(Full::default()).unwrap()).await
            };
            let head = ask(Method::HEAD).await;
            let get = ask(Method::GET).await;
            assert_eq!((head.status(), head.version()), (get.status(), get.version()), "{path}");
            for name in ["content-type", "content-length"] {
                assert_eq!(head.header(name), get.header(name), "{name} of {path}");
            }
            let length = get.header("content-length").to_owned();
            assert_eq!((head.text().await, get.text().await.len().to_string()), (String::new(), length));
        }
    }
}

/// A thread may be called anything, and is told from its neighbours by each of its characters.
pub async fn ids_are_decoded_once_and_after_routing(start: StartServer) {
    let pending = AgentServer::new().with_agent("a", async |_: Run| {
        std::future::pending::<()>().await;
        Ok::<_, RunError>(RunEnd::success())
    });
    let site = Site::new(start, pending).await;
    for (thread, segment) in [
        ("trip/7", "trip%2F7"),
        ("trip/7", "trip%2f7"),
        ("a?b#c", "a%3Fb%23c"),
        ("100 %", "100%20%25"),
        ("%2F", "%252F"),
        ("a+b", "a+b"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("日本", "%E6%97%A5%E6%9C%AC"),
        ("..", "%2E%2E"),
        ("a\"b\\", "a%22b%5C"),
    ] {
        let mut running = site.run(&turn(thread, segment)).await;
        assert_eq!(running.event().await["threadId"], thread);
        assert_eq!(site.stop(segment).await, json!({ "stopped": true, "runId": segment }), "{thread}");
        let events = running.events().await;
        assert_eq!(events[0]["outcome"]["type"], "cancelled");
    }
    // The agent's own id is decoded as well.
    let mut running = site.post("/agent/%61/run", turn("t", "r").to_string()).await;
    assert_eq!(running.event().await["type"], "RUN_STARTED");
    assert_eq!(site.stop("t").await["stopped"], true);
}

/// Strangers learn nothing of agents, paths and methods.
pub async fn credentials_are_judged_before_paths(start: StartServer) {
    let mut site = Site::new(start, silent().with_bearer_token("s3cret")).await;
    for authorization in [None, Some("Bearer wrong"), Some("Bearer s3cret2"), Some("Basic s3cret")] {
        if let Some(authorization) = authorization {
            site.set("authorization", authorization);
        }
        for (method, path) in [
            (Method::GET, "/info"),
            (Method::POST, "/info"),
            (Method::POST, ""),
            (Method::POST, "/"),
            (Method::POST, "/agent/a/run"),
            (Method::POST, "/agent/b/run"),
            (Method::GET, "/agent/a/connect"),
            (Method::POST, "/agent/a/stop/t"),
            (Method::GET, "/nowhere"),
            (Method::POST, "/agent/%zz/run"),
        ] {
            let answer = site.ask(method, path).await;
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{path}");
            expect(answer, 401, "unauthorized").await;
        }
    }
    site.set("authorization", "bearer s3cret");
    assert_eq!(site.ask(Method::GET, "/info").await.status(), StatusCode::OK);
    assert_eq!(site.run(&turn("t", "r")).await.events().await.len(), 2);
    expect(site.ask(Method::GET, "/nowhere").await, 404, "not_found").await;
}

/// The limit is the surface's, on each of its routes.
pub async fn a_body_over_the_limit_is_refused_everywhere(start: StartServer) {
    let site = Site::new(start, silent().with_max_body_bytes(1000)).await;
    for path in ["/agent/a/run", "/agent/a/connect", "/agent/a/stop/t", ""] {
        expect(site.post(path, vec![b' '; 1001]).await, 413, "body_too_large").await;
    }
    let mut input = turn("t", "r");
    input["forwardedProps"] = json!("");
    input["forwardedProps"] = json!("x".repeat(1000 - input.to_string().len()));
    assert_eq!(site.run(&input).await.events().await.len(), 2);
}

/// A server may have its four routes alone.
pub async fn the_door_can_be_closed(start: StartServer) {
    let site = Site::new(start, silent().with_envelope(false)).await;
    for path in ["", "/"] {
        expect(site.post(path, r#"{"method":"info"}"#).await, 404, "not_found").await;
    }
    assert_eq!(site.ask(Method::GET, "/info").await.status(), StatusCode::OK);
}

/// A page asks before every request, on connections that it keeps, and has no credentials to show then.
pub async fn a_thousand_preflights_are_answered_and_runs_go_on(start: StartServer) {
    const CONNECTIONS: usize = 4;
    const ROUTES: [(&str, &str); 5] = [
        ("", "POST"),
        ("/info", "GET"),
        ("/agent/a/run", "POST"),
        ("/agent/a/connect", "POST"),
        ("/agent/a/stop/trip%2F7", "POST"),
    ];
    let permits = Arc::new(Semaphore::new(1));
    let agents = AgentServer::new().with_agent("a", words(2, &permits)).with_bearer_token("s3cret");
    let mut site = Site::new(start, agents).await;
    site.set("authorization", "Bearer s3cret");
    let mut running = site.run(&turn("t", "r")).await;
    running.read_to("0 ").await;
    let mut asking = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (mut client, prefix) = site.client().await;
        asking.spawn(async move {
            let asked = ROUTES.iter().cycle().take(1_000 / CONNECTIONS);
            for (path, method) in asked {
                let answer = client.send(preflight(&format!("{prefix}{path}"), method)).await;
                assert_preflight(&answer);
                assert_eq!(answer.text().await, "");
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked.unwrap();
    }
    permits.add_permits(3);
    assert_eq!(text_of(&soon(running.events()).await), "1 ");
    assert_eq!(text_of(&soon(site.run(&turn("t", "r2")).await.events()).await), said(2));
}

/// Each has its own thread and input, and agents share nothing.
pub async fn requests_at_once_reach_their_own_agents(start: StartServer) {
    let agents = AgentServer::new();
    let agents = ["a", "b", "c"].into_iter().fold(agents, |agents, name| {
        agents.with_agent(name, move |run: Run| async move {
            run.custom("who", json!([name, run.input().forwarded_props])).await?;
            Ok::<_, RunError>(RunEnd::success())
        })
    });
    let site = Site::new(start, agents).await;
    let ask = async |name: &str, number: usize| {
        let mut input = turn("t", &format!("r{number}"));
        input["forwardedProps"] = json!(number);
        // One name under three agents is three threads, and none is busy because of another.
        input["threadId"] = json!(format!("t{number}"));
        let call = site.post(&format!("/agent/{name}/run"), input.to_string()).await;
        let events = call.events().await;
        assert_eq!(events[1]["value"], json!([name, number]), "{events:?}");
    };
    let mut asked = Vec::new();
    for number in 0..20 {
        for name in ["a", "b", "c"] {
            asked.push(ask(name, number));
        }
    }
    let _: Vec<()> = futures_util::future::join_all(asked).await;
    let info: Value = site.ask(Method::GET, "/info").await.json().await;
    assert_eq!(info["agents"].as_object().unwrap().len(), 3);
}
