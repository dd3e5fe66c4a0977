// Where the demo server is and how it was configured. `cargo xtask interop` sets these.

const number = (name, fallback) => Number(process.env[name] ?? fallback);

export const BASE = (process.env.AGUI_URL ?? "http://127.0.0.1:8080").replace(/\/$/, "");
export const TOKEN = process.env.AGUI_TOKEN ?? "demo-token";
export const KEEPALIVE_MS = number("AGUI_KEEPALIVE_MS", 15000);
export const BODY_LIMIT = number("AGUI_BODY_LIMIT", 1048576);
/** Directory for one NDJSON file per well-formed stream; absent means nothing is kept. */
export const CAPTURE_DIR = process.env.AGUI_CAPTURE_DIR;
