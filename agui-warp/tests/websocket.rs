//! The suite of the WebSocket transport, on warp.

mod common;

use common::start_sockets;

agui_suite::websocket_suite!(start_sockets);
