// The bytes of every stream of the step table, for a reader of 1.0 and for one that declares no version. What is well
// formed is kept as NDJSON, so that the schema and the models of another SDK can judge each frame.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cases, instance, slug } from "../cases/index.mjs";
import { keep } from "../lib/capture.mjs";
import { forOlderReader, matchesEvents, noStrayNulls } from "../lib/check.mjs";
import { started } from "../lib/events.mjs";
import { KEEPALIVE_MS } from "../lib/settings.mjs";
import {
  arriving, bareRequest, canary, eventOf, eventsOf, framesOf, inputOf, KEEPALIVE, post, readRun, runOf, scriptOf, SSE,
} from "../lib/wire.mjs";

await canary();

const bothReaders = [
  { reader: "a reader of 1.0", members: { protocolVersion: "1.0" }, suffix: "", sees: (event) => event },
  { reader: "an older reader", members: {}, suffix: ".older", sees: forOlderReader },
];

for (const { reader, members, suffix, sees } of bothReaders) {
  describe(`the frames of the step table, for ${reader}`, () => {
    for (const row of cases) {
      test(row.name, { timeout: 30000 }, async () => {
        const expected = instance(row);
        const { protocolVersion: _, ...bare } = inputOf(expected.input);
        const input = { ...bare, ...members };
        const { body, events } = await runOf(input, { agent: expected.agent });
        matchesEvents(events, expected.wire.map((choice) => choice.map(sees)), input);
        for (const event of events) noStrayNulls(event);
        if (expected.secret !== undefined) assert.ok(!body.includes(expected.secret), "the secret is in the stream");
        if (expected.wellFormed) keep(`${slug(row.name)}${suffix}`, events);
      });
    }
  });
}

describe("the head of a stream", () => {
  test("names the media type and forbids caching, buffering, compression and a length", async () => {
    const response = await post(scriptOf([{ text: "a" }]), { headers: { "accept-encoding": "gzip, br, deflate" } });
    const { headers } = response;
    assert.match(headers.get("content-type"), /^text\/event-stream(; ?charset=utf-8)?$/i);
    assert.match(headers.get("cache-control"), /^no-cache(, no-transform)?$/);
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.equal(headers.get("content-length"), null);
    assert.equal(headers.get("content-encoding"), null);
    await readRun(response);
  });

  for (const accept of [SSE, "text/html", "application/json", "application/vnd.ag-ui.event+proto;q=0, text/event-stream", "garbage"]) {
    test(`is an event stream to Accept: ${accept}`, async () => {
      const response = await post(scriptOf([{ text: "a" }]), { headers: { accept } });
      assert.match(response.headers.get("content-type"), /^text\/event-stream/);
      assert.equal((await readRun(response)).events.length, 5);
    });
  }

  test("is an event stream to no Accept at all", async () => {
    const headers = { "content-type": "application/json", "x-agent-id": "script" };
    const { status, headers: head, body } = await bareRequest({ headers, body: JSON.stringify(scriptOf([{ text: "a" }])) });
    assert.equal(status, 200);
    assert.match(head["content-type"], /^text\/event-stream/);
    assert.equal(framesOf(body).map(eventOf).length, 5);
  });

  test("serves the agent echo when no agent is named", async () => {
    const headers = { "content-type": "application/json", accept: SSE };
    const input = inputOf({ messages: [{ id: "u", role: "user", content: "hi you" }] });
    const { body } = await bareRequest({ headers, body: JSON.stringify(input) });
    assert.deepEqual(framesOf(body).map(eventOf).filter(({ delta }) => delta).map(({ delta }) => delta), ["hi ", "you"]);
  });

  test("and the first event arrive before the agent has said anything", { timeout: 10000 }, async () => {
    const abort = new AbortController();
    const response = await post(scriptOf([{ sleepMs: 30000 }]), { signal: abort.signal });
    for await (const { frame } of arriving(response)) {
      if (frame === KEEPALIVE) continue;
      assert.deepEqual(eventOf(frame).type, "RUN_STARTED");
      break;
    }
    abort.abort();
  });
});

describe("identity", () => {
  const odd = ["thr/ä", "turn:0007", "", "lc_run--1234", "u#1?%20 ", "C56A4180-65AA-42EC-A945-5FD21DEC0538", "日本 🦀", "\"\\\n"];
  for (const id of odd) {
    test(`the ids of the input come back as they are: ${JSON.stringify(id)}`, async () => {
      const { events } = await runOf({ ...scriptOf([{ text: "a" }]), threadId: id, runId: id });
      for (const event of [events[0], events.at(-1)]) {
        assert.deepEqual({ threadId: event.threadId, runId: event.runId }, { threadId: id, runId: id });
      }
      assert.equal(events[1].messageId, `${id}:m1`);
    });
  }

  test("a parent run may be named", async () => {
    const { events } = await runOf(scriptOf([{ inputEcho: true }], { parentRunId: "p" }));
    assert.equal(events[1].value.input.parentRunId, "p");
  });

  for (const protocolVersion of ["1.0", "1.7", "2.0", "0.9", "tomorrow"]) {
    test(`a peer that declares ${protocolVersion} is served, and told our own version`, async () => {
      const { events } = await runOf(scriptOf([{ text: "a" }], { protocolVersion }));
      assert.deepEqual(events[0], started());
      assert.equal(events.at(-1).type, "RUN_FINISHED");
    });
  }
});

describe("time", () => {
  const gapMs = 150;

  test("an event is readable before the next one is made", { timeout: 20000 }, async () => {
    const response = await post(scriptOf([{ deltas: ["a", "b", "c", "d"], gapMs }]), { headers: { "accept-encoding": "gzip" } });
    const times = [];
    for await (const { frame, ms } of arriving(response)) {
      if (frame !== KEEPALIVE && eventOf(frame).delta !== undefined) times.push(ms);
    }
    assert.equal(times.length, 4);
    // Held back together they would arrive within moments of each other.
    for (let i = 1; i < times.length; i += 1) {
      assert.ok(times[i] - times[i - 1] > gapMs / 3, `deltas arrived at ${times.map(Math.round)} ms`);
    }
  });

  test("the body ends with the terminal event", { timeout: 10000 }, async () => {
    const response = await post(scriptOf([{ text: "a" }]));
    let last = 0;
    const from = performance.now();
    for await (const { frame } of arriving(response)) if (frame !== KEEPALIVE) last = performance.now() - from;
    assert.ok(performance.now() - from - last < 1000, "the body stayed open after the end of the run");
  });

  test("silence is broken by keep-alive comments", { timeout: KEEPALIVE_MS * 3.5 + 20000 }, async () => {
    const { events, keepAlives } = await runOf(scriptOf([{ text: "a" }, { sleepMs: Math.ceil(KEEPALIVE_MS * 2.5) }, { text: "b" }]));
    assert.equal(events.length, 8);
    assert.ok(keepAlives >= 1 && keepAlives <= 3, `${keepAlives} comments in two and a half intervals`);
  });

  test("no comment is written while events flow", { timeout: KEEPALIVE_MS * 3 + 20000 }, async () => {
    const step = Math.ceil(KEEPALIVE_MS / 5);
    const { keepAlives } = await runOf(scriptOf([{ deltas: Array.from({ length: 11 }, () => "x"), gapMs: step }]));
    assert.equal(keepAlives, 0);
  });

  test("timing does not reorder a run", async () => {
    const events = await eventsOf([{ deltas: ["a", "b"], gapMs: 5 }, { sleepMs: 5 }, { deltas: ["c", "d"], gapMs: 5 }]);
    assert.equal(events.filter(({ delta }) => delta).map(({ delta }) => delta).join(""), "abcd");
  });
});
