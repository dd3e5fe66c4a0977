//! Identifiers: arbitrary strings, cheap to clone.
//!
//! An identifier is compared character by character and never parsed (`SHAPE-4`, `SHAPE-9`); the empty string is
//! one like any other. A run repeats the same few identifiers thousands of times, so each is a shared string.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::shape::{Kind, Text, Wire};

macro_rules! identifier {
    ($( $(#[$meta:meta])* $Name:ident, )+) => { $(
        $(#[$meta])*
        ///
        /// Any string is accepted and kept as it is; cloning copies a pointer.
        ///
        /// ```
        #[doc = concat!("# use agui_core::", stringify!($Name), ";")]
        #[doc = concat!("let id = ", stringify!($Name), "::from(\"room/42\");")]
        /// assert_eq!(id.as_str(), "room/42");
        /// assert_eq!(serde_json::to_string(&id)?, "\"room/42\"");
        /// # Ok::<(), serde_json::Error>(())
        /// ```
        #[derive(Clone, Eq, PartialOrd, Ord)]
        pub struct $Name(Arc<str>);

        impl $Name {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        // By far the most ids that are compared are copies of one another.
        impl PartialEq for $Name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0) || *self.0 == *other.0
            }
        }

        impl Hash for $Name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $Name {
            fn from(id: &str) -> Self {
                Self(id.into())
            }
        }

        impl From<String> for $Name {
            fn from(id: String) -> Self {
                Self(id.into())
            }
        }

        impl From<&String> for $Name {
            fn from(id: &String) -> Self {
                Self(id.as_str().into())
            }
        }

        impl From<Arc<str>> for $Name {
            fn from(id: Arc<str>) -> Self {
                Self(id)
            }
        }

        impl From<$Name> for Arc<str> {
            fn from(id: $Name) -> Self {
                id.0
            }
        }

        impl From<&Self> for $Name {
            fn from(id: &Self) -> Self {
                id.clone()
            }
        }

        impl From<$Name> for String {
            fn from(id: $Name) -> Self {
                (*id.0).to_owned()
            }
        }

        impl AsRef<str> for $Name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $Name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $Name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $Name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl Serialize for $Name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Text::deserialize(deserializer)?;
                Ok(Self(text.0.into()))
            }
        }

        impl Wire for $Name {
            const KIND: Kind = Kind::Text;

            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }

        impl_json_schema!($Name);
    )+ };
}

identifier! {
    /// Names a conversation, across all of its runs.
    ThreadId,
    /// Names one run of a thread, and is never used for another (`SHAPE-9`).
    RunId,
    /// Names a message, unique in its thread (`SHAPE-9`).
    MessageId,
    /// Names a tool call.
    ToolCallId,
    /// Names one invocation of a subagent (`SUB-1`).
    SubagentRunId,
    /// Names an interrupt of a run (`INT-2`).
    InterruptId,
    /// Names what an encrypted value belongs to: a message or a tool call (`INT-5`).
    EntityId,
}

impl MessageId {
    /// Whether both are one string in memory, which is cheaper to tell than whether they are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<MessageId> for EntityId {
    fn from(id: MessageId) -> Self {
        Self(id.0)
    }
}

impl From<ToolCallId> for EntityId {
    fn from(id: ToolCallId) -> Self {
        Self(id.0)
    }
}

/// A call without a parent message gets an assistant message of its own under the call's id.
impl From<ToolCallId> for MessageId {
    fn from(id: ToolCallId) -> Self {
        Self(id.0)
    }
}

/// An id that no thread has yet (`SHAPE-9`): random, so that runs of other processes do not meet it.
pub(crate) fn mint<T: From<Arc<str>>>(prefix: &str) -> T {
    let mut buffer = uuid::Uuid::encode_buffer();
    let id: &str = uuid::Uuid::new_v4().simple().encode_lower(&mut buffer);
    T::from(Arc::from([prefix, id].concat()))
}
