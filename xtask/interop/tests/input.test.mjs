// What the agent gets to see: everything known untouched, everything unknown removed, old spellings translated.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { canary, inputOf, post, readRun, runOf, scriptOf, seenInput } from "../lib/wire.mjs";

await canary();

const script = [{ inputEcho: true }];
const user = (content, members) => ({ id: "u", role: "user", content, ...members });
const contentSeen = async (...parts) => (await seenInput({ messages: [user(parts)] })).messages[0].content;

// Absent means empty for these three, so a server may show either.
const absentOrEmpty = (value, empty, what) => {
  if (value !== undefined) assert.deepEqual(value, empty, what);
};

describe("everything known reaches the agent", () => {
  test("all members at once", async () => {
    const members = {
      parentRunId: "p",
      state: { a: [1, null, { b: "ü" }], "": 0 },
      messages: [
        { id: "1", role: "developer", content: "d", name: "n" },
        { id: "2", role: "system", content: "" },
        user(
          [
            { type: "text", id: "p1", text: "see", metadata: { k: null } },
            { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
            { type: "document", source: { type: "url", value: "https://example.org/a.pdf" }, metadata: "note" },
            { type: "audio", source: { type: "file", value: "file-7", provider: "openai", mimeType: "audio/wav" } },
            { type: "video", source: { type: "url", value: "v", mimeType: "video/mp4" }, metadata: 0 },
          ],
          { metadata: { k: null } },
        ),
        { id: "3", role: "reasoning", content: "hm", encryptedValue: "" },
        {
          id: "4",
          role: "assistant",
          toolCalls: [
            { id: "c", type: "function", function: { name: "f", arguments: "" }, encryptedValue: "e", metadata: { x: [] } },
            { id: "c2", type: "function", function: { name: "f", arguments: '{"city": "Os' } },
          ],
        },
        { id: "5", role: "tool", toolCallId: "c", content: [{ type: "text", text: "t" }], error: "late" },
        { id: "6", role: "assistant", content: "", subagentRunId: "s" },
      ],
      tools: [
        { name: "paint", description: "Paints.", parameters: { type: "object", default: null }, metadata: { ui: null } },
        { name: "bare", description: "" },
      ],
      context: [{ description: "where", value: "here" }],
      resume: [
        { interruptId: "i", status: "resolved", payload: { a: null }, metadata: { k: null } },
        { interruptId: "j", status: "cancelled" },
      ],
    };
    const forwardedProps = { script, kept: { inner: null, list: [null, 1.5, 1e300] } };
    const { events } = await runOf(inputOf({ ...members, forwardedProps }));
    assert.deepEqual(events[1].value, { agentId: "script", input: inputOf({ ...members, forwardedProps }) });
  });

  for (const state of [false, 0, "", [], "text", [null]]) {
    test(`a state of ${JSON.stringify(state)}`, async () => assert.deepEqual((await seenInput({ state })).state, state));
  }

  test("what may be absent may be absent", async () => {
    const { threadId, runId, messages, forwardedProps, tools, context, state, ...rest } = await seenInput();
    assert.deepEqual({ threadId, runId, messages, forwardedProps }, {
      threadId: "thread-1", runId: "r", messages: [], forwardedProps: { script },
    });
    absentOrEmpty(tools, []);
    absentOrEmpty(context, []);
    absentOrEmpty(state, {});
    assert.deepEqual(rest, { protocolVersion: "1.0" });
  });

  test("of a key given twice the last one counts", async () => {
    const body = JSON.stringify(scriptOf(script)).replace("{", '{"threadId":7,"runId":"other",');
    const { events } = await readRun(await post(body));
    assert.equal(events[0].threadId, "thread-1");
    assert.equal(events[0].runId, "r");
  });
});

describe("the unknown is removed and the run goes on", () => {
  test("members, at every depth", async () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "", more: 1 }, more: 1 };
    const seen = await seenInput({
      more: 1,
      thread_id: "other",
      messages: [
        user([{ type: "text", text: "a", more: 1 }, { type: "image", more: 1, source: { type: "url", value: "v", more: 1 } }], { more: 1 }),
        { id: "a", role: "assistant", toolCalls: [call], more: { deep: 1 } },
        { id: "s", role: "system", content: "s", toolCallId: "not mine", toolCalls: "nor this" },
      ],
      tools: [{ name: "f", description: "d", more: 1 }],
      context: [{ description: "d", value: "v", more: 1 }],
      resume: [{ interruptId: "i", status: "cancelled", more: 1 }],
    });
    assert.deepEqual(seen, {
      threadId: "thread-1",
      runId: "r",
      protocolVersion: "1.0",
      messages: [
        user([{ type: "text", text: "a" }, { type: "image", source: { type: "url", value: "v" } }]),
        { id: "a", role: "assistant", toolCalls: [{ id: "c", type: "function", function: { name: "f", arguments: "" } }] },
        { id: "s", role: "system", content: "s" },
      ],
      tools: [{ name: "f", description: "d" }],
      context: [{ description: "d", value: "v" }],
      resume: [{ interruptId: "i", status: "cancelled" }],
      forwardedProps: { script },
    });
  });

  test("a message of an unknown role", async () => {
    const seen = await seenInput({ messages: [{ id: "o", role: "observer", content: 5 }, user("q")] });
    assert.deepEqual(seen.messages, [user("q")]);
  });

  test("an activity message, which is the consumer's own", async () => {
    const activity = { id: "a", role: "activity", activityType: "plan", content: {} };
    const seen = await seenInput({ messages: [user("q"), activity] });
    assert.deepEqual(seen.messages, [user("q")]);
  });

  test("a part of an unknown type", async () => {
    const content = await contentSeen({ type: "hologram", source: 5 }, { type: "text", text: "a" });
    assert.deepEqual(content, [{ type: "text", text: "a" }]);
  });

  test("a part with a source of an unknown kind", async () => {
    const content = await contentSeen({ type: "text", text: "a" }, { type: "image", source: { type: "pigeon", value: 1 } });
    assert.deepEqual(content, [{ type: "text", text: "a" }]);
  });

  test("every part of a list", async () => {
    assert.deepEqual(await contentSeen({ type: "hologram" }), []);
  });

  test("a resume entry of an unknown status", async () => {
    const seen = await seenInput({ resume: [{ interruptId: "i", status: "postponed" }, { interruptId: "j", status: "cancelled" }] });
    assert.deepEqual(seen.resume, [{ interruptId: "j", status: "cancelled" }]);
  });
});

describe("the nulls that older peers write are read as absent", () => {
  test("state", async () => absentOrEmpty((await seenInput({ state: null })).state, {}));

  test("a tool's parameters", async () => {
    const { tools } = await seenInput({ tools: [{ name: "f", description: "d", parameters: null }] });
    assert.deepEqual(tools, [{ name: "f", description: "d" }]);
  });

  test("the payload of a resume entry", async () => {
    const { resume } = await seenInput({ resume: [{ interruptId: "i", status: "resolved", payload: null }] });
    assert.deepEqual(resume, [{ interruptId: "i", status: "resolved" }]);
  });

  test("the metadata of a media part", async () => {
    const part = { type: "image", source: { type: "url", value: "v" } };
    assert.deepEqual(await contentSeen({ ...part, metadata: null }), [part]);
  });

  test("forwardedProps", async () => {
    const { events } = await runOf(inputOf({ forwardedProps: null }));
    assert.deepEqual(events.map(({ type }) => type), ["RUN_STARTED", "RUN_FINISHED"]);
  });
});

describe("the binary part of old is translated", () => {
  const binary = (mimeType, members) => ({ type: "binary", mimeType, ...members });
  const rows = [
    ["image/png", "image"],
    ["audio/wav", "audio"],
    ["video/mp4", "video"],
    ["application/pdf", "document"],
    ["text/plain", "document"],
  ];
  for (const [mimeType, type] of rows) {
    test(`${mimeType} becomes ${type}`, async () => {
      assert.deepEqual(await contentSeen(binary(mimeType, { data: "aGk=" })), [
        { type, source: { type: "data", value: "aGk=", mimeType } },
      ]);
    });
  }
  test("a URL and a file name are kept", async () => {
    assert.deepEqual(await contentSeen(binary("image/png", { url: "https://example.org/a.png", filename: "a.png" })), [
      { type: "image", source: { type: "url", value: "https://example.org/a.png", mimeType: "image/png" }, metadata: { filename: "a.png" } },
    ]);
  });
  test("data goes before a URL", async () => {
    assert.deepEqual(await contentSeen(binary("image/png", { data: "aGk=", url: "https://example.org/a.png" })), [
      { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
    ]);
  });
  test("one with neither is removed", async () => {
    assert.deepEqual(await contentSeen(binary("image/png", { id: "f-1" }), { type: "text", text: "a" }), [{ type: "text", text: "a" }]);
  });
});
