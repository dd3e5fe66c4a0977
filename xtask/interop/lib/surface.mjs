// The runtime surface without a client library: its routes below a base path, and streams that are read while they come.

import assert from "node:assert/strict";
import { BASE, TOKEN } from "./settings.mjs";
import { arriving, eventOf, inputOf, KEEPALIVE, post, scriptOf } from "./wire.mjs";

let ids = 0;
/** An id that no other test uses: all suites share one store. */
export const fresh = (what) => `${what}-${process.pid}-${Date.now().toString(36)}-${(ids += 1)}`;

const surfaceAt = (prefix, credentials) => {
  const send = (path, body, { headers, ...options } = {}) =>
    post(body, { path: `${prefix}${path}`, headers: { ...credentials, ...headers }, ...options });
  const onAgent = (action) => (body, { agent = "script", ...options } = {}) => send(`/agent/${agent}/${action}`, body, options);
  return {
    /** How tests name it. */
    name: prefix === "" ? "/" : prefix,
    prefix,
    /** What a client calls its runtime URL. */
    url: `${BASE}${prefix}`,
    credentials,
    send,
    info: ({ headers, ...init } = {}) => fetch(`${BASE}${prefix}/info`, { headers: { ...credentials, ...headers }, ...init }),
    run: onAgent("run"),
    connect: onAgent("connect"),
    stop: (threadId, body = "", { agent = "script", ...options } = {}) =>
      send(`/agent/${agent}/stop/${encodeURIComponent(threadId)}`, body, options),
    door: (envelope, options) => send(prefix === "" ? "/" : "", envelope, options),
  };
};

/** Both surfaces of the demo server. They share one store. */
export const surfaces = [surfaceAt("", {}), surfaceAt("/secure", { authorization: `Bearer ${TOKEN}` })];
export const [open, secure] = surfaces;

/** The input of a script's run on a thread. Its run id is fresh unless it is given. */
export const asking = (threadId, script, members = {}) => ({ ...scriptOf(script, { runId: fresh("run"), ...members }), threadId });

/** The input of a consumer that connects and holds these messages. */
export const holding = (threadId, messages = [], members = {}) =>
  inputOf({ threadId, runId: fresh("connect"), messages, ...members });

/** The same input from a peer that declares no version. */
export const older = ({ protocolVersion: _, ...input }) => input;

/** Reads a stream while it comes. `events` is what has come so far. */
export const following = (response) => {
  assert.equal(response.status, 200);
  const frames = arriving(response);
  const events = [];
  const next = async () => {
    for (;;) {
      const { done, value } = await frames.next();
      if (done) return undefined;
      if (value.frame === KEEPALIVE) continue;
      const event = eventOf(value.frame);
      events.push(event);
      return event;
    }
  };
  return {
    events,
    /** Reads up to the first event that is the one; it has to come. */
    until: async (isIt) => {
      for (;;) {
        const event = await next();
        if (event === undefined) assert.fail(`the stream ended after ${typesOf(events)}`);
        if (isIt(event)) return event;
      }
    },
    /** Reads to the end of the body and gives what came after what had been read. */
    rest: async () => {
      const from = events.length;
      while ((await next()) !== undefined);
      return events.slice(from);
    },
  };
};

export const typesOf = (events) => events.map(({ type }) => type);
export const hasDelta = (delta) => (event) => event.delta === delta;

const DELTAS = {
  TEXT_MESSAGE_CONTENT: ({ messageId }) => messageId,
  REASONING_MESSAGE_CONTENT: ({ messageId }) => messageId,
  TOOL_CALL_ARGS: ({ toolCallId }) => toolCallId,
};

/** Events with adjacent deltas of one item merged: what the compaction of a record may do to them. */
export const merged = (events) => {
  const out = [];
  for (const event of events) {
    const idOf = DELTAS[event.type];
    const last = out.at(-1);
    if (idOf !== undefined && last?.type === event.type && idOf(last) === idOf(event)) {
      out[out.length - 1] = { ...last, delta: last.delta + event.delta };
    } else {
      out.push(event);
    }
  }
  return out;
};

/** Events without the inputs that RUN_STARTED carries. */
export const withoutInputs = (events) =>
  events.map((event) => {
    if (event.type !== "RUN_STARTED") return event;
    const { input: _, ...rest } = event;
    return rest;
  });

/** Asserts that a run of a replay has the input that restores its user's turns, and nothing that others should not read. */
export const carriesInput = ({ input, runId, threadId }, messages) => {
  assert.ok(input !== undefined, "a replayed RUN_STARTED carries its input");
  assert.equal(input.threadId, threadId);
  assert.equal(input.runId, runId);
  assert.deepEqual(input.messages, messages);
  assert.ok(Array.isArray(input.tools) && Array.isArray(input.context), "tools and context are present");
  for (const secret of ["forwardedProps", "state"]) assert.equal(secret in input, false, `${secret} is not for every reader`);
};

/** Asserts that a stop request stopped this run. */
export const stopped = async (response, runId) => {
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { stopped: true, runId });
};

/** Asserts that a stop request found nothing to stop, and gives the message. */
export const notStopped = async (response) => {
  assert.equal(response.status, 200);
  const { stopped: was, message, ...rest } = await response.json();
  assert.equal(was, false);
  assert.equal(typeof message, "string");
  assert.notEqual(message, "");
  assert.deepEqual(rest, {});
  return message;
};
