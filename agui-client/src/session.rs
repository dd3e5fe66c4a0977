//! A thread over several runs: what was said and answered goes out with the next input, and what comes back stays.

use agui_core::consumer::prepare::next_input;
use agui_core::consumer::{Conversation, RunStatus};
use agui_core::{
    Content, Context, InterruptId, Message, MessageId, ResumeEntry, ResumeStatus, RunAgentInput, RunId,
    ThreadId, Tool, ToolCallId, ToolMessage, UserMessage,
};
use serde_json::Value;
use uuid::Uuid;

use crate::{Agent, DialError, RunStream};

/// One thread with an agent: holds the conversation from run to run, and makes each run's input.
///
/// A run goes out with the messages and the state as they stand ([`INPUT-8`](agui_core::consumer::prepare)), so turns,
/// results of the application's tools and answers to interrupts are added here and then [`run`](Self::run). Whatever a
/// run brings is in [`conversation`](Self::conversation) afterwards, also when it fails or is given up; the same turn can
/// simply be run again.
///
/// # Examples
/// ```no_run
/// use agui_client::agui_core::Tool;
/// use agui_client::{AgentSession, HttpAgent};
///
/// # async fn converse() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = HttpAgent::new("http://127.0.0.1:8080/agui")?;
/// let mut session = AgentSession::new(agent, "trip-7").with_tools([Tool::new("pick_place", "Shows a map.")]);
/// session.say("Find me a place to stay.");
/// session.run().await?.finish().await?;
///
/// // The agent has called the application's tool, and asks the user something in the run after.
/// for call in session.conversation().pending_tool_call_ids().to_vec() {
///     session.answer_call(call, "Porto");
/// }
/// session.run().await?.finish().await?;
/// for question in session.conversation().open_interrupts().to_vec() {
///     session.resolve(question.id, true);
/// }
/// session.run().await?.finish().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AgentSession<A> {
    agent: A,
    thread_id: ThreadId,
    conversation: Conversation,
    tools: Vec<Tool>,
    context: Vec<Context>,
    forwarded_props: Option<Value>,
    answers: Vec<ResumeEntry>,
    /// How many runs there were when the answers were sent; absent while they are not.
    answered_at: Option<usize>,
}

impl<A: Agent> AgentSession<A> {
    /// A thread of which nothing is held yet.
    pub fn new(agent: A, thread_id: impl Into<ThreadId>) -> Self {
        Self {
            agent,
            thread_id: thread_id.into(),
            conversation: Conversation::new(),
            tools: Vec::new(),
            context: Vec::new(),
            forwarded_props: None,
            answers: Vec::new(),
            answered_at: None,
        }
    }

    /// Goes on with a conversation that was held elsewhere.
    #[must_use]
    pub fn with_conversation(mut self, conversation: Conversation) -> Self {
        self.conversation = conversation;
        self
    }

    /// Sets the tools that the application offers with every run.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools = tools.into_iter().collect();
        self
    }

    /// Sets the facts for the model that go out with every run.
    #[must_use]
    pub fn with_context(mut self, context: impl IntoIterator<Item = Context>) -> Self {
        self.context = context.into_iter().collect();
        self
    }

    /// Sets what is handed through with every run (`INPUT-3`).
    #[must_use]
    pub fn with_forwarded_props(mut self, forwarded_props: impl Into<Value>) -> Self {
        self.forwarded_props = Some(forwarded_props.into());
        self
    }

    /// The agent.
    pub const fn agent(&self) -> &A {
        &self.agent
    }

    /// The thread.
    pub const fn thread_id(&self) -> &ThreadId {
        &self.thread_id
    }

    /// What is held: messages, state, pending calls, open interrupts, and how the runs ended.
    pub const fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What is held, to change between runs.
    pub const fn conversation_mut(&mut self) -> &mut Conversation {
        &mut self.conversation
    }

    /// Adds a turn of the user's, under a fresh id.
    pub fn say(&mut self, content: impl Into<Content>) -> MessageId {
        let id = fresh_id();
        self.push(UserMessage::new(id.clone(), content));
        id.into()
    }

    /// Adds the result of one of the application's tools, under a fresh id (`INT-4`).
    pub fn answer_call(&mut self, call: impl Into<ToolCallId>, content: impl Into<Content>) -> MessageId {
        let id = fresh_id();
        self.push(ToolMessage::new(id.clone(), call, content));
        id.into()
    }

    /// Adds any message; a result goes where its call stands, and one whose id is held replaces that one.
    pub fn push(&mut self, message: impl Into<Message>) {
        self.conversation.push_message(message);
    }

    /// Answers an interrupt, for the next run (`INT-2`). The value is any JSON but null.
    pub fn resolve(&mut self, interrupt: impl Into<InterruptId>, payload: impl Into<Value>) {
        self.answer(ResumeEntry::new(interrupt, ResumeStatus::Resolved).with_payload(payload));
    }

    /// Gives an interrupt up, for the next run (`INT-2`).
    pub fn abandon(&mut self, interrupt: impl Into<InterruptId>) {
        self.answer(ResumeEntry::new(interrupt, ResumeStatus::Cancelled));
    }

    /// Answers an interrupt, in full. Of two answers to one interrupt the later counts.
    ///
    /// Answers go out with every run until one has finished, so that a run that failed can be repeated; every interrupt
    /// that is open needs one.
    pub fn answer(&mut self, entry: ResumeEntry) {
        self.forget_used_answers();
        self.answers.retain(|answer| answer.interrupt_id != entry.interrupt_id);
        self.answers.push(entry);
    }

    /// The input of the next run as it stands, under a fresh run id, to add to and [`send`](Self::send).
    pub fn next_input(&mut self) -> RunAgentInput {
        self.forget_used_answers();
        let mut input = next_input(&self.conversation, self.thread_id.clone(), RunId::from(fresh_id()));
        input.tools = Some(self.tools.clone());
        input.context = Some(self.context.clone());
        input.forwarded_props.clone_from(&self.forwarded_props);
        input.resume = (!self.answers.is_empty()).then(|| self.answers.clone());
        input
    }

    /// Runs the agent on what is held.
    ///
    /// # Errors
    /// An open interrupt has no answer (`INT-2`); the server was not reached, or refused. Nothing that is held has
    /// changed.
    ///
    /// # Cancel safety
    /// A dropped future gives up the run.
    pub async fn run(&mut self) -> Result<RunStream<&mut Conversation>, DialError> {
        let input = self.next_input();
        self.send(input).await
    }

    /// Runs the agent on an input, whose messages and state become those that are held.
    ///
    /// # Errors
    /// As [`run`](Self::run), but the messages and the state of an input that was sent or refused stay.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub async fn send(&mut self, input: RunAgentInput) -> Result<RunStream<&mut Conversation>, DialError> {
        if input.resume.is_some() {
            self.answered_at = Some(self.conversation.runs().len());
        }
        self.agent.run_in(&mut self.conversation, input).await
    }

    pub(crate) const fn parts_mut(&mut self) -> (&A, &ThreadId, &mut Conversation) {
        (&self.agent, &self.thread_id, &mut self.conversation)
    }

    /// Drops the answers that a run has come to an end with. They must not answer a later interrupt of the same name.
    fn forget_used_answers(&mut self) {
        let Some(at) = self.answered_at else { return };
        let since = self.conversation.runs().get(at..).unwrap_or_default();
        if since.iter().any(|run| !matches!(run.status, RunStatus::Unended | RunStatus::Failed)) {
            self.answers.clear();
            self.answered_at = None;
        }
    }
}

fn fresh_id() -> String {
    Uuid::new_v4().to_string()
}
