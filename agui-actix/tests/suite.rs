//! The suite of all bindings, on actix-web.

mod common;

use std::time::Duration;

use agui_suite::cancelling::{MOMENT, a_silent_run_ends_within};
use common::{start, start_with_defaults};

agui_suite::suite!(start);

#[tokio::test]
async fn a_silent_run_ends_with_its_client_though_nothing_is_written() {
    agui_suite::within_a_minute(a_silent_run_ends_within(start, None, MOMENT)).await;
}

#[tokio::test]
async fn where_half_closed_connections_are_served_a_silent_run_ends_after_two_keep_alives() {
    const KEEP_ALIVE: Duration = Duration::from_millis(400);
    // For the machine to be busy with something else.
    const SLACK: Duration = Duration::from_millis(300);
    let bound = KEEP_ALIVE * 2 + SLACK;
    agui_suite::within_a_minute(a_silent_run_ends_within(start_with_defaults, KEEP_ALIVE, bound)).await;
}
