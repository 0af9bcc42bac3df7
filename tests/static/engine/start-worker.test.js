import assert from "node:assert/strict";
import { test } from "node:test";
import { startWorker } from "../../../kvscope/static/engine/start-worker.js";

const started = (parts) => startWorker({ start: (...started) => /** @type {any} */ (started), ...parts });

test("a server's worker is a module at its address", async () => {
  assert.deepEqual(await started({ file: undefined }), ["/static/engine/worker.js", { type: "module" }]);
});

test("a site's worker is a classic script from data: a page without an origin can start no other", async () => {
  const load = async (path) => ({ "/assets/worker-1.js": "self.x = 1;" })[path];
  const addressOf = (source) => `blob:null/${source.length}`;
  assert.deepEqual(await started({ file: "/assets/worker-1.js", load, addressOf }), ["blob:null/11"]);
});

test("a worker whose code cannot be loaded does not start", async () => {
  const load = () => Promise.reject(new TypeError("/assets/worker-1.js cannot be loaded"));
  await assert.rejects(started({ file: "/assets/worker-1.js", load }), TypeError);
});
