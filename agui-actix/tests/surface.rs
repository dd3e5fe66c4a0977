//! The runtime surface of all bindings, on actix-web.

mod common;

use common::start_server;

agui_suite::surface_suite!(start_server);
