// Runs on the runtime surface from outside: one at a time on a thread, going on without their client, and stopped on
// request.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keep } from "../lib/capture.mjs";
import { noStrayNulls } from "../lib/check.mjs";
import { text } from "../lib/events.mjs";
import { PROTO, readProtoRun } from "../lib/proto.mjs";
import {
  asking, carriesInput, following, fresh, hasDelta, holding, notStopped, older, open, secure, stopped, surfaces, typesOf, withoutInputs,
} from "../lib/surface.mjs";
import { canary, eventOf, eventually, framesOf, freshLabel, post, readRun, refused, runOf } from "../lib/wire.mjs";

await canary();

const is = (type) => (event) => event.type === type;
const odd = ["trip/7", "a?b#c", "100 %", "%2F", "größe", "日本 🦀", "..", "a b", "\"\\\n", "+&=;"];

for (const at of surfaces) {
  describe(`a run at ${at.name}`, () => {
    test("streams as the plain endpoint does", async () => {
      const script = [{ text: "a" }, { toolCall: { name: "f", result: [{ type: "text", text: "x" }] } }, { state: { set: ["/n", 1] } }];
      const input = asking(fresh("thread"), script);
      const response = await at.run(input);
      assert.equal(response.headers.get("content-type"), "text/event-stream");
      assert.match(response.headers.get("cache-control"), /^no-cache(, no-transform)?$/);
      assert.equal(response.headers.get("x-accel-buffering"), "no");
      assert.equal(response.headers.get("content-length"), null);
      const { events } = await readRun(response);
      const plain = await runOf(input);
      assert.deepEqual(withoutInputs(events), withoutInputs(plain.events));
      if (events[0].input !== undefined) carriesInput(events[0], []);
      keep(`surface${at.prefix.replace("/", "-")}-run`, events);
    });

    test("comes in the binary encoding where it is asked for", async () => {
      const input = asking(fresh("thread"), [{ text: "a", id: "m" }]);
      const { events } = await readProtoRun(await at.run(input, { headers: { accept: PROTO } }));
      assert.deepEqual(typesOf(events).slice(1), ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]);
      const replay = await readProtoRun(await at.connect(holding(input.threadId), { headers: { accept: PROTO } }));
      assert.deepEqual(typesOf(replay.events), typesOf(events));
    });

    test("begins before the agent has said anything", { timeout: 10000 }, async () => {
      const input = asking(fresh("thread"), [{ sleepMs: 30000 }]);
      const running = following(await at.run(input));
      assert.equal((await running.until(() => true)).type, "RUN_STARTED");
      await stopped(await at.stop(input.threadId), input.runId);
      await running.rest();
    });
  });

  describe(`one run at a time at ${at.name}`, () => {
    test("a second one is refused, names the first, and does not touch it", async () => {
      const first = asking(fresh("thread"), [{ text: "a", id: fresh("m") }, { sleepMs: 1000 }, { text: "b", id: fresh("m") }]);
      const running = following(await at.run(first));
      await running.until(is("TEXT_MESSAGE_END"));
      const error = await refused(await at.run(asking(first.threadId, [])), 409, "thread_busy");
      assert.equal(error.runId, first.runId);
      assert.equal((await at.run(first)).status, 409);
      assert.equal((await running.rest()).at(-1).type, "RUN_FINISHED");
    });

    test("another agent has another thread, though it is called the same", async () => {
      const input = asking(fresh("thread"), [{ sleepMs: 30000 }]);
      const running = following(await at.run(input));
      await running.until(is("RUN_STARTED"));
      const messages = [{ id: fresh("u"), role: "user", content: "hi" }];
      const { events } = await readRun(await at.run({ ...asking(input.threadId, []), messages }, { agent: "echo" }));
      assert.equal(events.find(({ delta }) => delta !== undefined).delta, "hi");
      await notStopped(await at.stop(input.threadId, "", { agent: "echo" }));
      await stopped(await at.stop(input.threadId), input.runId);
      await running.rest();
      const echoed = await readRun(await at.connect(holding(input.threadId), { agent: "echo" }));
      assert.deepEqual(echoed.events.filter(is("RUN_STARTED")).length, 1);
    });

    test("a run id is used once", async () => {
      const input = asking(fresh("thread"), [{ text: "a", id: fresh("m") }]);
      await readRun(await at.run(input));
      await refused(await at.run(input), 409, "run_exists");
      await readRun(await at.run({ ...input, threadId: fresh("thread") }));
    });

    test("the thread is free before the end can be seen", { timeout: 60000 }, async () => {
      // The next run is asked for within a millisecond of the last one's end.
      const threadId = fresh("thread");
      for (let turn = 0; turn < 150; turn += 1) {
        const running = following(await at.run(asking(threadId, [{ text: `${turn}`, id: fresh("m") }])));
        await running.until(is("RUN_FINISHED"));
      }
    });

    test("the thread is free after every kind of ending", async () => {
      const threadId = fresh("thread");
      const endings = [
        [{ error: "e", code: "c" }], [{ panic: "p" }], [{ cancel: true }], [{ interrupt: [{ id: "i", reason: "x" }] }], [{ nope: 1 }],
        [{ event: { type: "STEP_FINISHED", stepName: "none" } }], [{ toolCall: { name: "f", id: fresh("c") } }], [],
      ];
      for (const script of endings) {
        const running = following(await at.run(asking(threadId, script)));
        await running.until(({ type }) => type === "RUN_FINISHED" || type === "RUN_ERROR");
      }
    });
  });

  describe(`a client that goes away at ${at.name}`, () => {
    test("leaves its run running, which connect finds whole", { timeout: 20000 }, async () => {
      const label = freshLabel();
      const words = Array.from({ length: 30 }, (_, n) => `w${n} `);
      const id = fresh("m");
      const input = asking(fresh("thread"), [{ track: label }, { deltas: words, gapMs: 30, id }]);
      const abort = new AbortController();
      const running = following(await at.run(input, { signal: abort.signal }));
      await running.until(hasDelta("w3 "));
      abort.abort();
      const watching = following(await at.connect(holding(input.threadId)));
      assert.equal((await watching.rest()).at(-1).type, "RUN_FINISHED");
      assert.deepEqual(withoutInputs(watching.events).slice(1, -1), text(id, words));
      await eventually(label, ({ active, completed }) => active === 0 && completed === 1);
    });

    test("leaves it running when nobody comes back either", { timeout: 20000 }, async () => {
      const label = freshLabel();
      const abort = new AbortController();
      const running = following(await at.run(asking(fresh("thread"), [{ track: label }, { sleepMs: 700 }]), { signal: abort.signal }));
      await running.until(is("RUN_STARTED"));
      abort.abort();
      await eventually(label, ({ active, completed }) => active === 0 && completed === 1);
    });
  });

  describe(`a stop at ${at.name}`, () => {
    const begin = async (options) => {
      const threadId = fresh("thread");
      const label = freshLabel();
      const script = [{ track: label }, { step: { name: "s", do: [{ deltas: ["Hel", "lo"], id: fresh("m") }, { subagent: { name: "a", id: fresh("s"), do: [{ sleepMs: 60000 }] } }] } }];
      const input = asking(threadId, script);
      const running = following(await at.run(input, options));
      await running.until(is("SUBAGENT_STARTED"));
      return { label, input, threadId, running };
    };

    test("closes what is open, ends the run as cancelled and ends the bodies of all who watch", { timeout: 20000 }, async () => {
      const { label, input, threadId, running } = await begin();
      const watchers = await Promise.all([holding(threadId), holding(threadId, [{ id: "u", role: "user", content: "q" }])].map(async (consumer) => {
        const watching = following(await at.connect(consumer));
        await watching.until(is("SUBAGENT_STARTED"));
        return watching;
      }));
      const veteran = following(await at.connect(older(holding(threadId))));
      await veteran.until(is("SUBAGENT_STARTED"));
      await stopped(await at.stop(threadId, { runId: input.runId }), input.runId);
      for (const [stream, outcome] of [[running, "cancelled"], ...watchers.map((watching) => [watching, "cancelled"]), [veteran, undefined]]) {
        const rest = await stream.rest();
        assert.deepEqual(typesOf(rest).filter((type) => type !== "STEP_STARTED"), ["SUBAGENT_FINISHED", "STEP_FINISHED", "RUN_FINISHED"]);
        assert.deepEqual(rest.at(-1), { type: "RUN_FINISHED", threadId, runId: input.runId, ...(outcome && { outcome: { type: outcome } }) });
      }
      await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
      await readRun(await at.run(asking(threadId, [])));
    });

    const bodies = {
      "with no body": "",
      "with an empty object": {},
      "with the run's id": (runId) => ({ runId }),
      "with unknown members beside": (runId) => ({ runId, why: "x" }),
    };
    for (const [what, body] of Object.entries(bodies)) {
      test(`is heard ${what}`, async () => {
        const { input, threadId, running } = await begin();
        await stopped(await at.stop(threadId, typeof body === "function" ? body(input.runId) : body), input.runId);
        assert.equal((await running.rest()).at(-1).outcome.type, "cancelled");
      });
    }

    test("is heard with no body and no content type, and with no body and another", async () => {
      for (const headers of [{}, { "content-type": "text/plain" }]) {
        const { input, threadId, running } = await begin();
        const response = await fetch(`${at.url}/agent/script/stop/${threadId}`, { method: "POST", headers: { ...at.credentials, ...headers } });
        await stopped(response, input.runId);
        await running.rest();
      }
    });

    test("finds nothing on a thread never heard of, on one that is over, and a second time", async () => {
      const unknown = fresh("thread");
      assert.ok((await notStopped(await at.stop(unknown))).includes(unknown), "the message names the thread");
      const { input, threadId, running } = await begin();
      await stopped(await at.stop(threadId), input.runId);
      await notStopped(await at.stop(threadId));
      await running.rest();
      await notStopped(await at.stop(threadId));
      await notStopped(await at.stop(threadId, { runId: input.runId }));
      // A thread that was only stopped is none: the next connect finds nothing.
      assert.deepEqual((await readRun(await at.connect(holding(unknown)))).events, []);
    });

    test("of another run leaves the one in progress alone", async () => {
      const { input, threadId, running } = await begin();
      await notStopped(await at.stop(threadId, { runId: "another" }));
      await notStopped(await at.stop(threadId, { runId: "" }));
      await refused(await at.run(asking(threadId, [])), 409, "thread_busy");
      await stopped(await at.stop(threadId, { runId: input.runId }), input.runId);
      await running.rest();
    });

    test("reaches a run that its client has left", { timeout: 20000 }, async () => {
      const abort = new AbortController();
      const { label, input, threadId } = await begin({ signal: abort.signal });
      abort.abort();
      await stopped(await at.stop(threadId), input.runId);
      await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
    });
  });

  describe(`odd thread ids at ${at.name}`, () => {
    for (const id of odd) {
      const threadId = `${id}${fresh("·")}`;
      test(`${JSON.stringify(id)} runs, connects and stops`, async () => {
        const input = asking(threadId, [{ text: "a", id: fresh("m") }, { sleepMs: 30000 }]);
        const running = following(await at.run(input));
        await running.until(is("TEXT_MESSAGE_END"));
        await stopped(await at.stop(threadId), input.runId);
        await running.rest();
        assert.equal(running.events.at(-1).threadId, threadId);
        const { events } = await readRun(await at.connect(holding(threadId)));
        assert.deepEqual(withoutInputs(events), withoutInputs(running.events));
        for (const event of events) noStrayNulls(event);
      });
    }

    // These cannot be made unique, and a client makes another path of them: they are run and not stopped.
    for (const threadId of ["", "."]) {
      test(`${JSON.stringify(threadId)} runs and connects`, async () => {
        const input = asking(threadId, [{ text: "a", id: fresh("m") }]);
        await readRun(await at.run(input));
        const { events } = await readRun(await at.connect(holding(threadId)));
        assert.equal(events.findLast(is("RUN_STARTED")).runId, input.runId);
        assert.equal(events.at(-1).threadId, threadId);
      });
    }
  });
}

describe("both surfaces", () => {
  test("share the record, and its one run at a time", async () => {
    const input = asking(fresh("thread"), [{ text: "a", id: fresh("m") }, { sleepMs: 30000 }]);
    const running = following(await open.run(input));
    await running.until(is("TEXT_MESSAGE_END"));
    assert.equal((await refused(await secure.run(asking(input.threadId, [])), 409, "thread_busy")).runId, input.runId);
    const watching = following(await secure.connect(holding(input.threadId)));
    await watching.until(is("TEXT_MESSAGE_END"));
    await stopped(await secure.stop(input.threadId), input.runId);
    assert.deepEqual(await watching.rest(), await running.rest());
  });

  test("keep the record that the plain endpoint has nothing to do with", async () => {
    const input = asking(fresh("thread"), [{ text: "a" }]);
    await runOf(input);
    assert.deepEqual((await readRun(await open.connect(holding(input.threadId)))).events, []);
    const running = following(await open.run(asking(input.threadId, [{ sleepMs: 30000 }])));
    await running.until(is("RUN_STARTED"));
    await runOf(asking(input.threadId, [{ text: "at the same time" }]));
    await stopped(await open.stop(input.threadId), running.events[0].runId);
    await running.rest();
  });
});

describe("many threads", () => {
  test("fifty runs and their watchers at once do not mix", { timeout: 60000 }, async () => {
    await Promise.all(Array.from({ length: 50 }, async (_, i) => {
      const words = Array.from({ length: 10 }, (_, n) => `${i}.${n} `);
      const id = fresh("m");
      const input = asking(fresh("thread"), [{ deltas: words, gapMs: 20, id }]);
      const running = following(await open.run(input));
      await running.until(is("TEXT_MESSAGE_CONTENT"));
      const watching = following(await open.connect(holding(input.threadId)));
      await Promise.all([running.rest(), watching.rest()]);
      assert.deepEqual(running.events.slice(1, -1), text(id, words));
      const told = watching.events.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta).join("");
      assert.equal(told, words.join(""));
    }));
  });

  test("the record is read while a reader that stalls reads nothing", { timeout: 30000 }, async () => {
    const abort = new AbortController();
    const id = fresh("m");
    const input = asking(fresh("thread"), [{ flood: { count: 20000, bytes: 1000 }, id }]);
    const stalled = await open.run(input, { signal: abort.signal });
    assert.equal(stalled.status, 200);
    const watching = following(await open.connect(holding(input.threadId)));
    await watching.until(is("RUN_FINISHED"));
    const told = watching.events.filter(({ delta }) => delta !== undefined).map(({ delta }) => delta).join("");
    assert.equal(told.length, 20000 * 1000);
    // The one that stalled was promised everything all the same.
    const body = new TextDecoder().decode(await stalled.arrayBuffer());
    const events = framesOf(body).filter((frame) => frame.startsWith("data: ")).map(eventOf);
    assert.equal(events.filter(({ delta }) => delta !== undefined).length, 20000);
    assert.equal(events.at(-1).type, "RUN_FINISHED");
    abort.abort();
  });
});

describe("a run through the endpoint that is not the surface's", () => {
  test("is still cancelled by its client's departure", { timeout: 15000 }, async () => {
    const label = freshLabel();
    const abort = new AbortController();
    const running = following(await post(asking(fresh("thread"), [{ track: label }, { sleepMs: 30000 }]), { signal: abort.signal }));
    await running.until(is("RUN_STARTED"));
    abort.abort();
    await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
  });
});
