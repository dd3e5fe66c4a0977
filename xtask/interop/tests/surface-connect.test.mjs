// Re-attaching to a thread, from outside: what a consumer that holds nothing is sent, what one that holds some of the
// conversation is sent, with and without a run in progress, and what a peer from before 1.0 is sent of the same thread.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keep } from "../lib/capture.mjs";
import { noStrayNulls } from "../lib/check.mjs";
import { text } from "../lib/events.mjs";
import { KEEPALIVE_MS } from "../lib/settings.mjs";
import {
  asking, carriesInput, following, fresh, hasDelta, holding, merged, older, stopped, surfaces, typesOf, withoutInputs,
} from "../lib/surface.mjs";
import { arriving, canary, KEEPALIVE, readRun } from "../lib/wire.mjs";

await canary();

const is = (type) => (event) => event.type === type;
const user = (id, content) => ({ id, role: "user", content });
const said = (id, content) => ({ id, role: "assistant", content });
const parts = [
  { type: "text", text: "It is " },
  { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
  { type: "text", text: "noon" },
];
// One that nobody answers keeps a run in progress until it is stopped.
const LONG = { sleepMs: 60000 };

for (const at of surfaces) {
  const kept = `surface${at.prefix.replace("/", "-")}`;
  const read = async (input, options) => {
    const { events } = await readRun(await at.connect(input, options));
    for (const event of events) noStrayNulls(event);
    return events;
  };
  const ran = async (input) => (await readRun(await at.run(input))).events;
  /** Starts a run and reads it up to an event; it goes on until it is stopped. */
  const begun = async (input, last) => {
    const running = following(await at.run(input));
    await running.until(last);
    return running;
  };
  const stop = async ({ threadId, runId }) => stopped(await at.stop(threadId), runId);

  describe(`connecting at ${at.name} to nothing`, () => {
    for (const [what, input] of [["holding nothing", holding(fresh("thread"))], ["holding messages", holding(fresh("thread"), [user("u", "q")])], ["from before 1.0", older(holding(fresh("thread")))]]) {
      test(`is a stream without an event, ${what}`, async () => {
        const response = await at.connect(input);
        assert.equal(response.status, 200);
        assert.match(response.headers.get("content-type"), /^text\/event-stream/);
        assert.equal(await response.text(), "");
      });
    }
    test("makes no thread of it", async () => {
      const threadId = fresh("thread");
      for (let i = 0; i < 3; i += 1) assert.deepEqual(await read(holding(threadId)), []);
      await ran(asking(threadId, [{ text: "a" }]));
      assert.equal((await read(holding(threadId))).length, 5);
    });
  });

  describe(`a consumer that holds nothing at ${at.name}`, () => {
    test("is sent each run that has ended, as it was, with the input that has the user's turns", async () => {
      const threadId = fresh("thread");
      const [u1, u2, m1, m2, c1, r1, w] = ["u", "u", "m", "m", "c", "r", "w"].map(fresh);
      const first = asking(
        threadId,
        [
          { reasoning: ["h", "m"], id: w, encrypted: "sealed" },
          { deltas: ["Hel", "lo"], id: m1 },
          { toolCall: { name: "f", id: c1, argsDeltas: ['{"a"', ":1}"] } },
          { event: { type: "TOOL_CALL_RESULT", messageId: r1, toolCallId: c1, role: "tool", content: parts } },
          { custom: { name: "app.note", value: { n: null } } },
          { step: { name: "s", do: [{ activity: { type: "plan", id: fresh("a"), content: { n: 1 } } }] } },
          { raw: { any: "thing" } },
          { finish: { result: { ok: true }, usage: [{ provider: "p", model: "m", inputTokens: 1, outputTokens: 2 }] } },
        ],
        { messages: [user(u1, "q1")], tools: [{ name: "f", description: "F." }], context: [{ description: "d", value: "v" }] },
      );
      const firstEvents = await ran(first);
      const second = asking(threadId, [{ text: "bye", id: m2 }], {
        messages: [
          user(u1, "q1"),
          { id: w, role: "reasoning", content: "hm", encryptedValue: "sealed" },
          said(m1, "Hello"),
          { id: c1, role: "assistant", toolCalls: [{ id: c1, type: "function", function: { name: "f", arguments: '{"a":1}' } }] },
          { id: r1, role: "tool", toolCallId: c1, content: parts },
          user(u2, "q2"),
        ],
      });
      const secondEvents = await ran(second);

      const events = await read(holding(threadId));
      keep(`${kept}-connect-empty`, events);
      assert.deepEqual(merged(withoutInputs(events)), merged(withoutInputs([...firstEvents, ...secondEvents])));
      const [one, two] = events.filter(is("RUN_STARTED"));
      carriesInput(one, first.messages);
      assert.deepEqual([one.input.tools, one.input.context], [first.tools, first.context]);
      // At least the messages that are not in the thread already.
      assert.deepEqual(two.input.messages.at(-1), user(u2, "q2"));
      carriesInput(two, two.input.messages);
    });

    test("is sent endings of every kind", async () => {
      const threadId = fresh("thread");
      const scripts = [
        [{ text: "a", id: fresh("m") }, { error: "quota", code: "c" }],
        [{ interrupt: [{ id: fresh("i"), reason: "confirmation", message: "Sure?" }] }],
        [{ toolCall: { name: "paint", id: fresh("c") } }],
        [{ cancel: true }],
        [{ panic: "secret-text" }],
      ];
      const lived = [];
      for (const script of scripts) lived.push(...(await ran(asking(threadId, script))));
      const events = await read(holding(threadId));
      keep(`${kept}-connect-endings`, events);
      const endings = (all) => all.filter(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
      assert.deepEqual(endings(events), endings(lived));
      assert.deepEqual(endings(events).map(({ code, outcome }) => code ?? outcome.type), ["c", "interrupt", "success", "cancelled", "internal_error"]);
      assert.ok(!JSON.stringify(events).includes("secret-text"));
    });

    test("is sent the run in progress, what it has emitted and the rest live", { timeout: 20000 }, async () => {
      const threadId = fresh("thread");
      const [u, m1, m2] = ["u", "m", "m"].map(fresh);
      await ran(asking(threadId, [{ text: "before", id: m1 }], { messages: [user(u, "q")] }));
      const words = Array.from({ length: 40 }, (_, n) => `w${n} `);
      const input = asking(threadId, [{ deltas: words, gapMs: 25, id: m2 }], { messages: [user(u, "q"), said(m1, "before")] });
      const running = await begun(input, hasDelta("w5 "));
      const watching = following(await at.connect(holding(threadId)));
      await watching.until(hasDelta("w5 "));
      assert.ok(running.events.length < words.length, "the run is still in progress");
      await Promise.all([running.rest(), watching.rest()]);
      keep(`${kept}-connect-live`, watching.events);
      const [past, live] = [watching.events.slice(0, 5), watching.events.slice(5)];
      assert.deepEqual(typesOf(past), ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
      carriesInput(past[0], [user(u, "q")]);
      // The run in progress is exact.
      assert.deepEqual(withoutInputs(live), withoutInputs(running.events));
      assert.ok(live[0].input.messages.length <= 2);
    });

    test("is told of a turn that does not continue the thread", async () => {
      const threadId = fresh("thread");
      const [u1, u2, m1, m2] = ["u", "u", "m", "m"].map(fresh);
      await ran(asking(threadId, [{ text: "one", id: m1 }], { messages: [user(u1, "q1")] }));
      // The user edits the first question: what was answered is gone.
      await ran(asking(threadId, [{ text: "two", id: m2 }], { messages: [user(u2, "q1, better")] }));
      const events = await read(holding(threadId));
      keep(`${kept}-connect-edited`, events);
      const second = events.findLastIndex(is("RUN_STARTED"));
      const snapshots = events.slice(second).filter(is("MESSAGES_SNAPSHOT"));
      assert.deepEqual(snapshots.at(-1).messages, [user(u2, "q1, better")]);
      assert.equal(events[second + 1].type, "MESSAGES_SNAPSHOT", "right after RUN_STARTED");
      assert.deepEqual(typesOf(events).slice(-4), ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
    });

    test("hears a keep-alive while the run says nothing", { timeout: KEEPALIVE_MS * 4 + 10000 }, async () => {
      const input = asking(fresh("thread"), [LONG]);
      await begun(input, is("RUN_STARTED"));
      for await (const { frame } of arriving(await at.connect(holding(input.threadId)))) if (frame === KEEPALIVE) break;
      await stop(input);
    });

    test("may leave, and disturbs nobody", { timeout: 20000 }, async () => {
      const id = fresh("m");
      const words = Array.from({ length: 40 }, (_, n) => `w${n} `);
      const input = asking(fresh("thread"), [{ deltas: words, gapMs: 25, id }]);
      const running = await begun(input, hasDelta("w2 "));
      const abort = new AbortController();
      const leaving = following(await at.connect(holding(input.threadId), { signal: abort.signal }));
      const staying = following(await at.connect(holding(input.threadId)));
      await leaving.until(hasDelta("w4 "));
      abort.abort();
      await Promise.all([running.rest(), staying.rest()]);
      for (const stream of [running, staying]) assert.deepEqual(withoutInputs(stream.events).slice(1, -1), text(id, words));
    });

    test("may send what earlier servers asked for", async () => {
      const input = asking(fresh("thread"), [{ text: "a", id: fresh("m") }]);
      await ran(input);
      for (const lastSeenEventId of ["7", 7, null, {}]) assert.equal((await read({ ...holding(input.threadId), lastSeenEventId })).length, 5);
    });
  });

  describe(`a consumer that holds messages at ${at.name}`, () => {
    const held = [user("anything", "at all")];

    test("is sent the last run with snapshots when none is in progress", async () => {
      const threadId = fresh("thread");
      const [u1, u2, m1, m2] = ["u", "u", "m", "m"].map(fresh);
      await ran(asking(threadId, [{ text: "one", id: m1 }, { state: { set: ["/n", 1] } }], { messages: [user(u1, "q1")] }));
      const last = asking(threadId, [{ text: "two", id: m2 }, { finish: { result: 7 } }], { messages: [user(u1, "q1"), said(m1, "one"), user(u2, "q2")], state: { n: 1 } });
      await ran(last);
      const events = await read(holding(threadId, held));
      keep(`${kept}-connect-holding`, events);
      assert.deepEqual(withoutInputs(events), [
        { type: "RUN_STARTED", threadId, runId: last.runId, protocolVersion: "1.0" },
        { type: "MESSAGES_SNAPSHOT", messages: [user(u1, "q1"), said(m1, "one"), user(u2, "q2"), said(m2, "two")] },
        { type: "STATE_SNAPSHOT", snapshot: { n: 1 } },
        { type: "RUN_FINISHED", threadId, runId: last.runId, result: 7 },
      ]);
    });

    test("is sent no state where there is none", async () => {
      const input = asking(fresh("thread"), [{ text: "one", id: fresh("m") }]);
      await ran(input);
      assert.deepEqual(typesOf(await read(holding(input.threadId, held))), ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]);
    });

    test("is sent the ending that the last run had", async () => {
      for (const [script, type] of [[[{ error: "quota", code: "c" }], "RUN_ERROR"], [[{ cancel: true }], "RUN_FINISHED"], [[{ interrupt: [{ id: "i", reason: "x" }] }], "RUN_FINISHED"]]) {
        const input = asking(fresh("thread"), script);
        const lived = await ran(input);
        const events = await read(holding(input.threadId, held));
        assert.deepEqual(events.at(-1), lived.at(-1));
        assert.equal(events.at(-1).type, type);
      }
    });

    test("is sent the run in progress with its partial text, what is open, and the rest live", { timeout: 20000 }, async () => {
      const threadId = fresh("thread");
      const [u, m0, m1, c1, done, s1, s2] = ["u", "m", "m", "c", "m", "s", "s"].map(fresh);
      await ran(asking(threadId, [{ text: "before", id: m0 }], { messages: [user(u, "q")] }));
      const input = asking(
        threadId,
        [
          { state: { set: ["/k", 2] } },
          { text: "complete", id: done },
          { subagent: { name: "over", id: s1, result: 1 } },
          { event: { type: "TEXT_MESSAGE_START", messageId: m1, role: "assistant" } },
          { event: { type: "TEXT_MESSAGE_CONTENT", messageId: m1, delta: "Hel" } },
          { event: { type: "TOOL_CALL_START", toolCallId: c1, toolCallName: "f" } },
          { event: { type: "TOOL_CALL_ARGS", toolCallId: c1, delta: '{"a"' } },
          { step: { name: "s", do: [{ subagent: { name: "at work", id: s2, do: [
            { sleepMs: 1500 },
            { event: { type: "TEXT_MESSAGE_CONTENT", messageId: m1, delta: "lo" } },
            { event: { type: "TOOL_CALL_ARGS", toolCallId: c1, delta: ":1}" } },
          ] } }] } },
        ],
        { messages: [user(u, "q"), said(m0, "before")] },
      );
      const running = await begun(input, (event) => event.type === "SUBAGENT_STARTED" && event.subagentRunId === s2);
      const watching = following(await at.connect(holding(threadId, held)));
      await watching.until(is("STEP_STARTED"));
      const opening = [...watching.events];
      const live = await running.rest();
      assert.deepEqual(await watching.rest(), live);
      keep(`${kept}-connect-attached`, watching.events);

      const [started, messages, state, ...rest] = withoutInputs(opening);
      assert.deepEqual(started, { type: "RUN_STARTED", threadId, runId: input.runId, protocolVersion: "1.0" });
      assert.deepEqual(messages, {
        type: "MESSAGES_SNAPSHOT",
        messages: [
          user(u, "q"), said(m0, "before"), said(done, "complete"), said(m1, "Hel"),
          { id: c1, role: "assistant", toolCalls: [{ id: c1, type: "function", function: { name: "f", arguments: '{"a"' } }] },
        ],
      });
      assert.deepEqual(state, { type: "STATE_SNAPSHOT", snapshot: { k: 2 } });
      assert.deepEqual(rest, [
        { type: "SUBAGENT_STARTED", subagentRunId: s1, name: "over" },
        { type: "SUBAGENT_FINISHED", subagentRunId: s1, result: 1 },
        { type: "SUBAGENT_STARTED", subagentRunId: s2, name: "at work" },
        { type: "TEXT_MESSAGE_START", messageId: m1, role: "assistant" },
        { type: "TOOL_CALL_START", toolCallId: c1, toolCallName: "f" },
        { type: "STEP_STARTED", stepName: "s" },
      ]);
    });

    test("is sent chunks in their expanded form", { timeout: 20000 }, async () => {
      const m = fresh("m");
      const input = asking(fresh("thread"), [
        { event: { type: "TEXT_MESSAGE_CHUNK", messageId: m, delta: "Hel" } },
        { sleepMs: 1000 },
        { event: { type: "TEXT_MESSAGE_CHUNK", delta: "lo" } },
        { state: { set: ["/n", 1] } },
      ]);
      const running = await begun(input, ({ delta }) => delta === "Hel");
      const watching = following(await at.connect(holding(input.threadId, held)));
      await watching.rest();
      await running.rest();
      const chunkless = watching.events.slice(watching.events.findIndex(is("TEXT_MESSAGE_START")));
      assert.deepEqual(chunkless, [
        { type: "TEXT_MESSAGE_START", messageId: m, role: "assistant" },
        { type: "TEXT_MESSAGE_CONTENT", messageId: m, delta: "lo" },
        { type: "TEXT_MESSAGE_END", messageId: m },
        { type: "STATE_DELTA", delta: [{ op: "add", path: "/n", value: 1 }] },
        { type: "RUN_FINISHED", threadId: input.threadId, runId: input.runId },
      ]);
      const snapshot = watching.events.find(is("MESSAGES_SNAPSHOT"));
      assert.deepEqual(snapshot.messages, [said(m, "Hel")]);
    });
  });

  describe(`readers of two generations at ${at.name}`, () => {
    const file = { type: "document", source: { type: "file", value: "f-1" } };
    const thread = async () => {
      const threadId = fresh("thread");
      const [u, c, r, m] = ["u", "c", "r", "m"].map(fresh);
      const asked = { id: u, role: "user", content: [{ type: "text", text: "look" }, file] };
      const call = { id: c, role: "assistant", toolCalls: [{ id: c, type: "function", function: { name: "look", arguments: "{}" } }] };
      await ran(asking(threadId, [{ toolCall: { name: "look", id: c } }, { event: { type: "TOOL_CALL_RESULT", messageId: r, toolCallId: c, role: "tool", content: parts } }, { cancel: true }], { messages: [asked] }));
      await ran(asking(threadId, [{ toolCall: { name: "paint", id: fresh("c") } }, { text: "after", id: m }], { messages: [asked, call, { id: r, role: "tool", toolCallId: c, content: parts }] }));
      return { threadId, u, r, asked };
    };

    test("a reader of 1.0 is sent the original", async () => {
      const { threadId, asked } = await thread();
      const events = await read(holding(threadId));
      assert.deepEqual(events.find(is("TOOL_CALL_RESULT")).content, parts);
      assert.deepEqual(events.filter(is("RUN_FINISHED")).map(({ outcome }) => outcome.type), ["cancelled", "success"]);
      assert.equal(events.at(-1).outcome.pendingToolCallIds.length, 1);
      assert.deepEqual(events[0].input.messages, [asked]);
    });

    test("an older one is sent what it can read, of the same thread", async () => {
      const { threadId, u } = await thread();
      const events = await read(older(holding(threadId)));
      keep(`${kept}-connect-older`, events);
      assert.equal(events.find(is("TOOL_CALL_RESULT")).content, "It is noon");
      assert.deepEqual(events.filter(is("RUN_FINISHED")).map(({ outcome }) => outcome), [undefined, { type: "success" }]);
      for (const { input } of events.filter(is("RUN_STARTED"))) {
        assert.ok(Array.isArray(input.tools) && Array.isArray(input.context));
        for (const { role, content } of input.messages) if (role === "tool") assert.equal(content, "It is noon");
      }
      assert.deepEqual(events[0].input.messages, [{ id: u, role: "user", content: [{ type: "text", text: "look" }] }]);
      assert.equal(events.find(({ delta }) => delta === "after")?.type, "TEXT_MESSAGE_CONTENT");
    });

    test("an older one that holds messages is sent a snapshot it can read", async () => {
      const { threadId, u, r } = await thread();
      const events = await read(older(holding(threadId, [user("u", "q")])));
      keep(`${kept}-connect-older-holding`, events);
      const { messages } = events.find(is("MESSAGES_SNAPSHOT"));
      assert.deepEqual(messages.find(({ id }) => id === u).content, [{ type: "text", text: "look" }]);
      assert.equal(messages.find(({ id }) => id === r).content, "It is noon");
      assert.deepEqual(events.at(-1).outcome, { type: "success" });
    });

    test("both watch one run at once, each in its own form", { timeout: 20000 }, async () => {
      const input = asking(fresh("thread"), [{ text: "a", id: fresh("m") }, { sleepMs: 1000 }, { toolCall: { name: "look", id: fresh("c"), result: parts } }, { cancel: true }]);
      const running = await begun(older(input), is("TEXT_MESSAGE_END"));
      const readers = await Promise.all([holding(input.threadId), older(holding(input.threadId))].map(async (consumer) => following(await at.connect(consumer))));
      await Promise.all([running, ...readers].map((stream) => stream.rest()));
      const [now, then] = readers.map(({ events }) => [events.find(is("TOOL_CALL_RESULT")).content, events.at(-1).outcome]);
      assert.deepEqual(now, [parts, { type: "cancelled" }]);
      assert.deepEqual(then, ["It is noon", undefined]);
      assert.equal(running.events.find(is("TOOL_CALL_RESULT")).content, "It is noon");
    });
  });
}
