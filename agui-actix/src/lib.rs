//! AG-UI 1.0 agents served by actix-web.
