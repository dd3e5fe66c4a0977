// CopilotKit's framework-free client, pointed straight at the demo server. It embeds @ag-ui/client 0.0.59, declares no
// version and verifies nothing that connect replays.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { consoleOutput, listenToConsole } from "../lib/client.mjs";
import { chat, leave, page, say, settled, shown, shows, stop, told } from "../lib/copilot.mjs";
import { asking, following, fresh, holding, open, secure, stopped, surfaces } from "../lib/surface.mjs";
import { canary, eventually, freshLabel, post, readRun } from "../lib/wire.mjs";

await canary();

const is = (type) => (event) => event.type === type;
const words = Array.from({ length: 40 }, (_, n) => `w${n} `);
const SLOWLY = { deltas: words, gapMs: 25 };
const LONG = { sleepMs: 60000 };
const roles = (messages) => messages.map(({ role }) => role);
const quiet = (...pages) => {
  for (const { errors } of pages) assert.deepEqual(errors, []);
  assert.deepEqual(consoleOutput(), []);
};

for (const at of surfaces) {
  for (const runtimeTransport of ["auto", "single"]) {
    describe(`CopilotKit at ${at.name}, transport ${runtimeTransport}`, () => {
      listenToConsole();

      test("discovers the agents", async () => {
        const tab = page(at, { runtimeTransport });
        assert.equal(await settled(tab), "connected");
        assert.deepEqual(Object.keys(tab.core.agents).sort(), ["echo", "script"]);
        assert.equal(tab.core.runtimeTransport, runtimeTransport === "single" ? "single" : "rest");
        assert.equal(tab.core.runtimeMode, "sse");
        assert.match(tab.core.runtimeVersion, /^\d+\.\d+\.\d+/);
        assert.equal(tab.core.telemetryDisabled, true);
        const { capabilities, description } = tab.core.getAgent("script");
        assert.equal(capabilities.tools.clientProvided, true);
        assert.notEqual(description, "");
        quiet(tab);
      });

      test("shows an empty chat for a thread never heard of", async () => {
        const tab = await chat(at, { runtimeTransport });
        assert.deepEqual([shown(tab), tab.events], [[], []]);
        assert.equal(tab.core.runtimeConnectionStatus, "connected");
        quiet(tab);
      });

      test("runs both agents", async () => {
        const tab = await chat(at, { runtimeTransport, agent: "echo" });
        await say(tab, "hello  big world");
        assert.deepEqual(shown(tab).map(({ role, content }) => [role, content]), [["user", "hello  big world"], ["assistant", "hello  big world"]]);
        await say(tab, "again");
        assert.equal(shown(tab).at(-1).content, "again");
        const other = await chat(at, { runtimeTransport });
        await say(other, "q", [{ text: "a", id: fresh("m") }, { state: { set: ["/n", 1] } }]);
        assert.equal(shown(other).at(-1).content, "a");
        assert.deepEqual(other.agent.state, { n: 1 });
        quiet(tab, other);
      });

      for (const [what, closes] of [["and its connections are gone", true], ["and its connection stays open", false]]) {
        test(`restores the conversation when the page is reloaded in the middle of a run ${what}`, { timeout: 30000 }, async () => {
          const before = await chat(at, { runtimeTransport });
          await say(before, "q1", [{ text: "first", id: fresh("m") }, { state: { set: ["/n", 1] } }]);
          const running = say(before, "q2", [{ toolCall: { name: "clock", id: fresh("c"), result: "noon" } }, { ...SLOWLY, id: fresh("m") }, { state: { set: ["/n", 2] } }]);
          await shows(before, "w5 ");
          if (closes) {
            leave(before);
            await running;
          }
          const after = await chat(at, { runtimeTransport, threadId: before.threadId });
          await running;
          assert.deepEqual(roles(shown(after)), ["user", "assistant", "user", "assistant", "tool", "assistant"]);
          assert.equal(shown(after).at(-1).content, words.join(""));
          assert.deepEqual(shown(after).filter(({ role }) => role === "user").map(({ content }) => content), ["q1", "q2"]);
          assert.deepEqual(after.agent.state, { n: 2 });
          if (!closes) assert.deepEqual(shown(after), shown(before));
          // And the chat goes on from there.
          await say(after, "q3", [{ text: "third", id: fresh("m") }]);
          assert.equal(shown(after).at(-1).content, "third");
          assert.deepEqual(after.errors, []);
          if (!closes) assert.deepEqual(before.errors, []);
          consoleOutput();
        });
      }

      test("re-attaches while it holds messages, and shows nothing twice", { timeout: 30000 }, async () => {
        const tab = await chat(at, { runtimeTransport });
        await say(tab, "q1", [{ text: "first", id: fresh("m") }]);
        const running = say(tab, "q2", [{ text: "second", id: fresh("m") }, { ...SLOWLY, id: fresh("m") }, { state: { set: ["/n", 2] } }]);
        await shows(tab, "w5 ");
        await tab.core.connectAgent({ agent: tab.agent });
        await running;
        assert.deepEqual(shown(tab).map(({ content }) => content), ["q1", "first", "q2", "second", words.join("")]);
        assert.deepEqual(tab.agent.state, { n: 2 });
        // With nothing in progress it changes nothing.
        const held = shown(tab);
        await tab.core.connectAgent({ agent: tab.agent });
        assert.deepEqual(shown(tab), held);
        quiet(tab);
      });

      test("two pages watch one run, and the run is the runner's all the same", { timeout: 30000 }, async () => {
        const runner = await chat(at, { runtimeTransport });
        const running = say(runner, "q", [{ ...SLOWLY, id: fresh("m") }]);
        await shows(runner, "w3 ");
        const watchers = [1, 2, 3].map(() => chat(at, { runtimeTransport, threadId: runner.threadId }));
        const leaving = await chat(at, { runtimeTransport, threadId: runner.threadId, connect: false });
        const left = leaving.core.connectAgent({ agent: leaving.agent });
        await shows(leaving, "w6 ");
        await leaving.agent.detachActiveRun();
        leave(leaving);
        await left;
        for (const watcher of await Promise.all(watchers)) {
          assert.deepEqual(roles(shown(watcher)), ["user", "assistant"]);
          assert.equal(shown(watcher).at(-1).content, words.join(""));
          assert.deepEqual(watcher.errors, []);
        }
        await running;
        assert.equal(shown(runner).at(-1).content, words.join(""));
        quiet(runner);
      });

      test("stops a run, for the runner and for who watches", { timeout: 30000 }, async () => {
        const label = freshLabel();
        const runner = await chat(at, { runtimeTransport });
        const running = say(runner, "q", [{ track: label }, { text: "so far", id: fresh("m") }, { step: { name: "s", do: [LONG] } }]);
        await told(runner, is("STEP_STARTED"));
        const watcher = await chat(at, { runtimeTransport, threadId: runner.threadId, connect: false });
        const watching = watcher.core.connectAgent({ agent: watcher.agent });
        await told(watcher, is("STEP_STARTED"));
        assert.equal((await stop(runner)).stopped, true);
        // Neither resolves unless the server ends the stream.
        await Promise.all([running, watching]);
        for (const tab of [runner, watcher]) {
          assert.equal(shown(tab).at(-1).content, "so far");
          assert.equal(tab.events.at(-1).type, "RUN_FINISHED");
          assert.equal("outcome" in tab.events.at(-1), false, "this client knows no cancelled outcome");
        }
        await eventually(label, ({ active, cancelled }) => active === 0 && cancelled === 1);
        await say(runner, "q2", [{ text: "on", id: fresh("m") }]);
        assert.equal(shown(runner).at(-1).content, "on");
        quiet(runner, watcher);
      });

      test("a watcher, who does not know the run, stops it too", { timeout: 30000 }, async () => {
        const runner = await chat(at, { runtimeTransport });
        const running = say(runner, "q", [{ text: "so far", id: fresh("m") }, LONG]);
        await shows(runner, "so far");
        const watcher = await chat(at, { runtimeTransport, threadId: runner.threadId, connect: false });
        const watching = watcher.core.connectAgent({ agent: watcher.agent });
        await shows(watcher, "so far");
        assert.equal((await stop(watcher)).stopped, true);
        await Promise.all([running, watching]);
        quiet(runner, watcher);
      });

      test("a stop when nothing runs does no harm", async () => {
        const tab = await chat(at, { runtimeTransport });
        assert.equal((await stop(tab)).stopped, false);
        await say(tab, "q", [{ text: "a", id: fresh("m") }]);
        assert.equal(shown(tab).at(-1).content, "a");
        quiet(tab);
      });

      test("resumes an interrupt, also after a reload", async () => {
        const before = await chat(at, { runtimeTransport });
        await say(before, "q", [{ text: "Delete?", id: fresh("m") }, { interrupt: [{ id: "i1", reason: "confirmation", message: "Sure?" }] }]);
        const after = await chat(at, { runtimeTransport, threadId: before.threadId });
        const asked = after.events.findLast(is("RUN_FINISHED"));
        assert.deepEqual(asked.outcome.interrupts.map(({ id }) => id), ["i1"]);
        const resume = [{ interruptId: "i1", status: "resolved", payload: { approved: true } }];
        await say(after, undefined, [{ inputEcho: true }, { text: "Gone.", id: fresh("m") }], { resume });
        const seen = after.events.findLast(({ name }) => name === "demo.input").value.input;
        assert.deepEqual(seen.resume, resume);
        assert.deepEqual(roles(seen.messages), ["user", "assistant"]);
        assert.equal(shown(after).at(-1).content, "Gone.");
        quiet(before, after);
      });

      test("answers a frontend tool call, and the follow-up run starts at once", { timeout: 30000 }, async () => {
        const painted = [];
        const tab = await chat(at, { runtimeTransport, properties: { script: [{ inputEcho: true }, { text: "thanks" }] } });
        tab.core.addTool({ name: "paint", description: "Paints.", handler: async ({ hue }) => (painted.push(hue), { done: hue }) });
        assert.match(consoleOutput().join(), /paint/);
        for (let hue = 0; hue < 10; hue += 1) {
          await say(tab, `paint ${hue}`, [{ toolCall: { name: "paint", id: fresh("c"), args: { hue } } }]);
          const seen = tab.events.findLast(({ name }) => name === "demo.input").value.input;
          assert.deepEqual(seen.tools.map(({ name }) => name), ["paint"]);
          assert.deepEqual(seen.messages.at(-1).content, `{"done":${hue}}`);
          assert.equal(shown(tab).at(-1).content, "thanks");
        }
        assert.deepEqual(painted, Array.from({ length: 10 }, (_, hue) => hue));
        const again = await chat(at, { runtimeTransport, threadId: tab.threadId });
        assert.deepEqual(shown(again), shown(tab));
        quiet(tab, again);
      });

      test("generates suggestions on threads of their own", { timeout: 20000 }, async () => {
        const suggestions = [{ title: "More", message: "Tell me more." }];
        const tab = await chat(at, {
          runtimeTransport,
          properties: { script: [{ toolCall: { name: "copilotkitSuggest", args: { suggestions } } }] },
          suggestionsConfig: [{ instructions: "Be brief.", providerAgentId: "script", consumerAgentId: "script", available: "always" }],
        });
        const ready = () => tab.core.getSuggestions("script");
        const generated = async () => {
          while (ready().isLoading) await new Promise((resolve) => setTimeout(resolve, 10));
          return ready().suggestions.map(({ title, message }) => ({ title, message }));
        };
        // Connecting has asked for them already; asking again takes that back by a stop, which may come too late.
        tab.core.reloadSuggestions("script");
        tab.core.reloadSuggestions("script");
        const made = await generated();
        assert.ok(made.length > 0 && made.length <= 3);
        for (const suggestion of made) assert.deepEqual(suggestion, suggestions[0]);
        assert.deepEqual(shown(tab), []);
        quiet(tab);
      });

      test("what it cannot read of a newer thread ends nothing", async () => {
        const threadId = fresh("thread");
        const [u, c, r] = [fresh("u"), fresh("c"), fresh("r")];
        const content = [{ type: "text", text: "It is " }, { type: "document", source: { type: "file", value: "f" } }, { type: "text", text: "noon" }];
        const asked = { id: u, role: "user", content: [{ type: "document", source: { type: "file", value: "f" } }, { type: "text", text: "look" }] };
        const first = [{ toolCall: { name: "look", id: c } }, { event: { type: "TOOL_CALL_RESULT", messageId: r, toolCallId: c, role: "tool", content } }, { cancel: true }];
        await readRun(await at.run(asking(threadId, first, { messages: [asked] })));
        const call = { id: c, role: "assistant", toolCalls: [{ id: c, type: "function", function: { name: "look", arguments: "{}" } }] };
        const second = [{ subagent: { name: "scout", do: [{ text: "found", id: fresh("m") }] } }, { text: "after", id: fresh("m") }];
        await readRun(await at.run(asking(threadId, second, { messages: [asked, call, { id: r, role: "tool", toolCallId: c, content }] })));
        const tab = await chat(at, { runtimeTransport, threadId });
        const messages = shown(tab);
        assert.deepEqual(messages.find(({ id }) => id === u).content, [{ type: "text", text: "look" }]);
        assert.equal(messages.find(({ id }) => id === r).content, "It is noon");
        assert.deepEqual(messages.slice(-2).map((message) => message.content), ["found", "after"]);
        assert.equal(tab.events.at(-1).type, "RUN_FINISHED");
        // It holds messages now, and is sent a snapshot.
        await tab.core.connectAgent({ agent: tab.agent });
        assert.equal(tab.events.findLast(is("MESSAGES_SNAPSHOT")).messages.length, messages.length);
        assert.equal(tab.events.at(-1).type, "RUN_FINISHED");
        assert.deepEqual(shown(tab).map(({ id }) => id), messages.map(({ id }) => id));
        quiet(tab);
      });

      test("a failed run in the history is told again, and does not end it", async () => {
        const before = await chat(at, { runtimeTransport });
        await say(before, "q1", [{ text: "half", id: fresh("m") }, { error: "The quota is used up.", code: "quota" }]);
        assert.ok(before.errors.some(({ message }) => message === "The quota is used up."), JSON.stringify(before.errors));
        await say(before, "q2", [{ text: "better", id: fresh("m") }]);
        const after = await chat(at, { runtimeTransport, threadId: before.threadId });
        assert.deepEqual(shown(after).map(({ content }) => content), ["q1", "half", "q2", "better"]);
        consoleOutput();
      });

      test("a message sent while a run streams is refused with the reason, and the run goes on", { timeout: 30000 }, async () => {
        const first = await chat(at, { runtimeTransport });
        const running = say(first, "q", [{ ...SLOWLY, id: fresh("m") }]);
        await shows(first, "w3 ");
        const second = await chat(at, { runtimeTransport, threadId: first.threadId, connect: false });
        await say(second, "too early", [{ text: "never", id: fresh("m") }]);
        const refusal = second.errors.find(({ code }) => code === "agent_run_failed");
        assert.ok(refusal.message.includes("409") && refusal.message.includes("thread_busy"), JSON.stringify(second.errors));
        await running;
        assert.equal(shown(first).at(-1).content, words.join(""));
        assert.equal(second.core.runtimeConnectionStatus, "connected", "a refusal is no outage");
        assert.deepEqual(first.errors, []);
        consoleOutput();
      });

      for (const id of ["trip/7", "a?b#c", "100 %", "größe 日本", "%2F"]) {
        test(`a thread may be called ${id}`, { timeout: 20000 }, async () => {
          const threadId = `${id}${fresh("·")}`;
          const runner = await chat(at, { runtimeTransport, threadId });
          const running = say(runner, "q", [{ text: "so far", id: fresh("m") }, LONG]);
          await shows(runner, "so far");
          assert.equal((await stop(runner)).stopped, true);
          await running;
          const again = await chat(at, { runtimeTransport, threadId });
          assert.deepEqual(shown(again), shown(runner));
          quiet(runner, again);
        });
      }
    });
  }
}

describe("CopilotKit and credentials", () => {
  listenToConsole();

  for (const runtimeTransport of ["auto", "rest", "single"]) {
    for (const [what, headers] of [["no token", {}], ["a wrong token", { authorization: "Bearer wrong" }]]) {
      test(`${what} is an error that says so, transport ${runtimeTransport}`, async () => {
        const tab = page(secure, { headers, runtimeTransport });
        assert.equal(await settled(tab), "error");
        // The error follows the status.
        while (tab.errors.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        const [error, ...more] = tab.errors;
        assert.deepEqual(more, []);
        assert.equal(error.code, "runtime_info_fetch_failed");
        const { message } = await (await post({ method: "info" }, { path: "/secure", headers })).json();
        assert.equal(error.message, `Runtime info request failed with status 401: ${message}`);
        assert.equal(consoleOutput().length, 1);
      });
    }
  }

  test("a token that is withdrawn fails the run with the server's words", async () => {
    const tab = await chat(secure);
    tab.core.setHeaders({ authorization: "Bearer wrong" });
    await say(tab, "q", [{ text: "never" }]);
    const error = tab.errors.find(({ code }) => code === "agent_run_failed");
    assert.ok(error.message.includes("401") && error.message.includes("unauthorized"), JSON.stringify(tab.errors));
    // It asks then whether the server is there, and is told the same.
    while (!tab.errors.some(({ code }) => code === "runtime_info_fetch_failed")) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(tab.core.runtimeConnectionStatus, "error");
    consoleOutput();
  });

  test("one who speaks 1.0 beside it watches the same run", { timeout: 20000 }, async () => {
    const tab = await chat(open);
    const running = say(tab, "q", [{ text: "so far", id: fresh("m") }, LONG]);
    await shows(tab, "so far");
    const watching = following(await open.connect(holding(tab.threadId)));
    await watching.until(is("TEXT_MESSAGE_END"));
    await stopped(await open.stop(tab.threadId), watching.events[0].runId);
    await watching.rest();
    await running;
    assert.deepEqual(watching.events.at(-1).outcome, { type: "cancelled" });
    assert.equal("outcome" in tab.events.at(-1), false);
    quiet(tab);
  });
});
