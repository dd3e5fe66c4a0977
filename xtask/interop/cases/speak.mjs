// Table 4.1: steps that speak.

import {
  answered, call, callResult, calls, pending, reasoning, runError, said, spoken, text, thought, toolCall,
} from "../lib/events.mjs";

const floodDelta = (i, bytes) => `${String(i).padStart(8, "0")}:`.padEnd(bytes, "x");
const floodDeltas = (count, bytes) => Array.from({ length: count }, (_, i) => floodDelta(i, bytes));

const roles = ["developer", "system", "assistant", "user"].map((role) => ({
  name: `text as ${role}`,
  script: [{ text: "hi", role }],
  body: text("r:m1", "hi", { role }),
  messages: [spoken(role, "r:m1", "hi")],
}));

const results = [
  ["a string", "noon", "noon"],
  ["an empty string", "", ""],
  ["an object", { b: 1, a: [true, null] }, '{"b":1,"a":[true,null]}'],
  ["a number", 42, "42"],
  ["false", false, "false"],
  ["null", null, "null"],
].map(([what, result, content]) => ({
  name: `toolCall with ${what} as result`,
  script: [{ toolCall: { name: "clock", result } }],
  body: [...call("r:t1", "clock", "{}"), callResult("r:t1", "r:m1", content)],
  messages: [calls("r:t1", [toolCall("r:t1", "clock", "{}")]), answered("r:m1", "r:t1", content)],
}));

const parts = [
  { type: "text", text: "It is " },
  { type: "image", id: "p1", source: { type: "data", value: "aGk=", mimeType: "image/png" }, metadata: { alt: "dial" } },
  { type: "document", source: { type: "file", value: "file-7", provider: "openai", mimeType: "application/pdf" } },
  { type: "text", id: "p2", text: "noon", metadata: { lang: "en" } },
];

export default [
  {
    name: "text",
    script: [{ text: "hello" }],
    body: text("r:m1", "hello"),
    messages: [said("r:m1", "hello")],
  },
  ...roles,
  {
    name: "text with every member",
    script: [{ text: "hello", id: "mine", role: "user", name: "Ada" }],
    body: text("mine", "hello", { role: "user", name: "Ada" }),
    messages: [spoken("user", "mine", "hello", { name: "Ada" })],
  },
  {
    name: "text with an opaque id",
    script: [{ text: "x", id: "room/42 ü#%\n" }],
    body: text("room/42 ü#%\n", "x"),
    messages: [said("room/42 ü#%\n", "x")],
  },
  {
    name: "text that is empty has no content event",
    script: [{ text: "" }],
    body: text("r:m1", []),
    messages: [said("r:m1", "")],
  },
  {
    name: "text under an id already used reopens the message",
    script: [{ text: "one ", id: "m" }, { text: "two", id: "m" }],
    body: [...text("m", "one "), ...text("m", "two")],
    messages: [said("m", "one two")],
  },
  {
    name: "ids are numbered per kind and explicit ones take no number",
    script: [
      { text: "a" },
      { text: "b", id: "own" },
      { toolCall: { name: "f", result: "x" } },
      { text: "c" },
      { reasoning: "d" },
      { toolCall: { name: "g", result: "y" } },
      { reasoning: "e" },
    ],
    body: [
      ...text("r:m1", "a"),
      ...text("own", "b"),
      ...call("r:t1", "f", "{}"),
      callResult("r:t1", "r:m2", "x"),
      ...text("r:m3", "c"),
      ...reasoning("r:r1", "d"),
      ...call("r:t2", "g", "{}"),
      callResult("r:t2", "r:m4", "y"),
      ...reasoning("r:r2", "e"),
    ],
    messages: [
      said("r:m1", "a"),
      said("own", "b"),
      calls("r:t1", [toolCall("r:t1", "f", "{}")]),
      answered("r:m2", "r:t1", "x"),
      said("r:m3", "c"),
      thought("r:r1", "d"),
      calls("r:t2", [toolCall("r:t2", "g", "{}")]),
      answered("r:m4", "r:t2", "y"),
      thought("r:r2", "e"),
    ],
  },
  {
    name: "deltas",
    script: [{ deltas: ["Hel", "lo"] }],
    body: text("r:m1", ["Hel", "lo"]),
    messages: [said("r:m1", "Hello")],
  },
  {
    name: "deltas with every member",
    script: [{ deltas: ["a", "b", "c"], gapMs: 30, id: "d", role: "system", name: "clock" }],
    body: text("d", ["a", "b", "c"], { role: "system", name: "clock" }),
    messages: [spoken("system", "d", "abc", { name: "clock" })],
  },
  {
    name: "deltas leave out empty strings",
    script: [{ deltas: ["", "a", "", "b", ""] }],
    body: text("r:m1", ["a", "b"]),
    messages: [said("r:m1", "ab")],
  },
  {
    name: "deltas of an empty list",
    script: [{ deltas: [] }],
    body: text("r:m1", []),
    messages: [said("r:m1", "")],
  },
  {
    name: "flood",
    script: [{ flood: { count: 3, bytes: 12 } }],
    body: text("r:m1", ["00000000:xxx", "00000001:xxx", "00000002:xxx"]),
    messages: [said("r:m1", "00000000:xxx00000001:xxx00000002:xxx")],
  },
  {
    name: "flood is never shorter than its head",
    script: [{ flood: { count: 2, bytes: 1 }, id: "f" }],
    body: text("f", ["00000000:", "00000001:"]),
    messages: [said("f", "00000000:00000001:")],
  },
  {
    name: "flood of none",
    script: [{ flood: { count: 0, bytes: 20 } }],
    body: text("r:m1", []),
    messages: [said("r:m1", "")],
  },
  {
    name: "flood of many keeps every delta in order",
    script: [{ flood: { count: 1500, bytes: 64 } }],
    body: text("r:m1", floodDeltas(1500, 64)),
    messages: [said("r:m1", floodDeltas(1500, 64).join(""))],
  },
  {
    name: "flood with one large delta",
    script: [{ flood: { count: 1, bytes: 300000 } }],
    body: text("r:m1", floodDeltas(1, 300000)),
    messages: [said("r:m1", floodDelta(0, 300000))],
  },
  {
    name: "reasoning",
    script: [{ reasoning: "hm" }],
    body: reasoning("r:r1", "hm"),
    messages: [thought("r:r1", "hm")],
  },
  {
    name: "reasoning with every member",
    script: [{ reasoning: ["h", "", "m"], encrypted: "b64:opaque==", id: "why" }],
    body: reasoning("why", ["h", "m"], { encrypted: "b64:opaque==" }),
    messages: [thought("why", "hm", { encryptedValue: "b64:opaque==" })],
  },
  {
    name: "reasoning that is empty",
    script: [{ reasoning: "" }, { reasoning: [] }],
    body: [...reasoning("r:r1", []), ...reasoning("r:r2", [])],
    messages: [thought("r:r1", ""), thought("r:r2", "")],
  },
  {
    name: "toolCall",
    script: [{ toolCall: { name: "confirm" } }],
    body: call("r:t1", "confirm", "{}"),
    end: pending("r:t1"),
    messages: [calls("r:t1", [toolCall("r:t1", "confirm", "{}")])],
  },
  {
    name: "toolCall keeps the order of its arguments",
    script: [{ toolCall: { name: "f", args: { z: 1, a: { y: [1, "ü"], b: null } }, id: "c" } }],
    body: call("c", "f", '{"z":1,"a":{"y":[1,"ü"],"b":null}}'),
    end: pending("c"),
    messages: [calls("c", [toolCall("c", "f", '{"z":1,"a":{"y":[1,"ü"],"b":null}}')])],
  },
  {
    name: "toolCall with deltas, an unfinished JSON text among them",
    script: [{ toolCall: { name: "f", argsDeltas: ['{"ci', "", 'ty":"Os'], args: { not: "used" }, id: "c" } }],
    body: call("c", "f", ['{"ci', 'ty":"Os']),
    end: pending("c"),
    messages: [calls("c", [toolCall("c", "f", '{"city":"Os')])],
  },
  {
    name: "toolCall with no delta at all",
    script: [{ toolCall: { name: "f", argsDeltas: [] } }],
    body: call("r:t1", "f", []),
    end: pending("r:t1"),
    messages: [calls("r:t1", [toolCall("r:t1", "f", "")])],
  },
  {
    name: "toolCall under a parent message",
    script: [{ text: "let me see", id: "m" }, { toolCall: { name: "f", id: "c", parentMessageId: "m", result: "ok" } }],
    body: [
      ...text("m", "let me see"),
      ...call("c", "f", "{}", { parentMessageId: "m" }),
      callResult("c", "r:m1", "ok"),
    ],
    messages: [
      said("m", "let me see", { toolCalls: [toolCall("c", "f", "{}")] }),
      answered("r:m1", "c", "ok"),
    ],
  },
  ...results,
  {
    name: "toolCall with content parts as result",
    script: [{ toolCall: { name: "look", id: "c", result: parts } }],
    body: [...call("c", "look", "{}"), callResult("c", "r:m1", parts)],
    messages: [calls("c", [toolCall("c", "look", "{}")]), answered("r:m1", "c", parts)],
    older: { messages: [calls("c", [toolCall("c", "look", "{}")]), answered("r:m1", "c", "It is noon")] },
  },
  {
    name: "toolCall with an empty list as result",
    script: [{ toolCall: { name: "look", id: "c", result: [] } }],
    body: [...call("c", "look", "{}"), callResult("c", "r:m1", [])],
    messages: [calls("c", [toolCall("c", "look", "{}")]), answered("r:m1", "c", [])],
    older: { messages: [calls("c", [toolCall("c", "look", "{}")]), answered("r:m1", "c", "")] },
  },
  {
    name: "toolCall with a list that is no content is a bad script",
    script: [{ toolCall: { name: "look", id: "c", result: [1, 2] } }],
    body: [],
    end: runError(/\b0\b/, "bad_script"),
    messages: [],
  },
  {
    name: "unanswered calls are named in the order they were started",
    script: [
      { toolCall: { name: "a", id: "c3" } },
      { toolCall: { name: "b", id: "c1", result: "done" } },
      { toolCall: { name: "c", id: "c2" } },
    ],
    body: [
      ...call("c3", "a", "{}"),
      ...call("c1", "b", "{}"),
      callResult("c1", "r:m1", "done"),
      ...call("c2", "c", "{}"),
    ],
    end: pending("c3", "c2"),
    messages: [
      calls("c3", [toolCall("c3", "a", "{}")]),
      calls("c1", [toolCall("c1", "b", "{}")]),
      answered("r:m1", "c1", "done"),
      calls("c2", [toolCall("c2", "c", "{}")]),
    ],
  },
  {
    name: "the example with text and an answered call",
    script: [{ deltas: ["Hel", "lo"] }, { toolCall: { name: "clock", result: "noon" } }],
    body: [
      ...text("r:m1", ["Hel", "lo"]),
      ...call("r:t1", "clock", "{}"),
      callResult("r:t1", "r:m2", "noon"),
    ],
    messages: [
      said("r:m1", "Hello"),
      calls("r:t1", [toolCall("r:t1", "clock", "{}")]),
      answered("r:m2", "r:t1", "noon"),
    ],
  },
];
