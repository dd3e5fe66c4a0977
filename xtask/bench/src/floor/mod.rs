//! The least that could do the same work, to which everything is measured.
//!
//! A floor is written as one would write it for a single program that knows its input to be right: plain structs,
//! derived reading and writing, no check that the measured code owes and the program does not. What the floors read and
//! write is compared with the library's output before anything is measured.

pub(crate) mod check;
pub(crate) mod fold;
pub(crate) mod plain;
pub(crate) mod seen;
