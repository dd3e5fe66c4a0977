// Connections: who leaves, who stays, who comes at the same time, and what the server counts of it.

import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { describe, test } from "node:test";
import { text } from "../lib/events.mjs";
import { BASE } from "../lib/settings.mjs";
import {
  arriving, bareRequest, canary, chunked, eventOf, eventsOf, eventually, framesOf, freshLabel, KEEPALIVE, post,
  readRun, runOf, scriptOf, SSE, statsOf,
} from "../lib/wire.mjs";

await canary();

const none = { active: 0, completed: 0, cancelled: 0, failed: 0 };

describe("the counts", () => {
  const endings = [
    ["finishes by itself", [{ text: "a" }], "completed"],
    ["finishes with an interrupt", [{ interrupt: [{ id: "i", reason: "x" }] }], "completed"],
    ["is cancelled", [{ cancel: true }], "cancelled"],
    ["fails", [{ error: "e" }], "failed"],
    ["panics", [{ panic: "p" }], "failed"],
    ["has a bad script", [{ nope: 1 }], "failed"],
    ["breaks the protocol", [{ event: { type: "TEXT_MESSAGE_END", messageId: "ghost" } }], "failed"],
  ];
  for (const [what, script, ending] of endings) {
    test(`a run that ${what} counts as ${ending}`, async () => {
      const label = freshLabel();
      await eventsOf([{ track: label }, ...script]);
      const counts = await eventually(label, ({ active }) => active === 0);
      assert.deepEqual(counts, { label, ...none, [ending]: 1 });
    });
  }
  test("a label nobody used has none", async () => {
    const label = freshLabel();
    assert.deepEqual(await statsOf(label), { label, ...none });
  });
  test("the process lives on after a panic", async () => {
    await eventsOf([{ panic: "p" }]);
    assert.deepEqual((await eventsOf([{ text: "a" }])).slice(1, -1), text("r:m1", "a"));
  });
});

describe("a client that goes away", () => {
  const leave = async (script, until) => {
    const label = freshLabel();
    const abort = new AbortController();
    const response = await post(scriptOf([{ track: label }, ...script]), { signal: abort.signal });
    for await (const { frame } of arriving(response)) {
      if (frame === KEEPALIVE || !until(eventOf(frame))) continue;
      await eventually(label, ({ active }) => active === 1);
      break;
    }
    abort.abort();
    const counts = await eventually(label, ({ active }) => active === 0);
    assert.deepEqual(counts, { label, ...none, cancelled: 1 });
  };
  const started = ({ type }) => type === "RUN_STARTED";

  test("cancels a run that emits nothing", () => leave([{ sleepMs: 30000 }], started));
  test("cancels a run between two deltas", () =>
    leave([{ deltas: Array.from({ length: 2000 }, () => "x"), gapMs: 50 }], ({ type }) => type === "TEXT_MESSAGE_CONTENT"));
  test("cancels a run that floods", () => leave([{ flood: { count: 5000000, bytes: 1024 } }], ({ type }) => type === "TEXT_MESSAGE_CONTENT"));
  test("cancels a run deep inside steps and subagents", () =>
    leave([{ step: { name: "a", do: [{ subagent: { name: "b", do: [{ sleepMs: 30000 }] } }] } }], ({ type }) => type === "SUBAGENT_STARTED"));
});

describe("a request that never becomes one", () => {
  test("starts nothing when its sender vanishes within the body", async () => {
    const label = freshLabel();
    const body = JSON.stringify(scriptOf([{ track: label }, { text: "a" }]));
    const { hostname, port } = new URL(BASE);
    const socket = net.connect(Number(port), hostname);
    socket.on("error", () => {});
    const head = `POST /agui HTTP/1.1\r\nhost: x\r\nx-agent-id: script\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    await new Promise((resolve) => socket.write(head + body.slice(0, -5), resolve));
    socket.destroy();
    // A whole run after it is proof enough that the server has moved on.
    await eventsOf([{ text: "next" }]);
    assert.deepEqual(await statsOf(label), { label, ...none });
  });

  test("is a run when its body arrives slowly", async () => {
    const bytes = new TextEncoder().encode(JSON.stringify(scriptOf([{ text: "slow" }])));
    const { events } = await readRun(await post(chunked(bytes, 7)));
    assert.deepEqual(events.slice(1, -1), text("r:m1", "slow"));
  });
});

describe("many clients", () => {
  test("fifty runs at once do not mix", { timeout: 60000 }, async () => {
    const runs = Array.from({ length: 50 }, async (_, i) => {
      const words = Array.from({ length: 10 }, (_, n) => `${i}.${n} `);
      const script = [{ deltas: words, gapMs: 10 }, { toolCall: { name: `tool${i}`, args: { i } } }, { state: { set: ["/i", i] } }, { inputEcho: true }];
      const input = { ...scriptOf(script), threadId: `t${i}`, runId: `r${i}`, tools: [{ name: `tool${i}`, description: "" }] };
      const { events } = await runOf(input);
      assert.deepEqual(events[0], { type: "RUN_STARTED", threadId: `t${i}`, runId: `r${i}`, protocolVersion: "1.0" });
      assert.deepEqual(events.slice(1, 13), text(`r${i}:m1`, words));
      assert.deepEqual(events.slice(13, 16).map(({ toolCallId }) => toolCallId), Array(3).fill(`r${i}:t1`));
      assert.equal(events[14].delta, `{"i":${i}}`);
      assert.deepEqual(events[17].value.input, input);
      assert.deepEqual(events[18].outcome, { type: "success", pendingToolCallIds: [`r${i}:t1`] });
      assert.equal(events.length, 19);
    });
    await Promise.all(runs);
  });

  test("two runs of one thread at once are both served", async () => {
    const script = [{ deltas: ["a", "b", "c"], gapMs: 20 }];
    const both = await Promise.all([eventsOf(script), eventsOf(script)]);
    for (const events of both) assert.deepEqual(events.slice(1, -1), text("r:m1", ["a", "b", "c"]));
  });

  test("a reader that stalls delays nobody else", { timeout: 20000 }, async () => {
    const abort = new AbortController();
    const stalled = await post(scriptOf([{ flood: { count: 5000000, bytes: 1024 } }]), { signal: abort.signal });
    assert.equal(stalled.status, 200);
    assert.deepEqual((await eventsOf([{ text: "a" }])).slice(1, -1), text("r:m1", "a"));
    abort.abort();
  });

  test("runs follow each other on one connection", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set();
    for (const word of ["a", "b", "c"]) {
      const { socket, body } = await bareRequest({
        agent,
        headers: { "content-type": "application/json", accept: SSE, "x-agent-id": "script" },
        body: JSON.stringify(scriptOf([{ text: word }])),
      });
      sockets.add(socket);
      assert.deepEqual(framesOf(body).map(eventOf).slice(1, -1), text("r:m1", word));
    }
    agent.destroy();
    assert.equal(sockets.size, 1, "the connection was used again");
  });

  test("a run follows a refusal on one connection", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { "content-type": "application/json", accept: SSE, "x-agent-id": "script" };
    const refusal = await bareRequest({ agent, headers, body: "{" });
    assert.equal(refusal.status, 400);
    const { body } = await bareRequest({ agent, headers, body: JSON.stringify(scriptOf([{ text: "a" }])) });
    assert.deepEqual(framesOf(body).map(eventOf).slice(1, -1), text("r:m1", "a"));
    agent.destroy();
  });
});
