// Random valid events, made from the schema itself: every definition that an event reaches, every member present or
// absent, and open values with what is hard about them. The same seed gives the same events.

import { readFileSync } from "node:fs";

const { $defs } = JSON.parse(readFileSync(new URL("../../../schema/ag-ui-1.0.schema.json", import.meta.url), "utf8"));

// Splitmix32: a few lines, and good enough to choose by.
const randomOf = (seed) => () => {
  seed = (seed + 0x9e3779b9) | 0;
  let mixed = seed ^ (seed >>> 16);
  mixed = Math.imul(mixed, 0x21f0aaad);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
};

const TEXTS = [
  "", "a", "Hello, ", "\"quoted\" \\ and /", "\n\r\t\0\x1f\x7f", "é", "日本語のテキスト", "😀🦀", "\ufffd", "\u2028\ufeff", "null", "type",
  "data: x\n\n", "x".repeat(127), "y".repeat(128), "é".repeat(70), "z".repeat(17000),
];
const NUMBERS = [
  0, 1, -1, 0.1, -2.5e-300, 1e300, 5e-324, 1.7976931348623157e308, 9007199254740991, -9007199254740991, 9007199254740992,
  18446744073709551615, 1e21, 4294967296, 0.30000000000000004,
];
// `__proto__` is what the reference cannot carry; keys that look like numbers it carries in another order.
const KEYS = ["", "a", "type", "kind", "nullValue", "fields", "é", "日本", "a.b/c~d\n\"", "constructor", "k".repeat(130), "null"];
const POINTERS = ["", "/", "/a", "/a~1b/0/-/~0/ä", `/${"p".repeat(200)}`];

/** Events of a seed, without end: each of the types in turn. */
export function* events(seed) {
  const random = randomOf(seed);
  const below = (limit) => random() % limit;
  const choose = (list) => list[below(list.length)];
  const chance = (percent) => below(100) < percent;
  const listOf = (item, least = 0) => Array.from({ length: least + (chance(5) ? below(20) : below(4)) }, item);

  const text = () => (chance(1) ? TEXTS.at(-1) : TEXTS[below(TEXTS.length - 1)]);
  const open = (depth) => {
    switch (below(depth === 0 ? 4 : 6)) {
      case 0: return null;
      case 1: return chance(50);
      case 2: return choose(NUMBERS);
      case 3: return text();
      case 4: return listOf(() => open(depth - 1));
      default: return openObject(depth - 1);
    }
  };
  const openObject = (depth) => Object.fromEntries(listOf(() => [choose(KEYS), open(depth)]));
  // Now and then a chain that is deeper than any other tool would make it.
  const anything = () => {
    if (!chance(2)) return open(4);
    let value = open(1);
    for (let level = below(60); level > 0; level -= 1) value = chance(50) ? [value] : { [choose(KEYS)]: value };
    return value;
  };

  const allMembers = (schema) => Object.assign(
    {},
    ...(schema.allOf ?? []).map(({ $ref }) => allMembers(target($ref))),
    schema.properties,
  );
  const required = (schema) => new Set([schema, ...(schema.allOf ?? []).map(({ $ref }) => target($ref))].flatMap((one) => one.required ?? []));
  const target = ($ref) => $defs[$ref.slice("#/$defs/".length)];

  const make = (schema) => {
    if (schema.$ref !== undefined) return make(target(schema.$ref)) ?? (schema.not === undefined ? null : "not null");
    if (schema.const !== undefined) return schema.const;
    if (schema.enum !== undefined) return choose(schema.enum);
    if (schema.oneOf !== undefined) return make(choose(schema.oneOf));
    if (schema.not !== undefined) return anything() ?? "not null";
    switch (schema.type) {
      case "string": return schema.pattern === undefined ? text() : choose(POINTERS);
      case "boolean": return chance(50);
      case "integer": return choose([schema.minimum, schema.maximum, 0, 1, 127, 128, 1730000000000]);
      case "array": return listOf(() => make(schema.items), schema.minItems);
      case "object": return schema.additionalProperties === true ? openObject(3) : makeObject(schema);
      case undefined: return anything();
      default: throw new Error(`a type the generator does not know: ${schema.type}`);
    }
  };
  const makeObject = (schema) => {
    const needed = required(schema);
    const share = choose([0, 20, 50, 100]);
    const members = Object.entries(allMembers(schema)).filter(([name]) => needed.has(name) || chance(share));
    return Object.fromEntries(members.map(([name, member]) => [name, make(member)]));
  };

  for (let turn = 0; ; turn += 1) yield make($defs.Event.oneOf[turn % $defs.Event.oneOf.length]);
}
