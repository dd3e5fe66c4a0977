//! The runtime surface of all bindings, on warp.

mod common;

use common::start_server;

agui_suite::surface_suite!(start_server);
