// `node [--experimental-websocket] browser-socket.mjs URL TOKEN`: a conversation through the WebSocket of browsers.

import { converse } from "./socket.mjs";

const [, , url, token] = process.argv;
await converse((protocols) => new WebSocket(url, protocols), { token });
console.log("done");
