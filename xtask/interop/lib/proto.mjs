// The binary wire: frames of a body, read by @ag-ui/proto, and what that wire does not carry.

import assert from "node:assert/strict";
import { decode } from "@ag-ui/proto";
import { post } from "./wire.mjs";

export const PROTO = "application/vnd.ag-ui.event+proto";

const plain = (value) => JSON.parse(JSON.stringify(value));

/** The payloads of a whole body: a length of four bytes before each, nothing between and nothing after. */
export const payloadsOf = (body) => {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  const payloads = [];
  let offset = 0;
  while (offset < body.length) {
    assert.ok(offset + 4 <= body.length, "the body ends inside a length");
    const end = offset + 4 + view.getUint32(offset);
    assert.ok(end <= body.length, "the body ends inside a frame");
    payloads.push(body.subarray(offset + 4, end));
    offset = end;
  }
  return payloads;
};

/** Reads a stream to its end. */
export const readProtoRun = async (response) => {
  assert.equal(response.status, 200, await (response.status === 200 ? "" : response.text()));
  // Readers compare the whole value.
  assert.equal(response.headers.get("content-type"), PROTO);
  const body = new Uint8Array(await response.arrayBuffer());
  return { body, events: payloadsOf(body).map((payload) => plain(decode(payload))) };
};

/** POSTs a run, asks for the binary wire, and reads it. */
export const protoRunOf = async (input, { headers, ...options } = {}) =>
  readProtoRun(await post(input, { ...options, headers: { ...headers, accept: PROTO } }));

const isEmptyList = (value) => Array.isArray(value) && value.length === 0;

// A list without items and no list are the same bytes.
const withoutEmpty = (value, ...lists) =>
  Object.fromEntries(Object.entries(value).filter(([name, member]) => !(lists.includes(name) && isEmptyList(member))));

const operationOf = ({ op, path, from, value }) =>
  Object.fromEntries(Object.entries({ op, path, from, value }).filter(([, member]) => member !== undefined));

const messagesOf = (messages) => messages.map((message) => withoutEmpty(message, "toolCalls"));

/** The event as it comes off the binary wire. */
export const overProto = (event) => {
  switch (event.type) {
    case "RUN_STARTED": {
      if (event.input === undefined) return event;
      const { messages } = event.input;
      return { ...event, input: { tools: [], context: [], resume: [], ...event.input, messages: messagesOf(messages) } };
    }
    case "RUN_FINISHED": {
      const rest = withoutEmpty(event, "usage");
      return rest.outcome === undefined ? rest : { ...rest, outcome: withoutEmpty(rest.outcome, "pendingToolCallIds") };
    }
    case "RUN_ERROR":
      return withoutEmpty(event, "usage");
    case "SUBAGENT_FINISHED":
      return event.outcome === undefined ? event : { ...event, outcome: withoutEmpty(event.outcome, "interruptIds") };
    case "MESSAGES_SNAPSHOT":
      return { ...event, messages: messagesOf(event.messages) };
    case "STATE_DELTA":
      return { ...event, delta: event.delta.map(operationOf) };
    case "ACTIVITY_DELTA":
      return { ...event, patch: event.patch.map(operationOf) };
    default:
      return event;
  }
};
