//! The runtime surface that every binding passes, over real sockets: an `AgentServer` below a prefix.
//!
//! What the surface decides without a framework is tested where it is. Here is what a framework can spoil: paths that it
//! decodes, joins or normalises on its own, answers to methods, bodies that outlive their request, many readers of one
//! run, and a shutdown with streams open.
//!
//! [`surface_suite!`](crate::surface_suite) makes a test of every case. [`crowd`] takes longer than a minute may be on a
//! busy machine, and has a patience of its own.

pub mod crowd;
pub mod following;
pub mod routes;
pub mod runs;
pub mod shutdown;
mod site;
pub mod threads;

/// Makes a test of every case of the runtime surface. The argument names a function in scope that is a
/// [`StartServer`](crate::StartServer).
#[macro_export]
macro_rules! surface_suite {
    ($start:ident) => {
        $crate::surface_suite! { @cases $start
            routes {
                every_route_is_served_below_any_prefix
                what_is_no_route_is_not_found
                a_route_has_its_methods
                a_head_is_the_head_of_its_get
                ids_are_decoded_once_and_after_routing
                credentials_are_judged_before_paths
                a_body_over_the_limit_is_refused_everywhere
                the_door_can_be_closed
                a_thousand_preflights_are_answered_and_runs_go_on
                requests_at_once_reach_their_own_agents
            }
            runs {
                a_client_that_leaves_does_not_end_its_run
                a_client_that_leaves_ends_its_run_where_the_server_says_so
                a_second_run_is_refused_and_the_first_is_untouched
                the_thread_is_free_before_the_end_can_be_seen
                a_newer_run_may_take_the_place_of_the_one_in_progress
                a_stop_ends_the_run_for_all_who_watch
                a_stop_with_nothing_to_stop_says_so
                a_stop_needs_no_body_and_minds_a_bad_one
                a_run_that_outgrows_its_record_ends
                a_run_that_the_store_has_no_room_for_is_refused
                runs_are_limited_in_all_and_for_each_caller
            }
            threads {
                an_unknown_thread_is_a_stream_without_events
                a_connect_with_a_bad_body_is_refused
                another_owners_thread_is_forbidden
                the_admission_hook_is_asked_about_every_call
                a_stranger_to_the_thread_does_not_disturb_its_run
            }
            following {
                a_follower_sees_the_run_from_its_beginning_to_its_end
                one_that_holds_messages_gets_snapshots_and_the_rest
                readers_of_two_generations_follow_one_run
                a_follower_that_leaves_disturbs_nobody
                a_slow_follower_does_not_slow_the_run
                silence_is_broken_for_followers_too
                followers_are_limited
            }
            shutdown {
                a_shutdown_ends_the_runs_and_all_who_watch
                a_shutdown_waits_for_runs_within_its_grace
                a_shutdown_ends_runs_that_nobody_reads
            }
        }

        mod crowd {
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn two_hundred_clients_that_re_attach_see_one_conversation() {
                $crate::surface::crowd::two_hundred_clients_that_re_attach_see_one_conversation(super::$start).await;
            }
        }
    };
    (@cases $start:ident $( $module:ident { $($case:ident)* } )*) => {
        $( mod $module { $(
            #[::tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::within_a_minute($crate::surface::$module::$case(super::$start)).await;
            }
        )* } )*
    };
}
