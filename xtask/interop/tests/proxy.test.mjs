// The same conversations directly and through the proxy example: a client sees no difference.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { HttpAgent } from "@ag-ui/client";
import { cases, instance } from "../cases/index.mjs";
import { agentFor, listenToConsole, run } from "../lib/client.mjs";

const PROXY = process.env.AGUI_PROXY_URL;

const told = async (row, base) => {
  const { agent, input } = instance(row);
  const client = agentFor(HttpAgent, { agent, input }, { base });
  const { events, messages, state, errors, finished, console } = await run(client, input);
  return { types: events.map(({ type }) => type), messages, state, errors, finished, console };
};

describe("the step table, through the proxy", { skip: PROXY ? false : "no proxy was started" }, () => {
  listenToConsole();
  // What a row tracks or measures is the demo's own and counts both runs.
  const rows = cases.filter(({ name, wellFormed }) => wellFormed && !/track|stats/.test(name));
  for (const row of rows) {
    test(row.name, { timeout: 20000 }, async () => {
      const direct = await told(row);
      const proxied = await told(row, PROXY);
      // A failing run may leave open what it opened (LIFE-6); the proxy's writer closes it.
      if (direct.errors.length > 0) proxied.types = direct.types;
      assert.deepEqual(proxied, direct);
    });
  }

  test("a broken stream reaches the client as an error of the proxy's", { timeout: 20000 }, async () => {
    const broken = cases.find(({ wellFormed }) => !wellFormed);
    const { types, errors, finished } = await told(broken, PROXY);
    assert.equal(types[0], "RUN_STARTED");
    assert.equal(types.at(-1), "RUN_ERROR");
    assert.equal(errors.length, 1);
    assert.deepEqual(finished, []);
  });
});
