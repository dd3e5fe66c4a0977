// CopilotKit's own client without a framework, pointed at a runtime surface as an application would point it.

import assert from "node:assert/strict";
import { fresh } from "./surface.mjs";

// The client dials its runtime in browsers only, and takes this for one.
globalThis.window ??= {};
const { CopilotKitCore } = await import("@copilotkit/core");

const plain = (value) => JSON.parse(JSON.stringify(value));

/** A page that has just been loaded. `errors` is what the application was told, `requests` what went to the server. */
export const page = (at, options = {}) => {
  const core = new CopilotKitCore({ runtimeUrl: at.url, headers: at.credentials, ...options });
  const errors = [];
  core.subscribe({
    onError: ({ error, code, context }) => void errors.push({ code, message: error.message, status: error.status, context }),
  });
  return { core, errors };
};

/** Waits until the page knows its agents, or that it cannot know them. */
export const settled = async ({ core }) => {
  if (["connected", "error"].includes(core.runtimeConnectionStatus)) return core.runtimeConnectionStatus;
  return new Promise((resolve) => {
    const subscription = core.subscribe({
      onRuntimeConnectionStatusChanged: ({ status }) => {
        if (!["connected", "error"].includes(status)) return;
        subscription.unsubscribe();
        resolve(status);
      },
    });
  });
};

/** A page whose agent is on a thread, as a chat component puts it there: connected before the first run. */
export const chat = async (at, { agent: id = "script", threadId = fresh("thread"), connect = true, ...options } = {}) => {
  const tab = page(at, options);
  assert.equal(await settled(tab), "connected", JSON.stringify(tab.errors));
  const agent = tab.core.getAgent(id);
  agent.threadId = threadId;
  const events = [];
  agent.subscribe({ onEvent: ({ event }) => void events.push(plain(event)) });
  const open = { ...tab, agent, threadId, events };
  if (connect) await tab.core.connectAgent({ agent });
  return open;
};

/** The user says something, and the agent performs a script. Resolves when the run and its tools are through. */
export const say = ({ core, agent }, content, script, options = {}) => {
  if (content !== undefined) agent.addMessage({ id: fresh("u"), role: "user", content });
  return core.runAgent({ agent, ...(script && { forwardedProps: { script } }), ...options });
};

/** Waits for an event that the page's agent is told. */
export const told = ({ agent, events }, isIt) => {
  const already = events.find(isIt);
  if (already !== undefined) return Promise.resolve(already);
  return new Promise((resolve) => {
    const subscription = agent.subscribe({
      onEvent: ({ event }) => {
        if (!isIt(event)) return;
        subscription.unsubscribe();
        resolve(event);
      },
    });
  });
};

/** Waits until the text of a page's messages has this in it. */
export const shows = ({ agent }, part) => {
  const has = (messages) => messages.some(({ content }) => typeof content === "string" && content.includes(part));
  if (has(agent.messages)) return Promise.resolve();
  return new Promise((resolve) => {
    const subscription = agent.subscribe({
      onMessagesChanged: ({ messages }) => {
        if (!has(messages)) return;
        subscription.unsubscribe();
        resolve();
      },
    });
  });
};

/** What the page shows. */
export const shown = ({ agent }) => plain(agent.messages);

/** Presses the stop button. The client looks at no answer to that; this waits for it and gives it. */
export const stop = async ({ core, agent }) => {
  const { fetch } = globalThis;
  let answer;
  globalThis.fetch = (...request) => (answer = fetch(...request));
  try {
    core.stopAgent({ agent });
  } finally {
    globalThis.fetch = fetch;
  }
  return (await answer).json();
};

/** The page is reloaded or closed: its connections are gone, and nothing is said to the server. */
export const leave = ({ agent }) => agent.abortController.abort();
