//! The black-box suite that every binding passes, over real sockets.
//!
//! A binding says how it starts a server for an [`Endpoint`] and gets a [`Server`] back; everything here goes through
//! the server's address. What a framework gets wrong shows where its bytes do: statuses, headers, the framing and the
//! timing of the stream, and what the handler learns of a client that goes away. What the endpoint decides without a
//! framework is tested where the endpoint is.
//!
//! The server serves the endpoint on `/agui`, behind the framework's own CORS layer, which mirrors any origin with
//! credentials and lets GET and POST and any requested header through.
//!
//! [`suite!`] makes a test of every case for an endpoint, [`surface_suite!`] for an `AgentServer`, and
//! [`websocket_suite!`] for the WebSocket transport, served on `/agui/ws`. Apart stand [`memory`], which measures the whole process and so runs alone in
//! a test binary of its own, and what needs another server: [`compression`], [`demo`], [`threads`], and the bounds that a binding
//! promises for noticing that a client is gone, [`cancelling::a_silent_run_ends_within`].

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "everything here is part of a test, and fails it by a panic"
)]

pub mod binary;
pub mod cancelling;
mod client;
pub mod compression;
pub mod cors;
pub mod demo;
pub mod http2;
pub mod memory;
pub mod refusals;
mod server;
mod socket;
pub mod streams;
pub mod surface;
pub mod threads;
pub mod websocket;

pub use client::{Answer, Client, post_json};
pub use server::{Server, Start, StartServer, StartSockets, TaskGuard};
pub use socket::SocketClient;

use std::time::Duration;

use agui_encoder::http::Endpoint;

/// Makes a test of every case of the suite. The argument names a function in scope that is a [`Start`].
#[macro_export]
macro_rules! suite {
    ($start:ident) => {
        $crate::suite! { @cases $start
            streams {
                the_answer_is_an_event_stream_frame_by_frame
                the_head_and_the_first_event_do_not_wait_for_the_handler
                an_event_is_not_held_back
                nothing_is_compressed
                keep_alive_comments_fill_silence_between_frames
                runs_follow_each_other_on_one_connection
                the_body_ends_with_the_terminal_event
                what_a_handler_leaves_open_is_closed
                an_error_is_told_without_its_text
                a_public_error_is_told
                a_panic_is_told_without_its_text_and_the_server_goes_on
                a_reader_that_pauses_loses_nothing
                a_run_does_not_wait_for_another_runs_reader
                unicode_arrives_unharmed
                headers_of_the_request_reach_the_handler
            }
            binary {
                the_binary_wire_is_chosen_by_accept_and_nothing_but_frames
                a_binary_event_is_not_held_back
                a_refusal_is_json_whatever_accept_says
            }
            http2 {
                a_run_is_the_same_by_http2
                runs_share_a_connection_without_waiting_for_each_other
                a_client_that_gives_up_a_stream_ends_its_run_alone
                a_body_far_over_the_limit_gets_its_answer_by_http2
            }
            cancelling {
                a_client_that_goes_away_ends_a_run_that_writes
                a_client_that_goes_away_ends_a_run_that_waits_for_its_reader
                a_client_that_goes_away_ends_a_silent_run
                a_handler_hears_of_it_within_its_grace
                a_handler_that_sleeps_past_its_grace_is_dropped
                a_handler_that_ignores_cancellation_is_dropped
                a_client_that_stays_is_not_taken_for_gone
                shutdown_refuses_new_runs_and_ends_the_others
            }
            refusals {
                each_has_its_status_its_code_and_one_shape
                the_method_is_judged_before_everything_else
                an_upgrade_that_nobody_wants_is_answered_like_any_request
                a_client_of_http_1_0_reads_up_to_the_end_of_its_connection
                credentials_are_judged_first
                a_body_of_exactly_the_limit_is_accepted
                a_body_over_the_limit_is_refused_with_and_without_a_length
                a_body_far_over_the_limit_gets_its_answer
                a_body_that_arrives_slowly_is_accepted
                a_sender_that_vanishes_in_its_body_starts_nothing
                a_sender_that_asks_first_gets_its_answer
                a_refusal_leaves_the_connection_usable
                a_run_too_many_is_refused_until_another_has_ended
            }
            cors {
                a_preflight_is_answered_without_credentials
                every_answer_names_the_origin
            }
        }
    };
    (@cases $start:ident $( $module:ident { $($case:ident)* } )*) => {
        $( mod $module { $(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::within_a_minute($crate::$module::$case(super::$start)).await;
            }
        )* } )*
    };
}

/// Makes a test of every case about WebSocket. The argument names a function in scope that is a [`StartSockets`].
#[macro_export]
macro_rules! websocket_suite {
    ($start:ident) => {
        $crate::suite! { @cases $start
            websocket {
                what_is_no_upgrade_of_ours_is_refused_before_it
                an_older_http_has_no_upgrade
                the_subprotocol_is_echoed
                a_conversation_of_several_runs
                a_hello_brings_token_and_attributes
                a_wrong_token_closes
                a_missing_hello_closes
                frames_that_are_not_the_protocol_close
                an_oversized_frame_closes
                a_frame_of_exactly_the_limit_is_read
                a_refused_input_keeps_the_socket
                of_a_member_given_twice_the_last_counts
                an_input_during_a_run_closes
                a_stop_ends_the_run_and_not_the_socket
                an_event_is_not_held_back
                a_client_that_goes_away_ends_its_run
                a_half_open_peer_counts_as_gone
                a_slow_reader_makes_the_agent_wait_and_loses_nothing
                a_reader_that_stays_away_is_closed
                a_thousand_idle_sockets_are_no_burden
                shutdown_closes_behind_the_terminal_event
                headers_of_the_upgrade_reach_the_handler
            }
        }
    };
}

/// Fails a case that hangs.
pub async fn within_a_minute(case: impl Future<Output = ()>) {
    let done = tokio::time::timeout(Duration::from_secs(60), case).await;
    assert!(done.is_ok(), "the case hangs");
}

/// An endpoint of a handler with the defaults of the suite.
fn endpoint(handler: impl agui_core::RunHandler) -> Endpoint {
    Endpoint::new(handler)
}

/// The project's front page, so that its programs compile: this crate alone sees every adapter.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
