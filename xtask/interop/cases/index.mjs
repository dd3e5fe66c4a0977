// The step table, once, as data. Three suites read it: the 1.0 client, the 0.0.59 client and the raw frames.
//
// A case is
//   name        unique; names its capture file
//   agent       `script` unless it says otherwise
//   script      forwardedProps.script; absent means none is sent
//   input       members of the run input besides
//   body, end   the events on the wire between RUN_STARTED and the terminal event, and that event
//   delivered   what a client's subscribers see of the body where that differs from the wire
//   messages    everything the consumer holds afterwards, the input's messages included
//   state       what the consumer holds afterwards; the input's state if absent
//   warnings    what the client says on its console, in order; nothing unless listed
//   wellFormed  false when the stream breaks the protocol on purpose; `fails` then says what the rejection names
//   older       what differs for a reader that declares no version: `messages`, `state`
//   secret      text that may occur nowhere in the stream
// `{nonce}` in a script or an expectation is replaced by text that no other run uses. Regular expressions, `anyOf` and
// `SENT_INPUT` stand for values the contract does not spell out.

import { choicesOf, finished, started } from "../lib/events.mjs";
import echo from "./echo.mjs";
import end from "./end.mjs";
import nest from "./nest.mjs";
import show from "./show.mjs";
import speak from "./speak.mjs";
import testing from "./testing.mjs";

let runs = 0;

const fill = (value, nonce) => {
  if (typeof value === "string") return value.replaceAll("{nonce}", nonce);
  if (Array.isArray(value)) return value.map((item) => fill(item, nonce));
  if (value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, nonce)]));
  }
  return value;
};

const complete = (row) => {
  const agent = row.agent ?? "script";
  const input = { messages: [], state: {}, tools: [], context: [], ...row.input };
  input.forwardedProps = { ...input.forwardedProps, ...(row.script === undefined ? {} : { script: row.script }) };
  const around = (body) => choicesOf(body).flatMap((middle) =>
    choicesOf(row.end ?? finished()).map((last) => [started(), ...middle, last]));
  const wire = around(row.body);
  const messages = row.messages ?? input.messages;
  const state = "state" in row ? row.state : input.state;
  return {
    name: row.name,
    agent,
    input,
    wire,
    delivered: row.delivered === undefined ? wire : around(row.delivered),
    messages,
    state,
    warnings: row.warnings ?? [],
    wellFormed: row.wellFormed ?? true,
    fails: row.fails,
    secret: row.secret,
    older: { messages, state, ...row.older },
  };
};

export const cases = [...echo, ...speak, ...show, ...nest, ...end, ...testing].map(complete);

const names = new Set(cases.map(({ name }) => name));
if (names.size !== cases.length) throw new Error("two cases share a name");

/** The case with a nonce of its own, ready for one run. */
export const instance = (row) => {
  runs += 1;
  return fill(row, `n${process.pid}-${Date.now().toString(36)}-${runs}`);
};

/** A name that is safe as a file name. */
export const slug = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
if (new Set([...names].map(slug)).size !== names.size) throw new Error("two cases share a file name");
