// Runs one case through a published client and collects everything it tells its application.

import assert from "node:assert/strict";
import { after, before } from "node:test";
import { RUN, THREAD } from "./events.mjs";
import { BASE } from "./settings.mjs";

const plain = (value) => JSON.parse(JSON.stringify(value));

// Both clients warn on the console, so the console is where "no warning" is checked. While a suite runs, what it says
// belongs to the run in progress; between runs it is a failure of the suite.
const spoken = [];
export const listenToConsole = () => {
  const original = { warn: console.warn, error: console.error };
  before(() => {
    console.warn = (...args) => spoken.push(args.map(String).join(" "));
    console.error = (...args) => spoken.push(args.map(String).join(" "));
  });
  after(() => {
    Object.assign(console, original);
    assert.deepEqual(spoken, [], "the console was quiet between the runs");
  });
};
/** What was said since the last call. */
export const consoleOutput = () => spoken.splice(0);

/**
 * An agent of the given client for one case. `agent.sent` is the run input as it left the process, `agent.contentTypes`
 * what the answers were. Both clients can read the binary wire and neither asks for it: `accept` asks in their name.
 */
export const agentFor = (HttpAgent, { agent: name, input }, options = {}) => {
  const agent = new HttpAgent({
    url: `${options.base ?? BASE}${options.path ?? "/agui"}`,
    headers: { "X-Agent-Id": name, ...options.headers },
    threadId: THREAD,
    initialMessages: input.messages,
    initialState: input.state,
    fetch: async (url, init) => {
      agent.sent = JSON.parse(init.body);
      const headers = options.accept === undefined ? init.headers : { ...init.headers, Accept: options.accept };
      const response = await fetch(url, { ...init, headers });
      agent.contentTypes.push(response.headers.get("content-type"));
      return response;
    },
  });
  agent.contentTypes = [];
  return agent;
};

/** Runs the agent and returns what the application was told. */
export const run = async (agent, input, options = {}) => {
  const told = { events: [], errors: [], finished: [] };
  const subscriber = {
    onEvent: ({ event }) => void told.events.push(plain(event)),
    onRunErrorEvent: ({ event }) => void told.errors.push(plain(event)),
    onRunFinishedEvent: ({ outcome, result, interrupts, pendingToolCallIds }) =>
      void told.finished.push(plain({ outcome, result, interrupts, pendingToolCallIds })),
    onRunFailed: ({ error }) => void (told.failure = error),
  };
  const { tools, context, forwardedProps } = input;
  try {
    const { result, newMessages } = await agent.runAgent(
      { runId: options.runId ?? RUN, tools, context, forwardedProps, resume: options.resume },
      subscriber,
    );
    Object.assign(told, { result, newMessages });
  } catch (error) {
    told.rejection = error;
  }
  told.console = consoleOutput();
  return { ...told, messages: plain(agent.messages), state: plain(agent.state) };
};

/** What `onRunFinishedEvent` must have said for this terminal event, by the client's own vocabulary. */
export const expectedFinish = (event, started, answers, speaks) => {
  const { outcome } = event;
  if (outcome?.type === "interrupt") return { outcome: "interrupt", interrupts: outcome.interrupts };
  const result = event.result === undefined ? {} : { result: event.result };
  if (speaks === "0.0.59") return { outcome: "success", ...result };
  if (outcome?.type === "cancelled") return { outcome: "cancelled" };
  const derived = started.filter((id) => !answers.has(id));
  return { outcome: "success", ...result, pendingToolCallIds: outcome?.pendingToolCallIds ?? derived };
};
