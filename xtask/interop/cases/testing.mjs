// Table 4.5: steps for tests. Events given raw, in order and out of order, and what the agent sees.

import {
  activity, activityDelta, anyOf, call, callArgs, callEnd, calls, callStart, callResult, answered, custom, finished,
  messagesSnapshot, pending, raw, reasoning, RUN, runError, said, SENT_INPUT, shown, stateDelta, stateSnapshot, step,
  subEnd, subError, subStart, text, textContent, textEnd, textStart, thought, THREAD, toolCall,
} from "../lib/events.mjs";

const given = (...events) => events.flat().map((event) => ({ event }));
const stats = (counts) => ({ label: "{nonce}", active: 0, completed: 0, cancelled: 0, failed: 0, ...counts });

// One of each type that may stand inside a run, in an order the protocol allows.
const everyEvent = [
  ...step("plan"),
  ...text("m", ["a", ""]),
  ...call("c", "f", ['{"q":', "1}"], { parentMessageId: "m" }),
  callResult("c", "m2", "ok"),
  ...reasoning("w", "hm", { encrypted: "e" }),
  { type: "REASONING_ENCRYPTED_VALUE", subtype: "tool-call", entityId: "c", encryptedValue: "f" },
  stateSnapshot({ a: 1 }),
  stateDelta([{ op: "replace", path: "/a", value: 2 }]),
  activity("p", "plan", { n: 1 }),
  activityDelta("p", "plan", [{ op: "replace", path: "/n", value: 2 }]),
  custom("acme.x", null),
  raw([1]),
  subStart("s", "scout"),
  subEnd("s"),
  subStart("s2", "scout"),
  subError("s2", "lost"),
  messagesSnapshot([
    said("m", "A"),
    thought("w", "hm", { encryptedValue: "e" }),
  ]),
];

const schemaViolations = [
  ["an event without a required member", { type: "TEXT_MESSAGE_CONTENT", messageId: "m" }],
  ["an event with an unknown member", { type: "CUSTOM", name: "x", value: 1, extra: 1 }],
  ["an event with a null optional member", { type: "TEXT_MESSAGE_START", messageId: "m", name: null }],
  ["an event of an unknown type", { type: "MOOD_CHANGED", mood: "ok" }],
  ["an event without a type", { messageId: "m" }],
  ["an event that is no object", 5],
  ["a missing custom value", { type: "CUSTOM", name: "x" }],
  ["a fractional timestamp", { type: "CUSTOM", name: "x", value: 1, timestamp: 1.5 }],
].map(([what, event]) => ({
  name: `bad script, ${what}`,
  script: [{ text: "a" }, { event }, { text: "never" }],
  body: text("r:m1", "a"),
  end: runError(/\b1\b/, "bad_script"),
  messages: [said("r:m1", "a")],
}));

// The order rules: what may not be sent does not reach the wire.
const violations = [
  ["content of a message never opened", textContent("ghost", "x")],
  ["the end of a message never opened", textEnd("ghost")],
  ["arguments of a call never opened", callArgs("ghost", "x")],
  ["the end of a call never opened", callEnd("ghost")],
  ["reasoning content never opened", { type: "REASONING_MESSAGE_CONTENT", messageId: "ghost", delta: "x" }],
  ["the end of a span never opened", { type: "REASONING_END", messageId: "ghost" }],
  ["the end of a step never opened", { type: "STEP_FINISHED", stepName: "ghost" }],
  ["the end of a subagent never announced", subEnd("ghost")],
  ["a second start of the run", { type: "RUN_STARTED", threadId: THREAD, runId: RUN }],
  ["a first chunk without an id", { type: "TEXT_MESSAGE_CHUNK", delta: "x" }],
].map(([what, event]) => ({
  name: `protocol violation, ${what}`,
  script: [{ text: "a" }, { event }, { text: "b" }],
  body: text("r:m1", "a"),
  end: runError(/./, "protocol_violation"),
  messages: [said("r:m1", "a")],
}));

// What the consumers must reject. The table says only what reaches the wire and what the rejection names.
const unchecked = (name, script, wire, fails) => ({
  name: `unchecked, ${name}`,
  script,
  body: wire.slice(0, -1),
  end: wire.at(-1),
  wellFormed: false,
  fails,
});
const broken = (...events) => events.flat().map((event) => ({ event, unchecked: true }));

export default [
  {
    name: "sleepMs",
    script: [{ text: "a" }, { sleepMs: 20 }, { text: "b" }],
    body: [...text("r:m1", "a"), ...text("r:m2", "b")],
    messages: [said("r:m1", "a"), said("r:m2", "b")],
  },
  {
    name: "event, one of every type inside a run",
    script: given(everyEvent),
    body: everyEvent,
    messages: [said("m", "A"), thought("w", "hm", { encryptedValue: "e" }), shown("p", "plan", { n: 2 })],
    state: { a: 2 },
  },
  {
    name: "event keeps timestamp, rawEvent and metadata",
    script: given(
      { ...textStart("m"), timestamp: 1730000000000, rawEvent: { p: null }, metadata: { a: 1, b: null } },
      { ...textContent("m", "x"), timestamp: -5, metadata: { a: 2 } },
      textEnd("m"),
    ),
    body: [
      { ...textStart("m"), timestamp: 1730000000000, rawEvent: { p: null }, metadata: { a: 1, b: null } },
      { ...textContent("m", "x"), timestamp: -5, metadata: { a: 2 } },
      textEnd("m"),
    ],
    messages: [said("m", "x", { metadata: { a: 2, b: null } })],
  },
  {
    name: "event that opens a message is closed by the server",
    script: given(textStart("m")),
    body: text("m", []),
    messages: [said("m", "")],
  },
  {
    name: "events left open are closed innermost first",
    script: given(
      { type: "STEP_STARTED", stepName: "x" },
      subStart("s", "scout"),
      textStart("m"),
      callStart("c", "f"),
      { type: "REASONING_START", messageId: "w" },
      { type: "REASONING_MESSAGE_START", messageId: "w", role: "reasoning" },
    ),
    body: [
      { type: "STEP_STARTED", stepName: "x" },
      subStart("s", "scout"),
      textStart("m"),
      callStart("c", "f"),
      { type: "REASONING_START", messageId: "w" },
      { type: "REASONING_MESSAGE_START", messageId: "w", role: "reasoning" },
      { type: "REASONING_MESSAGE_END", messageId: "w" },
      { type: "REASONING_END", messageId: "w" },
      callEnd("c"),
      textEnd("m"),
      subEnd("s"),
      { type: "STEP_FINISHED", stepName: "x" },
    ],
    end: pending("c"),
    messages: [said("m", ""), calls("c", [toolCall("c", "f", "")]), thought("w", "")],
  },
  {
    name: "events interleave as the script has them",
    script: [
      ...given(textStart("m"), callStart("a", "f"), callStart("b", "g"), textContent("m", "x")),
      { reasoning: "hm" },
      ...given(callArgs("a", '{"q":'), callArgs("b", '{"q":'), callArgs("a", '"a"}'), callArgs("b", '"b"}')),
      { text: "aside" },
      ...given(textContent("m", "y"), callEnd("b"), callEnd("a"), callResult("b", "tb", "B"), callResult("a", "ta", "A"), textEnd("m")),
    ],
    body: [
      textStart("m"),
      callStart("a", "f"),
      callStart("b", "g"),
      textContent("m", "x"),
      ...reasoning("r:r1", "hm"),
      callArgs("a", '{"q":'),
      callArgs("b", '{"q":'),
      callArgs("a", '"a"}'),
      callArgs("b", '"b"}'),
      ...text("r:m1", "aside"),
      textContent("m", "y"),
      callEnd("b"),
      callEnd("a"),
      callResult("b", "tb", "B"),
      callResult("a", "ta", "A"),
      textEnd("m"),
    ],
    messages: [
      said("m", "xy"),
      calls("a", [toolCall("a", "f", '{"q":"a"}')]),
      answered("ta", "a", "A"),
      calls("b", [toolCall("b", "g", '{"q":"b"}')]),
      answered("tb", "b", "B"),
      thought("r:r1", "hm"),
      said("r:m1", "aside"),
    ],
  },
  {
    name: "event given as chunks stays in the compact spelling",
    script: given(
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m", role: "assistant", delta: "a" },
      { type: "TEXT_MESSAGE_CHUNK", delta: "b" },
      { type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: "f", delta: "{}" },
      { type: "REASONING_MESSAGE_CHUNK", messageId: "w", delta: "hm" },
    ),
    body: [
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m", role: "assistant", delta: "a" },
      { type: "TEXT_MESSAGE_CHUNK", delta: "b" },
      { type: "TOOL_CALL_CHUNK", toolCallId: "c", toolCallName: "f", delta: "{}" },
      { type: "REASONING_MESSAGE_CHUNK", messageId: "w", delta: "hm" },
    ],
    // The client hands its subscribers the expanded form.
    delivered: [
      ...text("m", ["a", "b"]),
      ...call("c", "f", "{}"),
      ...reasoning("w", "hm").slice(1, -1),
    ],
    end: pending("c"),
    messages: [said("m", "ab"), calls("c", [toolCall("c", "f", "{}")]), thought("w", "hm")],
  },
  {
    name: "event that finishes the run ends the script",
    script: [{ text: "a" }, ...given(finished({ result: "by hand" })), { text: "never" }],
    body: text("r:m1", "a"),
    end: finished({ result: "by hand" }),
    messages: [said("r:m1", "a")],
  },
  {
    name: "event that fails the run ends the script and closes nothing",
    script: [...given(textStart("m"), runError("by hand", "mine")), { text: "never" }],
    // LIFE-6 lets an error abandon what is open.
    body: anyOf([textStart("m")], text("m", [])),
    end: runError("by hand", "mine"),
    messages: [said("m", "")],
  },
  ...schemaViolations,
  ...violations,
  {
    name: "protocol violation, a finish while a message is open",
    script: given(textStart("m"), finished()),
    body: anyOf(text("m", []), [textStart("m")]),
    end: runError(/./, "protocol_violation"),
    messages: [said("m", "")],
  },
  unchecked(
    "content of a message never opened",
    [{ text: "a" }, ...broken(textContent("ghost", "x"))],
    [...text("r:m1", "a"), textContent("ghost", "x"), finished()],
    /ghost/,
  ),
  unchecked("a finish while a message is open", broken(textStart("m")), [textStart("m"), finished()], /\bm\b/),
  unchecked(
    "a second start of the run",
    broken({ type: "RUN_STARTED", threadId: THREAD, runId: RUN }),
    [{ type: "RUN_STARTED", threadId: THREAD, runId: RUN }, finished()],
    /RUN_STARTED/,
  ),
  unchecked(
    "the end of a step never opened",
    [...broken({ type: "STEP_FINISHED", stepName: "ghost" }), { text: "b" }],
    [{ type: "STEP_FINISHED", stepName: "ghost" }, ...text("r:m1", "b"), finished()],
    /ghost/,
  ),
  {
    name: "unchecked, nothing wrong",
    script: [...broken(text("m", "x")), { text: "y" }],
    body: [...text("m", "x"), ...text("r:m1", "y")],
    messages: [said("m", "x"), said("r:m1", "y")],
  },
  {
    name: "track and stats",
    script: [{ stats: "{nonce}" }, { track: "{nonce}" }, { stats: "{nonce}" }],
    body: [custom("demo.stats", stats()), custom("demo.stats", stats({ active: 1 }))],
  },
  {
    name: "inputEcho",
    input: {
      messages: [{ id: "u1", role: "user", content: "q", metadata: { k: null } }],
      state: { deep: { n: [1, null] } },
      tools: [{ name: "paint", description: "Paints.", parameters: { type: "object", default: null } }],
      context: [{ description: "where", value: "here" }],
      forwardedProps: { kept: null },
    },
    script: [{ inputEcho: true }],
    body: [custom("demo.input", { agentId: "script", input: SENT_INPUT })],
    messages: [{ id: "u1", role: "user", content: "q", metadata: { k: null } }],
    state: { deep: { n: [1, null] } },
  },
];
