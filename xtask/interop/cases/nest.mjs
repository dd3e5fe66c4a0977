// Table 4.3: steps that contain steps.

import {
  activity, answered, call, callResult, calls, cancelled, custom, finished, messagesSnapshot, pending, raw,
  reasoning, runError, said, shown, stateSet, stateSnapshot, step, subEnd, subError, subStart, text, thought,
  toolCall,
} from "../lib/events.mjs";

const by = (owner) => ({ subagentRunId: owner });

export default [
  {
    name: "step",
    script: [{ step: { name: "plan" } }, { step: { name: "lookup: whales", do: [{ text: "a" }] } }],
    body: [...step("plan"), ...step("lookup: whales", text("r:m1", "a"))],
    messages: [said("r:m1", "a")],
  },
  {
    name: "step inside step, and a name used again",
    script: [
      { step: { name: "outer", do: [{ step: { name: "inner", do: [{ text: "a" }] } }, { text: "b" }] } },
      { step: { name: "inner" } },
    ],
    body: [...step("outer", [...step("inner", text("r:m1", "a")), ...text("r:m2", "b")]), ...step("inner")],
    messages: [said("r:m1", "a"), said("r:m2", "b")],
  },
  {
    name: "subagent",
    script: [{ subagent: { name: "scout" } }],
    body: [subStart("r:s1", "scout"), subEnd("r:s1")],
  },
  {
    name: "subagent with description, id and result",
    script: [{ subagent: { name: "scout", description: "looks around", id: "s", do: [{ text: "hm" }], result: { found: null } } }],
    body: [
      subStart("s", "scout", { description: "looks around" }),
      ...text("r:m1", "hm", { owner: "s" }),
      subEnd("s", { result: { found: null } }),
    ],
    messages: [said("r:m1", "hm", by("s"))],
  },
  {
    name: "subagent with a falsy result",
    script: [{ subagent: { name: "a", result: false } }, { subagent: { name: "b", result: 0 } }, { subagent: { name: "c", result: "" } }],
    body: [
      subStart("r:s1", "a"),
      subEnd("r:s1", { result: false }),
      subStart("r:s2", "b"),
      subEnd("r:s2", { result: 0 }),
      subStart("r:s3", "c"),
      subEnd("r:s3", { result: "" }),
    ],
  },
  {
    name: "subagent that is suspended",
    script: [
      { subagent: { name: "asker", id: "s", do: [{ text: "may I?" }], suspend: ["i1"] } },
      { interrupt: [{ id: "i1", reason: "confirmation", subagentRunId: "s" }] },
    ],
    body: [
      subStart("s", "asker"),
      ...text("r:m1", "may I?", { owner: "s" }),
      subEnd("s", { outcome: { type: "suspended", interruptIds: ["i1"] } }),
    ],
    end: finished({ outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "confirmation", subagentRunId: "s" }] } }),
    messages: [said("r:m1", "may I?", by("s"))],
  },
  {
    name: "subagent that is suspended over nothing of its own",
    script: [{ subagent: { name: "asker", suspend: [], result: "half" } }],
    body: [subStart("r:s1", "asker"), subEnd("r:s1", { result: "half", outcome: { type: "suspended", interruptIds: [] } })],
  },
  {
    name: "subagent that fails, with and without a code",
    script: [
      { subagent: { name: "a", do: [{ text: "x" }], error: "lost", code: "nav" } },
      { subagent: { name: "b", error: "gone" } },
      { text: "still here" },
    ],
    body: [
      subStart("r:s1", "a"),
      ...text("r:m1", "x", { owner: "r:s1" }),
      subError("r:s1", "lost", "nav"),
      subStart("r:s2", "b"),
      subError("r:s2", "gone"),
      ...text("r:m2", "still here"),
    ],
    messages: [said("r:m1", "x", by("r:s1")), said("r:m2", "still here")],
  },
  {
    name: "subagent tags everything that can be attributed",
    script: [
      {
        subagent: {
          name: "scout",
          id: "s",
          do: [
            { deltas: ["a", "b"] },
            { reasoning: "hm", encrypted: "e" },
            { toolCall: { name: "f", id: "c", result: "ok" } },
            { state: { set: ["/a", 1] } },
            { stateSnapshot: { b: 2 } },
            { activity: { type: "plan", content: {} } },
            { custom: { name: "acme.x", value: null } },
            { raw: 1, source: "p" },
            { step: { name: "look" } },
            { event: { type: "CUSTOM", name: "acme.untagged", value: 1 } },
          ],
        },
      },
    ],
    body: [
      subStart("s", "scout"),
      ...text("r:m1", ["a", "b"], { owner: "s" }),
      ...reasoning("r:r1", "hm", { encrypted: "e", owner: "s" }),
      ...call("c", "f", "{}", { owner: "s" }),
      callResult("c", "r:m2", "ok", "s"),
      stateSet("/a", 1, "s"),
      stateSnapshot({ b: 2 }, "s"),
      activity("r:a1", "plan", {}, { owner: "s" }),
      custom("acme.x", null, "s"),
      raw(1, { source: "p", owner: "s" }),
      ...step("look", [], "s"),
      custom("acme.untagged", 1),
      subEnd("s"),
    ],
    messages: [
      said("r:m1", "ab", by("s")),
      thought("r:r1", "hm", { encryptedValue: "e", ...by("s") }),
      calls("c", [toolCall("c", "f", "{}")], by("s")),
      answered("r:m2", "c", "ok", by("s")),
      shown("r:a1", "plan", {}, by("s")),
    ],
    state: { b: 2 },
  },
  {
    name: "subagent does not tag a messages snapshot",
    script: [{ subagent: { name: "s", do: [{ messagesSnapshot: [{ id: "x", role: "user", content: "q" }] }] } }],
    body: [subStart("r:s1", "s"), messagesSnapshot([{ id: "x", role: "user", content: "q" }]), subEnd("r:s1")],
    messages: [{ id: "x", role: "user", content: "q" }],
  },
  {
    name: "subagents nest, and the innermost one owns what is said",
    script: [
      {
        subagent: {
          name: "lead",
          do: [
            { text: "a" },
            { subagent: { name: "hand", do: [{ text: "b" }, { subagent: { name: "finger", id: "f", do: [{ text: "c" }] } }] } },
            { text: "d" },
          ],
        },
      },
      { text: "e" },
    ],
    body: [
      subStart("r:s1", "lead"),
      ...text("r:m1", "a", { owner: "r:s1" }),
      subStart("r:s2", "hand", { parent: "r:s1" }),
      ...text("r:m2", "b", { owner: "r:s2" }),
      subStart("f", "finger", { parent: "r:s2" }),
      ...text("r:m3", "c", { owner: "f" }),
      subEnd("f"),
      subEnd("r:s2"),
      ...text("r:m4", "d", { owner: "r:s1" }),
      subEnd("r:s1"),
      ...text("r:m5", "e"),
    ],
    messages: [
      said("r:m1", "a", by("r:s1")),
      said("r:m2", "b", by("r:s2")),
      said("r:m3", "c", by("f")),
      said("r:m4", "d", by("r:s1")),
      said("r:m5", "e"),
    ],
  },
  {
    name: "steps of one name belong to their owners",
    script: [{ step: { name: "look", do: [{ subagent: { name: "s", do: [{ step: { name: "look", do: [{ text: "x" }] } }] } }] } }],
    body: step("look", [
      subStart("r:s1", "s"),
      ...step("look", text("r:m1", "x", { owner: "r:s1" }), "r:s1"),
      subEnd("r:s1"),
    ]),
    messages: [said("r:m1", "x", by("r:s1"))],
  },
  {
    name: "a call made by a subagent counts as pending",
    script: [{ subagent: { name: "s", do: [{ toolCall: { name: "f" } }] } }],
    body: [subStart("r:s1", "s"), ...call("r:t1", "f", "{}", { owner: "r:s1" }), subEnd("r:s1")],
    end: pending("r:t1"),
    messages: [calls("r:t1", [toolCall("r:t1", "f", "{}")], by("r:s1"))],
  },
  {
    name: "an error inside ends everything, innermost first",
    script: [
      { step: { name: "plan", do: [{ subagent: { name: "scout", do: [{ text: "hm" }, { error: "lost", code: "nav" }, { text: "no" }] } }] } },
      { text: "never" },
    ],
    body: step("plan", [subStart("r:s1", "scout"), ...text("r:m1", "hm", { owner: "r:s1" }), subEnd("r:s1")]),
    end: runError("lost", "nav"),
    messages: [said("r:m1", "hm", by("r:s1"))],
  },
  {
    name: "a finish inside closes everything, innermost first",
    script: [{ subagent: { name: "a", do: [{ step: { name: "x", do: [{ subagent: { name: "b", do: [{ finish: { result: 1 } }] } }] } }] } }, { text: "never" }],
    body: [
      subStart("r:s1", "a"),
      ...step("x", [subStart("r:s2", "b", { parent: "r:s1" }), subEnd("r:s2")], "r:s1"),
      subEnd("r:s1"),
    ],
    end: finished({ result: 1 }),
  },
  {
    name: "a cancel inside closes everything",
    script: [{ step: { name: "x", do: [{ cancel: true }] } }, { text: "never" }],
    body: step("x"),
    end: cancelled(),
  },
  {
    name: "an interrupt inside closes everything",
    script: [{ step: { name: "x", do: [{ interrupt: [{ id: "i", reason: "input_required" }] }] } }],
    body: step("x"),
    end: finished({ outcome: { type: "interrupt", interrupts: [{ id: "i", reason: "input_required" }] } }),
  },
  {
    name: "a bad step inside closes everything",
    script: [{ step: { name: "x", do: [{ text: "a" }, { nope: 1 }] } }],
    body: step("x", text("r:m1", "a")),
    end: runError(/\d/, "bad_script"),
    messages: [said("r:m1", "a")],
  },
];
