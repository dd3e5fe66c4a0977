//! A request and its answer inside of one thread, without a socket: the chat as the SDK makes and encodes it, against a
//! handler of the same framework whose body sends ready bytes, one chunk per event.

use std::rc::Rc;

use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::{Case, Subject, Targets};
use crate::loopback::apps;
use crate::measure::{Meter, Side};

pub(super) fn add(subjects: &[Rc<Subject>], cases: &mut Vec<Case>) {
    let chat = &subjects[0];
    cases.push(Case {
        operation: "HTTP in process, no sockets",
        workload: chat.name,
        events: chat.count,
        targets: Targets { time: Some(3.0), instructions: Some(6.5) },
        floor: exchange("/raw/ready"),
        ours: exchange("/sdk/ready"),
    });
}

/// One request to axum, its answer read to the end.
fn exchange(path: &'static str) -> Side {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let app: Router = apps::axum();
    Box::new(move |meter: &mut Meter| {
        let request = Request::post(path)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(Body::from(apps::INPUT))
            .expect("a request");
        let app = app.clone();
        let events = meter.run(|| {
            runtime.block_on(async move {
                let response = app.oneshot(request).await.expect("axum answers");
                assert!(response.status().is_success(), "{path} answers {}", response.status());
                let mut body = response.into_body();
                let mut bytes = 0;
                while let Some(frame) = body.frame().await {
                    bytes += frame.expect("the body goes on").data_ref().map_or(0, bytes::Bytes::len);
                }
                bytes
            })
        });
        assert!(events > 100_000, "{path} has a chat in its body");
    })
}
