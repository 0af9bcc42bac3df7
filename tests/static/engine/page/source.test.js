import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame } from "../../../../kvscope/static/engine/log/encode.js";
import { createSource } from "../../../../kvscope/static/engine/page/source.js";
import { decodeFrame, FrameSplitter } from "../../../../kvscope/static/shared/log/frames.js";

const MODEL = { name: "tiny", sha256: "5ha" };
const token = (id) => ({ id, text: `t${id}`, bytes: "", special: false });
const OPENING = {
  ...{ model: MODEL, prompt: "x", chat: false, sampling: { seed: 0 }, limits: { max_new_tokens: 4 } },
  ...{ tokens: [token(1), token(2)], parent: null, study: null, changed: null, reused: 0, prefix: null, created: "" },
};
const top = {
  top_ids: { dtype: "I32", shape: [2], data: new Int32Array([7, 8]) },
  top_logits: { dtype: "F32", shape: [2], data: new Float32Array([2, 1]) },
};

/** The frames of a run that chose the tokens 7 and 7. */
const framesOf = (run) => [
  encodeFrame({ run, seq: 0, kind: "open", data: OPENING }),
  ...[0, 1].map((step) => {
    const data = { step, position: 1 + step, token: { ...token(7), prob: 0.5, raw_prob: 0.5 }, log_z: 2.5 };
    return encodeFrame({ run, seq: 1 + step, kind: "step", data, tensors: top });
  }),
];

const closing = (run, seq) =>
  encodeFrame({ run, seq, kind: "close", data: { reason: "length", error: null, steps: seq - 1 } });

/** A worker that answers calls as `answers` says, and sends frames. */
class FakeWorker {
  constructor(answers) {
    this.answers = { load: () => {}, ...answers };
    this.calls = [];
  }

  postMessage({ id, call, argument }) {
    this.calls.push([call, argument]);
    queueMicrotask(() => {
      const answer = this.answers[call](argument);
      this.onmessage({ data: answer?.status ? { id, problem: answer } : { id, value: answer } });
    });
  }

  send(run, payloads, closed = false) {
    this.onmessage({ data: { frames: { run, payloads, closed } } });
  }

  terminate() {
    this.isEnded = true;
  }
}

async function sourceOf(answers, { chosen = true, files = {}, fetchAll = null, startWorker = null } = {}) {
  const worker = new FakeWorker(answers);
  const elsewhere = [];
  const weights = {
    isMetered: () => false,
    describe: async () => ({ model: MODEL, bytes: 10, limits: {} }),
    details: async () => ({ packed: {}, tokenizer: {} }),
    stored: async () => 0,
    wasm: async () => new Uint8Array(0),
    fetchAll: fetchAll ?? (async ({ onProgress }) => onProgress(10)),
    remove: async () => {},
  };
  let next = 0;
  const source = createSource({
    isChosen: () => chosen,
    weights,
    startWorker: startWorker ?? (async () => worker),
    newId: () => `here-${next++}`,
    async fetch(path) {
      elsewhere.push(path);
      return files[path] ? new Response(files[path]) : new Response("{}", { status: 404 });
    },
  });
  const loaded = source.device.load();
  if (!fetchAll && !startWorker) await loaded;
  const ask = async (path, options) => (await source.fetch(path, options)).json();
  const post = (path, body) => ask(path, { method: "POST", body: JSON.stringify(body) });
  const read = async (path) =>
    new FrameSplitter().push(new Uint8Array(await (await source.fetch(path)).arrayBuffer())).map(decodeFrame);
  return { source, worker, elsewhere, ask, post, read };
}

test("a run of this device is started, followed, described and deleted here", async () => {
  const { source, worker, elsewhere, ask, post, read } = await sourceOf({
    start: ({ run }) => worker.send(run, framesOf(run)),
    remove: () => {},
  });
  const { id } = await post("/api/runs", { prompt: "x", seed: 3 });
  assert.equal(worker.calls.at(-1)[1].seed, 3);
  assert.equal((await ask(`/api/runs/${id}/family`)).root, id);
  const reading = read(`/api/runs/${id}/frames?after=0`);
  worker.send(id, [closing(id, 3)], true);
  assert.deepEqual(
    (await reading).map(({ kind }) => kind),
    ["step", "step", "close"],
  );
  const { status, steps, reason, prompt_tokens: prompt } = await ask(`/api/runs/${id}`);
  assert.deepEqual({ status, steps, reason, prompt }, { status: "closed", steps: 2, reason: "length", prompt: 2 });
  assert.equal((await source.fetch(`/api/runs/${id}`, { method: "DELETE" })).status, 204);
  assert.deepEqual(elsewhere, []);
});

test("a refused run leaves no log, and the refusal is a problem document", async () => {
  const { ask, post } = await sourceOf({
    start: () => ({ title: "Too long", detail: "Too long", status: 413, field: "prompt" }),
  });
  const problem = await post("/api/runs", { prompt: "x" });
  assert.deepEqual([problem.status, problem.field], [413, "prompt"]);
  assert.deepEqual((await ask("/api/runs/here-0")).status, undefined);
});

test("a branch has the parent's frames, the token that was set, and what was computed again", async () => {
  const spent = { rows: 0, ms: 0, held: true };
  const { worker, post, read } = await sourceOf({
    start: () => {},
    answer: ({ parameters }) => ({ value: token(parameters.token) }),
    resume: () => spent,
  });
  const { id } = await post("/api/runs", { prompt: "x" });
  worker.send(id, framesOf(id));
  const branch = await post(`/api/runs/${id}/fork`, { position: 3, token: 8 });
  const [, { ids, prompt, seq }] = worker.calls.at(-1);
  assert.deepEqual({ ids, prompt, seq }, { ids: [1, 2, 7, 8], prompt: 2, seq: 3 });
  worker.send(branch.id, [closing(branch.id, 3)], true);
  const [open, first, second] = await read(`/api/runs/${branch.id}/frames`);
  assert.deepEqual(open.data.parent, { run: id, position: 3, token: 8, recomputed: spent });
  assert.equal(first.data.token.forced, undefined);
  assert.equal(second.data.token.id, 8);
  assert.equal(second.data.token.forced, true);
  assert.ok(Math.abs(second.data.token.prob - Math.exp(1 - 2.5)) < 1e-12);
});

test("questions about a recording of the same model are answered with its tokens; other models' are refused", async () => {
  const stream = (run) => {
    const parts = [...framesOf(run), closing(run, 3)];
    return new Blob(parts.flatMap((part) => [new Uint32Array([part.byteLength]), part]));
  };
  const files = { "/api/sessions/s1/frames?after=-1": stream("s1") };
  const { source, worker, ask } = await sourceOf({ answer: () => ({ value: { fine: true } }) }, { files });
  assert.deepEqual(await ask("/api/sessions/s1/lens?step=1"), { fine: true });
  const [, { question, log, parameters }] = worker.calls.at(-1);
  assert.deepEqual([question, parameters], ["lens", { step: 1 }]);
  assert.deepEqual(
    [log.ids, log.steps],
    [
      [1, 2, 7, 7],
      [
        { firstQuery: 0, queries: 2 },
        { firstQuery: 2, queries: 1 },
      ],
    ],
  );
  MODEL.sha256 = "another";
  const refused = await source.fetch("/api/sessions/s1/lens?step=1");
  MODEL.sha256 = "5ha";
  assert.equal(refused.status, 409);
});

test("a run whose worker ends is closed as interrupted, and its log stays", async () => {
  const { source, worker, post, read } = await sourceOf({ start: () => {} });
  const { id } = await post("/api/runs", { prompt: "x" });
  worker.send(id, framesOf(id));
  worker.onerror({ message: "out of memory" });
  const last = (await read(`/api/runs/${id}/frames`)).at(-1);
  assert.deepEqual([last.kind, last.data.reason, last.data.steps], ["close", "interrupted", 2]);
  assert.equal(source.device.state().state, "failed");
  assert.equal((await source.fetch("/api/runs", { method: "POST", body: "{}" })).status, 503);
});

test("with a server, only runs of this device are answered here until the viewer chooses it", async () => {
  const { source, elsewhere } = await sourceOf({}, { chosen: false });
  for (const path of ["/readyz", "/api/runs", "/api/runs/abc/head", "/api/embedding?token=1"]) await source.fetch(path);
  assert.deepEqual(elsewhere, ["/readyz", "/api/runs", "/api/runs/abc/head", "/api/embedding?token=1"]);
});

test("loading that was stopped can begin again at once", async () => {
  let tries = 0;
  const fetchAll = ({ signal, onProgress }) => {
    tries += 1;
    if (tries > 1) return onProgress(10);
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => setTimeout(() => reject(signal.reason), 20)),
    );
  };
  const { device } = (await sourceOf({}, { fetchAll })).source;
  while (tries === 0) await new Promise((resolve) => setTimeout(resolve));
  device.cancel();
  assert.equal(device.state().state, "offered");
  await device.load();
  await new Promise((resolve) => setTimeout(resolve, 40)); // the first try ends now
  assert.equal(device.state().state, "ready");
});

test("a worker that starts after loading was stopped is ended, and the next one computes", async () => {
  const [late, next] = [new FakeWorker({}), new FakeWorker({})];
  const begun = [];
  const startWorker = () => new Promise((resolve) => begun.push(resolve));
  const { device } = (await sourceOf({}, { startWorker })).source;
  while (begun.length === 0) await new Promise((resolve) => setTimeout(resolve));
  device.cancel();
  const loading = device.load();
  while (begun.length === 1) await new Promise((resolve) => setTimeout(resolve));
  begun[1](next);
  begun[0](late);
  await loading;
  assert.deepEqual([device.state().state, late.isEnded, late.calls, next.isEnded], ["ready", true, [], undefined]);
});

test("a file of the visitor is read in place of the site's model, until that is used again", async () => {
  const own = { name: "own", sha256: "0wn" };
  const answers = [{ done: 1 }, { done: 2 }, { info: own }];
  const { source, worker, ask } = await sourceOf({ open: () => {}, read: () => answers.shift() });
  const file = new File(["12345"], "own.gguf");
  const used = source.device.use(file);
  assert.deepEqual(await ask("/readyz"), {
    ...{ state: "loading", message: "Reading own.gguf on this device", model: null, done: 0, total: 5, stopped: false },
  });
  await used;
  const { state, model, total } = source.device.state();
  assert.deepEqual(
    { state, model, total, file: source.device.state().file },
    { state: "ready", model: own, total: 5, file: "own.gguf" },
  );
  assert.equal(worker.calls.find(([call]) => call === "open")[1].file, file);
  source.device.cancel();
  assert.equal(source.device.state().file, "");
  await source.device.load();
  assert.deepEqual(source.device.state().model, MODEL);
});

test("a file that is refused is named, and can be tried again", async () => {
  const { source } = await sourceOf({
    open: () => ({ title: "No", detail: "It is truncated.", status: 422 }),
    read: () => ({ info: MODEL }),
  });
  await source.device.use(new File(["1"], "own.gguf"));
  const { state, message, file } = source.device.state();
  assert.deepEqual(
    { state, message, file },
    { state: "failed", message: "own.gguf: It is truncated.", file: "own.gguf" },
  );
});
