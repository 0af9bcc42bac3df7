import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient } from "../../../../kvscope/static/shared/log/client.js";
import { Problem } from "../../../../kvscope/static/shared/log/problem.js";
import { assertEach } from "../../support/lists.js";
import { encode, stream } from "../../support/wire.js";

const LAYERS = 5;
const STEPS = 3;

/** A values frame of one head of width 1: every number is the row's position plus a tenth of the layer. */
function payload(step, layer) {
  const at = step === 0 ? 0 : step + 1;
  const rows = step === 0 ? 2 : 1;
  const tensor = () => ["F32", [1, rows, 1], Array.from({ length: rows }, (_, row) => at + row + layer / 10)];
  const lens = layer === LAYERS - 1 ? { lens: { token: { id: step }, layers: [] } } : {};
  const data = { step, layer, level: "qkv", first_query: at, window: null, ...lens };
  const tensors = { q: tensor(), k: tensor(), v: tensor() };
  return encode({ kind: "values", seq: step * LAYERS + layer, run: "r1", data, tensors });
}

/** `damaged`: [step, layer] that the server cannot give. */
function server({ level = "qkv", layers = [0, 1, 2, 3, 4], damaged = [] } = {}) {
  const asked = [];
  const bad = (step, layer) => damaged[0] === step && damaged[1] === layer;
  const problem = () =>
    new Response(JSON.stringify({ title: "Internal Server Error", detail: "damaged" }), { status: 500 });
  const fetch = async (path) => {
    asked.push(path);
    const { pathname, searchParams } = new URL(path, "http://localhost");
    if (!pathname.endsWith("/values")) return Response.json({ path });
    const layer = Number(searchParams.get("layer"));
    if (searchParams.has("step")) {
      const step = Number(searchParams.get("step"));
      return bad(step, layer) ? problem() : new Response(payload(step, layer));
    }
    const steps = Array.from({ length: STEPS }, (_, step) => step);
    const cut = steps.findIndex((step) => bad(step, layer));
    if (cut < 0) return new Response(stream(steps.map((step) => payload(step, layer))));
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(stream(steps.slice(0, cut).map((step) => payload(step, layer))));
      },
      pull: (controller) => controller.error(new TypeError("cut")),
    });
    return new Response(body);
  };
  const saved = { id: "s1", run: "r1", values: level && { level, layers, lens: layers.includes(LAYERS - 1) } };
  return { asked, client: createClient({ fetch, connect: () => null, saved }) };
}

const head = (step, layer = 1) => ({ run: "r1", step, layer, head: 0 });

test("a head is computed from one reading of its layer, whatever step and head are selected", async () => {
  const { asked, client } = server();
  const late = await client.ask("head")(head(2));
  const early = await client.ask("head")(head(0));
  assert.deepEqual(asked, ["/api/sessions/s1/values?layer=1"]);
  assert.deepEqual([...late.k.shape, ...early.k.shape], [4, 1, 2, 1]);
  assert.ok(Math.abs(late.k.data[3] - 3.1) < 1e-6);
});

test("only the latest layers stay cached", async () => {
  const { asked, client } = server();
  for (const layer of [0, 1, 2, 0, 3, 0, 1]) await client.ask("head")(head(1, layer));
  assertEach(asked, (path) => Number(path.at(-1)), [0, 1, 2, 3, 1]);
});

test("the lens is in the last layer's frame of its step", async () => {
  const { asked, client } = server();
  assert.deepEqual(await client.ask("lens")({ run: "r1", step: 2 }), { token: { id: 2 }, layers: [] });
  assert.deepEqual(asked, ["/api/sessions/s1/values?step=2&layer=4"]);
});

test("questions without stored values go to the model, and other runs always do", async () => {
  const { asked, client } = server();
  await client.ask("lens")({ run: "other", step: 1 });
  const block = client.ask("block");
  await block({ run: "r1", step: 0, layer: 1, position: 1 }).catch(() => {});
  const without = server({ level: null });
  await without.client.ask("lens")({ run: "r1", step: 1 });
  assert.deepEqual(
    [...asked, ...without.asked],
    ["/api/runs/other/lens?step=1", "/api/sessions/s1/block?step=0&layer=1&position=1", "/api/sessions/s1/lens?step=1"],
  );
});

test("layers without stored values go to the model", async () => {
  const { asked, client } = server({ layers: [1] });
  await client.ask("head")(head(0, 1));
  await client.ask("head")(head(0, 2));
  await client.ask("lens")({ run: "r1", step: 0 });
  assert.deepEqual(asked, [
    "/api/sessions/s1/values?layer=1",
    "/api/sessions/s1/head?step=0&layer=2&head=0",
    "/api/sessions/s1/lens?step=0",
  ]);
});

test("a damaged part hides its own step and the steps that need it, and the rest is shown", async () => {
  const { client } = server({ damaged: [2, 1] });
  assert.deepEqual((await client.ask("head")(head(1))).k.shape, [3, 1]);
  await assert.rejects(
    client.ask("head")(head(2)),
    (problem) => problem instanceof Problem && problem.message === "damaged",
  );
  assert.deepEqual((await client.ask("head")(head(2, 0))).k.shape, [4, 1]);
});
