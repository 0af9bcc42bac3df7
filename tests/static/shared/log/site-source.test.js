import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { createClient } from "../../../../kvscope/static/shared/log/client.js";
import { siteSource } from "../../../../kvscope/static/shared/log/site-source.js";
import { base64, FRAMES, manifestOf, PARTS, SEQS, values, watched } from "../../support/stored-run.js";

const VALUES = values(0, 1);
const MANIFEST = manifestOf([0, 1]);

/** A site with one session, one run and some answers; `loaded` says which of its scripts were loaded. */
function site(change = {}) {
  const files = {
    "/api/sessions/s1/frames.js": { manifest: MANIFEST, parts: PARTS },
    "/api/sessions/s1/values-1.js": { "values-0-1": base64(VALUES) },
    "/api/runs/r1/frames.js": { manifest: MANIFEST, parts: PARTS },
    "/api/runs/r1.js": { id: "r1", status: "closed" },
    "/api/runs/r1/family.js": { root: "r1", runs: [] },
    "/static/shared/words/glossary.js": { token: { name: "token", text: "a piece" } },
    "/api/by-hand/a.js": { example: "a" },
    ...change,
  };
  const loaded = [];
  const load = async (path) => {
    loaded.push(path);
    if (!(path in files)) throw new TypeError(`${path} cannot be loaded`);
    return files[path];
  };
  return { fetch: siteSource({ load, subtle: webcrypto.subtle }), loaded };
}

test("a session and a run play from the files of the site", async () => {
  const { fetch, loaded } = site();
  assert.deepEqual(await watched(fetch), { seqs: SEQS, problems: [] });
  assert.deepEqual(await watched(fetch, null), { seqs: SEQS, problems: [] });
  assert.deepEqual(loaded, ["/api/sessions/s1/frames.js", "/api/runs/r1/frames.js"]);
});

test("frames after a known frame are the ones that follow it", async () => {
  const { fetch } = site();
  const whole = await (await fetch("/api/sessions/s1/frames?after=-1")).arrayBuffer();
  const rest = await (await fetch("/api/sessions/s1/frames?after=0")).arrayBuffer();
  assert.equal(whole.byteLength - rest.byteLength, 4 + FRAMES[0].length);
});

test("a log is loaded once, its exact values on request", async () => {
  const { fetch, loaded } = site();
  assert.equal((await (await fetch("/api/sessions/s1")).json()).id, "s1");
  await (await fetch("/api/sessions/s1/frames?after=-1")).arrayBuffer();
  assert.deepEqual(loaded, ["/api/sessions/s1/frames.js"]);
  const answer = await fetch("/api/sessions/s1/values?step=0&layer=1");
  assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), new Uint8Array(VALUES));
  assert.deepEqual(loaded.slice(1), ["/api/sessions/s1/values-1.js"]);
});

test("a run of a browser has no file, so none is loaded", async () => {
  const { fetch, loaded } = site();
  assert.equal((await fetch("/api/runs/here-1/frames?after=-1")).status, 409);
  assert.deepEqual(loaded, []);
});

test("a damaged part is reported", async () => {
  const spoilt = { manifest: MANIFEST, parts: { ...PARTS, "part-0": PARTS["part-1"] } };
  const { fetch } = site({ "/api/sessions/s1/frames.js": spoilt });
  const response = await fetch("/api/sessions/s1/frames?after=-1");
  assert.equal(response.status, 500);
  assert.equal((await response.json()).field, "parts[0]");
});

test("a log that failed to load is requested again", async () => {
  const { fetch, loaded } = site();
  await assert.rejects(fetch("/api/sessions/gone/frames?after=-1"), TypeError);
  await assert.rejects(fetch("/api/sessions/gone/frames?after=-1"), TypeError);
  assert.equal(loaded.length, 2);
});

test("answers are read from their files", async () => {
  const { fetch } = site();
  const client = createClient({ fetch, connect: null, delay: async () => {} });
  assert.equal((await client.glossary({ signal: undefined })).token.text, "a piece");
  assert.equal((await client.status("r1")).status, "closed");
  assert.equal((await client.family("r1")).root, "r1");
  assert.deepEqual(await (await fetch("/api/by-hand/a")).json(), { example: "a" });
});

test("a request that needs a model is refused without a request", async () => {
  const { fetch, loaded } = site();
  const read = ["/api/sessions/s1/head?step=0&layer=1&head=0", "/api/embedding?token=3", "/api/state"];
  const computed = ["/api/by-hand/a?wq=1,2", "/api/lessons/01-what?run=r2"];
  for (const path of [...read, ...computed, "/api/runs", "/api/index"]) {
    const method = ["/api/runs", "/api/index"].includes(path) ? "POST" : "GET";
    const response = await fetch(path, { method });
    assert.equal(response.status, 409, path);
    assert.match((await response.json()).detail, /only what was recorded/);
  }
  assert.deepEqual(loaded, []);
});

test("the model is never ready, and the page gets the reason", async () => {
  const client = createClient({ fetch: site().fetch, connect: null, delay: async () => {} });
  const readiness = await client.readiness();
  assert.equal(readiness.state, "none");
  assert.match(readiness.message, /No model/);
});
