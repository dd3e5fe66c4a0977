//! Appending to a run.

fn main() {}
