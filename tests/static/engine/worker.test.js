import assert from "node:assert/strict";
import { test } from "node:test";
import { serve } from "../../../kvscope/static/engine/worker.js";

/** A module that is valid and cannot be instantiated without its import. */
const NEEDS_IMPORT = new Uint8Array([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...[1, 4, 1, 0x60, 0, 0],
  ...[2, 7, 1, 1, 0x61, 1, 0x62, 0, 0],
]);

/** @returns {Promise<Object>} the problem that loading the code has */
function problemOf(wasm) {
  return new Promise((resolve) => {
    const port = { onmessage: /** @type {Function|null} */ (null), postMessage: ({ problem }) => resolve(problem) };
    serve(port);
    port.onmessage?.({ data: { id: 0, call: "load", argument: { wasm } } });
  });
}

test("a browser that does not know the code's instructions is named as the reason", async () => {
  const { status, detail } = await problemOf(new Uint8Array([0, 0x61, 0x73, 0x6d, 9, 9, 9, 9]));
  assert.equal(status, 501);
  assert.match(detail, /no WebAssembly with SIMD/);
});

test("a browser without WebAssembly is named, too", async (t) => {
  const { WebAssembly } = globalThis;
  t.after(() => Object.assign(globalThis, { WebAssembly }));
  delete (/** @type {any} */ (globalThis).WebAssembly);
  assert.equal((await problemOf(NEEDS_IMPORT)).status, 501);
});

test("another reason is said as it is", async () => {
  const { status, detail } = await problemOf(NEEDS_IMPORT);
  assert.equal(status, 500);
  assert.match(detail, /Import/);
});
