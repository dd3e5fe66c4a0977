//! The AG-UI 1.0 JSON Schema, vendored, and validation of frames against it.
