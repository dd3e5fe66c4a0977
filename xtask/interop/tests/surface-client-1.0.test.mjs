// @ag-ui/client 1.0.0 on the runtime surface: its HttpAgent runs by the run route and verifies what the connect route
// replays, as one stream of several runs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { agentFor, listenToConsole, run } from "../lib/client.mjs";
import { following, fresh, holding, asking, surfaces, stopped } from "../lib/surface.mjs";
import { canary, readRun } from "../lib/wire.mjs";

await canary();

const user = (id, content) => ({ id, role: "user", content });

for (const at of surfaces) {
  describe(`@ag-ui/client 1.0.0 at ${at.name}`, () => {
    listenToConsole();

    const agentOf = (action, threadId, initial = {}) => {
      const input = { messages: [], state: {}, ...initial };
      const options = { path: `${at.prefix}/agent/script/${action}`, headers: at.credentials };
      const agent = agentFor(HttpAgent, { agent: "script", input }, options);
      agent.threadId = threadId;
      return agent;
    };
    const turn = (agent, script, options = {}) => run(agent, { forwardedProps: { script } }, { runId: fresh("run"), ...options });
    const reattached = async (threadId, initial) => {
      const agent = agentOf("connect", threadId, initial);
      return run(agent, {}, { runId: fresh("connect") });
    };
    const clean = (told) => {
      assert.equal(told.rejection, undefined, `the client rejected the stream: ${told.rejection?.stack}`);
      assert.deepEqual(told.console, []);
      return told;
    };

    test("a conversation of several turns comes back whole to a client that holds nothing", async () => {
      const agent = agentOf("run", fresh("thread"), { messages: [user(fresh("u"), "q1")], state: { k: 1 } });
      const m = fresh("m");
      clean(await turn(agent, [{ reasoning: "hm", id: fresh("w"), encrypted: "sealed" }, { text: "a", id: m }, { state: { set: ["/n", 1] } }]));
      agent.addMessage({ id: fresh("u"), role: "user", content: [{ type: "text", text: "q2" }, { type: "document", source: { type: "file", value: "f" } }] });
      clean(await turn(agent, [
        { toolCall: { name: "look", id: fresh("c"), result: [{ type: "text", text: "x" }] } },
        { activity: { type: "plan", id: fresh("a"), content: { done: [] } } },
        { state: { set: ["/m", [2]] } },
      ]));
      agent.addMessage(user(fresh("u"), "q3"));
      const last = clean(await turn(agent, [{ text: "c", id: fresh("m") }, { error: "quota", code: "c" }]));

      const told = await reattached(agent.threadId);
      assert.equal(told.rejection, undefined, `the client rejected the stream: ${told.rejection?.stack}`);
      assert.deepEqual(told.messages, last.messages);
      assert.deepEqual(told.state, { k: 1, n: 1, m: [2] });
      assert.deepEqual(told.errors.map(({ message }) => message), ["quota"]);
    });

    test("and to one that holds some of it", async () => {
      const agent = agentOf("run", fresh("thread"), { messages: [user(fresh("u"), "q1")] });
      clean(await turn(agent, [{ text: "a", id: fresh("m") }, { state: { set: ["/n", 1] } }]));
      const then = structuredClone(agent.messages);
      agent.addMessage(user(fresh("u"), "q2"));
      const last = clean(await turn(agent, [{ text: "b", id: fresh("m") }, { toolCall: { name: "paint", id: fresh("c") } }]));
      const told = clean(await reattached(agent.threadId, { messages: then, state: { stale: true } }));
      assert.deepEqual(told.messages, last.messages);
      assert.deepEqual(told.state, { n: 1 });
      assert.deepEqual(told.finished, last.finished);
    });

    for (const [what, held] of [["nothing", false], ["messages", true]]) {
      test(`a run in progress is joined by a client that holds ${what}`, { timeout: 20000 }, async () => {
        const messages = [user(fresh("u"), "q")];
        const agent = agentOf("run", fresh("thread"), { messages });
        const id = fresh("m");
        const words = Array.from({ length: 40 }, (_, n) => `w${n} `);
        let begun;
        const started = new Promise((resolve) => (begun = resolve));
        agent.subscribe({ onTextMessageContentEvent: ({ textMessageBuffer }) => void (textMessageBuffer.includes("w3 ") && begun()) });
        const running = turn(agent, [{ toolCall: { name: "f", id: fresh("c"), result: "r" } }, { deltas: words, gapMs: 25, id }, { state: { set: ["/n", 1] } }]);
        await started;
        const told = clean(await reattached(agent.threadId, held ? { messages } : {}));
        const first = clean(await running);
        assert.equal(told.messages.at(-1).content, words.join(""));
        assert.deepEqual(told.messages, first.messages);
        assert.deepEqual(told.state, first.state);
        assert.deepEqual(told.finished, first.finished);
      });
    }

    test("an interrupted run is resumed by a client that re-attached", async () => {
      const agent = agentOf("run", fresh("thread"), { messages: [user(fresh("u"), "q")] });
      clean(await turn(agent, [{ text: "wait", id: fresh("m") }, { interrupt: [{ id: "i1", reason: "confirmation" }] }]));
      const told = clean(await reattached(agent.threadId));
      assert.deepEqual(told.finished.map(({ outcome }) => outcome), ["interrupt"]);
      const again = agentOf("run", agent.threadId, { messages: told.messages });
      again.pendingInterrupts = agent.pendingInterrupts;
      const resume = [{ interruptId: "i1", status: "resolved", payload: { ok: true } }];
      const second = clean(await turn(again, [{ inputEcho: true }], { resume }));
      assert.deepEqual(second.events[1].value.input.resume, resume);
      assert.deepEqual(second.events[1].value.input.messages, told.messages);
    });

    test("a stop ends the run as cancelled, for the runner and for one that joined", { timeout: 20000 }, async () => {
      const agent = agentOf("run", fresh("thread"), { messages: [user(fresh("u"), "q")] });
      let begun;
      const started = new Promise((resolve) => (begun = resolve));
      agent.subscribe({ onTextMessageEndEvent: () => void begun() });
      const running = turn(agent, [{ text: "a", id: fresh("m") }, { step: { name: "s", do: [{ sleepMs: 60000 }] } }]);
      await started;
      const joined = reattached(agent.threadId);
      const runId = agent.sent.runId;
      // Only once it is watched.
      const watching = following(await at.connect(holding(agent.threadId)));
      await watching.until(({ type }) => type === "STEP_STARTED");
      await stopped(await at.stop(agent.threadId), runId);
      for (const told of [await running, await joined]) {
        assert.deepEqual(clean(told).finished, [{ outcome: "cancelled" }]);
        assert.equal(told.messages.at(-1).content, "a");
      }
      await watching.rest();
    });

    test("a busy thread rejects the run with the reason, and the first run goes on", { timeout: 20000 }, async () => {
      const input = asking(fresh("thread"), [{ sleepMs: 1000 }, { text: "a", id: fresh("m") }]);
      const running = following(await at.run(input));
      await running.until(({ type }) => type === "RUN_STARTED");
      const told = await turn(agentOf("run", input.threadId), []);
      assert.equal(told.rejection.status, 409);
      assert.equal(told.rejection.payload.code, "thread_busy");
      assert.equal(told.rejection.payload.runId, input.runId);
      assert.equal((await running.rest()).length, 4);
    });

    test("an unknown thread is empty and no failure of the server's", async () => {
      const threadId = fresh("thread");
      const told = await reattached(threadId);
      assert.deepEqual([told.messages, told.events, told.errors], [[], [], []]);
      assert.deepEqual((await readRun(await at.connect(holding(threadId)))).events, []);
    });
  });
}
