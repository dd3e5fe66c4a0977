//! The stream itself: headers, framing, promptness, joined chunks, keep-alive, and how it ends.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use agui_core::{Event, Run, RunEnd, RunError};
use agui_encoder::http::{Body, Endpoint, OnDisconnect};
use http::header;
use http_body::Body as _;
use support::{INPUT, call, chunk, events, parse, post, ready_chunk, run, settle, text, types};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

const CHUNK: usize = 16 * 1024;

async fn hello(run: Run) -> Result<RunEnd, RunError> {
    run.text("Hello").await?;
    Ok(RunEnd::success())
}

/// Writes a START and then as many deltas as asked for, all ready at once.
fn deltas(count: usize, size: usize) -> Endpoint {
    Endpoint::new(move |run: Run| async move {
        let mut message = run.message();
        for _ in 0..count {
            message.delta("x".repeat(size)).await?;
        }
        Ok(RunEnd::success())
    })
}

#[tokio::test]
async fn a_run_is_a_stream_of_events() {
    let response = call(&Endpoint::new(hello), post(INPUT)).await;
    assert_eq!(response.status(), 200);
    let headers = response.headers();
    assert_eq!(headers[header::CONTENT_TYPE], "text/event-stream");
    assert_eq!(headers[header::CACHE_CONTROL], "no-cache");
    assert_eq!(headers["x-accel-buffering"], "no");
    assert_eq!(headers[header::VARY], "accept");
    assert_eq!(headers.get(header::CONTENT_LENGTH), None);
    assert_eq!(headers.get(header::CONNECTION), None);
    assert_eq!(response.body().size_hint().exact(), None);
    assert!(response.body().is_stream());
    let text = text(response.into_body()).await;
    assert!(text.starts_with(
        "data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"r\",\"protocolVersion\":\"1.0\"}\n\n"
    ));
    assert!(!text.contains('\r') && !text.contains("null") && !text.contains("[DONE]"));
    assert_eq!(
        types(&parse(&text)),
        ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]
    );
}

#[tokio::test]
async fn line_breaks_in_text_stay_inside_their_frame() {
    let endpoint = Endpoint::new(|run: Run| async move {
        run.text("a\nb\r\n\r\ndata: c\u{2028}").await?;
        Ok(RunEnd::success())
    });
    assert_eq!(events(run(&endpoint).await).await[2]["delta"], "a\nb\r\n\r\ndata: c\u{2028}");
}

#[tokio::test]
async fn accept_never_causes_a_refusal() {
    let endpoint = Endpoint::new(hello);
    for accept in ["text/event-stream", "text/html", "application/json", "image/png;q=0", ";;,", "\u{e9}"] {
        let mut request = post(INPUT);
        let value = http::HeaderValue::from_bytes(accept.as_bytes()).unwrap();
        request.headers_mut().insert(header::ACCEPT, value);
        let response = call(&endpoint, request).await;
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream", "{accept}");
    }
}

#[tokio::test]
async fn an_input_without_a_version_but_with_a_null_state_starts_a_run() {
    let body = r#"{"threadId":"t","runId":"r","messages":[],"tools":[],"context":[],"state":null,"forwardedProps":{}}"#;
    let endpoint = Endpoint::new(hello);
    assert_eq!(
        types(&events(call(&endpoint, post(body)).await.into_body()).await).last(),
        Some(&"RUN_FINISHED")
    );
}

#[tokio::test]
async fn run_started_is_readable_before_the_agent_is_asked() {
    let mut body = run(&Endpoint::new(|_: Run| std::future::pending())).await;
    // Nothing else has run in between.
    let Poll::Ready(Some(first)) = ready_chunk(&mut body) else { panic!("nothing there") };
    assert_eq!(types(&parse(std::str::from_utf8(&first).unwrap())), ["RUN_STARTED"]);
    assert!(ready_chunk(&mut body).is_pending());
}

#[tokio::test]
async fn an_event_is_readable_before_the_next_is_made() {
    let go = Arc::new(Notify::new());
    let waiting = Arc::clone(&go);
    let endpoint = Endpoint::new(move |run: Run| {
        let go = Arc::clone(&waiting);
        async move {
            for count in 0..3 {
                go.notified().await;
                run.custom("count", count).await?;
            }
            Ok(RunEnd::success())
        }
    });
    let mut body = run(&endpoint).await;
    assert!(chunk(&mut body).await.unwrap().starts_with(b"data: {\"type\":\"RUN_STARTED\""));
    for count in 0..2 {
        settle().await;
        assert!(ready_chunk(&mut body).is_pending());
        go.notify_one();
        let bytes = chunk(&mut body).await.unwrap();
        assert_eq!(parse(std::str::from_utf8(&bytes).unwrap())[0]["value"], count);
    }
    go.notify_one();
    assert_eq!(types(&events(body).await), ["CUSTOM", "RUN_FINISHED"]);
}

#[tokio::test]
async fn events_that_are_ready_together_share_a_chunk() {
    let mut body = run(&deltas(100, 5)).await;
    settle().await;
    let bytes = chunk(&mut body).await.unwrap();
    assert_eq!(parse(std::str::from_utf8(&bytes).unwrap()).len(), 104);
    assert!(body.is_end_stream());
    assert_eq!(chunk(&mut body).await, None);
}

#[tokio::test]
async fn a_joined_chunk_is_about_sixteen_kibibytes() {
    let mut body = run(&deltas(250, 1000)).await;
    settle().await;
    let mut sizes = Vec::new();
    while let Some(bytes) = chunk(&mut body).await {
        assert!(bytes.ends_with(b"\n\n"));
        sizes.push(bytes.len());
    }
    let (last, full) = sizes.split_last().unwrap();
    assert!(full.iter().all(|size| (CHUNK..CHUNK + 1200).contains(size)), "{sizes:?}");
    assert!(*last < CHUNK + 1200);
}

#[tokio::test]
async fn an_event_over_the_chunk_size_goes_out_whole() {
    let text = text(run(&deltas(1, 100_000)).await).await;
    assert_eq!(parse(&text)[2]["delta"].as_str().unwrap().len(), 100_000);
}

struct CountWakes(AtomicUsize);

impl Wake for CountWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_body_that_always_has_more_gives_way_after_every_other_chunk() {
    let mut body = run(&deltas(200, 1000)).await;
    settle().await;
    let count = Arc::new(CountWakes(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut cx = Context::from_waker(&waker);
    for round in 1..=5 {
        assert!(support::poll(&mut body, &mut cx).is_ready());
        assert!(support::poll(&mut body, &mut cx).is_ready());
        assert!(support::poll(&mut body, &mut cx).is_pending());
        assert_eq!(count.0.load(Ordering::Relaxed), round, "it has to be asked again at once");
    }
}

#[tokio::test]
async fn the_body_ends_with_the_terminal_event_even_if_the_agent_goes_on() {
    let endpoint = Endpoint::new(|run: Run| async move {
        run.emit(agui_core::RunFinishedEvent::new("t", "r")).await?;
        std::future::pending().await
    });
    assert_eq!(types(&events(run(&endpoint).await).await), ["RUN_STARTED", "RUN_FINISHED"]);
}

#[tokio::test]
async fn the_input_is_echoed_only_on_request() {
    let plain = events(run(&Endpoint::new(hello)).await).await;
    assert_eq!(plain[0].get("input"), None);
    let echoed = events(run(&Endpoint::new(hello).with_echoed_input(true)).await).await;
    assert_eq!(echoed[0]["input"], serde_json::from_str::<serde_json::Value>(INPUT).unwrap());
}

fn silent_for(seconds: u64) -> Endpoint {
    Endpoint::new(move |run: Run| async move {
        sleep(Duration::from_secs(seconds)).await;
        run.text("Hello").await?;
        Ok(RunEnd::success())
    })
}

fn comments(text: &str) -> usize {
    text.matches(": keep-alive\n\n").count()
}

#[tokio::test(start_paused = true)]
async fn a_comment_goes_out_after_each_silence() {
    let text = text(run(&silent_for(50)).await).await;
    assert_eq!(comments(&text), 3);
    assert_eq!(parse(&text).len(), 5);
    let after_start = text.split_once("\n\n").unwrap().1;
    assert!(
        after_start.starts_with(": keep-alive\n\n: keep-alive\n\n: keep-alive\n\ndata: "),
        "{after_start}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_silence_can_be_set_and_turned_off() {
    let often = silent_for(50).with_keep_alive(Duration::from_secs(8));
    assert_eq!(comments(&text(run(&often).await).await), 6);
    for endpoint in [silent_for(50).with_keep_alive(Duration::ZERO), silent_for(50).with_keep_alive(None)] {
        assert_eq!(comments(&text(run(&endpoint).await).await), 0);
    }
    let longest = silent_for(50).with_keep_alive(Duration::MAX);
    assert_eq!(comments(&text(run(&longest).await).await), 0);
}

#[tokio::test(start_paused = true)]
async fn no_comment_goes_out_while_events_flow() {
    let endpoint = Endpoint::new(|run: Run| async move {
        for count in 0..20 {
            sleep(Duration::from_secs(10)).await;
            run.custom("count", count).await?;
        }
        Ok(RunEnd::success())
    });
    assert_eq!(comments(&text(run(&endpoint).await).await), 0);
}

#[tokio::test(start_paused = true)]
async fn the_silence_counts_from_the_last_event() {
    let endpoint = Endpoint::new(|run: Run| async move {
        sleep(Duration::from_secs(10)).await;
        run.custom("x", 1).await?;
        std::future::pending().await
    });
    let mut body = run(&endpoint).await;
    let began = Instant::now();
    chunk(&mut body).await;
    chunk(&mut body).await;
    assert_eq!(chunk(&mut body).await.unwrap(), ": keep-alive\n\n");
    assert_eq!(began.elapsed().as_secs(), 25);
}

#[tokio::test(start_paused = true)]
async fn comments_do_not_queue_up_for_a_reader_that_does_not_read() {
    let mut body = run(&Endpoint::new(|_: Run| std::future::pending())).await;
    assert!(ready_chunk(&mut body).is_ready());
    sleep(Duration::from_secs(1000)).await;
    assert_eq!(ready_chunk(&mut body), Poll::Ready(Some(": keep-alive\n\n".into())));
    assert!(ready_chunk(&mut body).is_pending());
}

#[tokio::test]
async fn a_reader_that_does_not_read_makes_the_agent_wait() {
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let endpoint = Endpoint::new(move |run: Run| {
        let count = Arc::clone(&count);
        async move {
            let mut message = run.message();
            for _ in 0..1_000_000 {
                message.delta("token").await?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(RunEnd::success())
        }
    });
    let mut body = run(&endpoint).await;
    assert!(ready_chunk(&mut body).is_ready());
    settle().await;
    let waiting = written.load(Ordering::Relaxed);
    assert!((200..=256).contains(&waiting), "{waiting}");

    // One chunk makes room for no more than one queue.
    chunk(&mut body).await;
    settle().await;
    assert!(written.load(Ordering::Relaxed) <= waiting + 256);

    // A reader of the same agent that does read gets all of it meanwhile.
    let (mut bytes, mut other) = (0, run(&endpoint).await);
    while let Some(piece) = chunk(&mut other).await {
        bytes += piece.len();
    }
    assert!(bytes > 1_000_000 * 50);
    assert!(written.load(Ordering::Relaxed) <= 1_000_000 + waiting + 256);
}

#[tokio::test]
async fn a_stream_that_waits_keeps_no_large_buffer() {
    let endpoint = Endpoint::new(|run: Run| async move {
        let mut message = run.message();
        for _ in 0..100 {
            message.delta("token").await?;
        }
        std::future::pending().await
    });
    let mut body = run(&endpoint).await;
    settle().await;
    let used = allocation_counter::measure(|| while ready_chunk(&mut body).is_ready() {});
    // What held the burst is given back, and not only what the events themselves held.
    let held = 100 * i64::try_from(size_of::<Event>()).unwrap();
    assert!(used.bytes_current < -held, "{used:?}");
}

#[tokio::test]
async fn fifty_runs_at_once_keep_to_themselves() {
    let endpoint = Endpoint::new(|run: Run| async move {
        for _ in 0..20 {
            run.text(run.thread_id().as_str()).await?;
            tokio::task::yield_now().await;
        }
        Ok(RunEnd::success())
    });
    let mut bodies = Vec::new();
    for index in 0..50 {
        let input = INPUT.replace("\"t\"", &format!("\"thread-{index}\""));
        bodies.push(call(&endpoint, post(&input)).await.into_body());
    }
    for (index, body) in bodies.into_iter().enumerate() {
        for event in events(body).await {
            let delta = event.get("delta");
            assert!(delta.is_none_or(|delta| *delta == format!("thread-{index}")), "{event}");
        }
    }
}

#[tokio::test]
async fn an_agent_goes_on_without_a_client_where_the_host_asks_for_it() {
    let (done, finished) = tokio::sync::oneshot::channel();
    let done = std::sync::Mutex::new(Some(done));
    let endpoint = Endpoint::new(move |run: Run| {
        let done = done.lock().unwrap().take();
        async move {
            let mut message = run.message();
            for _ in 0..10_000 {
                message.delta("token").await?;
            }
            message.end().await?;
            assert!(run.cancel_reason().is_none());
            done.unwrap().send(()).unwrap();
            Ok(RunEnd::success())
        }
    })
    .with_on_disconnect(OnDisconnect::Detach);
    drop(run(&endpoint).await);
    finished.await.unwrap();
}

#[test]
fn a_body_goes_wherever_a_framework_needs_it() {
    fn assert_traits<T: Send + Sync + Unpin + 'static>() {}
    assert_traits::<Body>();
    assert_traits::<Endpoint>();
}
