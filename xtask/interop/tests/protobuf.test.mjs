// The binary wire, against @ag-ui/proto and @ag-ui/client 1.0.0: who is answered in it, every stream of the step table
// as over the event stream, and silence.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { cases, instance } from "../cases/index.mjs";
import { forOlderReader, matchesEvents, noStrayNulls } from "../lib/check.mjs";
import { agentFor, listenToConsole, run } from "../lib/client.mjs";
import { overProto, payloadsOf, PROTO, protoRunOf, readProtoRun } from "../lib/proto.mjs";
import { KEEPALIVE_MS, TOKEN } from "../lib/settings.mjs";
import { stepTable } from "../lib/suite.mjs";
import { bareRequest, canary, framesOf, inputOf, post, refused, runOf, scriptOf, SSE } from "../lib/wire.mjs";

await canary();

const bothReaders = [
  { reader: "a reader of 1.0", members: { protocolVersion: "1.0" }, sees: (event) => event },
  { reader: "an older reader", members: {}, sees: forOlderReader },
];

for (const { reader, members, sees } of bothReaders) {
  describe(`the step table as binary frames, for ${reader}`, () => {
    for (const row of cases) {
      test(row.name, { timeout: 30000 }, async () => {
        const expected = instance(row);
        const { protocolVersion: _, ...bare } = inputOf(expected.input);
        const input = { ...bare, ...members };
        const { body, events } = await protoRunOf(input, { agent: expected.agent });
        matchesEvents(events, expected.wire.map((choice) => choice.map(sees).map(overProto)), input);
        for (const event of events) noStrayNulls(event);
        if (expected.secret !== undefined) {
          assert.ok(!Buffer.from(body).includes(expected.secret), "the secret is in the stream");
        }
      });
    }
  });
}

stepTable(HttpAgent, "1.0.0", { accept: PROTO, sees: overProto });

describe("the same run over both wires", () => {
  // What differs from run to run apart from the wire.
  const settled = (value, nonce) => JSON.parse(JSON.stringify(value).replaceAll(nonce, "nonce"));
  const nonceOf = (one) => JSON.stringify(one).match(/n\d+-[a-z0-9]+-\d+/)?.[0] ?? "no nonce";

  for (const row of cases) {
    test(row.name, { timeout: 30000 }, async () => {
      const [text, binary] = await Promise.all([
        [instance(row), runOf],
        [instance(row), protoRunOf],
      ].map(async ([one, over]) => {
        const { events } = await over(inputOf(one.input), { agent: one.agent });
        return settled(events, nonceOf(one));
      }));
      // Where the table leaves a choice, each run may have made its own.
      if (row.wire.length > 1 && text.length !== binary.length) return;
      assert.deepEqual(binary, text.map(overProto));
    });
  }
});

describe("who is answered in the binary wire", () => {
  const script = scriptOf([{ text: "a" }]);
  const types = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"];

  for (const accept of [
    PROTO,
    PROTO.toUpperCase(),
    `${PROTO};q=0.001`,
    `${SSE}, ${PROTO};q=0.1`,
    `${PROTO}, ${SSE}`,
    "*/*",
    "application/*",
    `application/*;q=0, ${PROTO}`,
    `text/html, garbage, ${PROTO};q=0.5`,
    `${PROTO};q=0, ${PROTO};q=0.2`,
  ]) {
    test(`Accept: ${accept}`, async () => {
      const response = await post(script, { headers: { accept } });
      assert.equal(response.headers.get("vary")?.toLowerCase().split(/, */).includes("accept"), true, "Vary names Accept");
      assert.deepEqual((await readProtoRun(response)).events.map(({ type }) => type), types);
    });
  }

  for (const accept of [
    SSE,
    "text/*",
    "text/html",
    "application/json",
    `${PROTO};q=0, ${SSE}`,
    `*/*, ${PROTO};q=0`,
    `application/*, ${PROTO};q=0`,
    `${PROTO};q=abc`,
    `${PROTO};q=`,
    `${PROTO};q=-1`,
    `${PROTO}; v=1`,
    "garbage",
    "",
  ]) {
    test(`an event stream for Accept: ${JSON.stringify(accept)}`, async () => {
      const response = await post(script, { headers: { accept } });
      assert.match(response.headers.get("content-type"), /^text\/event-stream/);
      assert.equal(response.headers.get("vary")?.toLowerCase().split(/, */).includes("accept"), true, "Vary names Accept");
      assert.equal(framesOf(await response.text()).length, types.length);
    });
  }

  test("an event stream for no Accept at all", async () => {
    const headers = { "content-type": "application/json", "x-agent-id": "script" };
    const { headers: head } = await bareRequest({ headers, body: JSON.stringify(script) });
    assert.match(head["content-type"], /^text\/event-stream/);
  });

  test("several Accept lines are one list", async () => {
    const headers = { "content-type": "application/json", "x-agent-id": "script", accept: [SSE, `${PROTO};q=0.1`] };
    const { headers: head } = await bareRequest({ headers, body: JSON.stringify(script) });
    assert.equal(head["content-type"], PROTO);
  });

  test("the secured route answers in it too", async () => {
    const headers = { accept: PROTO, authorization: `Bearer ${TOKEN}` };
    const response = await post(script, { path: "/secure/agui", headers });
    assert.deepEqual((await readProtoRun(response)).events.map(({ type }) => type), types);
  });

  test("a refusal is JSON whatever was asked for", async () => {
    await refused(await post(script, { agent: "nobody", headers: { accept: PROTO } }), 404, "agent_not_found");
    await refused(await post("{", { headers: { accept: PROTO } }), 400, "invalid_json");
  });
});

describe("the head of a binary stream", () => {
  test("names the media type alone and forbids caching, buffering, compression and a length", async () => {
    const response = await post(scriptOf([{ text: "a" }]), { headers: { accept: PROTO, "accept-encoding": "gzip, br, deflate" } });
    const { headers } = response;
    assert.equal(headers.get("content-type"), PROTO);
    assert.match(headers.get("cache-control"), /^no-cache(, no-transform)?$/);
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.equal(headers.get("content-length"), null);
    assert.equal(headers.get("content-encoding"), null);
    await readProtoRun(response);
  });

  test("and the first event arrive before the agent has said anything", { timeout: 10000 }, async () => {
    const abort = new AbortController();
    const response = await post(scriptOf([{ sleepMs: 30000 }]), { headers: { accept: PROTO }, signal: abort.signal });
    let arrived = Buffer.alloc(0);
    for await (const bytes of response.body) {
      arrived = Buffer.concat([arrived, bytes]);
      if (arrived.length >= 4 && arrived.length >= 4 + arrived.readUInt32BE()) break;
    }
    assert.equal(payloadsOf(arrived).length, 1);
    abort.abort();
  });
});

describe("silence on the binary wire", () => {
  test("stays silence", { timeout: KEEPALIVE_MS * 3.5 + 20000 }, async () => {
    const pause = Math.ceil(KEEPALIVE_MS * 2.5);
    const { events } = await protoRunOf(scriptOf([{ text: "a" }, { sleepMs: pause }, { text: "b" }]));
    assert.equal(events.length, 8);
  });
});

describe("conversations, through @ag-ui/client 1.0.0 over the binary wire", () => {
  listenToConsole();

  test("an interrupted run is resumed with every answer", async () => {
    const interrupts = [{ id: "i1", reason: "confirmation", metadata: { k: null } }, { id: "i2", reason: "input_required" }];
    const row = { agent: "script", input: { messages: [], state: {}, forwardedProps: { script: [{ interrupt: interrupts }] } } };
    const agent = agentFor(HttpAgent, row, { accept: PROTO });
    const first = await run(agent, row.input);
    assert.deepEqual(first.finished.map(({ outcome }) => outcome), ["interrupt"]);
    assert.deepEqual(agent.pendingInterrupts, interrupts);

    const resume = [
      { interruptId: "i1", status: "resolved", payload: { ok: true, why: null }, metadata: { k: 1 } },
      { interruptId: "i2", status: "cancelled" },
    ];
    const second = await run(agent, { forwardedProps: { script: [{ inputEcho: true }] } }, { runId: "r2", resume });
    assert.equal(second.rejection, undefined);
    assert.deepEqual(second.events[1].value.input.resume, resume);
    assert.deepEqual(agent.contentTypes, [PROTO, PROTO]);
    assert.deepEqual([...first.console, ...second.console], []);
  });
});
