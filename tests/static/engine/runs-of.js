/**
 * Computes runs with the browser's engine, in Node: all that its worker does. Standard input: {folder, description, requests}; `folder` has
 * the files that `description` names (kvscope/model/service/for_browser.py), as plain bytes; a request with `seq` is of a run whose first frames exist. Standard output: by run, its frames in base64.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../../../kvscope/static/engine/worker.js";

const { folder, description, requests } = JSON.parse(readFileSync(0, "utf-8"));
const bytesOf = ({ file }) => readFileSync(join(folder, file));

const logs = {};
const waiting = new Map();
const port = {
  onmessage: /** @type {Function|null} */ (null),
  postMessage({ id, value, problem, frames }) {
    if (!frames) return waiting.get(id)(problem ? Promise.reject(new Error(problem.detail)) : value);
    const payloads = frames.payloads.map((payload) => Buffer.from(payload).toString("base64"));
    logs[frames.run] = [...(logs[frames.run] ?? []), ...payloads];
    if (frames.closed) waiting.get(frames.run)?.();
  },
};
serve(port);

let next = 0;
const call = (name, argument) =>
  new Promise((resolve) => {
    const id = next++;
    waiting.set(id, resolve);
    port.onmessage?.({ data: { id, call: name, argument } });
  });

const { packed, tokenizer } = JSON.parse(bytesOf(description.details).toString());
const { model: info, limits, wasm } = description;
await call("load", { wasm: bytesOf(wasm), info, packed, tokenizer, limits });
let offset = 0;
for (const part of description.parts) {
  await call("part", { offset, bytes: bytesOf(part) });
  offset += part.bytes;
}
for (const request of requests) {
  const ended = new Promise((resolve) => waiting.set(request.run, resolve));
  await call(request.seq === undefined ? "start" : "resume", request);
  await ended;
}
process.stdout.write(JSON.stringify(logs));
