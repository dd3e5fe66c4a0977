//! The runtime surface of all bindings, on axum.

mod common;

use common::start_server;

agui_suite::surface_suite!(start_server);
