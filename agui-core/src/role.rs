//! Who speaks.

protocol_enum! {
    /// The role of a message in a conversation.
    Role (true) {
        /// Instructions of the developer.
        Developer "developer",
        /// Instructions of the system.
        System "system",
        /// The agent's answer.
        Assistant "assistant",
        /// The user's turn.
        User "user",
        /// The result of a tool call.
        Tool "tool",
        /// Structured progress; never travels to the agent (`STATE-9`).
        Activity "activity",
        /// The agent's reasoning.
        Reasoning "reasoning",
    }
}

protocol_enum! {
    /// The roles a streamed text message can have.
    TextMessageRole (true) {
        /// Instructions of the developer.
        Developer "developer",
        /// Instructions of the system.
        System "system",
        /// The agent's answer; what an absent role means.
        Assistant "assistant",
        /// The user's turn.
        User "user",
    }
}

impl From<TextMessageRole> for Role {
    fn from(role: TextMessageRole) -> Self {
        match role {
            TextMessageRole::Developer => Self::Developer,
            TextMessageRole::System => Self::System,
            TextMessageRole::Assistant => Self::Assistant,
            TextMessageRole::User => Self::User,
        }
    }
}
