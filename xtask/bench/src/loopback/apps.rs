//! The handlers that are measured, on each framework: the SDK's, and bare ones that send the same bytes ready made.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use agui_axum::Endpoint;
use agui_core::producer::{Launched, RunLimits, RunSetup, launch};
use agui_core::{Run, RunAgentInput, RunEnd, RunError};
use agui_encoder::SseEncoder;
use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse;
use axum::routing::post;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use futures_util::stream::{self, Stream, StreamExt};

use warp::{Filter, Reply};

use crate::cases::chat_agent;
use crate::workloads::Random;

/// What a client posts.
pub(crate) const INPUT: &str = r#"{"threadId":"thread","runId":"run","protocolVersion":"1.0","messages":[{"id":"q1","role":"user","content":"?"}]}"#;

/// When a handler has its events.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pace {
    /// All at once.
    Ready,
    /// One at a time: it gives way after each.
    Yielding,
    /// The first, and then no more.
    Idle,
}

impl Pace {
    pub(crate) const ALL: [(&str, Self); 3] =
        [("ready", Self::Ready), ("yielding", Self::Yielding), ("idle", Self::Idle)];
}

/// The chat as the SDK sends it, event by event.
pub(crate) fn frames() -> Arc<[Bytes]> {
    let input: RunAgentInput = serde_json::from_str(INPUT).expect("an input");
    // Room for all of it, so that there is nothing to wait for.
    let setup = RunSetup::new(input).with_limits(RunLimits::default().with_max_queued_events(usize::MAX));
    let Launched { task, mut events, control, .. } = launch(Arc::new(chat_agent), setup);
    control.settle(task.now_or_never().expect("there is room"));
    let mut frames = Vec::new();
    while let Some(event) = events.next().now_or_never().expect("the run is over") {
        let mut frame = BytesMut::new();
        SseEncoder::new().encode(&event, &mut frame).expect("events are JSON");
        frames.push(frame.freeze());
    }
    frames.into()
}

/// A body of ready bytes, one chunk per event.
pub(crate) fn raw_body(
    frames: Arc<[Bytes]>,
    pace: Pace,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    let count = if matches!(pace, Pace::Idle) { 1 } else { frames.len() };
    let ready = stream::iter((0..count).filter_map(move |at| frames.get(at).cloned())).map(Ok);
    match pace {
        Pace::Ready => ready.left_stream(),
        Pace::Yielding => ready.then(given_way).left_stream().right_stream(),
        Pace::Idle => ready.chain(stream::once(pending())).right_stream().right_stream(),
    }
}

async fn given_way<T>(item: T) -> T {
    tokio::task::yield_now().await;
    item
}

/// The SDK's endpoint for the chat.
pub(crate) fn endpoint(pace: Pace) -> Endpoint {
    match pace {
        Pace::Ready => Endpoint::new(chat_agent),
        Pace::Yielding => Endpoint::new(yielding_agent),
        Pace::Idle => Endpoint::new(idle_agent),
    }
}

async fn yielding_agent(run: Run) -> Result<RunEnd, RunError> {
    let mut random = Random::new(1);
    let mut message = run.message();
    for _ in 0..2_000 {
        message.delta(random.token()).await?;
        tokio::task::yield_now().await;
    }
    message.end().await?;
    Ok(RunEnd::success())
}

async fn idle_agent(run: Run) -> Result<RunEnd, RunError> {
    run.cancelled().await;
    Ok(RunEnd::success())
}

/// All handlers under axum.
pub(crate) fn axum() -> Router {
    let frames = frames();
    Pace::ALL.into_iter().fold(Router::new(), |app, (name, pace)| {
        let frames = Arc::clone(&frames);
        let raw = move || async move {
            ([("content-type", "text/event-stream")], Body::from_stream(raw_body(frames, pace)))
                .into_response()
        };
        app.route(&format!("/raw/{name}"), post(raw))
            .route(&format!("/sdk/{name}"), agui_axum::endpoint(endpoint(pace)))
    })
}

/// All handlers under actix-web.
pub(crate) fn actix(config: &mut ServiceConfig, frames: &Arc<[Bytes]>) {
    for (name, pace) in Pace::ALL {
        let frames = Arc::clone(frames);
        let raw = move || {
            let body = raw_body(Arc::clone(&frames), pace);
            std::future::ready(HttpResponse::Ok().content_type("text/event-stream").streaming(body))
        };
        config
            .route(&format!("/raw/{name}"), actix_web::web::post().to(raw))
            .route(&format!("/sdk/{name}"), agui_actix::endpoint(endpoint(pace)));
    }
}

/// All handlers under warp.
pub(crate) fn warp()
-> impl Filter<Extract = (impl Reply,), Error = warp::Rejection> + Clone + Send + Sync + 'static {
    let frames = frames();
    let both = |(name, pace): (&'static str, Pace)| {
        let frames = Arc::clone(&frames);
        let raw = warp::path!("raw" / ..).and(warp::path(name)).and(warp::post()).map(move || {
            let body = warp::reply::stream(raw_body(Arc::clone(&frames), pace));
            warp::reply::with_header(body, "content-type", "text/event-stream").into_response()
        });
        let sdk = warp::path!("sdk" / ..).and(warp::path(name)).and(agui_warp::endpoint(endpoint(pace)));
        raw.or(sdk).unify().boxed()
    };
    let [ready, yielding, idle] = Pace::ALL.map(both);
    ready.or(yielding).unify().or(idle).unify()
}
