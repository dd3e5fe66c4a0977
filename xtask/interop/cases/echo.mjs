// Section 3 of the demo contract: the agent `echo`.

import { RUN, said, text } from "../lib/events.mjs";

const id = `${RUN}:m1`;
const user = (content, userId = "u1") => ({ id: userId, role: "user", content });

const echo = (name, messages, deltas) => ({
  name: `echo ${name}`,
  agent: "echo",
  input: { messages },
  body: text(id, deltas),
  messages: [...messages, said(id, deltas.join(""))],
});

export default [
  echo("splits into words with the space that follows", [user("hello  big world")], ["hello  ", "big ", "world"]),
  echo("answers a single word", [user("hello")], ["hello"]),
  echo("keeps leading white space in the first delta", [user("  \n hi there")], ["  \n hi ", "there"]),
  echo("keeps trailing white space", [user("one two\n\n")], ["one ", "two\n\n"]),
  echo("splits at tabs and line ends", [user("a\tb\nc")], ["a\t", "b\n", "c"]),
  echo("keeps characters beyond the first plane", [user("naïve 🦀 日本語 \u0001\\\"")], ["naïve ", "🦀 ", "日本語 ", "\u0001\\\""]),
  echo("joins the text parts and skips the others", [
    user([
      { type: "text", text: "one t" },
      { type: "image", source: { type: "data", value: "aGk=", mimeType: "image/png" } },
      { type: "text", text: "wo" },
    ]),
  ], ["one ", "two"]),
  echo("takes the last user message", [
    user("first", "u1"),
    { id: "a1", role: "assistant", content: "reply" },
    user("second one", "u2"),
    { id: "a2", role: "assistant", content: "after it" },
  ], ["second ", "one"]),
  echo("says nothing without a user message", [{ id: "s1", role: "system", content: "be brief" }], []),
  echo("says nothing to no messages", [], []),
  echo("says nothing to an empty text", [user("")], []),
  echo("says nothing to parts without text", [
    user([{ type: "document", source: { type: "url", value: "https://example.org/a.pdf" } }]),
  ], []),
];
