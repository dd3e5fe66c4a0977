// The plain endpoint without a client library: requests, and the bytes that come back.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { RUN, THREAD } from "./events.mjs";
import { BASE, KEEPALIVE_MS } from "./settings.mjs";

export const SSE = "text/event-stream";

/** A run input that declares 1.0, with these members besides. */
export const inputOf = (members = {}) => ({
  threadId: THREAD, runId: RUN, protocolVersion: "1.0", messages: [], ...members,
});
/** A run input for the agent `script`. */
export const scriptOf = (script, members = {}) => inputOf({ ...members, forwardedProps: { script } });

// No request of these suites has reason to take longer. A server that leaves a body open then fails a test and does not
// hang the suite.
const PATIENCE_MS = 20000 + 4 * KEEPALIVE_MS;
const bounded = (signal, ms = PATIENCE_MS) => {
  // Not `AbortSignal.any` with `AbortSignal.timeout`: Node 20 may collect the pair before it fires.
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error(`the server took more than ${ms} ms`)), ms).unref();
  signal?.addEventListener("abort", () => abort.abort(signal.reason));
  return abort.signal;
};

/** POSTs a value as JSON, or text and bytes as they are. */
export const post = (body, { path = "/agui", agent = "script", headers = {}, signal, ...init } = {}) => {
  const asIs = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
  return fetch(`${BASE}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: SSE, "x-agent-id": agent, ...headers },
    body: asIs ? body : JSON.stringify(body),
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
    signal: bounded(signal),
    ...init,
  });
};

/** Bytes as a body of unknown length, in pieces of `size`. */
export const chunked = (bytes, size = 65536) => {
  let offset = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + size));
      offset += size;
    },
  });
};

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Splits a whole body into its frames, each the text before an empty line; LF is the only line end there is. */
export const framesOf = (body) => {
  assert.ok(!body.includes("\r"), "a carriage return in the stream");
  if (body === "") return [];
  assert.ok(body.endsWith("\n\n"), `the body does not end with an empty line: ${JSON.stringify(body.slice(-80))}`);
  return body.slice(0, -2).split("\n\n");
};

export const KEEPALIVE = ": keep-alive";

/** The event of one frame, checked for framing: one `data: ` line of compact JSON and nothing else. */
export const eventOf = (frame) => {
  assert.match(frame, /^data: [^\n]+$/, "a frame is one data line");
  const json = frame.slice("data: ".length);
  const event = JSON.parse(json);
  assert.equal(json, JSON.stringify(event), "the JSON is compact");
  return event;
};

/** Reads a stream to its end. Keep-alive comments are counted, everything else must be events. */
export const readRun = async (response) => {
  assert.equal(response.status, 200, await (response.status === 200 ? "" : response.text()));
  const body = decoder.decode(await response.arrayBuffer());
  const frames = framesOf(body);
  const events = frames.filter((frame) => frame !== KEEPALIVE).map(eventOf);
  return { body, events, keepAlives: frames.length - events.length };
};

/** POSTs a run and reads it. */
export const runOf = async (input, options) => readRun(await post(input, options));
/**
 * One plain run with little patience. A suite awaits it before anything else, so that a server that serves nobody fails it at once and not
 * one timeout after another.
 */
export const canary = async () => {
  const { events } = await readRun(await post(scriptOf([{ text: "canary" }]), { signal: bounded(undefined, 10000) }));
  assert.deepEqual(events.map(({ type }) => type), [
    "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
  ]);
};

/** The events of a script's run. */
export const eventsOf = async (script, options) => (await runOf(scriptOf(script), options)).events;

/** Frames as they arrive, each with the time it took since the first byte was asked for. */
export async function* arriving(response) {
  const from = performance.now();
  const streaming = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const bytes of response.body) {
    rest += streaming.decode(bytes, { stream: true });
    const frames = rest.split("\n\n");
    rest = frames.pop();
    assert.ok(rest.length < 1000000, "a megabyte without an empty line");
    for (const frame of frames) yield { frame, ms: performance.now() - from };
  }
  assert.equal(rest, "", "the body ends inside a frame");
}

/** What the server counts under a label. */
export const statsOf = async (label) =>
  (await eventsOf([{ stats: label }])).find(({ name }) => name === "demo.stats").value;

/** Asks for the counts until they satisfy `done`; the last ones are in the failure. */
export const eventually = async (label, done, withinMs = 5000) => {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const counts = await statsOf(label);
    if (done(counts)) return counts;
    assert.ok(Date.now() < deadline, `after ${withinMs} ms the counts are ${JSON.stringify(counts)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
};

let labels = 0;
/** A label no other run uses. */
export const freshLabel = () => `l${process.pid}-${Date.now().toString(36)}-${(labels += 1)}`;

/** The input as the agent saw it. */
export const seenInput = async (members, options) => {
  const { events } = await runOf(scriptOf([{ inputEcho: true }], members), options);
  const echo = events.find(({ name }) => name === "demo.input");
  assert.ok(echo, `no echo among ${events.map(({ type }) => type)}`);
  return echo.value.input;
};

/** A request with exactly these headers; `fetch` adds some of its own. */
export const bareRequest = async ({ method = "POST", path = "/agui", headers = {}, body, agent } = {}) => {
  const request = http.request(`${BASE}${path}`, { method, headers, agent, signal: bounded() });
  request.end(body);
  const [response] = await once(request, "response");
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString(), socket: request.socket };
};

/** Asserts a refusal: status, code, JSON of the one shape, no stream. Returns the body. */
export const refused = async (response, status, code, path) => {
  const body = await response.text();
  assert.equal(response.status, status, body);
  assert.match(response.headers.get("content-type") ?? "", /^application\/json(;|$)/);
  const error = JSON.parse(body);
  assert.equal(error.code, code, body);
  for (const member of ["error", "message"]) {
    assert.equal(typeof error[member], "string", `${member} in ${body}`);
    assert.notEqual(error[member], "", `${member} in ${body}`);
  }
  assert.doesNotMatch(error.message, /\bline \d|\bcolumn \d|serde|::|\bstruct\b|\bvariant\b|panicked/, "the message is for developers of clients");
  if (path === undefined) {
    if (code !== "invalid_input") assert.equal(error.path, undefined, body);
  } else {
    assert.equal(error.path, path, body);
    assert.ok(error.message.includes(path), `the message names the path: ${body}`);
  }
  return error;
};
