// Table 4.4: steps that end the run, and the scripts that are refused.

import {
  anyOf, call, calls, callResult, cancelled, answered, finished, pending, runError, said, step, text, toolCall,
} from "../lib/events.mjs";

const usage = [
  {
    provider: "acme",
    model: "m-1",
    inputTokens: 10,
    outputTokens: 5,
    totalTokens: 15,
    reasoningTokens: 2,
    cachedInputTokens: 3,
    cacheWriteInputTokens: 4,
  },
  { inputTokens: 0 },
];
const interrupts = [
  {
    id: "i1",
    reason: "confirmation",
    message: "Really?",
    toolCallId: "c",
    responseSchema: { type: "object", properties: { ok: { type: "boolean", default: null } } },
    expiresAt: "2999-01-01T00:00:00Z",
    metadata: { k: null },
    subagentRunId: "s",
  },
  { id: "i2", reason: "acme:other" },
];

const results = [
  ["an object", { a: [null] }],
  ["a string", "done"],
  ["an empty string", ""],
  ["zero", 0],
  ["false", false],
  ["a list", [1]],
].map(([what, result]) => ({
  name: `finish with ${what} as result`,
  script: [{ finish: { result } }, { text: "never" }],
  body: [],
  end: finished({ result }),
}));

const badScripts = [
  ["an object", {}, /./],
  ["a string", "text", /./],
  ["a number", 5, /./],
  ["a step that is a number", [5], /\b0\b/],
  ["a step that is null", [null], /\b0\b/],
  ["a step that is a list", [[]], /\b0\b/],
  ["a step without a key", [{}], /\b0\b/],
  ["a step with an unknown key only", [{ dance: 1 }], /\b0\b/],
  ["a step with two keys", [{ text: "a", deltas: ["b"] }], /\b0\b/],
  ["a text that is a number", [{ text: 5 }], /\b0\b/],
  ["deltas that are no strings", [{ deltas: ["a", 1] }], /\b0\b/],
  ["a role nobody may speak as", [{ text: "a", role: "tool" }], /\b0\b/],
  ["a call without a name", [{ toolCall: { args: {} } }], /\b0\b/],
  ["a call whose id is a number", [{ toolCall: { name: "f", id: 1 } }], /\b0\b/],
  ["a wait that is text", [{ sleepMs: "long" }], /\b0\b/],
  ["a step block without a name", [{ step: { do: [] } }], /\b0\b/],
  ["a subagent without a name", [{ subagent: {} }], /\b0\b/],
  ["a state without set or patch", [{ state: {} }], /\b0\b/],
  ["a custom event without a name", [{ custom: { value: 1 } }], /\b0\b/],
  ["an error that is a number", [{ error: 5 }], /\b0\b/],
  ["an interrupt list that is empty", [{ interrupt: [] }], /\b0\b/],
  ["an interrupt without a reason", [{ interrupt: [{ id: "i" }] }], /\b0\b/],
  ["a finish with a null result", [{ finish: { result: null } }], /\b0\b/],
  ["a finish with a null outcome", [{ finish: { outcome: null } }], /\b0\b/],
  ["a finish with null usage", [{ finish: { usage: null } }], /\b0\b/],
  ["a finish with negative usage", [{ finish: { usage: [{ inputTokens: -1 }] } }], /\b0\b/],
  ["a finish with an outcome nobody defined", [{ finish: { outcome: { type: "paused" } } }], /\b0\b/],
].map(([what, script, names]) => ({
  name: `bad script, ${what}`,
  script,
  body: [],
  end: runError(names, "bad_script"),
}));

export default [
  { name: "no script", body: [] },
  { name: "an empty script", script: [], body: [] },
  { name: "finish", script: [{ finish: {} }, { text: "never" }], body: [] },
  ...results,
  { name: "finish with usage", script: [{ finish: { usage } }], body: [], end: finished({ usage }) },
  {
    name: "finish with a success outcome and nothing pending",
    script: [{ finish: { outcome: { type: "success" } } }],
    body: [],
    end: anyOf(finished({ outcome: { type: "success" } }), finished()),
  },
  {
    name: "finish names the unanswered calls by itself",
    script: [{ toolCall: { name: "f", id: "c" } }, { finish: { result: "r" } }],
    body: call("c", "f", "{}"),
    end: finished({ result: "r", outcome: { type: "success", pendingToolCallIds: ["c"] } }),
    messages: [calls("c", [toolCall("c", "f", "{}")])],
  },
  {
    name: "finish fills in a success outcome without a list",
    script: [{ toolCall: { name: "f", id: "c" } }, { finish: { outcome: { type: "success" } } }],
    body: call("c", "f", "{}"),
    end: pending("c"),
    messages: [calls("c", [toolCall("c", "f", "{}")])],
  },
  {
    name: "finish keeps a list that was given",
    script: [
      { toolCall: { name: "f", id: "c1" } },
      { toolCall: { name: "g", id: "c2" } },
      { finish: { outcome: { type: "success", pendingToolCallIds: ["c1", "c2"] } } },
    ],
    body: [...call("c1", "f", "{}"), ...call("c2", "g", "{}")],
    end: pending("c1", "c2"),
    messages: [calls("c1", [toolCall("c1", "f", "{}")]), calls("c2", [toolCall("c2", "g", "{}")])],
  },
  {
    // INT-7: the list holds exactly the calls that are unanswered, in the order made.
    name: "finish refuses a list in another order",
    script: [
      { toolCall: { name: "f", id: "c1" } },
      { toolCall: { name: "g", id: "c2" } },
      { finish: { outcome: { type: "success", pendingToolCallIds: ["c2", "c1"] } } },
    ],
    body: [...call("c1", "f", "{}"), ...call("c2", "g", "{}")],
    end: runError(/./, "protocol_violation"),
    messages: [calls("c1", [toolCall("c1", "f", "{}")]), calls("c2", [toolCall("c2", "g", "{}")])],
  },
  {
    name: "finish as cancelled, with usage",
    script: [{ finish: { outcome: { type: "cancelled" }, usage: [{ totalTokens: 1 }] } }],
    body: [],
    end: finished({ outcome: { type: "cancelled" }, usage: [{ totalTokens: 1 }] }),
  },
  {
    name: "finish as interrupted",
    script: [{ finish: { outcome: { type: "interrupt", interrupts } } }],
    body: [],
    end: finished({ outcome: { type: "interrupt", interrupts } }),
  },
  {
    name: "interrupt",
    script: [{ toolCall: { name: "f", id: "c" } }, { interrupt: interrupts }, { text: "never" }],
    body: call("c", "f", "{}"),
    end: finished({ outcome: { type: "interrupt", interrupts } }),
    messages: [calls("c", [toolCall("c", "f", "{}")])],
  },
  {
    name: "cancel",
    script: [{ text: "a" }, { toolCall: { name: "f", id: "c" } }, { cancel: true }, { text: "never" }],
    body: [...text("r:m1", "a"), ...call("c", "f", "{}")],
    end: cancelled(),
    messages: [said("r:m1", "a"), calls("c", [toolCall("c", "f", "{}")])],
  },
  {
    name: "error",
    script: [{ text: "a" }, { error: "quota used up", code: "quota" }, { text: "never" }],
    body: text("r:m1", "a"),
    end: runError("quota used up", "quota"),
    messages: [said("r:m1", "a")],
  },
  { name: "error without a code", script: [{ error: "plainly" }], body: [], end: runError("plainly") },
  {
    name: "panic",
    script: [{ text: "a" }, { panic: "postgres://app:pw@db" }, { text: "never" }],
    body: text("r:m1", "a"),
    end: runError(/^(?!.*postgres).+$/s, "internal_error"),
    messages: [said("r:m1", "a")],
    secret: "postgres",
  },
  {
    name: "panic inside a step",
    script: [{ step: { name: "x", do: [{ toolCall: { name: "f", id: "c", result: "ok" } }, { panic: "postgres://app:pw@db" }] } }],
    // Closing what is open before an error is allowed, not required (LIFE-6).
    body: anyOf(
      step("x", [...call("c", "f", "{}"), callResult("c", "r:m1", "ok")]),
      step("x", [...call("c", "f", "{}"), callResult("c", "r:m1", "ok")]).slice(0, -1),
    ),
    end: runError(/^(?!.*postgres).+$/s, "internal_error"),
    messages: [calls("c", [toolCall("c", "f", "{}")]), answered("r:m1", "c", "ok")],
    secret: "postgres",
  },
  ...badScripts,
  {
    name: "bad script whose earlier steps took effect",
    script: [{ text: "a" }, { toolCall: { name: "f", id: "c", result: "ok" } }, { text: null }, { text: "never" }],
    body: [...text("r:m1", "a"), ...call("c", "f", "{}"), callResult("c", "r:m2", "ok")],
    end: runError(/\b2\b/, "bad_script"),
    messages: [said("r:m1", "a"), calls("c", [toolCall("c", "f", "{}")]), answered("r:m2", "c", "ok")],
  },
];
