// One test per row of the step table, for a client of either generation.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cases, instance } from "../cases/index.mjs";
import { asParsedBy0059, forOlderReader, matches, matchesEvents } from "./check.mjs";
import { agentFor, expectedFinish, listenToConsole, run } from "./client.mjs";

const is = (type) => (event) => event.type === type;

const check = async (HttpAgent, speaks, row, { accept, sees = (event) => event }) => {
  const older = speaks === "0.0.59";
  const expected = instance(row);
  const agent = agentFor(HttpAgent, expected, { accept });
  const told = await run(agent, expected.input);

  if (accept !== undefined) assert.deepEqual(agent.contentTypes, [accept], "what the server answered in");
  assert.equal(agent.sent.protocolVersion, older ? undefined : "1.0", "what the client declares");

  if (!expected.wellFormed) {
    // The broken stream went out, and the client rejected it: neither a success nor an error the agent reported.
    assert.match(String(told.rejection?.message), expected.fails);
    assert.deepEqual(told.finished, [], "a rejected stream has no outcome");
    return;
  }

  assert.equal(told.rejection, undefined, `the client rejected the run: ${told.rejection?.stack}`);
  assert.equal(told.failure, undefined);
  assert.equal(told.console.length, expected.warnings.length, `the client said: ${told.console.join("\n")}`);
  matches(told.console, expected.warnings, "what the client warned about");

  const delivered = older
    ? expected.delivered.map((events) => events.map(forOlderReader).map(asParsedBy0059))
    : expected.delivered.map((events) => events.map(sees));
  matchesEvents(told.events, delivered, agent.sent);

  const holds = older ? expected.older : expected;
  matches(told.messages, holds.messages, "the messages the client holds");
  matches(told.state, holds.state, "the state the client holds");

  const last = told.events.at(-1);
  if (last.type === "RUN_ERROR") {
    assert.deepEqual(told.errors, [last], "the error reached the application");
    assert.deepEqual(told.finished, [], "a failed run has no outcome");
  } else {
    assert.equal(last.type, "RUN_FINISHED", "the stream came to its end");
    assert.deepEqual(told.errors, []);
    const started = told.events.filter(is("TOOL_CALL_START")).map(({ toolCallId }) => toolCallId);
    const answers = new Set(told.events.filter(is("TOOL_CALL_RESULT")).map(({ toolCallId }) => toolCallId));
    assert.deepEqual(told.finished, [expectedFinish(last, started, answers, speaks)]);
    const success = told.finished[0].outcome === "success";
    assert.deepEqual(told.result, success ? last.result : undefined, "what runAgent returned");
  }
  assert.deepEqual(agent.pendingInterrupts, last.outcome?.interrupts ?? []);
};

/**
 * Registers the whole table for this client. With `accept` it asks for that wire and has to be answered in it; `sees`
 * is then what that wire makes of an event.
 */
export const stepTable = (HttpAgent, speaks, options = {}) => {
  const wire = options.accept === undefined ? "" : `, ${options.accept}`;
  describe(`the step table, through @ag-ui/client ${speaks}${wire}`, () => {
    listenToConsole();
    for (const row of cases) test(row.name, { timeout: 10000 }, () => check(HttpAgent, speaks, row, options));
  });
};
