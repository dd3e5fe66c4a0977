//! The suite of the WebSocket transport, on actix-web.

mod common;

use common::start_sockets;

agui_suite::websocket_suite!(start_sockets);
