// A conversation over a WebSocket of whatever make: the package `ws` and browsers have the same events and methods.

import assert from "node:assert/strict";
import { text } from "./events.mjs";
import { scriptOf } from "./wire.mjs";

/** One socket: frames in the order they came, and the code it closed with. */
export class Conversation {
  #frames = [];
  #waiting = [];

  constructor(socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.addEventListener("close", ({ code }) => {
      for (const { reject } of this.#waiting) reject(new Error(`closed with ${code}`));
      resolve(code);
    }));
    socket.addEventListener("error", () => {});
    socket.addEventListener("message", ({ data }) => {
      const waiting = this.#waiting.shift();
      if (waiting) waiting.resolve(data);
      else this.#frames.push(data);
    });
  }

  static async open(socket) {
    const conversation = new Conversation(socket);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      conversation.closed.then((code) => reject(new Error(`closed with ${code}`)));
    });
    return conversation;
  }

  async frame() {
    const data = this.#frames.shift()
      ?? await new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    assert.equal(typeof data, "string", "frames are text");
    const frame = JSON.parse(data);
    assert.equal(data, JSON.stringify(frame), "the JSON is compact");
    return frame;
  }

  send(frame) {
    this.socket.send(JSON.stringify(frame));
  }

  /** Asks for a run and reads it to its end. */
  async run(input) {
    this.send(input);
    return this.rest();
  }

  /** The events up to the next terminal one. */
  async rest() {
    const events = [];
    do events.push(await this.frame());
    while (!["RUN_FINISHED", "RUN_ERROR"].includes(events.at(-1).type));
    return events;
  }

  async close() {
    this.socket.close();
    return this.closed;
  }
}

/** A hello, two runs, a refused input, a stopped run, and a close in order. `connect` is given the subprotocols. */
export const converse = async (connect, hello = {}) => {
  const conversation = await Conversation.open(connect(["ag-ui.1"]));
  assert.equal(conversation.socket.protocol, "ag-ui.1");
  conversation.send({ type: "hello", client: "interop", ...hello });
  assert.deepEqual(await conversation.frame(), { type: "hello_ack", protocolVersion: "1.0" });

  const input = (script, members) => ({ ...scriptOf(script, members), agentId: "script" });
  for (const word of ["größe", "two\nlines"]) {
    const events = await conversation.run(input([{ text: word }]));
    assert.deepEqual(events.slice(1, -1), text("r:m1", word));
    assert.equal(events.at(-1).type, "RUN_FINISHED");
  }

  const [refusal] = await conversation.run({ threadId: "t" });
  assert.equal(refusal.code, "invalid_input");

  conversation.send(input([{ text: "before" }, { sleepMs: 30000 }]));
  while ((await conversation.frame()).type !== "TEXT_MESSAGE_END");
  conversation.send({ type: "stop" });
  assert.deepEqual((await conversation.rest()).at(-1).outcome, { type: "cancelled" });

  assert.deepEqual((await conversation.run(input([{ text: "after" }]))).slice(1, -1), text("r:m1", "after"));
  const code = await conversation.close();
  assert.ok([1000, 1005].includes(code), `closed with ${code}`);
};
