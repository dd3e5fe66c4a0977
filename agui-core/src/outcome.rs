//! How runs and subagents end.

use std::collections::HashSet;
use std::ops::Deref;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::shape::{Kind, Wire};
use crate::{InterruptId, JsonObject, Metadata, SubagentRunId, ToolCallId};

protocol_union! {
    /// How a run ended (`LIFE-4`); an absent outcome means success.
    RunFinishedOutcome ("type") {
        /// The run did what it was asked for.
        Success "success": RunFinishedSuccessOutcome,
        /// The run stopped to ask (`INT-1`).
        Interrupt "interrupt": RunFinishedInterruptOutcome,
        /// The run was stopped on purpose (`LIFE-5`).
        Cancelled "cancelled": RunFinishedCancelledOutcome,
    }
}

protocol_object! {
    /// The run did what it was asked for.
    #[derive(Default)]
    RunFinishedSuccessOutcome {
        fixed "type" = "success";
        required {}
        optional {
            /// The calls the run made and did not answer, in the order made; absent says nothing about them (`INT-7`).
            pending_tool_call_ids/with_pending_tool_call_ids "pendingToolCallIds": Vec<ToolCallId>,
        }
    }
}

protocol_object! {
    /// The run stopped to ask; the next run of the thread answers (`INT-2`).
    RunFinishedInterruptOutcome {
        fixed "type" = "interrupt";
        required {
            /// What is asked, at least one.
            interrupts "interrupts": Interrupts,
        }
        optional {}
    }
}

protocol_object! {
    /// The run was stopped on purpose, which leaves nothing to answer (`LIFE-5`).
    #[derive(Default)]
    RunFinishedCancelledOutcome {
        fixed "type" = "cancelled";
        required {}
        optional {}
    }
}

protocol_union! {
    /// How a subagent's invocation ended (`SUB-5`); an absent outcome means success.
    SubagentFinishedOutcome ("type") {
        /// It did what it was asked for.
        Success "success": SubagentFinishedSuccessOutcome,
        /// It waits for an answer; a later run may go on with it.
        Suspended "suspended": SubagentFinishedSuspendedOutcome,
    }
}

protocol_object! {
    /// The subagent did what it was asked for.
    #[derive(Default)]
    SubagentFinishedSuccessOutcome {
        fixed "type" = "success";
        required {}
        optional {}
    }
}

protocol_object! {
    /// The subagent waits for an answer.
    #[derive(Default)]
    SubagentFinishedSuspendedOutcome {
        fixed "type" = "suspended";
        required {}
        optional {
            /// The interrupts it waits for.
            interrupt_ids/with_interrupt_ids "interruptIds": Vec<InterruptId>,
        }
    }
}

protocol_object! {
    /// One question of a run that stopped to ask.
    ///
    /// # Examples
    /// ```
    /// use agui_core::{Interrupt, JsonObject};
    /// use serde_json::json;
    ///
    /// let schema: JsonObject = serde_json::from_value(json!({"type": "boolean"}))?;
    /// let interrupt = Interrupt::new("i-1", "confirm").with_message("Book it?").with_response_schema(schema);
    /// assert_eq!(interrupt.response_schema.unwrap()["type"], "boolean");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    Interrupt {
        required {
            /// Names the interrupt, unique in its run (`LIFE-4`).
            id "id": InterruptId,
            /// Why the run stopped; the set is open (`INT-1`).
            reason "reason": String,
        }
        optional {
            /// The question, for the user to read.
            message/with_message "message": String,
            /// The call it is about.
            tool_call_id/with_tool_call_id "toolCallId": ToolCallId,
            /// The JSON Schema of the answer, carried unread (`INT-1`).
            response_schema/with_response_schema "responseSchema": JsonObject,
            /// When it can no longer be resolved, in ISO 8601 (`INT-2`).
            expires_at/with_expires_at "expiresAt": String,
            /// The subagent invocation that asks; absent for the parent agent (`SUB-5`).
            subagent_run_id/with_subagent_run_id "subagentRunId": SubagentRunId,
            /// Open metadata.
            metadata/with_metadata "metadata": Metadata,
        }
    }
}

/// The interrupts of one run: at least one.
///
/// A producer builds them with unique ids (`LIFE-4`). A reader accepts two of one id, as the protocol wants it, and
/// warns elsewhere.
///
/// # Examples
/// ```
/// # use agui_core::{Interrupt, Interrupts};
/// let interrupts = Interrupts::try_from(vec![Interrupt::new("i-1", "confirm"), Interrupt::new("i-2", "choose")])?;
/// assert_eq!(interrupts.len(), 2);
/// assert!(Interrupts::try_from(Vec::new()).is_err());
/// # Ok::<(), agui_core::InterruptsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Interrupts(Vec<Interrupt>);

/// Interrupts that a run cannot end with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterruptsError {
    /// A run that stops to ask has to ask something (`LIFE-4`).
    #[error("an interrupt outcome needs at least one interrupt (LIFE-4)")]
    Empty,
    /// Two interrupts share an id (`LIFE-4`).
    #[error("two interrupts have the id {0:?} (LIFE-4)")]
    DuplicateId(InterruptId),
}

impl Interrupts {
    /// The interrupts as a plain list.
    pub fn into_inner(self) -> Vec<Interrupt> {
        self.0
    }
}

impl Deref for Interrupts {
    type Target = [Interrupt];

    fn deref(&self) -> &[Interrupt] {
        &self.0
    }
}

impl From<Interrupt> for Interrupts {
    fn from(interrupt: Interrupt) -> Self {
        Self(vec![interrupt])
    }
}

impl TryFrom<Vec<Interrupt>> for Interrupts {
    type Error = InterruptsError;

    fn try_from(interrupts: Vec<Interrupt>) -> Result<Self, InterruptsError> {
        if interrupts.is_empty() {
            return Err(InterruptsError::Empty);
        }
        let mut seen = HashSet::new();
        if let Some(double) = interrupts.iter().find(|interrupt| !seen.insert(&interrupt.id)) {
            return Err(InterruptsError::DuplicateId(double.id.clone()));
        }
        Ok(Self(interrupts))
    }
}

impl Serialize for Interrupts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Interrupts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let interrupts = Vec::<Interrupt>::read(deserializer)?;
        if interrupts.is_empty() {
            return Err(de::Error::invalid_length(0, &"at least one interrupt"));
        }
        Ok(Self(interrupts))
    }
}

impl Wire for Interrupts {
    const KIND: Kind = Kind::List { items: &Interrupt::KIND, min_items: 1 };

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl_json_schema!(Interrupts);
