//! What a run is refused for where the server has no place for it, and who gets the place of one that is superseded.

use agui_encoder::http::{AgentServer, RequestHead};
use serde_json::json;

use crate::refusals::refused;
use crate::support::{ask, chunk, events, post_to, types};
use crate::{answer, input, run, server, stop};

/// Both ways to have one place, with what they answer where it is taken.
fn one_place() -> [(AgentServer, u16, &'static str); 2] {
    let everybody =
        |server: AgentServer| server.with_max_runs_per_identity(1, |_| Some("everybody".to_owned()));
    [(server().with_max_runs(1), 503, "unavailable"), (everybody(server()), 429, "too_many_runs")]
}

#[tokio::test]
async fn a_busy_thread_is_said_to_be_busy_where_there_is_no_place_either() {
    for (server, status, code) in one_place() {
        let runner = run(&server, "wait", &input("t", "one")).await;
        let response = ask(&server, post_to("/agent/wait/run", &input("t", "two"))).await;
        assert_eq!(response.status(), 409);
        let answered = answer(response).await;
        assert_eq!((&answered["code"], &answered["runId"]), (&json!("thread_busy"), &json!("one")));
        for (agent, thread) in [("wait", "u"), ("greet", "t")] {
            let asked = post_to(&format!("/agent/{agent}/run"), &input(thread, "two"));
            assert_eq!(refused(&server, asked).await, (status, code.to_owned()), "{agent} {thread}");
        }
        stop(&server, "wait", "t", &json!({})).await;
        events(runner).await;
        assert_eq!(events(run(&server, "greet", &input("t", "two")).await).await.len(), 5);
    }
}

#[tokio::test]
async fn a_full_server_says_nothing_of_another_owners_run() {
    struct User(String);
    let server = server()
        .with_max_runs(1)
        .with_supersede(true)
        .with_authenticator(|head: RequestHead| async move {
            Ok(User(head.header("x-user").unwrap_or("ada").to_owned()))
        })
        .with_owner_of(|extensions| extensions.get::<User>().map(|user| user.0.clone()));
    let _runner = run(&server, "wait", &input("t", "one")).await;
    let mut asked = post_to("/agent/wait/run", &input("t", "two"));
    asked.headers_mut().insert("x-user", "bob".parse().unwrap());
    assert_eq!(refused(&server, asked).await, (403, "forbidden".to_owned()));
}

#[tokio::test]
async fn a_run_that_supersedes_another_has_its_place() {
    for (server, status, code) in one_place() {
        let server = server.with_supersede(true);
        let mut runner = run(&server, "wait", &input("t", "r0")).await;
        for id in ["r1", "r2"] {
            assert!(chunk(&mut runner).await.is_some());
            let next = run(&server, "wait", &input("t", id)).await;
            assert_eq!(events(runner).await.last().unwrap()["outcome"]["type"], "cancelled");
            runner = next;
            // The place is taken all the while.
            let asked = post_to("/agent/wait/run", &input("u", "r"));
            assert_eq!(refused(&server, asked).await, (status, code.to_owned()));
        }
        stop(&server, "wait", "t", &json!({})).await;
        events(runner).await;
        assert_eq!(events(run(&server, "greet", &input("u", "r")).await).await.len(), 5);
    }
}

#[tokio::test]
async fn a_place_is_free_again_whoever_was_to_have_it() {
    for (server, ..) in one_place() {
        let server = server.with_supersede(true);
        let runner = run(&server, "wait", &input("t", "r")).await;
        // It cannot begin, whatever it supersedes: the thread has had a run of this id.
        let asked = post_to("/agent/wait/run", &input("t", "r"));
        assert_eq!(ask(&server, asked).await.status(), 409);
        stop(&server, "wait", "t", &json!({})).await;
        events(runner).await;
        for id in ["r1", "r2"] {
            let sent = events(run(&server, "greet", &input("u", id)).await).await;
            assert_eq!(types(&sent).last(), Some(&"RUN_FINISHED"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_that_would_supersede_a_run_one_has_its_place() {
    for (server, status, code) in one_place() {
        let server = server.with_supersede(true);
        let mut first = run(&server, "wait", &input("t", "r0")).await;
        assert!(chunk(&mut first).await.is_some());
        let (one, two) = tokio::join!(
            ask(&server, post_to("/agent/wait/run", &input("t", "r1"))),
            ask(&server, post_to("/agent/wait/run", &input("t", "r2"))),
        );
        assert_eq!((one.status().as_u16(), two.status().as_u16()), (200, status));
        assert_eq!(answer(two).await["code"], code);
        stop(&server, "wait", "t", &json!({})).await;
        assert_eq!(events(one.into_body()).await.last().unwrap()["type"], "RUN_FINISHED");
        assert_eq!(events(run(&server, "greet", &input("u", "r")).await).await.len(), 5);
    }
}
