import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { createWeights } from "../../../../kvscope/static/engine/weights/weights.js";
import { Problem } from "../../../../kvscope/static/shared/log/problem.js";
import { DESCRIPTION, DETAILS, PARTS, pathOf, SIZE, scripts, storageOf, WASM } from "./packed-files.js";

const TENSORS = PARTS.reduce((sum, { length }) => sum + length, 0);
const WHOLE = Buffer.concat(PARTS);
const [FIRST, SECOND] = DESCRIPTION.parts.map(({ file }) => file);
const NAME = "a model";

/**
 * The weights of a site. `change` replaces the data of scripts; null is a script that is not there, a function is called for each load.
 * `loaded`: the paths that were requested; `most`: how many at a time.
 */
function site({ change = {}, ...parts } = {}) {
  const files = { ...scripts(), ...change };
  const seen = { loaded: [], most: 0, waits: [] };
  let now = 0;
  const load = async (path) => {
    seen.loaded.push(path);
    seen.most = Math.max(seen.most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now -= 1;
    const data = typeof files[path] === "function" ? files[path]() : files[path];
    if (data === undefined || data === null) throw new TypeError(`${path} cannot be loaded`);
    return data;
  };
  const delay = async (ms) => {
    seen.waits.push(ms);
  };
  return {
    seen,
    weights: createWeights({ load, subtle: webcrypto.subtle, caches: undefined, name: NAME, delay, ...parts }),
  };
}

/** What a fetch passes on, and says. */
async function fetchedBy(weights, options = {}) {
  const whole = Buffer.alloc(TENSORS);
  const progress = [];
  const result = await weights.fetchAll({
    take: (offset, bytes) => whole.set(bytes, offset),
    onProgress: (done, total) => progress.push([done, total]),
    ...options,
  });
  return { whole, progress, result };
}

/** Waits until whatever is under way in the fakes has ended. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

const refused = (says) => (problem) => {
  assert.ok(problem instanceof Problem, String(problem));
  assert.match(problem.detail, says);
  return true;
};

test("the description is all that is loaded until the model is asked for", async () => {
  const { weights, seen } = site();
  assert.equal((await weights.describe()).bytes, SIZE);
  await weights.describe();
  assert.equal(await weights.stored(), 0);
  assert.deepEqual(seen.loaded, ["/api/engine/model.js"]);
});

test("a description that is missing is explained by the server, and requested again", async () => {
  const change = { "/api/engine/model.js": null };
  const { weights, seen } = site({ change, explain: async () => new Problem({ title: "No", detail: "Not offered." }) });
  await assert.rejects(weights.describe(), refused(/^Not offered\.$/));
  await assert.rejects(weights.describe(), refused(/^Not offered\.$/));
  assert.equal(seen.loaded.length, 2);
  await assert.rejects(site({ change }).weights.describe(), refused(/load the page again/));
});

test("a description of another format is refused", async () => {
  const { weights } = site({ change: { "/api/engine/model.js": { ...DESCRIPTION, format: 2 } } });
  await assert.rejects(weights.describe(), refused(/another version/));
});

test("every part is passed on at its offset, three are requested at a time, and the progress reaches the total", async () => {
  const { weights, seen } = site();
  const { whole, progress, result } = await fetchedBy(weights);
  assert.deepEqual(whole, WHOLE);
  assert.equal(seen.most, 3);
  assert.deepEqual(progress[0], [0, SIZE]);
  assert.deepEqual(progress.at(-1), [TENSORS, SIZE]);
  assert.deepEqual(
    progress.map(([done]) => done),
    progress.map(([done]) => done).sort((a, b) => a - b),
  );
  assert.deepEqual(result, { isStored: false });
  assert.deepEqual(await weights.wasm(), WASM);
  assert.deepEqual(await weights.details(), DETAILS);
});

test("the progress counts what was fetched before the parts", async () => {
  const { weights } = site();
  await Promise.all([weights.wasm(), weights.details()]);
  const { progress } = await fetchedBy(weights);
  assert.deepEqual(progress[0], [SIZE - TENSORS, SIZE]);
  assert.deepEqual(progress.at(-1), [SIZE, SIZE]);
});

test("a browser that decodes base64 by itself is asked to", async () => {
  const decode = /** @type {any} */ (Uint8Array).fromBase64;
  let calls = 0;
  /** @type {any} */ (Uint8Array).fromBase64 = (text) => {
    calls += 1;
    return new Uint8Array(Buffer.from(text, "base64"));
  };
  try {
    assert.deepEqual((await fetchedBy(site().weights)).whole, WHOLE);
    assert.equal(calls, PARTS.length);
  } finally {
    /** @type {any} */ (Uint8Array).fromBase64 = decode;
  }
});

test("what is stored is not requested again, by another page either", async () => {
  const { caches } = storageOf();
  const first = site({ caches }).weights;
  await first.wasm();
  await first.details();
  assert.deepEqual((await fetchedBy(first)).result, { isStored: true });
  const { weights, seen } = site({ caches });
  assert.equal(await weights.stored(), SIZE);
  const { whole, result } = await fetchedBy(weights);
  assert.deepEqual(whole, WHOLE);
  assert.deepEqual(result, { isStored: true });
  assert.deepEqual(await weights.wasm(), WASM);
  assert.deepEqual(seen.loaded, ["/api/engine/model.js"]);
});

test("bytes that were passed on may be taken away: what is stored is a copy", async () => {
  const { caches } = storageOf();
  const take = (_offset, bytes) => structuredClone(bytes, { transfer: [bytes.buffer] });
  await fetchedBy(site({ caches }).weights, { take });
  assert.deepEqual((await fetchedBy(site({ caches }).weights)).whole, WHOLE);
});

test("a download that was interrupted goes on with the parts that are missing", async () => {
  const { caches } = storageOf();
  await assert.rejects(fetchedBy(site({ caches, change: { [pathOf(SECOND)]: null } }).weights));
  await settled();
  const { weights, seen } = site({ caches });
  const before = await weights.stored();
  assert.ok(before > 0);
  assert.deepEqual((await fetchedBy(weights)).whole, WHOLE);
  const requested = seen.loaded
    .slice(1)
    .map((path) => DESCRIPTION.parts.find(({ file }) => pathOf(file) === path).bytes);
  assert.equal(before + requested.reduce((sum, bytes) => sum + bytes, 0), TENSORS);
});

test("a stored part that has changed is downloaded again", async () => {
  const { caches, all } = storageOf();
  await fetchedBy(site({ caches }).weights);
  all.get(NAME).set(`/${FIRST}`, new Uint8Array(PARTS[0].length));
  const { weights, seen } = site({ caches });
  assert.deepEqual((await fetchedBy(weights)).whole, WHOLE);
  assert.deepEqual(seen.loaded.slice(1), [pathOf(FIRST)]);
  assert.deepEqual(all.get(NAME).get(`/${FIRST}`), PARTS[0]);
});

test("removing the model frees its storage and nothing else", async () => {
  const { caches, all } = storageOf();
  all.set("another", new Map([["/x", new Uint8Array(1)]]));
  const { weights } = site({ caches });
  await fetchedBy(weights);
  await weights.remove();
  assert.deepEqual([...all.keys()], ["another"]);
  assert.equal(await weights.stored(), 0);
  assert.deepEqual((await fetchedBy(weights)).result.isStored, false, "the other two files were not asked for");
});

test("files of an earlier model are removed", async () => {
  const { caches, all } = storageOf();
  all.set(NAME, new Map([["/0123456789abcdef.js", new Uint8Array(9)]]));
  await fetchedBy(site({ caches }).weights);
  assert.deepEqual([...all.get(NAME).keys()].sort(), DESCRIPTION.parts.map(({ file }) => `/${file}`).sort());
});

test("without room for it the model is downloaded all the same, and the result says so", async () => {
  const { caches, all } = storageOf(WHOLE.length - 1);
  const { whole, result } = await fetchedBy(site({ caches }).weights);
  assert.deepEqual(whole, WHOLE);
  assert.deepEqual(result, { isStored: false });
  assert.ok(all.get(NAME).size < PARTS.length);
});

test("where the browser says that there is too little room, nothing is stored", async () => {
  const { caches, all } = storageOf();
  const storage = { estimate: async () => ({ quota: 100, usage: 100 - SIZE + 1 }) };
  const { whole, result } = await fetchedBy(site({ caches, storage }).weights);
  assert.deepEqual([whole, result], [WHOLE, { isStored: false }]);
  assert.equal(all.size, 0);
});

test("a storage that refuses everything changes nothing", async () => {
  const no = async () => {
    throw new DOMException("no", "SecurityError");
  };
  const caches = /** @type {any} */ ({ has: no, open: no, delete: no });
  const { weights } = site({ caches, storage: { estimate: no } });
  const { whole, result } = await fetchedBy(weights);
  assert.deepEqual([whole, result], [WHOLE, { isStored: false }]);
  assert.equal(await weights.stored(), 0);
  await weights.remove();
});

const other = Buffer.from("other part").toString("base64");
for (const [what, data, says] of [
  ["missing", null, /is missing\. Check the connection/],
  ["truncated", Buffer.from("first").toString("base64"), /is incomplete\. Try again/],
  ["not base64", "<html>", /is incomplete\. Try again/],
  ["no data", () => undefined, /is missing\. Check the connection/],
  ["changed", other, /differs from what was packed\. Try again/],
]) {
  test(`a part that is ${what} is named after three tries, with the remedy`, async () => {
    const { weights, seen } = site({ change: { [pathOf(FIRST)]: data } });
    await assert.rejects(fetchedBy(weights), (problem) => {
      assert.ok(problem.detail.includes(FIRST));
      return refused(says)(problem);
    });
    assert.equal(seen.loaded.filter((path) => path === pathOf(FIRST)).length, 3);
    assert.equal(seen.waits.length, 2);
  });
}

test("a part that comes at the third try is no problem", async () => {
  let tries = 0;
  const change = { [pathOf(FIRST)]: () => (++tries < 3 ? null : scripts()[pathOf(FIRST)]) };
  assert.deepEqual((await fetchedBy(site({ change }).weights)).whole, WHOLE);
});

test("without a secure context only lengths are checked", async () => {
  const { weights } = site({ change: { [pathOf(FIRST)]: other }, subtle: undefined });
  assert.deepEqual((await fetchedBy(weights)).whole.subarray(0, 10), Buffer.from("other part"));
});

test("a signal ends the download at once, and nothing more is requested or passed on", async () => {
  const abort = new AbortController();
  const { weights, seen } = site({ change: { [pathOf(SECOND)]: () => new Promise(() => {}) } });
  const taken = [];
  const reason = new Error("enough");
  const fetching = weights.fetchAll({
    signal: abort.signal,
    take(offset) {
      taken.push(offset);
      abort.abort(reason);
    },
  });
  await assert.rejects(fetching, reason);
  const requested = seen.loaded.length;
  await settled();
  assert.deepEqual([taken.length, seen.loaded.length], [1, requested]);
});

test("a signal that aborted before is obeyed", async () => {
  const { weights, seen } = site();
  await assert.rejects(weights.fetchAll({ signal: AbortSignal.abort(), take() {} }), { name: "AbortError" });
  assert.deepEqual(seen.loaded, ["/api/engine/model.js"]);
});

test("a part that fails ends the others, and the next download begins anew", async () => {
  const { weights, seen } = site({ change: { [pathOf(FIRST)]: null } });
  let tries = 0;
  await assert.rejects(fetchedBy(weights, { take: () => ++tries }), Problem);
  const requested = seen.loaded.length;
  await settled();
  assert.equal(seen.loaded.length, requested);
});

test("an error of the engine that takes the parts is passed on", async () => {
  const take = () => Promise.reject(new Error("out of memory"));
  await assert.rejects(fetchedBy(site().weights, { take }), /out of memory/);
});

test("a connection that costs money is metered", () => {
  const metered = (connection) => site({ connection }).weights.isMetered();
  assert.deepEqual([undefined, {}, { type: "wifi" }].map(metered), [false, false, false]);
  assert.deepEqual([{ saveData: true }, { type: "cellular" }].map(metered), [true, true]);
});
