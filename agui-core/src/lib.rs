//! AG-UI 1.0 for Rust: typed events, messages, input and capabilities; the strict producer and the tolerant consumer.
