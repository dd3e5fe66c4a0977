// Comparison of what came with what the table promises.

import assert from "node:assert/strict";
import { SENT_INPUT } from "./events.mjs";

const isPlain = (value) => value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;

// Puts what came in the place of each expectation it satisfies, so that one deep comparison shows only real differences.
const settle = (expected, actual, sent) => {
  if (expected instanceof RegExp) return typeof actual === "string" && expected.test(actual) ? actual : expected;
  if (expected === SENT_INPUT) return sent;
  if (Array.isArray(expected)) return expected.map((item, i) => settle(item, actual?.[i], sent));
  if (isPlain(expected)) {
    return Object.fromEntries(Object.entries(expected).map(([key, item]) => [key, settle(item, actual?.[key], sent)]));
  }
  return expected;
};

/** Deep equality, where the expectation may hold regular expressions and `SENT_INPUT`. */
export const matches = (actual, expected, what, sent) => {
  assert.deepStrictEqual(actual, settle(expected, actual, sent), what);
};

// The server may echo the input on RUN_STARTED; if it does, it is the one that was sent.
const withoutEcho = (events, sent) => events.map((event) => {
  if (event.type !== "RUN_STARTED" || event.input === undefined) return event;
  const { input, ...rest } = event;
  assert.equal(input.threadId, sent.threadId, "the echoed input names the thread");
  assert.equal(input.runId, sent.runId, "the echoed input names the run");
  if (sent.protocolVersion === undefined) {
    assert.ok(Array.isArray(input.tools) && Array.isArray(input.context), "an older reader needs tools and context");
  }
  return rest;
});

/** The exact event sequence; of several allowed ones, the one that fits best is reported. */
export const matchesEvents = (events, choices, sent) => {
  const actual = withoutEcho(events, sent);
  const types = actual.map(({ type }) => type).join();
  const likely = choices.find((choice) => choice.length === actual.length) ?? choices[0];
  const failures = [];
  for (const choice of choices) {
    try {
      // The types first: a missing event then reads as one line and not as every later event differing.
      assert.equal(types, choice.map(({ type }) => type).join(), "the sequence of event types");
      matches(actual, choice, "the events", sent);
      return choice;
    } catch (error) {
      if (choice === likely) failures.unshift(error);
      else failures.push(error);
    }
  }
  throw failures[0];
};

const textOf = (content) =>
  Array.isArray(content) ? content.filter(({ type }) => type === "text").map(({ text }) => text).join("") : content;

/** What the server sends in place of a 1.0 event to a peer that declared no version. */
export const forOlderReader = (event) => {
  switch (event.type) {
    case "RUN_FINISHED": {
      if (event.outcome?.type === "cancelled") {
        const { outcome: _, ...rest } = event;
        return rest;
      }
      return event.outcome?.type === "success" ? { ...event, outcome: { type: "success" } } : event;
    }
    case "TOOL_CALL_RESULT":
      return { ...event, content: textOf(event.content) };
    case "MESSAGES_SNAPSHOT":
      return {
        ...event,
        messages: event.messages.map((message) => {
          if (message.role === "tool") return { ...message, content: textOf(message.content) };
          if (!Array.isArray(message.content)) return message;
          return { ...message, content: message.content.filter((part) => part.source?.type !== "file") };
        }),
      };
    default:
      return event;
  }
};

const pick = (value, ...keys) => Object.fromEntries(keys.filter((key) => key in value).map((key) => [key, value[key]]));

/** What 0.0.59 itself makes of an event before anybody sees it: defaults filled in, members it does not know dropped. */
export const asParsedBy0059 = (event) => {
  switch (event.type) {
    case "TEXT_MESSAGE_START":
      return { role: "assistant", ...event };
    case "ACTIVITY_SNAPSHOT":
      return { replace: true, ...event };
    case "RUN_FINISHED":
    case "RUN_ERROR":
      if (event.usage === undefined) return event;
      return { ...event, usage: event.usage.map(({ cacheWriteInputTokens: _, ...rest }) => rest) };
    case "MESSAGES_SNAPSHOT":
      return {
        ...event,
        messages: event.messages.map((message) =>
          Array.isArray(message.content)
            ? {
                ...message,
                content: message.content.map((part) =>
                  part.type === "text" ? pick(part, "type", "text") : pick(part, "type", "source", "metadata")),
              }
            : message),
      };
    default:
      return event;
  }
};

// Members whose inside is open, where a null is data; the first three are also data themselves when null.
const ANY_JSON = new Set(["value", "event", "snapshot"]);
const OPEN = new Set(["metadata", "rawEvent", "result", "state", "forwardedProps", "parameters", "payload", "responseSchema"]);

/** Asserts that no member is null where null is not data (SHAPE-1). */
export const noStrayNulls = (value, path = "") => {
  assert.notEqual(value, null, `a null at ${path || "the root"}`);
  if (typeof value !== "object") return;
  for (const [key, item] of Object.entries(value)) {
    if (!Array.isArray(value) && ANY_JSON.has(key)) continue;
    if (!Array.isArray(value) && OPEN.has(key)) {
      assert.notEqual(item, null, `a null at ${path}/${key}`);
      continue;
    }
    const activityContent = key === "content" && typeof item === "object" && !Array.isArray(item);
    if (!activityContent) noStrayNulls(item, `${path}/${key}`);
  }
};
