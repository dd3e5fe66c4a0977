//! What ends a run other than its agent: a client that leaves, a time limit, a failure, a shutdown.

#![expect(clippy::unwrap_used, reason = "helpers of tests, outside of a test function")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agui_core::producer::{CancelReason, Extensions, RunLimits};
use agui_core::{Event, Run, RunEnd, RunError, WriteError};
use agui_encoder::http::{Endpoint, OnDisconnect, RequestHead, RunInfo};
use http::header;
use serde_json::Value;
use support::{INPUT, Log, OnDrop, call, chunk, events, post, run, settle, text, types};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

/// Says what happens to an agent that waits for a minute, silently, with a message open.
fn silent() -> (Endpoint, mpsc::UnboundedReceiver<String>) {
    let (say, said) = mpsc::unbounded_channel();
    let endpoint = Endpoint::new(move |run: Run| {
        let say = say.clone();
        async move {
            struct Dropped(mpsc::UnboundedSender<String>);
            impl Drop for Dropped {
                fn drop(&mut self) {
                    let _ = self.0.send("dropped".to_owned());
                }
            }
            let _dropped = Dropped(say.clone());
            let token = run.cancellation_token();
            let watcher = run.clone();
            let told = say.clone();
            tokio::spawn(async move {
                token.cancelled().await;
                let _ = told.send(format!("{:?}", watcher.cancel_reason()));
            });
            let mut message = run.message();
            message.delta("one").await?;
            sleep(Duration::from_secs(60)).await;
            message.delta("two").await?;
            let _ = say.send("finished".to_owned());
            Ok(RunEnd::success())
        }
    });
    (endpoint, said)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_cancels_a_silent_agent_at_once() {
    let (endpoint, mut said) = silent();
    let began = Instant::now();
    let mut body = run(&endpoint).await;
    chunk(&mut body).await;
    settle().await;
    drop(body);
    let mut heard = [said.recv().await.unwrap(), said.recv().await.unwrap()];
    heard.sort();
    assert_eq!(heard, ["Some(Abandoned)", "dropped"]);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_ever_reads_counts_as_left() {
    let (endpoint, mut said) = silent();
    drop(run(&endpoint).await);
    let began = Instant::now();
    endpoint.shutdown(Duration::from_secs(90)).await;
    assert_eq!(began.elapsed(), Duration::ZERO, "the run is over");
    assert!(said.try_recv().is_err(), "the agent was not even asked");
}

#[tokio::test(start_paused = true)]
async fn a_disconnect_can_be_told_while_the_body_lives() {
    let (endpoint, mut said) = silent();
    let mut body = run(&endpoint).await;
    chunk(&mut body).await;
    settle().await;
    body.disconnect().unwrap().notify();
    let mut heard = [said.recv().await.unwrap(), said.recv().await.unwrap()];
    heard.sort();
    assert_eq!(heard, ["Some(Abandoned)", "dropped"]);
    assert_eq!(types(&events(body).await), [""; 0], "no ending for a stream that nobody reads");
}

#[tokio::test(start_paused = true)]
async fn an_agent_may_clean_up_for_as_long_as_the_grace_after_its_client_left() {
    let (say, mut said) = mpsc::unbounded_channel();
    let endpoint = Endpoint::new(move |run: Run| {
        let say = say.clone();
        async move {
            run.cancelled().await;
            let refused = matches!(run.custom("late", 1).await, Err(WriteError::Closed));
            sleep(Duration::from_secs(3)).await;
            let _ = say.send(refused);
            Ok(RunEnd::success())
        }
    });
    let leave = async |endpoint: Endpoint| {
        let body = run(&endpoint).await;
        settle().await;
        drop(body);
    };
    leave(endpoint.clone().with_abandon_grace(Duration::from_secs(5))).await;
    assert_eq!(said.recv().await, Some(true), "nothing it writes goes anywhere");
    leave(endpoint.clone().with_abandon_grace(Duration::from_secs(1))).await;
    endpoint.shutdown(Duration::from_secs(60)).await;
    assert!(said.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_client_goes_on_where_the_host_asks_for_it() {
    let (endpoint, mut said) = silent();
    let endpoint = endpoint.with_on_disconnect(OnDisconnect::Detach);
    let mut body = run(&endpoint).await;
    chunk(&mut body).await;
    drop(body);
    assert_eq!(said.recv().await.as_deref(), Some("finished"));
}

#[tokio::test(start_paused = true)]
async fn a_run_over_its_time_ends_with_an_error() {
    let (endpoint, mut said) = silent();
    let began = Instant::now();
    let events = events(run(&endpoint.with_run_timeout(Duration::from_secs(5))).await).await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert_eq!(types(&events).last(), Some(&"RUN_ERROR"));
    assert_eq!(types(&events)[types(&events).len() - 2], "TEXT_MESSAGE_END");
    assert_eq!(events.last().unwrap()["code"], "timeout");
    assert_eq!(said.recv().await.as_deref(), Some("Some(TimedOut)"));
    assert_eq!(said.recv().await.as_deref(), Some("dropped"));
}

#[tokio::test(start_paused = true)]
async fn a_run_within_its_time_does_not_notice_the_limit() {
    let (endpoint, _said) = silent();
    let events = events(run(&endpoint.with_run_timeout(Duration::from_secs(61))).await).await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
}

type Hooked = Arc<Mutex<Vec<(String, RunInfo)>>>;

/// An endpoint that remembers what its error hook was told.
fn hooked(endpoint: Endpoint) -> (Endpoint, Hooked) {
    let told = Hooked::default();
    let hook = Arc::clone(&told);
    let endpoint = endpoint.with_error_hook(move |error: &RunError, run: &RunInfo| {
        hook.lock().unwrap().push((format!("{error:?}"), run.clone()));
    });
    (endpoint, told)
}

/// The terminal event of a run whose text contains none of the agent's secret.
async fn ends_safely(endpoint: &Endpoint) -> Value {
    let text = text(run(endpoint).await).await;
    assert!(!text.contains("pw@db"), "{text}");
    let events = support::parse(&text);
    let terminal = |event: &&Value| event["type"] == "RUN_ERROR" || event["type"] == "RUN_FINISHED";
    assert_eq!(events.iter().filter(terminal).count(), 1);
    events.last().unwrap().clone()
}

const SECRET: &str = "postgres://app:pw@db/x refused";

#[tokio::test]
async fn an_error_is_generic_for_the_client_and_full_for_the_log_and_the_hook() {
    let (log, _guard) = Log::start();
    let (endpoint, told) = hooked(Endpoint::new(|run: Run| async move {
        run.text("one").await?;
        Err(RunError::internal(SECRET))
    }));
    let error = ends_safely(&endpoint).await;
    assert_eq!(error["code"], "internal_error");
    assert_eq!(error["message"], RunError::GENERIC_MESSAGE);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1);
    assert!(told[0].0.contains(SECRET));
    assert_eq!((told[0].1.thread_id.as_str(), told[0].1.run_id.as_str()), ("t", "r"));
    assert!(log.text().contains(SECRET));
}

#[tokio::test]
async fn a_public_error_says_what_the_agent_says() {
    let endpoint =
        Endpoint::new(|_: Run| async { Err(RunError::public("The quota is used up.").with_code("quota")) });
    let error = ends_safely(&endpoint).await;
    assert_eq!(
        (error["message"].as_str(), error["code"].as_str()),
        (Some("The quota is used up."), Some("quota"))
    );
}

#[tokio::test]
async fn a_panic_is_an_error_without_its_text() {
    async fn panicking(run: Run) -> Result<RunEnd, RunError> {
        let mut message = run.message();
        message.delta("one").await?;
        panic!("{SECRET}")
    }
    let (endpoint, told) = hooked(Endpoint::new(panicking));
    assert_eq!(ends_safely(&endpoint).await["code"], "internal_error");
    assert!(told.lock().unwrap()[0].0.contains(SECRET));
    // The same endpoint goes on serving.
    assert_eq!(ends_safely(&endpoint).await["code"], "internal_error");
}

#[tokio::test]
async fn a_panic_of_the_error_hook_does_not_cost_the_ending() {
    let endpoint = Endpoint::new(|_: Run| async { Err(RunError::internal(SECRET)) })
        .with_error_hook(|_: &RunError, _: &RunInfo| panic!("hook"));
    assert_eq!(ends_safely(&endpoint).await["code"], "internal_error");
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_the_agent_is_dropped_does_not_cost_the_ending() {
    struct Explosive;
    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("{SECRET}");
        }
    }
    let endpoint = Endpoint::new(|_: Run| async {
        let _explosive = Explosive;
        std::future::pending().await
    })
    .with_run_timeout(Duration::from_secs(1));
    assert_eq!(ends_safely(&endpoint).await["code"], "timeout");
    endpoint.shutdown(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn an_event_that_breaks_an_order_rule_is_not_sent() {
    let endpoint = Endpoint::new(|run: Run| async move {
        run.emit(agui_core::TextMessageEndEvent::new("never-opened")).await?;
        Ok(RunEnd::success())
    });
    let events = events(run(&endpoint).await).await;
    assert_eq!(types(&events), ["RUN_STARTED", "RUN_ERROR"]);
    assert_eq!(events[1]["code"], "protocol_violation");
}

#[tokio::test]
async fn an_event_over_the_limit_ends_the_run() {
    let limits = RunLimits::default().with_max_event_bytes(1000);
    let endpoint = Endpoint::new(|run: Run| async move {
        run.text("x".repeat(2000)).await?;
        Ok(RunEnd::success())
    })
    .with_run_limits(limits);
    let error = ends_safely(&endpoint).await;
    assert_eq!(error["code"], "event_too_large");

    let (endpoint, told) = hooked(
        Endpoint::new(|_: Run| async { Ok(RunEnd::success().with_result("x".repeat(2000))) })
            .with_run_limits(limits),
    );
    assert_eq!(ends_safely(&endpoint).await["code"], "event_too_large");
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_echoed_input_over_the_limit_ends_the_run_before_the_agent_is_asked() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let endpoint = Endpoint::new(move |_: Run| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(RunEnd::success()) }
    })
    .with_echoed_input(true)
    .with_run_limits(RunLimits::default().with_max_event_bytes(100));
    let events = events(run(&endpoint).await).await;
    assert_eq!(types(&events), ["RUN_ERROR"]);
    assert_eq!(events[0]["code"], "event_too_large");
    settle().await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_runs_end_within_the_grace() {
    let (endpoint, mut said) = silent();
    let body = run(&endpoint).await;
    settle().await;
    let began = Instant::now();
    let shutdown = endpoint.shutdown(Duration::from_secs(90));
    let response = call(&endpoint, post(INPUT)).await;
    assert_eq!(response.status(), 503, "from the call on, not from the first poll");
    assert!(response.headers().contains_key(header::RETRY_AFTER));
    assert!(text(response.into_body()).await.contains("\"code\":\"unavailable\""));
    let (events, ()) = tokio::join!(events(body), shutdown);
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    assert_eq!(events.last().unwrap().get("outcome"), None);
    assert_eq!(began.elapsed().as_secs(), 60);
    assert_eq!(said.recv().await.as_deref(), Some("finished"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_cancels_what_outlasts_the_grace() {
    let (endpoint, mut said) = silent();
    let body = run(&endpoint).await;
    settle().await;
    let began = Instant::now();
    let (events, ()) = tokio::join!(events(body), endpoint.shutdown(Duration::from_secs(10)));
    let names = types(&events);
    assert_eq!(names[names.len() - 2..], ["TEXT_MESSAGE_END", "RUN_FINISHED"]);
    assert_eq!(events.last().unwrap()["outcome"]["type"], "cancelled");
    assert_eq!(began.elapsed().as_secs(), 12, "the grace, and two seconds for an agent that does not listen");
    assert_eq!(said.recv().await.as_deref(), Some("Some(Shutdown)"));
    assert_eq!(said.recv().await.as_deref(), Some("dropped"));
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_without_runs_has_nothing_to_wait_for() {
    let (endpoint, _said) = silent();
    let began = Instant::now();
    endpoint.shutdown(Duration::from_secs(10)).await;
    endpoint.clone().shutdown(Duration::from_secs(10)).await;
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(call(&endpoint.clone(), post(INPUT)).await.status(), 503);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_run_is_cancelled_whatever_its_agent_makes_of_the_signal() {
    type Make = fn() -> Result<RunEnd, RunError>;
    let ends: [(Make, &str); 4] = [
        (|| Ok(RunEnd::success().with_result(1)), "cancelled"),
        (|| Ok(RunEnd::cancelled()), "cancelled"),
        (|| Err(WriteError::Closed.into()), "cancelled"),
        (|| Err(RunError::public("no")), "no"),
    ];
    for (end, expected) in ends {
        let endpoint = Endpoint::new(move |run: Run| async move {
            run.cancelled().await;
            assert_eq!(run.cancel_reason(), Some(CancelReason::Shutdown));
            end()
        });
        let body = run(&endpoint).await;
        settle().await;
        let (events, ()) = tokio::join!(events(body), endpoint.shutdown(Duration::ZERO));
        let last = events.last().unwrap();
        let outcome = last["outcome"]["type"].as_str().or(last["message"].as_str());
        assert_eq!(outcome, Some(expected), "{last}");
        assert_eq!(last.get("result"), None);
    }
}

#[tokio::test]
async fn one_run_too_many_is_refused_until_the_end_of_another_can_be_seen() {
    let (go, gone) = oneshot::channel::<()>();
    let gone = Mutex::new(Some(gone));
    let endpoint = Endpoint::new(move |_: Run| {
        let gone = gone.lock().unwrap().take();
        async move {
            if let Some(gone) = gone {
                gone.await?;
            }
            Ok(RunEnd::success())
        }
    })
    .with_max_runs(1);
    let mut body = run(&endpoint).await;
    let response = call(&endpoint, post(INPUT)).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    chunk(&mut body).await;
    go.send(()).unwrap();
    assert!(chunk(&mut body).await.unwrap().starts_with(b"data: {\"type\":\"RUN_FINISHED\""));
    // The ending was seen this moment; nothing else has run since.
    assert_eq!(call(&endpoint, post(INPUT)).await.status(), 200);
}

#[tokio::test]
async fn a_caller_has_a_limit_of_its_own() {
    let endpoint = Endpoint::new(|_: Run| std::future::pending())
        .with_max_runs_per_identity(2, |known: &Extensions| {
            known.get::<RequestHead>()?.header("x-user").map(str::to_owned)
        });
    let ask = async |user: Option<&str>| {
        let mut request = post(INPUT);
        if let Some(user) = user {
            request.headers_mut().insert("x-user", user.parse().unwrap());
        }
        call(&endpoint, request).await
    };
    let (first, _second) = (ask(Some("ada")).await, ask(Some("ada")).await);
    let third = ask(Some("ada")).await;
    assert_eq!(third.status(), 429);
    assert!(third.headers().contains_key(header::RETRY_AFTER));
    assert!(text(third.into_body()).await.contains("\"code\":\"too_many_runs\""));
    let others = [ask(Some("bob")).await, ask(None).await, ask(None).await, ask(None).await];
    assert!(others.iter().all(|response| response.status() == 200));
    drop(first);
    settle().await;
    assert_eq!(ask(Some("ada")).await.status(), 200);
}

#[tokio::test]
async fn the_log_names_the_run_and_how_it_went_but_nothing_of_its_content() {
    let (log, _guard) = Log::start();
    let endpoint = Endpoint::new(|run: Run| async move {
        tracing::info!("in the agent");
        run.text("s3cret answer").await?;
        Ok(RunEnd::success())
    });
    let body = r#"{"threadId":"t7","runId":"r7","protocolVersion":"1.0","mood":1,
        "messages":[{"id":"m","role":"user","content":"s3cret question"}]}"#;
    events(call(&endpoint, post(body)).await.into_body()).await;
    settle().await;
    let text = log.text();
    assert!(!text.contains("s3cret"), "{text}");
    let line = |needle: &str| text.lines().find(|line| line.contains(needle)).unwrap().to_owned();
    for line in [line("in the agent"), line("/mood")] {
        assert!(line.contains("thread_id=\"t7\"") && line.contains("run_id=\"r7\""), "{line}");
    }
    let end = line("the run is over");
    assert!(end.contains("outcome=\"finished\"") && end.contains("duration_ms="), "{end}");
}

#[tokio::test]
async fn nobody_writes_lines_of_their_own_into_the_log() {
    let (log, _guard) = Log::start();
    for error in [
        || RunError::public("no\nFORGED").with_code("a\nFORGED"),
        || RunError::internal("no\nFORGED").with_code("a\nFORGED"),
    ] {
        let endpoint = Endpoint::new(move |_: Run| async move { Err(error()) });
        let body = r#"{"threadId":"t\nFORGED","runId":"r\nFORGED","protocolVersion":"9\nFORGED",
            "messages":[{"role":"a\nFORGED"}],"x\nFORGED":1}"#;
        events(call(&endpoint, post(body)).await.into_body()).await;
    }
    settle().await;
    let text = log.text();
    assert!(text.contains("the run failed") && text.contains("FORGED"), "{text}");
    assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{text}");
}

#[tokio::test]
async fn what_an_agent_starts_in_its_run_may_write_until_the_end() {
    let (guard, dropped) = OnDrop::new();
    let guard = Mutex::new(Some(guard));
    let endpoint = Endpoint::new(move |run: Run| {
        let guard = guard.lock().unwrap().take();
        async move {
            let clone = run.clone();
            tokio::spawn(async move {
                let _guard = guard;
                while clone.emit(Event::from(agui_core::CustomEvent::new("tick", 1))).await.is_ok() {}
            });
            settle().await;
            Ok(RunEnd::success())
        }
    });
    let events = events(run(&endpoint).await).await;
    assert_eq!(types(&events).last(), Some(&"RUN_FINISHED"));
    dropped.await.unwrap();
}
