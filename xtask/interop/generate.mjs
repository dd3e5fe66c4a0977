// Writes random events twice: as JSON, one to a line, and as @ag-ui/encoder puts them on the binary wire.
// `node generate.mjs FOLDER [COUNT [SEED]]` makes `generated.ndjson` and `generated.pb` there.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { EventEncoder } from "@ag-ui/encoder";
import { events } from "./lib/generate.mjs";

const [folder, count = "10000", seed = "20260901"] = process.argv.slice(2);

// The encoder says on the console when it puts on the wire what the schema would not have.
const spoken = [];
console.warn = (...args) => spoken.push(args.map(String).join(" "));

const encoder = new EventEncoder({ accept: "application/vnd.ag-ui.event+proto" });
const lines = [];
const frames = [];
for (const event of events(Number(seed))) {
  if (lines.length === Number(count)) break;
  lines.push(`${JSON.stringify(event)}\n`);
  frames.push(encoder.encodeBinary(event));
}
assert.deepEqual(spoken, [], "the encoder was content with every event");
writeFileSync(join(folder, "generated.ndjson"), lines.join(""));
writeFileSync(join(folder, "generated.pb"), Buffer.concat(frames));
