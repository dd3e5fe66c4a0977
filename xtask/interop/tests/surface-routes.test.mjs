// The runtime surface from outside: discovery, routes and methods, credentials, the one door, and the order in which
// faults are judged.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keepCapabilities } from "../lib/capture.mjs";
import { matches } from "../lib/check.mjs";
import { BASE, BODY_LIMIT, TOKEN } from "../lib/settings.mjs";
import { asking, fresh, holding, notStopped, open, secure, stopped, surfaces, following, typesOf } from "../lib/surface.mjs";
import { bareRequest, canary, chunked, readRun, refused } from "../lib/wire.mjs";

await canary();

const json = (value) => JSON.stringify(value);

for (const at of surfaces) {
  describe(`discovery at ${at.name}`, () => {
    test("tells of both agents, promises no other route and is JSON", async () => {
      const response = await at.info();
      assert.equal(response.status, 200);
      assert.match(response.headers.get("content-type"), /^application\/json(;|$)/);
      const info = await response.json();
      const agent = (name, className) => ({ name, className, description: /./, capabilities: info.agents[name]?.capabilities });
      matches(info, {
        version: /^\d+\.\d+\.\d+/,
        mode: "sse",
        agents: { echo: agent("echo", "EchoAgent"), script: agent("script", "ScriptAgent") },
        audioFileTranscriptionEnabled: false,
        suggestions: false,
        a2uiEnabled: false,
        openGenerativeUIEnabled: false,
        threadEndpoints: { list: false, inspect: false, mutations: false, realtimeMetadata: false },
        telemetryDisabled: true,
      });
    });

    test("declares what each agent can do", async () => {
      const { agents } = await (await at.info()).json();
      for (const [name, { capabilities }] of Object.entries(agents)) {
        keepCapabilities(`info-${name}`, capabilities);
        const { transport } = capabilities;
        assert.deepEqual({ streaming: transport.streaming, httpBinary: transport.httpBinary }, { streaming: true, httpBinary: true });
        assert.equal("resumable" in transport, false, "a broken stream is not re-entered");
      }
      const { tools, reasoning } = agents.script.capabilities;
      assert.deepEqual({ supported: tools.supported, clientProvided: tools.clientProvided }, { supported: true, clientProvided: true });
      assert.deepEqual({ supported: reasoning.supported, streaming: reasoning.streaming }, { supported: true, streaming: true });
    });

    test("needs no Accept, and heeds none", async () => {
      const bare = await bareRequest({ method: "GET", path: `${at.prefix}/info`, headers: at.credentials });
      assert.equal(bare.status, 200);
      for (const accept of ["text/event-stream", "text/html", "application/vnd.ag-ui.event+proto"]) {
        assert.deepEqual(await (await at.info({ headers: { accept } })).json(), JSON.parse(bare.body));
      }
    });

    test("answers HEAD without a body", async () => {
      const response = await at.info({ method: "HEAD" });
      assert.equal(response.status, 200);
      assert.match(response.headers.get("content-type"), /^application\/json/);
      assert.equal(await response.text(), "");
    });

    test("is the same through the one door", async () => {
      const door = await at.door({ method: "info" });
      assert.equal(door.status, 200);
      assert.deepEqual(await door.json(), await (await at.info()).json());
    });
  });

  describe(`methods at ${at.name}`, () => {
    const thread = fresh("thread");
    const routes = [
      ["/info", "GET", ["POST", "PUT", "DELETE", "PATCH"]],
      ["/agent/script/run", "POST", ["GET", "HEAD", "PUT", "DELETE", "PATCH"]],
      ["/agent/script/connect", "POST", ["GET", "HEAD", "PUT", "DELETE", "PATCH"]],
      [`/agent/script/stop/${thread}`, "POST", ["GET", "HEAD", "PUT", "DELETE", "PATCH"]],
      [at.prefix === "" ? "/" : "", "POST", ["GET", "HEAD", "PUT", "DELETE", "PATCH"]],
    ];
    for (const [path, allowed, others] of routes) {
      for (const method of others) {
        test(`${method} ${at.prefix}${path} is refused`, async () => {
          const response = await fetch(`${BASE}${at.prefix}${path}`, { method, headers: at.credentials });
          const allow = (response.headers.get("allow") ?? "").split(/\s*,\s*/).filter((name) => name !== "HEAD");
          assert.deepEqual(allow, [allowed], "what would not be refused");
          if (method === "HEAD") assert.equal(response.status, 405);
          else await refused(response, 405, "method_not_allowed");
        });
      }
    }
  });

  describe(`routes at ${at.name}`, () => {
    const unknown = ["/threads", "/agent", "/agent/script", "/agent/script/run/more", "/agent/script/suggest", "/agent/script/stop", "/info/more", "/nowhere"];
    for (const path of unknown) {
      test(`${path} does not exist`, async () => {
        await refused(await fetch(`${BASE}${at.prefix}${path}`, { headers: at.credentials }), 404, "not_found");
        await refused(await at.send(path, holding(fresh("thread"))), 404, "not_found");
      });
    }

    test("an unknown agent is a 404 on every route", async () => {
      const thread = fresh("thread");
      for (const agent of ["nobody", "Script", "script%20"]) {
        await refused(await at.run(asking(thread, []), { agent }), 404, "agent_not_found");
        await refused(await at.connect(holding(thread), { agent }), 404, "agent_not_found");
        await refused(await at.stop(thread, "", { agent }), 404, "agent_not_found");
      }
    });

    test("an agent id is decoded", async () => {
      const { events } = await readRun(await at.run(asking(fresh("thread"), [{ inputEcho: true }]), { agent: "%73cript" }));
      assert.equal(events[1].value.agentId, "script");
    });

    for (const path of ["/agent/%zz/run", "/agent/script%/run", "/agent/script/stop/%4", "/agent/script/stop/a%g0", "/agent/script/stop/%"]) {
      test(`the escape in ${path} is refused`, async () => {
        const { status, body } = await bareRequest({
          path: `${at.prefix}${path}`,
          headers: { "content-type": "application/json", ...at.credentials },
          body: json(holding(fresh("thread"))),
        });
        assert.equal(status, 400, body);
        assert.equal(JSON.parse(body).code, "invalid_request");
      });
    }

    test("a header that names an agent is none of this surface's business", async () => {
      const { events } = await readRun(await at.run(asking(fresh("thread"), [{ text: "a" }]), { headers: { "x-agent-id": "nobody" } }));
      assert.equal(events.length, 5);
    });
  });

  describe(`the order of judgement at ${at.name}`, () => {
    const text = { headers: { "content-type": "text/plain" } };
    const get = (path) => fetch(`${BASE}${at.prefix}${path}`, { headers: at.credentials });
    test("the method before the agent", async () => void (await refused(await get("/agent/nobody/run"), 405, "method_not_allowed")));
    test("the agent before the content type", async () => {
      await refused(await at.run("x", { ...text, agent: "nobody" }), 404, "agent_not_found");
      await refused(await at.connect("x", { ...text, agent: "nobody" }), 404, "agent_not_found");
    });
    test("the content type before the size", async () => {
      const body = Buffer.alloc(BODY_LIMIT + 1, "x");
      await refused(await at.run(body, text), 415, "unsupported_media_type");
      await refused(await at.connect(body, text), 415, "unsupported_media_type");
    });
    test("the size before JSON", async () => {
      const body = Buffer.alloc(BODY_LIMIT + 1, "x");
      await refused(await at.run(body), 413, "body_too_large");
      await refused(await at.connect(body), 413, "body_too_large");
      await refused(await at.stop(fresh("thread"), body), 413, "body_too_large");
      await refused(await at.door(body), 413, "body_too_large");
    });
    test("a large body is counted without its length too", async () => {
      await refused(await at.connect(chunked(Buffer.alloc(BODY_LIMIT + 1, "x"))), 413, "body_too_large");
    });
    test("JSON before the shape", async () => {
      await refused(await at.run('{"threadId":5'), 400, "invalid_json");
      await refused(await at.connect('{"threadId":5'), 400, "invalid_json");
    });
    test("the shape before the thread", async () => {
      const thread = fresh("thread");
      const running = following(await at.run(asking(thread, [{ sleepMs: 30000 }])));
      await running.until(({ type }) => type === "RUN_STARTED");
      await refused(await at.run({ ...asking(thread, []), messages: [{ role: "user", content: "q" }] }), 400, "invalid_input", "messages[0].id");
      await refused(await at.run(asking(thread, [])), 409, "thread_busy");
      await stopped(await at.stop(thread), running.events[0].runId);
      await running.rest();
    });
  });

  describe(`the one door at ${at.name}`, () => {
    const params = { agentId: "script" };

    test("runs, connects and stops as the routes do", async () => {
      const threadId = fresh("thread");
      const input = asking(threadId, [{ text: "a", id: fresh("m") }, { sleepMs: 30000 }]);
      const running = following(await at.door({ method: "agent/run", params, body: input }));
      await running.until(({ type }) => type === "TEXT_MESSAGE_END");
      const watching = following(await at.door({ method: "agent/connect", params, body: holding(threadId) }));
      await watching.until(({ type }) => type === "TEXT_MESSAGE_END");
      const stop = (body) => at.door({ method: "agent/stop", params: { ...params, threadId }, ...body });
      await notStopped(await stop({ body: { runId: "another" } }));
      await stopped(await stop({ body: { runId: input.runId } }), input.runId);
      for (const stream of [running, watching]) assert.deepEqual((await stream.rest()).map(({ outcome }) => outcome), [{ type: "cancelled" }]);
      await notStopped(await stop({}));
    });

    test("may be asked in any JSON content type", async () => {
      const response = await at.door({ method: "info" }, { headers: { "content-type": "application/json; charset=utf-8" } });
      assert.equal(response.status, 200);
      await refused(await at.door(json({ method: "info" }), { headers: { "content-type": "text/plain" } }), 415, "unsupported_media_type");
    });

    const input = holding("t");
    const bad = {
      "no method": {},
      "an unknown method": { method: "agent/suggest", params, body: input },
      "a method that is a number": { method: 1 },
      "a method that is null": { method: null },
      "a list": [],
      "null": "null",
      "a run without params": { method: "agent/run", body: input },
      "a run without an agent": { method: "agent/run", params: {}, body: input },
      "a run whose agent is a number": { method: "agent/run", params: { agentId: 1 }, body: input },
      "a run without a body": { method: "agent/run", params },
      "a connect without a body": { method: "agent/connect", params },
      "a connect without params": { method: "agent/connect", body: input },
      "a stop without a thread": { method: "agent/stop", params },
      "a stop without an agent": { method: "agent/stop", params: { threadId: "t" } },
      "a stop whose thread is a number": { method: "agent/stop", params: { ...params, threadId: 1 } },
    };
    for (const [what, envelope] of Object.entries(bad)) {
      test(`${what} is refused`, async () => void (await refused(await at.door(envelope), 400, "invalid_request")));
    }

    test("what is no JSON is refused as such", async () => {
      for (const body of ["", "{", "{} {}"]) await refused(await at.door(body), 400, "invalid_json");
    });
    test("errors are those of the routes", async () => {
      const nobody = { agentId: "nobody" };
      await refused(await at.door({ method: "agent/run", params: nobody, body: input }), 404, "agent_not_found");
      await refused(await at.door({ method: "agent/connect", params: nobody, body: input }), 404, "agent_not_found");
      await refused(await at.door({ method: "agent/stop", params: { ...nobody, threadId: "t" } }), 404, "agent_not_found");
      const { runId: _, ...cut } = input;
      await refused(await at.door({ method: "agent/run", params, body: cut }), 400, "invalid_input", "runId");
      await refused(await at.door({ method: "agent/connect", params, body: { ...input, messages: [{ id: "u", role: "user" }] } }), 400, "invalid_input", "messages[0].content");
      await refused(await at.door({ method: "agent/stop", params: { ...params, threadId: "t" }, body: { runId: 5 } }), 400, "invalid_input", "runId");
    });
  });

  describe(`malformed bodies at ${at.name}`, () => {
    const { threadId: _, ...noThread } = holding("t");
    const faults = [
      ["nothing", "", "invalid_json"],
      ["half of it", '{"threadId":', "invalid_json"],
      ["a list", [], "invalid_input"],
      ["null", "null", "invalid_input"],
      ["no thread", noThread, "invalid_input", "threadId"],
      ["a thread that is a number", holding(5), "invalid_input", "threadId"],
      ["a message without an id", holding("t", [{ role: "user", content: "q" }]), "invalid_input", "messages[0].id"],
      ["messages that are null", holding("t", null), "invalid_input", "messages"],
    ];
    for (const [what, body, code, path] of faults) {
      test(`${what} is refused by run and connect`, async () => {
        await refused(await at.run(body), 400, code, path);
        await refused(await at.connect(body), 400, code, path);
      });
    }
    for (const [what, body, code, path] of [
      ["half of it", "{", "invalid_json"],
      ["a list", [], "invalid_input"],
      ["text", '"r"', "invalid_input"],
      ["null", "null", "invalid_input"],
      ["a run id that is a number", { runId: 5 }, "invalid_input", "runId"],
      ["a run id that is null", { runId: null }, "invalid_input", "runId"],
    ]) {
      test(`${what} is refused by stop`, async () => void (await refused(await at.stop(fresh("thread"), body), 400, code, path)));
    }
  });
}

describe("the bearer token of the surface", () => {
  const strangers = {
    "no header": {},
    "another token": { authorization: "Bearer wrong" },
    "a longer token": { authorization: `Bearer ${TOKEN}x` },
    "a shorter token": { authorization: `Bearer ${TOKEN.slice(0, -1)}` },
    "another scheme": { authorization: `Basic ${TOKEN}` },
    "the token alone": { authorization: TOKEN },
  };
  for (const [what, headers] of Object.entries(strangers)) {
    test(`${what} opens nothing below the prefix, not even a 404`, async () => {
      const requests = [
        ["GET", "/info"], ["POST", "/info"], ["POST", "/agent/script/run"], ["POST", "/agent/script/connect"], ["POST", "/agent/script/stop/t"],
        ["POST", "/agent/nobody/run"], ["GET", "/agent/script/run"], ["POST", ""], ["POST", "/"], ["GET", "/threads"], ["GET", "/nowhere"],
        ["POST", "/agent/%zz/run"],
      ];
      for (const [method, path] of requests) {
        const init = method === "GET" ? {} : { body: json(holding("t")) };
        const response = await fetch(`${BASE}/secure${path}`, { method, headers: { "content-type": "application/json", ...headers }, ...init });
        assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer\b/);
        const error = await refused(response, 401, "unauthorized");
        assert.ok(!json(error).includes(TOKEN));
      }
    });
  }

  test("is asked for below the prefix alone", async () => {
    assert.equal((await open.info()).status, 200);
    assert.equal((await open.info({ headers: { authorization: "Bearer wrong" } })).status, 200);
  });

  test("is matched in any case of its scheme", async () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      assert.equal((await secure.info({ headers: { authorization: `${scheme} ${TOKEN}` } })).status, 200);
    }
  });

  test("a stranger's envelope is told the same as a stranger", async () => {
    const response = await open.send("/secure", { method: "info" });
    const error = await refused(response, 401, "unauthorized");
    assert.equal(typeof error.message, "string");
  });
});

describe("browsers", () => {
  const ORIGIN = "https://app.example";
  const paths = surfaces.flatMap(({ prefix }) => [
    `${prefix}/info`, `${prefix}/agent/script/run`, `${prefix}/agent/script/connect`, `${prefix}/agent/script/stop/t%2F7`, `${prefix}/`,
  ]);
  const preflight = (path) =>
    fetch(`${BASE}${path}`, {
      method: "OPTIONS",
      headers: { origin: ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": "authorization,content-type" },
    });

  test("a thousand preflights pass without credentials", { timeout: 60000 }, async () => {
    let sent = 0;
    const some = async () => {
      while (sent < 1000) {
        const path = paths[(sent += 1) % paths.length];
        const response = await preflight(path);
        assert.ok([200, 204].includes(response.status), `${path}: ${response.status}`);
        assert.equal(response.headers.get("access-control-allow-origin"), ORIGIN);
        assert.equal(response.headers.get("access-control-allow-credentials"), "true");
        const headers = response.headers.get("access-control-allow-headers").toLowerCase();
        assert.ok(headers.includes("authorization") && headers.includes("content-type"), headers);
        await response.arrayBuffer();
      }
    };
    await Promise.all(Array.from({ length: 20 }, some));
    const { events } = await readRun(await secure.run(asking(fresh("thread"), [{ text: "a" }])));
    assert.equal(typesOf(events).at(-1), "RUN_FINISHED");
  });

  const readable = (response) => {
    assert.equal(response.headers.get("access-control-allow-origin"), ORIGIN);
    assert.equal(response.headers.get("access-control-allow-credentials"), "true");
    assert.match(response.headers.get("vary") ?? "", /origin/i);
    return response;
  };
  const headers = { origin: ORIGIN };
  test("every answer names the origin", async () => {
    const threadId = fresh("thread");
    readable(await open.info({ headers }));
    await readRun(readable(await open.run(asking(threadId, [{ text: "a" }]), { headers })));
    await readRun(readable(await open.connect(holding(threadId), { headers })));
    await notStopped(readable(await open.stop(threadId, "", { headers })));
    await refused(readable(await open.connect("{", { headers })), 400, "invalid_json");
    await refused(readable(await fetch(`${BASE}/secure/info`, { headers })), 401, "unauthorized");
    await refused(readable(await open.run(asking(threadId, []), { headers, agent: "nobody" })), 404, "agent_not_found");
    await refused(readable(await fetch(`${BASE}/agent/script/run`, { headers })), 405, "method_not_allowed");
    await refused(readable(await open.connect(Buffer.alloc(BODY_LIMIT + 1, "x"), { headers })), 413, "body_too_large");
  });
});
