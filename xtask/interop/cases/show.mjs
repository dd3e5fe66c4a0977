// Table 4.2: steps that show.

import {
  activity, activityDelta, custom, messagesSnapshot, raw, runError, said, shown, stateDelta, stateSet,
  stateSnapshot, text,
} from "../lib/events.mjs";

const everyRole = [
  { id: "h1", role: "developer", content: "d", name: "dev" },
  { id: "h2", role: "system", content: "s" },
  {
    id: "h3",
    role: "user",
    content: [
      { type: "text", text: "see" },
      { type: "image", source: { type: "url", value: "https://example.org/a.png", mimeType: "image/png" }, metadata: { w: 1 } },
      { type: "audio", source: { type: "data", value: "aGk=", mimeType: "audio/wav" } },
      { type: "video", source: { type: "url", value: "https://example.org/v" } },
      { type: "document", source: { type: "file", value: "file-7", provider: "openai" } },
    ],
    metadata: { k: null },
  },
  { id: "h4", role: "reasoning", content: "because", encryptedValue: "sealed" },
  {
    id: "h5",
    role: "assistant",
    toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: "" }, encryptedValue: "e" }],
  },
  { id: "h6", role: "tool", toolCallId: "c", content: [{ type: "text", text: "4" }, { type: "text", text: "2" }], error: "late" },
  { id: "h7", role: "activity", activityType: "plan", content: { steps: [null] } },
  { id: "h8", role: "assistant", content: "42", subagentRunId: "sub" },
];
// What 0.0.59 is left with: no file part, the tool content as text.
const everyRoleOlder = everyRole.map((message) => {
  if (message.id === "h3") return { ...message, content: message.content.slice(0, 4) };
  if (message.id === "h6") return { ...message, content: "42" };
  return message;
});

const snapshots = [
  ["an object", { a: { b: [1, null] } }],
  ["a list", [1, "two", null]],
  ["a string", "on"],
].map(([what, value]) => ({
  name: `stateSnapshot with ${what}`,
  script: [{ stateSnapshot: value }],
  body: [stateSnapshot(value)],
  state: value,
}));
// 0.0.59 does not adopt a falsy state, and keeps what it had.
const falsySnapshots = [
  ["null", null],
  ["false", false],
  ["zero", 0],
  ["an empty string", ""],
].map(([what, value]) => ({
  name: `stateSnapshot with ${what}`,
  input: { state: { kept: true } },
  script: [{ stateSnapshot: value }],
  body: [stateSnapshot(value)],
  state: value,
  older: { state: { kept: true } },
}));

export default [
  {
    name: "state set",
    script: [{ state: { set: ["/count", 1] } }, { state: { set: ["/list", [1, null]] } }, { state: { set: ["/list/-", "x"] } }],
    body: [stateSet("/count", 1), stateSet("/list", [1, null]), stateSet("/list/-", "x")],
    state: { count: 1, list: [1, null, "x"] },
  },
  {
    name: "state set to null on the input's state",
    input: { state: { a: 1, "x/y": 2 } },
    script: [{ state: { set: ["/x~1y", null] } }],
    body: [stateSet("/x~1y", null)],
    state: { a: 1, "x/y": null },
  },
  {
    name: "state set on the whole document",
    input: { state: { a: 1 } },
    script: [{ state: { set: ["", { b: 2 }] } }],
    body: [stateSet("", { b: 2 })],
    state: { b: 2 },
  },
  {
    name: "state patch with every operation",
    input: { state: { a: 1, b: { c: 2 }, d: [1, 2] } },
    script: [
      {
        state: {
          patch: [
            { op: "test", path: "/a", value: 1 },
            { op: "replace", path: "/a", value: 10 },
            { op: "add", path: "/e", value: null },
            { op: "copy", from: "/b", path: "/f" },
            { op: "move", from: "/b/c", path: "/g" },
            { op: "remove", path: "/d/0" },
          ],
        },
      },
    ],
    body: [
      stateDelta([
        { op: "test", path: "/a", value: 1 },
        { op: "replace", path: "/a", value: 10 },
        { op: "add", path: "/e", value: null },
        { op: "copy", from: "/b", path: "/f" },
        { op: "move", from: "/b/c", path: "/g" },
        { op: "remove", path: "/d/0" },
      ]),
    ],
    state: { a: 10, b: {}, d: [2], e: null, f: { c: 2 }, g: 2 },
  },
  {
    name: "state patch with nothing in it",
    script: [{ state: { patch: [] } }],
    body: [stateDelta([])],
  },
  {
    name: "state patch that does not apply still reaches the wire",
    input: { state: { a: 1 } },
    script: [{ state: { patch: [{ op: "replace", path: "/no/such", value: 1 }] } }, { text: "on" }],
    body: [stateDelta([{ op: "replace", path: "/no/such", value: 1 }]), ...text("r:m1", "on")],
    state: { a: 1 },
    messages: [said("r:m1", "on")],
    warnings: [/apply state patch/],
  },
  {
    name: "state patch with an operation nobody defined is a bad script",
    script: [{ state: { patch: [{ op: "increment", path: "/a", value: 1 }] } }],
    body: [],
    end: runError(/\b0\b/, "bad_script"),
  },
  {
    name: "state set with a malformed pointer is a bad script",
    script: [{ text: "a" }, { state: { set: ["a~2", 1] } }],
    body: text("r:m1", "a"),
    end: runError(/\b1\b/, "bad_script"),
    messages: [said("r:m1", "a")],
  },
  ...snapshots,
  ...falsySnapshots,
  {
    name: "stateSnapshot and then a delta on it",
    input: { state: { old: true } },
    script: [{ stateSnapshot: { plan: {} } }, { state: { set: ["/plan/step", 1] } }],
    body: [stateSnapshot({ plan: {} }), stateSet("/plan/step", 1)],
    state: { plan: { step: 1 } },
  },
  {
    name: "messagesSnapshot with every role",
    script: [{ messagesSnapshot: everyRole }],
    body: [messagesSnapshot(everyRole)],
    messages: everyRole,
    older: { messages: everyRoleOlder },
  },
  {
    name: "messagesSnapshot with no messages",
    script: [{ text: "a" }, { messagesSnapshot: [] }],
    body: [...text("r:m1", "a"), messagesSnapshot([])],
    messages: [],
  },
  {
    name: "messagesSnapshot that restates what was streamed",
    input: { messages: [{ id: "u1", role: "user", content: "q" }] },
    script: [
      { text: "a" },
      { messagesSnapshot: [{ id: "u1", role: "user", content: "q" }, { id: "r:m1", role: "assistant", content: "A" }] },
    ],
    body: [
      ...text("r:m1", "a"),
      messagesSnapshot([{ id: "u1", role: "user", content: "q" }, { id: "r:m1", role: "assistant", content: "A" }]),
    ],
    messages: [{ id: "u1", role: "user", content: "q" }, said("r:m1", "A")],
  },
  {
    name: "messagesSnapshot with a malformed message is a bad script",
    script: [{ messagesSnapshot: [{ id: "u1", role: "user" }] }],
    body: [],
    end: runError(/\b0\b/, "bad_script"),
  },
  {
    name: "activity",
    script: [{ activity: { type: "plan", content: { steps: ["a"], note: null } } }, { activity: { type: "map", content: {} } }],
    body: [activity("r:a1", "plan", { steps: ["a"], note: null }), activity("r:a2", "map", {})],
    messages: [shown("r:a1", "plan", { steps: ["a"], note: null }), shown("r:a2", "map", {})],
  },
  {
    name: "activity replaced, kept and patched",
    script: [
      { activity: { type: "plan", content: { n: 1 }, id: "p" } },
      { activity: { type: "plan", content: { n: 2 }, id: "p", replace: true } },
      { activity: { type: "plan", content: { n: 3 }, id: "p", replace: false } },
      { activity: { type: "plan", patch: [{ op: "add", path: "/m", value: null }], id: "p" } },
    ],
    body: [
      activity("p", "plan", { n: 1 }),
      activity("p", "plan", { n: 2 }, { replace: true }),
      activity("p", "plan", { n: 3 }, { replace: false }),
      activityDelta("p", "plan", [{ op: "add", path: "/m", value: null }]),
    ],
    messages: [shown("p", "plan", { n: 2, m: null })],
  },
  {
    name: "activity whose content is no object is a bad script",
    script: [{ activity: { type: "plan", content: [] } }],
    body: [],
    end: runError(/\b0\b/, "bad_script"),
  },
  {
    name: "custom",
    script: [
      { custom: { name: "acme.mood", value: { ok: [true, null] } } },
      { custom: { name: "acme.none" } },
      { custom: { name: "acme.null", value: null } },
      { custom: { name: "acme.zero", value: 0 } },
    ],
    body: [
      custom("acme.mood", { ok: [true, null] }),
      custom("acme.none", null),
      custom("acme.null", null),
      custom("acme.zero", 0),
    ],
  },
  {
    name: "raw",
    script: [{ raw: { id: "p-1", choices: [null] }, source: "provider" }, { raw: null }, { raw: "text" }],
    body: [raw({ id: "p-1", choices: [null] }, { source: "provider" }), raw(null), raw("text")],
  },
];
