// @ag-ui/client 1.0.0: the step table, and what takes more than one run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { agentFor, consoleOutput, listenToConsole, run } from "../lib/client.mjs";
import { stepTable } from "../lib/suite.mjs";
import { TOKEN } from "../lib/settings.mjs";
import { canary, eventually, freshLabel } from "../lib/wire.mjs";

await canary();

stepTable(HttpAgent, "1.0.0");

const scripted = (script, members = {}) => ({
  agent: "script",
  input: { messages: [], state: {}, ...members, forwardedProps: { script } },
});
const props = (script) => ({ forwardedProps: { script } });
const types = (told) => told.events.map(({ type }) => type);

describe("conversations, through @ag-ui/client 1.0.0", () => {
  listenToConsole();

  test("an interrupted run is resumed with every answer", async () => {
    const row = scripted([{ interrupt: [{ id: "i1", reason: "confirmation" }, { id: "i2", reason: "input_required" }] }]);
    const agent = agentFor(HttpAgent, row);
    const first = await run(agent, row.input);
    assert.deepEqual(first.finished.map(({ outcome }) => outcome), ["interrupt"]);
    assert.deepEqual(agent.pendingInterrupts.map(({ id }) => id), ["i1", "i2"]);

    const resume = [
      { interruptId: "i1", status: "resolved", payload: { ok: true, why: null }, metadata: { k: 1 } },
      { interruptId: "i2", status: "cancelled" },
    ];
    const second = await run(agent, props([{ inputEcho: true }]), { runId: "r2", resume });
    assert.equal(second.rejection, undefined);
    assert.deepEqual(second.events[1].value.input.resume, resume);
    assert.deepEqual(agent.pendingInterrupts, []);
    assert.deepEqual([...first.console, ...second.console], []);
  });

  test("a frontend tool call is answered in the next run", async () => {
    const row = scripted([{ text: "wait" }, { toolCall: { name: "paint", id: "c", args: { hue: 3 } } }], {
      tools: [{ name: "paint", description: "Paints." }],
    });
    const agent = agentFor(HttpAgent, row);
    const first = await run(agent, row.input);
    assert.deepEqual(first.finished[0].pendingToolCallIds, ["c"]);

    agent.addMessage({ id: "t1", role: "tool", toolCallId: "c", content: [{ type: "text", text: "done" }] });
    const second = await run(agent, props([{ inputEcho: true }, { text: "thanks" }]), { runId: "r2" });
    assert.deepEqual(second.events[1].value.input.messages, [
      { id: "r:m1", role: "assistant", content: "wait" },
      { id: "c", role: "assistant", toolCalls: [{ id: "c", type: "function", function: { name: "paint", arguments: '{"hue":3}' } }] },
      { id: "t1", role: "tool", toolCallId: "c", content: [{ type: "text", text: "done" }] },
    ]);
    assert.deepEqual(second.messages.at(-1), { id: "r2:m1", role: "assistant", content: "thanks" });
    assert.deepEqual([...first.console, ...second.console], []);
  });

  test("state is carried from run to run", async () => {
    const row = scripted([{ state: { set: ["/n", 1] } }]);
    const agent = agentFor(HttpAgent, row);
    await run(agent, row.input);
    const second = await run(agent, props([{ inputEcho: true }, { state: { set: ["/m", 2] } }]), { runId: "r2" });
    assert.deepEqual(second.events[1].value.input.state, { n: 1 });
    assert.deepEqual(second.state, { n: 1, m: 2 });
    assert.deepEqual(second.console, []);
  });

  test("a null state is left out of the next run", async () => {
    const row = scripted([{ stateSnapshot: null }]);
    const agent = agentFor(HttpAgent, row);
    await run(agent, row.input);
    const second = await run(agent, props([{ text: "on" }]), { runId: "r2" });
    assert.equal("state" in agent.sent, false);
    assert.deepEqual(second.finished.map(({ outcome }) => outcome), ["success"]);
  });

  test("reasoning goes back with its encrypted value", async () => {
    const row = scripted([{ reasoning: "hm", encrypted: "sealed", id: "w" }]);
    const agent = agentFor(HttpAgent, row);
    await run(agent, row.input);
    const second = await run(agent, props([{ inputEcho: true }]), { runId: "r2" });
    assert.deepEqual(second.events[1].value.input.messages, [{ id: "w", role: "reasoning", content: "hm", encryptedValue: "sealed" }]);
  });

  test("abortRun cancels the run at the server", { timeout: 15000 }, async () => {
    const label = freshLabel();
    const row = scripted([{ track: label }, { text: "a" }, { sleepMs: 30000 }, { text: "never" }]);
    const agent = agentFor(HttpAgent, row);
    const running = run(agent, row.input);
    await eventually(label, ({ active }) => active === 1);
    agent.abortRun();
    const told = await running;
    await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
    assert.ok(!types(told).includes("RUN_FINISHED"), "nothing is written for a reader that has gone");
  });

  test("a refused run rejects with the status and the body", async () => {
    const agent = agentFor(HttpAgent, { agent: "nobody", input: { messages: [], state: {} } });
    const told = await run(agent, {});
    assert.equal(told.rejection.status, 404);
    assert.equal(told.rejection.payload.code, "agent_not_found");
    assert.deepEqual(told.events, []);
  });

  test("the bearer token opens the secured routes", async () => {
    const row = scripted([{ text: "in" }]);
    const secured = { path: "/secure/agui", headers: { Authorization: `Bearer ${TOKEN}` } };
    const told = await run(agentFor(HttpAgent, row, secured), row.input);
    assert.deepEqual(told.messages, [{ id: "r:m1", role: "assistant", content: "in" }]);
    const stranger = await run(agentFor(HttpAgent, row, { path: "/secure/agui" }), row.input);
    assert.equal(stranger.rejection.status, 401);
    assert.equal(stranger.rejection.payload.code, "unauthorized");
  });

  test("the console stays quiet between runs", () => {
    assert.deepEqual(consoleOutput(), []);
  });
});
