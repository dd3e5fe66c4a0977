// The WebSocket transport, through the package `ws` and through the WebSocket that browsers have, which Node 20 keeps
// behind a flag.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import WS from "ws";
import { converse, Conversation } from "../lib/socket.mjs";
import { BASE, TOKEN } from "../lib/settings.mjs";
import { canary, scriptOf } from "../lib/wire.mjs";

await canary();

const url = (path) => `${BASE.replace(/^http/, "ws")}${path}`;
const script = (steps, members) => ({ ...scriptOf(steps, members), agentId: "script" });
const OPTIONS = { timeout: 20000 };

describe("the package ws", () => {
  test("runs a conversation", OPTIONS, async () => {
    await converse((protocols) => new WS(url("/agui/ws"), protocols));
  });

  test("presents its token in a header or in the hello", OPTIONS, async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const known = await Conversation.open(new WS(url("/secure/agui/ws"), { headers }));
    assert.equal((await known.run(script([{ text: "a" }]))).at(-1).type, "RUN_FINISHED");
    await known.close();
    await converse((protocols) => new WS(url("/secure/agui/ws"), protocols), { token: TOKEN });
  });

  test("is told why a socket closes", OPTIONS, async () => {
    const cases = [
      ["/secure/agui/ws", (socket) => socket.send('{"type":"hello","token":"wrong"}'), 1008],
      ["/agui/ws", (socket) => socket.send("no json"), 1002],
      ["/agui/ws", (socket) => socket.send(new Uint8Array([1])), 1003],
      ["/agui/ws", (socket) => socket.send("x".repeat(8 * 1024 * 1024)), 1009],
      ["/agui/ws", (socket) => {
        const input = JSON.stringify(script([{ sleepMs: 30000 }]));
        socket.send(input);
        socket.send(input);
      }, 4409],
    ];
    for (const [path, act, code] of cases) {
      const conversation = await Conversation.open(new WS(url(path)));
      act(conversation.socket);
      assert.equal(await conversation.closed, code);
    }
  });

  test("is refused before the upgrade", OPTIONS, async () => {
    const status = (options, protocols = []) => new Promise((resolve, reject) => {
      const socket = new WS(url("/secure/agui/ws"), protocols, options);
      socket.on("unexpected-response", (_, response) => { resolve(response.statusCode); socket.terminate(); });
      socket.on("open", () => reject(new Error("it opened")));
      socket.on("error", () => {});
    });
    assert.equal(await status({ origin: "https://evil.example" }), 403);
    assert.equal(await status({ headers: { authorization: "Bearer wrong" } }), 401);
    assert.equal(await status({}, ["chat"]), 400);
    assert.equal((await fetch(`${BASE}/agui/ws`)).status, 426);
  });
});

test("the WebSocket of browsers runs a conversation", OPTIONS, () => {
  const program = fileURLToPath(new URL("../lib/browser-socket.mjs", import.meta.url));
  const flags = typeof WebSocket === "undefined" ? ["--experimental-websocket"] : [];
  const environment = { ...process.env };
  delete environment.NODE_TEST_CONTEXT;
  const done = spawnSync(process.execPath, [...flags, program, url("/secure/agui/ws"), TOKEN], {
    encoding: "utf8", env: environment, timeout: 15000,
  });
  assert.equal(done.status, 0, `${done.stdout}${done.stderr}`);
  assert.match(done.stdout, /done/);
});
