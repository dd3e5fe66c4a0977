// @ag-ui/client 0.0.59, which CopilotKit and assistant-ui embed. It declares no version, so everything below holds after
// the downgrade for older readers; without it this client would drop the rest of a stream and not say so.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "client-legacy";
import { agentFor, listenToConsole, run } from "../lib/client.mjs";
import { stepTable } from "../lib/suite.mjs";
import { canary, eventually, freshLabel } from "../lib/wire.mjs";

await canary();

stepTable(HttpAgent, "0.0.59");

const scripted = (script, members = {}) => ({
  agent: "script",
  input: { messages: [], state: {}, ...members, forwardedProps: { script } },
});
const ofType = (told, type) => told.events.filter((event) => event.type === type);

describe("the downgrade, through @ag-ui/client 0.0.59", () => {
  listenToConsole();

  test("a cancelled run carries no outcome", async () => {
    const row = scripted([{ text: "a" }, { cancel: true }]);
    const told = await run(agentFor(HttpAgent, row), row.input);
    assert.deepEqual(ofType(told, "RUN_FINISHED"), [{ type: "RUN_FINISHED", threadId: "thread-1", runId: "r" }]);
    assert.deepEqual(told.messages, [{ id: "r:m1", role: "assistant", content: "a" }]);
    assert.deepEqual(told.console, []);
  });

  test("a success names no pending calls", async () => {
    const row = scripted([{ toolCall: { name: "paint", id: "c" } }]);
    const told = await run(agentFor(HttpAgent, row), row.input);
    assert.deepEqual(ofType(told, "RUN_FINISHED")[0].outcome, { type: "success" });
  });

  test("a list as result becomes its text, and what follows it arrives", async () => {
    const result = [
      { type: "text", text: "It is " },
      { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
      { type: "text", text: "noon" },
    ];
    const row = scripted([{ toolCall: { name: "look", id: "c", result } }, { text: "after" }]);
    const told = await run(agentFor(HttpAgent, row), row.input);
    assert.equal(ofType(told, "TOOL_CALL_RESULT")[0].content, "It is noon");
    assert.equal(told.messages.at(-1).content, "after");
    assert.equal(told.events.at(-1).type, "RUN_FINISHED");
  });

  test("a snapshot keeps its messages without file parts and with tool content as text", async () => {
    const row = scripted([
      {
        messagesSnapshot: [
          {
            id: "u",
            role: "user",
            content: [
              { type: "document", source: { type: "file", value: "f" } },
              { type: "text", text: "q" },
            ],
          },
          { id: "t", role: "tool", toolCallId: "c", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
        ],
      },
      { text: "after" },
    ]);
    const told = await run(agentFor(HttpAgent, row), row.input);
    assert.deepEqual(told.messages, [
      { id: "u", role: "user", content: [{ type: "text", text: "q" }] },
      { id: "t", role: "tool", toolCallId: "c", content: "ab" },
      { id: "r:m1", role: "assistant", content: "after" },
    ]);
    assert.equal(told.events.at(-1).type, "RUN_FINISHED");
  });

  test("an interrupted run is resumed", async () => {
    const row = scripted([{ interrupt: [{ id: "i1", reason: "confirmation" }] }]);
    const agent = agentFor(HttpAgent, row);
    await run(agent, row.input);
    const resume = [{ interruptId: "i1", status: "resolved", payload: { ok: true } }];
    const second = await run(agent, { forwardedProps: { script: [{ inputEcho: true }] } }, { runId: "r2", resume });
    assert.deepEqual(second.events[1].value.input.resume, resume);
    assert.deepEqual(agent.pendingInterrupts, []);
  });

  test("a null state, as assistant-ui sends it on the first turn, starts a run", async () => {
    const row = scripted([{ inputEcho: true }], { state: null });
    const agent = agentFor(HttpAgent, row);
    agent.state = null;
    const told = await run(agent, row.input);
    assert.equal(agent.sent.state, null);
    assert.equal(told.rejection, undefined);
    assert.notEqual(told.events[1].value.input.state, null, "the agent sees no null state");
  });

  test("abortRun cancels the run at the server", { timeout: 15000 }, async () => {
    const label = freshLabel();
    const row = scripted([{ track: label }, { sleepMs: 30000 }]);
    const agent = agentFor(HttpAgent, row);
    const running = run(agent, row.input);
    await eventually(label, ({ active }) => active === 1);
    agent.abortRun();
    await running;
    await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
  });
});
