//! The suite of all bindings, on axum.

mod common;

use agui_suite::cancelling::MOMENT;
use common::start;

agui_suite::suite!(start);

#[tokio::test]
async fn a_silent_run_ends_with_its_client_though_nothing_is_written() {
    agui_suite::within_a_minute(agui_suite::cancelling::a_silent_run_ends_within(start, None, MOMENT)).await;
}
