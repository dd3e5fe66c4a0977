//! Which member of an event travels in which field: the protocol's messages as tables.
//!
//! Numbers are frozen. What has a rule of its own (content in three forms, outcomes that are spread over fields, parts
//! and sources told apart by an arm) has a kind of its own; everything else follows from the table.

use agui_core::EventType;

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) tag: u32,
    /// The member's JSON name.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A string that JSON requires; the empty one is not written.
    Text,
    /// A string that may be absent.
    Optional,
    /// A boolean that may be absent.
    Bool,
    /// An integer that may be absent.
    Integer,
    /// Any JSON; absent rather than null.
    Value,
    /// Any JSON, null included.
    Nullable,
    /// An object of any members.
    Struct,
    /// A message.
    Message(&'static [Field]),
    /// Messages.
    List(Item, Presence),
    /// A patch operation's `op`.
    Operation,
    /// `content` that is a string; written also when empty.
    ContentText,
    /// `content` that is a list.
    ContentParts,
    /// `content` of an activity.
    ContentObject,
    /// A media part's source.
    Source,
    /// The `type` of the outcome; `""` is no outcome.
    Outcome,
    /// A list of messages that belongs to the outcome.
    OutcomeList(&'static [Field]),
    /// A list of strings that belongs to the outcome.
    OutcomeTexts,
}

/// What a list holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Item {
    /// Messages of one table.
    Of(&'static [Field]),
    /// Messages of a conversation, whose content has rules of its own.
    Message,
}

/// Whether an empty list is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// The decoded object always has it; JSON requires it.
    Required,
    /// The decoded object always has it; JSON may leave it out.
    Always,
    /// No items, no list.
    IfAny,
}

use Kind::{
    Bool, ContentObject, ContentParts, ContentText, Integer, List, Nullable, Optional, Outcome, OutcomeList,
    OutcomeTexts, Struct, Text, Value,
};

macro_rules! fields {
    ($($tag:literal $name:literal $kind:expr,)*) => { &[$( Field { tag: $tag, name: $name, kind: $kind } ),*] };
}

/// The fields of `BaseEvent` but its type.
pub(super) static BASE: &[Field] = fields! {
    2 "timestamp" Integer,
    3 "rawEvent" Value,
    4 "metadata" Struct,
};

static USAGE: &[Field] = fields! {
    1 "provider" Optional,
    2 "model" Optional,
    3 "inputTokens" Integer,
    4 "outputTokens" Integer,
    5 "totalTokens" Integer,
    6 "reasoningTokens" Integer,
    7 "cachedInputTokens" Integer,
    8 "cacheWriteInputTokens" Integer,
};

static INTERRUPT: &[Field] = fields! {
    1 "id" Text,
    2 "reason" Text,
    3 "message" Optional,
    4 "toolCallId" Optional,
    5 "responseSchema" Value,
    6 "expiresAt" Optional,
    7 "metadata" Value,
    8 "subagentRunId" Optional,
};

/// A patch operation.
pub(super) static OPERATION: &[Field] = fields! {
    1 "op" Kind::Operation,
    2 "path" Text,
    3 "from" Optional,
    4 "value" Nullable,
};

static FUNCTION: &[Field] = fields! {
    1 "name" Text,
    2 "arguments" Text,
};

static TOOL_CALL: &[Field] = fields! {
    1 "id" Text,
    2 "type" Text,
    3 "function" Kind::Message(FUNCTION),
    4 "metadata" Struct,
    5 "encryptedValue" Optional,
};

/// A message of a conversation, whatever its role.
pub(super) static MESSAGE: &[Field] = fields! {
    1 "id" Text,
    2 "role" Text,
    3 "content" ContentText,
    4 "name" Optional,
    5 "toolCalls" List(Item::Of(TOOL_CALL), Presence::IfAny),
    6 "toolCallId" Optional,
    7 "error" Optional,
    8 "content" ContentParts,
    9 "metadata" Struct,
    10 "subagentRunId" Optional,
    11 "encryptedValue" Optional,
    12 "activityType" Optional,
    13 "content" ContentObject,
};

static TOOL: &[Field] = fields! {
    1 "name" Text,
    2 "description" Text,
    3 "parameters" Value,
    4 "metadata" Struct,
};

static CONTEXT: &[Field] = fields! {
    1 "description" Text,
    2 "value" Text,
};

static RESUME_ENTRY: &[Field] = fields! {
    1 "interruptId" Text,
    2 "status" Text,
    3 "payload" Value,
    4 "metadata" Struct,
};

/// The input of a run.
pub(super) static RUN_AGENT_INPUT: &[Field] = fields! {
    1 "threadId" Text,
    2 "runId" Text,
    3 "parentRunId" Optional,
    4 "state" Value,
    5 "messages" List(Item::Message, Presence::Required),
    6 "tools" List(Item::Of(TOOL), Presence::Always),
    7 "context" List(Item::Of(CONTEXT), Presence::Always),
    8 "forwardedProps" Value,
    9 "resume" List(Item::Of(RESUME_ENTRY), Presence::Always),
    10 "protocolVersion" Optional,
};

/// One arm of a union: its number, the discriminator it stands for, its fields.
pub(super) type Arm = (u32, &'static str, &'static [Field]);

static TEXT_PART: &[Field] = fields! {
    1 "text" Text,
    2 "id" Optional,
    3 "metadata" Value,
};

static MEDIA_PART: &[Field] = fields! {
    1 "source" Kind::Source,
    2 "metadata" Value,
    3 "id" Optional,
};

/// The kinds of content parts.
pub(super) static PARTS: &[Arm] = &[
    (1, "text", TEXT_PART),
    (2, "image", MEDIA_PART),
    (3, "audio", MEDIA_PART),
    (4, "video", MEDIA_PART),
    (5, "document", MEDIA_PART),
];

static DATA_SOURCE: &[Field] = fields! {
    1 "value" Text,
    2 "mimeType" Text,
};

static URL_SOURCE: &[Field] = fields! {
    1 "value" Text,
    2 "mimeType" Optional,
};

static FILE_SOURCE: &[Field] = fields! {
    1 "value" Text,
    2 "provider" Optional,
    3 "mimeType" Optional,
};

/// The kinds of sources.
pub(super) static SOURCES: &[Arm] =
    &[(1, "data", DATA_SOURCE), (2, "url", URL_SOURCE), (3, "file", FILE_SOURCE)];

/// The names of patch operations by number.
pub(super) static OPERATIONS: &[&str] = &["add", "remove", "replace", "move", "copy", "test"];

/// How one type of event travels.
#[derive(Debug)]
pub(super) struct EventFields {
    pub(super) event_type: EventType,
    /// Its arm in the envelope.
    pub(super) arm: u32,
    /// Its number in the base event.
    pub(super) number: i32,
    /// Its fields behind the base event.
    pub(super) fields: &'static [Field],
}

macro_rules! events {
    ($($Variant:ident $arm:literal $number:literal { $($fields:tt)* })+) => {
        static EVENTS: &[EventFields] = &[$(
            EventFields {
                event_type: EventType::$Variant,
                arm: $arm,
                number: $number,
                fields: fields! { $($fields)* },
            }
        ),+];

        /// The arm of a type and its number in the base event. Nothing for a type that the wire does not have.
        #[inline]
        pub(super) const fn numbers(event_type: EventType) -> Option<(u32, i32)> {
            match event_type {
                $( EventType::$Variant => Some(($arm, $number)), )+
                _ => None,
            }
        }
    };
}

events! {
    TextMessageStart 1 0 { 2 "messageId" Text, 3 "role" Optional, 4 "name" Optional, 5 "subagentRunId" Optional, }
    TextMessageContent 2 1 { 2 "messageId" Text, 3 "delta" Text, 4 "subagentRunId" Optional, }
    TextMessageEnd 3 2 { 2 "messageId" Text, 3 "subagentRunId" Optional, }
    ToolCallStart 4 3 {
        2 "toolCallId" Text, 3 "toolCallName" Text, 4 "parentMessageId" Optional, 5 "subagentRunId" Optional,
    }
    ToolCallArgs 5 4 { 2 "toolCallId" Text, 3 "delta" Text, 4 "subagentRunId" Optional, }
    ToolCallEnd 6 5 { 2 "toolCallId" Text, 3 "subagentRunId" Optional, }
    StateSnapshot 7 6 { 2 "snapshot" Nullable, 3 "subagentRunId" Optional, }
    StateDelta 8 7 {
        2 "delta" List(Item::Of(OPERATION), Presence::Required), 3 "subagentRunId" Optional,
    }
    MessagesSnapshot 9 8 { 2 "messages" List(Item::Message, Presence::Required), }
    Raw 10 9 { 2 "event" Nullable, 3 "source" Optional, 4 "subagentRunId" Optional, }
    Custom 11 10 { 2 "name" Text, 3 "value" Nullable, 4 "subagentRunId" Optional, }
    RunStarted 12 11 {
        2 "threadId" Text, 3 "runId" Text, 4 "parentRunId" Optional, 5 "input" Kind::Message(RUN_AGENT_INPUT),
        6 "protocolVersion" Optional,
    }
    RunFinished 13 12 {
        2 "threadId" Text, 3 "runId" Text, 4 "result" Value, 5 "outcome" Outcome,
        6 "interrupts" OutcomeList(INTERRUPT), 7 "usage" List(Item::Of(USAGE), Presence::IfAny),
        8 "pendingToolCallIds" OutcomeTexts,
    }
    RunError 14 13 { 2 "code" Optional, 3 "message" Text, 4 "usage" List(Item::Of(USAGE), Presence::IfAny), }
    StepStarted 15 14 { 2 "stepName" Text, 3 "subagentRunId" Optional, }
    StepFinished 16 15 { 2 "stepName" Text, 3 "subagentRunId" Optional, }
    TextMessageChunk 17 19 {
        2 "messageId" Optional, 3 "role" Optional, 4 "delta" Optional, 5 "name" Optional, 6 "subagentRunId" Optional,
    }
    ToolCallChunk 18 20 {
        2 "toolCallId" Optional, 3 "toolCallName" Optional, 4 "parentMessageId" Optional, 5 "delta" Optional,
        6 "subagentRunId" Optional,
    }
    SubagentStarted 19 16 {
        2 "subagentRunId" Text, 3 "name" Text, 4 "description" Optional, 5 "parentSubagentRunId" Optional,
        6 "parentToolCallId" Optional, 7 "parentMessageId" Optional,
    }
    SubagentFinished 20 17 { 2 "subagentRunId" Text, 3 "result" Value, 4 "outcome" Outcome, 5 "interruptIds" OutcomeTexts, }
    SubagentError 21 18 { 2 "subagentRunId" Text, 3 "message" Text, 4 "code" Optional, }
    ToolCallResult 22 21 {
        2 "subagentRunId" Optional, 3 "messageId" Text, 4 "toolCallId" Text, 5 "content" ContentText,
        6 "role" Optional, 7 "content" ContentParts,
    }
    ActivitySnapshot 23 22 {
        2 "subagentRunId" Optional, 3 "messageId" Text, 4 "activityType" Text, 5 "content" Struct, 6 "replace" Bool,
    }
    ActivityDelta 24 23 {
        2 "subagentRunId" Optional, 3 "messageId" Text, 4 "activityType" Text,
        5 "patch" List(Item::Of(OPERATION), Presence::Required),
    }
    ReasoningStart 25 24 { 2 "subagentRunId" Optional, 3 "messageId" Text, }
    ReasoningMessageStart 26 25 { 2 "subagentRunId" Optional, 3 "messageId" Text, 4 "role" Text, }
    ReasoningMessageContent 27 26 { 2 "subagentRunId" Optional, 3 "messageId" Text, 4 "delta" Text, }
    ReasoningMessageEnd 28 27 { 2 "subagentRunId" Optional, 3 "messageId" Text, }
    ReasoningMessageChunk 29 28 { 2 "subagentRunId" Optional, 3 "messageId" Optional, 4 "delta" Optional, }
    ReasoningEnd 30 29 { 2 "subagentRunId" Optional, 3 "messageId" Text, }
    ReasoningEncryptedValue 31 30 {
        2 "subagentRunId" Optional, 3 "subtype" Text, 4 "entityId" Text, 5 "encryptedValue" Text,
    }
}

/// The event of an arm; nothing for an arm of a later protocol.
pub(super) fn by_arm(arm: u32) -> Option<&'static EventFields> {
    EVENTS.get(usize::try_from(arm).ok()?.checked_sub(1)?).filter(|event| event.arm == arm)
}

/// The event of a type.
pub(super) fn by_type(event_type: EventType) -> Option<&'static EventFields> {
    numbers(event_type).and_then(|(arm, _)| by_arm(arm))
}
