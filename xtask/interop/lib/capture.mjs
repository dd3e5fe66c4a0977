// Keeps what was well formed, so that the schema and the models of another SDK can judge it when the suites are done.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CAPTURE_DIR } from "./settings.mjs";

const write = (name, text) => {
  if (CAPTURE_DIR === undefined) return;
  mkdirSync(CAPTURE_DIR, { recursive: true });
  writeFileSync(join(CAPTURE_DIR, name), text);
};

/** Keeps the events of one stream, one to a line. */
export const keep = (name, events) =>
  write(`${name}.ndjson`, events.map((event) => `${JSON.stringify(event)}\n`).join(""));

/** Keeps the capabilities that an agent declares. */
export const keepCapabilities = (name, capabilities) => write(`${name}.capabilities.json`, JSON.stringify(capabilities));
