// What is refused before a stream opens: status, JSON body, headers, and the order in which faults are judged.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BASE, BODY_LIMIT, TOKEN } from "../lib/settings.mjs";
import { bareRequest, canary, chunked, inputOf, post, readRun, refused, scriptOf } from "../lib/wire.mjs";

await canary();

const ORIGIN = "https://app.example";
const user = (members) => ({ id: "u", role: "user", content: "q", ...members });
const withMessages = (...messages) => inputOf({ messages });
const without = (key, input = inputOf()) => Object.fromEntries(Object.entries(input).filter(([name]) => name !== key));
const nested = (levels) => `{"threadId":"t","runId":"r","messages":[],"state":${"[".repeat(levels)}${"]".repeat(levels)}}`;
const json = (value) => JSON.stringify(value);

describe("a body that is not JSON", () => {
  const bodies = {
    "nothing at all": "",
    "white space": " \n",
    "an opening brace": "{",
    "words": "hello",
    "a cut-off object": '{"threadId":"t","runId":"r","messages":[',
    "text after the value": `${json(inputOf())} x`,
    "two values": `${json(inputOf())}${json(inputOf())}`,
    "single quotes": "{'threadId':'t'}",
    "bytes that are not UTF-8": new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    "ten thousand levels": nested(10000),
  };
  for (const [what, body] of Object.entries(bodies)) {
    test(what, async () => void (await refused(await post(body), 400, "invalid_json")));
  }
  test("a hundred levels are served", async () => {
    assert.equal((await readRun(await post(nested(100)))).events.at(-1).type, "RUN_FINISHED");
  });
});

describe("JSON that is no run input", () => {
  for (const body of ["[]", "null", '"text"', "5", "true"]) {
    test(body, async () => void (await refused(await post(body), 400, "invalid_input")));
  }

  const faults = [
    ["no threadId", without("threadId"), "threadId"],
    ["no runId", without("runId"), "runId"],
    ["no messages", without("messages"), "messages"],
    ["a snake_case threadId", { ...without("threadId"), thread_id: "t" }, "threadId"],
    ["a threadId that is a number", inputOf({ threadId: 5 }), "threadId"],
    ["a threadId that is null", inputOf({ threadId: null }), "threadId"],
    ["a runId that is a list", inputOf({ runId: ["r"] }), "runId"],
    ["a parentRunId that is null", inputOf({ parentRunId: null }), "parentRunId"],
    ["a parentRunId that is a number", inputOf({ parentRunId: 1 }), "parentRunId"],
    ["a protocolVersion that is a number", inputOf({ protocolVersion: 1 }), "protocolVersion"],
    ["messages that are an object", inputOf({ messages: {} }), "messages"],
    ["messages that are null", inputOf({ messages: null }), "messages"],
    ["a message that is text", withMessages("hi"), "messages[0]"],
    ["a message that is null", withMessages(user(), null), "messages[1]"],
    ["a message without an id", withMessages(without("id", user())), "messages[0].id"],
    ["a message whose id is a number", withMessages(user({ id: 1 })), "messages[0].id"],
    ["a message without a role", withMessages(without("role", user())), "messages[0].role"],
    ["a message whose role is a number", withMessages(user({ role: 1 })), "messages[0].role"],
    ["a user message without content", withMessages(without("content", user())), "messages[0].content"],
    ["a user message whose content is a number", withMessages(user(), user({ id: "v", content: 5 })), "messages[1].content"],
    ["a user message whose content is null", withMessages(user({ content: null })), "messages[0].content"],
    ["a system message whose content is a list", withMessages(user({ role: "system", content: [] })), "messages[0].content"],
    ["a message whose name is null", withMessages(user({ name: null })), "messages[0].name"],
    ["a message whose metadata is a list", withMessages(user({ metadata: [] })), "messages[0].metadata"],
    ["a message whose metadata is null", withMessages(user({ metadata: null })), "messages[0].metadata"],
    ["an encryptedValue that is a number", withMessages(user({ encryptedValue: 1 })), "messages[0].encryptedValue"],
    ["a part that is text", withMessages(user({ content: ["hi"] })), "messages[0].content[0]"],
    ["a part without a type", withMessages(user({ content: [{ text: "hi" }] })), "messages[0].content[0].type"],
    ["a text part without text", withMessages(user({ content: [{ type: "text" }] })), "messages[0].content[0].text"],
    ["an image without a source", withMessages(user({ content: [{ type: "image" }] })), "messages[0].content[0].source"],
    [
      "a source without a type",
      withMessages(user({ content: [{ type: "text", text: "a" }, { type: "image", source: { value: "x" } }] })),
      "messages[0].content[1].source.type",
    ],
    [
      "a source whose value is a number",
      withMessages(user({ content: [{ type: "image", source: { type: "url", value: 1 } }] })),
      "messages[0].content[0].source.value",
    ],
    [
      "data without a mime type",
      withMessages(user({ content: [{ type: "audio", source: { type: "data", value: "aGk=" } }] })),
      "messages[0].content[0].source.mimeType",
    ],
    ["a tool message without toolCallId", withMessages({ id: "t", role: "tool", content: "x" }), "messages[0].toolCallId"],
    ["a tool message whose error is an object", withMessages({ id: "t", role: "tool", content: "x", toolCallId: "c", error: {} }), "messages[0].error"],
    ["a reasoning message without content", withMessages({ id: "w", role: "reasoning" }), "messages[0].content"],
    ["tool calls that are an object", withMessages({ id: "a", role: "assistant", toolCalls: {} }), "messages[0].toolCalls"],
    [
      "a tool call of another type",
      withMessages({ id: "a", role: "assistant", toolCalls: [{ id: "c", type: "procedure", function: { name: "f", arguments: "" } }] }),
      "messages[0].toolCalls[0].type",
    ],
    [
      "arguments that are an object",
      withMessages(user(), { id: "a", role: "assistant", toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: {} } }] }),
      "messages[1].toolCalls[0].function.arguments",
    ],
    ["tools that are null", inputOf({ tools: null }), "tools"],
    ["a tool without a name", inputOf({ tools: [{ description: "d" }] }), "tools[0].name"],
    ["a tool without a description", inputOf({ tools: [{ name: "f" }] }), "tools[0].description"],
    ["a tool whose metadata is text", inputOf({ tools: [{ name: "f", description: "d", metadata: "m" }] }), "tools[0].metadata"],
    ["context that is an object", inputOf({ context: {} }), "context"],
    ["a context entry without a value", inputOf({ context: [{ description: "a", value: "b" }, { description: "c" }] }), "context[1].value"],
    ["resume that is null", inputOf({ resume: null }), "resume"],
    ["a resume entry without an id", inputOf({ resume: [{ status: "resolved" }] }), "resume[0].interruptId"],
    ["a resume entry whose status is a number", inputOf({ resume: [{ interruptId: "i", status: 1 }] }), "resume[0].status"],
    ["a malformed member beside an unknown one", inputOf({ extra: 1, messages: [user({ extra: 1, content: 5 })] }), "messages[0].content"],
  ];
  for (const [what, body, path] of faults) {
    test(what, async () => void (await refused(await post(body), 400, "invalid_input", path)));
  }

  test("the constant text of a code does not change with the fault", async () => {
    const first = await refused(await post(without("runId")), 400, "invalid_input", "runId");
    const second = await refused(await post(inputOf({ tools: 1 })), 400, "invalid_input", "tools");
    assert.equal(first.error, second.error);
    assert.notEqual(first.message, second.message);
  });

  test("what was sent is not repeated in the answer", async () => {
    const error = await refused(await post(inputOf({ threadId: ["sk-secret-value"] })), 400, "invalid_input", "threadId");
    assert.ok(!json(error).includes("sk-secret-value"));
  });
});

describe("the content type", () => {
  const served = [
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8;x=y",
    "application/merge-patch+json",
    "application/vnd.api+json; v=1",
  ];
  for (const type of served) {
    test(`${type} is read`, async () => {
      const response = await post(scriptOf([{ text: "a" }]), { headers: { "content-type": type } });
      assert.equal((await readRun(response)).events.length, 5);
    });
  }
  const unread = [
    "text/plain",
    "text/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json5",
    "application/octet-stream",
    "json",
  ];
  for (const type of unread) {
    test(`${type} is refused`, async () => {
      const response = await post(scriptOf([]), { headers: { "content-type": type } });
      await refused(response, 415, "unsupported_media_type");
    });
  }
  test("none is refused", async () => {
    const { status, body } = await bareRequest({ headers: { "x-agent-id": "script" }, body: json(scriptOf([])) });
    assert.equal(status, 415);
    assert.equal(JSON.parse(body).code, "unsupported_media_type");
  });
});

describe("the method", () => {
  for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
    test(`${method} is refused`, async () => {
      const response = await fetch(`${BASE}/agui`, { method });
      assert.match(response.headers.get("allow") ?? "", /\bPOST\b/);
      assert.doesNotMatch(response.headers.get("allow"), /GET|PUT|DELETE|PATCH/);
      await refused(response, 405, "method_not_allowed");
    });
  }
  test("HEAD is refused", async () => {
    const response = await fetch(`${BASE}/agui`, { method: "HEAD" });
    assert.equal(response.status, 405);
    assert.match(response.headers.get("allow") ?? "", /\bPOST\b/);
  });
});

describe("routes and agents", () => {
  test("an unknown agent", async () => void (await refused(await post(inputOf(), { agent: "nobody" }), 404, "agent_not_found")));
  test("an agent in another spelling", async () => void (await refused(await post(inputOf(), { agent: "Echo" }), 404, "agent_not_found")));
  test("an unknown path", async () => void (await refused(await post(inputOf(), { path: "/nowhere" }), 404, "not_found")));
  test("a path below the endpoint", async () => void (await refused(await post(inputOf(), { path: "/agui/more" }), 404, "not_found")));
});

describe("the size", () => {
  const padded = (bytes) => {
    const shell = json(scriptOf([{ text: "a" }], { state: "" }));
    return Buffer.from(json(scriptOf([{ text: "a" }], { state: "x".repeat(bytes - shell.length) })));
  };
  for (const [what, wrap] of [["with a Content-Length", (bytes) => bytes], ["without a Content-Length", (bytes) => chunked(bytes)]]) {
    test(`exactly the limit is read ${what}`, async () => {
      const body = padded(BODY_LIMIT);
      assert.equal(body.length, BODY_LIMIT);
      assert.equal((await readRun(await post(wrap(body)))).events.length, 5);
    });
    test(`one byte more is refused ${what}`, async () => {
      await refused(await post(wrap(padded(BODY_LIMIT + 1))), 413, "body_too_large");
    });
    test(`a body far beyond the limit is answered and not reset ${what}`, async () => {
      await refused(await post(wrap(padded(BODY_LIMIT + 1500000))), 413, "body_too_large");
    });
  }
  test("too large is told before not JSON", async () => {
    await refused(await post(Buffer.alloc(BODY_LIMIT + 1, "x")), 413, "body_too_large");
  });
});

describe("the bearer token", () => {
  const secure = (authorization, options = {}) =>
    post(scriptOf([{ text: "in" }]), {
      path: "/secure/agui",
      ...options,
      headers: { ...(authorization === undefined ? {} : { authorization }), ...options.headers },
    });
  const strangers = {
    "no header": undefined,
    "an empty header": "",
    "another token": "Bearer wrong",
    "a longer token": `Bearer ${TOKEN}x`,
    "a shorter token": `Bearer ${TOKEN.slice(0, -1)}`,
    "no token": "Bearer",
    "another scheme": `Basic ${TOKEN}`,
    "the token alone": TOKEN,
  };
  for (const [what, authorization] of Object.entries(strangers)) {
    test(`${what} is refused`, async () => {
      const response = await secure(authorization);
      assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer\b/);
      await refused(response, 401, "unauthorized");
    });
  }
  for (const scheme of ["Bearer", "bearer", "BEARER"]) {
    test(`${scheme} is accepted`, async () => {
      assert.equal((await readRun(await secure(`${scheme} ${TOKEN}`))).events.length, 5);
    });
  }
  test("strangers learn nothing of agents, paths, methods and bodies", async () => {
    await refused(await secure(undefined, { agent: "nobody" }), 401, "unauthorized");
    await refused(await secure(undefined, { path: "/secure/nowhere" }), 401, "unauthorized");
    await refused(await secure(undefined, { headers: { "content-type": "text/plain" } }), 401, "unauthorized");
    await refused(await fetch(`${BASE}/secure/agui`), 401, "unauthorized");
    await refused(await post("{", { path: "/secure/agui" }), 401, "unauthorized");
  });
  test("who is let in is judged like anybody", async () => {
    const known = `Bearer ${TOKEN}`;
    await refused(await secure(known, { agent: "nobody" }), 404, "agent_not_found");
    await refused(await secure(known, { path: "/secure/nowhere" }), 404, "not_found");
    await refused(await post("{", { path: "/secure/agui", headers: { authorization: known } }), 400, "invalid_json");
  });
});

describe("the order of judgement", () => {
  const text = { headers: { "content-type": "text/plain" } };
  test("the path before the method", async () => {
    await refused(await fetch(`${BASE}/nowhere`, { method: "PUT" }), 404, "not_found");
  });
  test("the method before the agent", async () => {
    await refused(await fetch(`${BASE}/agui`, { headers: { "x-agent-id": "nobody" } }), 405, "method_not_allowed");
  });
  test("the agent before the content type", async () => {
    await refused(await post("x", { ...text, agent: "nobody" }), 404, "agent_not_found");
  });
  test("the content type before the size", async () => {
    await refused(await post(Buffer.alloc(BODY_LIMIT + 1, "x"), text), 415, "unsupported_media_type");
  });
  test("JSON before the shape", async () => void (await refused(await post('{"threadId":5'), 400, "invalid_json")));
});

describe("cross-origin", () => {
  const names = (response, header) => (response.headers.get(header) ?? "").toLowerCase().split(/\s*,\s*/);
  const allowsOrigin = (response) => {
    assert.equal(response.headers.get("access-control-allow-origin"), ORIGIN);
    assert.equal(response.headers.get("access-control-allow-credentials"), "true");
    assert.ok(names(response, "vary").includes("origin"), `Vary: ${response.headers.get("vary")}`);
  };
  for (const path of ["/agui", "/secure/agui"]) {
    test(`a preflight of ${path} passes without credentials`, async () => {
      const response = await fetch(`${BASE}${path}`, {
        method: "OPTIONS",
        headers: {
          origin: ORIGIN,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,x-agent-id",
        },
      });
      assert.ok([200, 204].includes(response.status), `status ${response.status}`);
      allowsOrigin(response);
      const headers = names(response, "access-control-allow-headers");
      for (const header of ["authorization", "content-type", "x-agent-id"]) assert.ok(headers.includes(header), `${header} in ${headers}`);
      const methods = names(response, "access-control-allow-methods");
      for (const method of ["get", "post"]) assert.ok(methods.includes(method), `${method} in ${methods}`);
    });
  }
  test("a stream carries the headers", async () => {
    const response = await post(scriptOf([{ text: "a" }]), { headers: { origin: ORIGIN } });
    allowsOrigin(response);
    await readRun(response);
  });
  const refusals = [
    ["400", () => post("{", { headers: { origin: ORIGIN } }), 400, "invalid_json"],
    ["401", () => post(inputOf(), { path: "/secure/agui", headers: { origin: ORIGIN } }), 401, "unauthorized"],
    ["404 for an agent", () => post(inputOf(), { agent: "nobody", headers: { origin: ORIGIN } }), 404, "agent_not_found"],
    ["404 for a path", () => post(inputOf(), { path: "/nowhere", headers: { origin: ORIGIN } }), 404, "not_found"],
    ["405", () => fetch(`${BASE}/agui`, { headers: { origin: ORIGIN } }), 405, "method_not_allowed"],
    ["413", () => post(Buffer.alloc(BODY_LIMIT + 1, "x"), { headers: { origin: ORIGIN } }), 413, "body_too_large"],
    ["415", () => post("x", { headers: { origin: ORIGIN, "content-type": "text/plain" } }), 415, "unsupported_media_type"],
  ];
  for (const [what, send, status, code] of refusals) {
    test(`a ${what} carries the headers`, async () => {
      const response = await send();
      allowsOrigin(response);
      await refused(response, status, code);
    });
  }
});
