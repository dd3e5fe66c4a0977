// Builders for the events the step tables promise, so that a case reads like a row of the table.
// An `undefined` member is left out: on this wire absence is never spelled as null (SHAPE-1).

export const THREAD = "thread-1";
export const RUN = "r";

const event = (type, members) =>
  Object.fromEntries(Object.entries({ type, ...members }).filter(([, value]) => value !== undefined));

export const started = () => event("RUN_STARTED", { threadId: THREAD, runId: RUN, protocolVersion: "1.0" });
export const finished = (members = {}) => event("RUN_FINISHED", { threadId: THREAD, runId: RUN, ...members });
export const pending = (...ids) => finished({ outcome: { type: "success", pendingToolCallIds: ids } });
export const cancelled = () => finished({ outcome: { type: "cancelled" } });
export const runError = (message, code) => event("RUN_ERROR", { message, code });

export const textStart = (messageId, { role = "assistant", name, owner } = {}) =>
  event("TEXT_MESSAGE_START", { messageId, role, name, subagentRunId: owner });
export const textContent = (messageId, delta, owner) =>
  event("TEXT_MESSAGE_CONTENT", { messageId, delta, subagentRunId: owner });
export const textEnd = (messageId, owner) => event("TEXT_MESSAGE_END", { messageId, subagentRunId: owner });
export const text = (messageId, deltas, options = {}) => [
  textStart(messageId, options),
  ...[deltas].flat().map((delta) => textContent(messageId, delta, options.owner)),
  textEnd(messageId, options.owner),
];

export const callStart = (toolCallId, toolCallName, { parentMessageId, owner } = {}) =>
  event("TOOL_CALL_START", { toolCallId, toolCallName, parentMessageId, subagentRunId: owner });
export const callArgs = (toolCallId, delta, owner) =>
  event("TOOL_CALL_ARGS", { toolCallId, delta, subagentRunId: owner });
export const callEnd = (toolCallId, owner) => event("TOOL_CALL_END", { toolCallId, subagentRunId: owner });
export const callResult = (toolCallId, messageId, content, owner) =>
  event("TOOL_CALL_RESULT", { messageId, toolCallId, content, role: "tool", subagentRunId: owner });
export const call = (toolCallId, name, deltas, options = {}) => [
  callStart(toolCallId, name, options),
  ...[deltas].flat().map((delta) => callArgs(toolCallId, delta, options.owner)),
  callEnd(toolCallId, options.owner),
];

export const reasoning = (messageId, deltas, { encrypted, owner: subagentRunId } = {}) => [
  event("REASONING_START", { messageId, subagentRunId }),
  event("REASONING_MESSAGE_START", { messageId, role: "reasoning", subagentRunId }),
  ...[deltas].flat().map((delta) => event("REASONING_MESSAGE_CONTENT", { messageId, delta, subagentRunId })),
  event("REASONING_MESSAGE_END", { messageId, subagentRunId }),
  ...(encrypted === undefined
    ? []
    : [
        event("REASONING_ENCRYPTED_VALUE", {
          subtype: "message",
          entityId: messageId,
          encryptedValue: encrypted,
          subagentRunId,
        }),
      ]),
  event("REASONING_END", { messageId, subagentRunId }),
];

export const stateDelta = (delta, owner) => event("STATE_DELTA", { delta, subagentRunId: owner });
export const stateSet = (path, value, owner) => stateDelta([{ op: "add", path, value }], owner);
export const stateSnapshot = (snapshot, owner) => event("STATE_SNAPSHOT", { snapshot, subagentRunId: owner });
export const messagesSnapshot = (messages) => event("MESSAGES_SNAPSHOT", { messages });
export const activity = (messageId, activityType, content, { replace, owner } = {}) =>
  event("ACTIVITY_SNAPSHOT", { messageId, activityType, content, replace, subagentRunId: owner });
export const activityDelta = (messageId, activityType, patch, owner) =>
  event("ACTIVITY_DELTA", { messageId, activityType, patch, subagentRunId: owner });
export const custom = (name, value, owner) => event("CUSTOM", { name, value, subagentRunId: owner });
export const raw = (value, { source, owner } = {}) =>
  event("RAW", { event: value, source, subagentRunId: owner });

export const step = (stepName, inner = [], owner) => [
  event("STEP_STARTED", { stepName, subagentRunId: owner }),
  ...inner,
  event("STEP_FINISHED", { stepName, subagentRunId: owner }),
];

export const subStart = (subagentRunId, name, { description, parent } = {}) =>
  event("SUBAGENT_STARTED", { subagentRunId, name, description, parentSubagentRunId: parent });
export const subEnd = (subagentRunId, { result, outcome } = {}) =>
  event("SUBAGENT_FINISHED", { subagentRunId, result, outcome });
export const subError = (subagentRunId, message, code) =>
  event("SUBAGENT_ERROR", { subagentRunId, message, code });

// Messages as a consumer holds them at the end.
const message = (role, id, members) => event(undefined, { id, role, ...members });
export const said = (id, content, members) => message("assistant", id, { content, ...members });
export const spoken = (role, id, content, members) => message(role, id, { content, ...members });
export const thought = (id, content, members) => message("reasoning", id, { content, ...members });
export const calls = (id, toolCalls, members) => message("assistant", id, { toolCalls, ...members });
export const toolCall = (id, name, args, members) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...members,
});
export const answered = (id, toolCallId, content, members) =>
  message("tool", id, { toolCallId, content, ...members });
export const shown = (id, activityType, content, members) =>
  message("activity", id, { activityType, content, ...members });

/** Stands for whatever run input was sent. */
export const SENT_INPUT = Symbol("the run input that was sent");

class AnyOf {
  constructor(choices) {
    this.choices = choices;
  }
}
/** Where the contract leaves the server a choice: any of these is right. */
export const anyOf = (...choices) => new AnyOf(choices);
export const choicesOf = (value) => (value instanceof AnyOf ? value.choices : [value]);
