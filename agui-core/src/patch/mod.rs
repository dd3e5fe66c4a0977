//! JSON Patch (RFC 6902) as the protocol uses it (`STATE-2` to `STATE-4`).
//!
//! Three things are done here: [`apply`] a patch to a document, all of it or nothing; [`diff`] two documents into a
//! patch; write the patch of one change, with [`set`] and [`remove`], so that it fits what the reader holds.
//!
//! The operations are types of our own because members that RFC 6902 does not define have to be kept (`SHAPE-2`) and
//! numbers compare by value. No patch is judged well-formed here: what is in a [`JsonPatchOperation`] already is.
//! What the protocol makes of a patch that does not apply (a warning, the run goes on) is the consumer's affair.

mod apply;
mod build;
mod diff;
mod equal;
mod error;
mod operation;
mod place;
mod pointer;

pub use apply::apply;
pub(crate) use apply::apply_if;
pub use build::{remove, set};
pub use diff::diff;
pub use equal::equal;
pub use error::{PatchError, PatchFailure};
pub use pointer::{JsonPointer, JsonPointerError};

use serde_json::Value;

protocol_union! {
    /// One operation of a JSON Patch.
    JsonPatchOperation ("op") {
        /// Puts a value into an object or a list.
        Add "add": AddOperation,
        /// Takes a value away.
        Remove "remove": RemoveOperation,
        /// Puts a value in the place of one that exists.
        Replace "replace": ReplaceOperation,
        /// Takes a value from one place to another.
        Move "move": MoveOperation,
        /// Puts a copy of a value into another place.
        Copy "copy": CopyOperation,
        /// Fails the patch unless a place holds a value.
        Test "test": TestOperation,
    }
}

protocol_object! {
    /// Puts a value into an object, or into a list before the given position.
    AddOperation {
        fixed "op" = "add";
        required {
            /// Where to.
            path "path": JsonPointer,
            /// The value: any JSON.
            value "value": Value,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}

protocol_object! {
    /// Takes a value away; at the root it leaves `null`.
    RemoveOperation {
        fixed "op" = "remove";
        required {
            /// Where from.
            path "path": JsonPointer,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}

protocol_object! {
    /// Puts a value in the place of one that exists.
    ReplaceOperation {
        fixed "op" = "replace";
        required {
            /// Which place.
            path "path": JsonPointer,
            /// The value: any JSON.
            value "value": Value,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}

protocol_object! {
    /// Takes a value from one place to another, which may not lie inside the first (`STATE-4`).
    MoveOperation {
        fixed "op" = "move";
        required {
            /// Where from.
            from "from": JsonPointer,
            /// Where to.
            path "path": JsonPointer,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}

protocol_object! {
    /// Puts a copy of a value into another place.
    CopyOperation {
        fixed "op" = "copy";
        required {
            /// Where from.
            from "from": JsonPointer,
            /// Where to.
            path "path": JsonPointer,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}

protocol_object! {
    /// Fails the patch unless a place holds an equal value.
    TestOperation {
        fixed "op" = "test";
        required {
            /// Which place.
            path "path": JsonPointer,
            /// The value it has to hold; numbers compare by value, objects without regard to order.
            value "value": Value,
        }
        optional {}
        open {
            /// Members that RFC 6902 does not define, kept as they came (`SHAPE-2`).
            extra
        }
    }
}
