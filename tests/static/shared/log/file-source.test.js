import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import { createClient } from "../../../../kvscope/static/shared/log/client.js";
import { fileSource } from "../../../../kvscope/static/shared/log/file-source.js";
import { columns } from "../../support/lists.js";
import { base64, manifestOf, PARTS, SEQS, values, watched } from "../../support/stored-run.js";

const PLACES = [0, 1].flatMap((step) => [0, 1].map((layer) => [step, layer]));

/** A page with a run inside; `change` may spoil the texts of its elements. */
function page({ change = () => {}, subtle = webcrypto.subtle } = {}) {
  const stored = PLACES.map(([step, layer]) => [`values-${step}-${layer}`, base64(values(step, layer))]);
  const texts = new Map([...Object.entries(PARTS), ...stored]);
  const manifest = manifestOf(...PLACES);
  change(texts, manifest);
  const glossary = { token: { name: "token", text: "a piece" } };
  return fileSource({ manifest, glossary, textOf: (id) => texts.get(id) ?? null, subtle });
}

const flip = (id) => (texts) => {
  const bytes = Buffer.from(texts.get(id), "base64");
  bytes[bytes.length >> 1] ^= 1;
  texts.set(id, base64(bytes));
};

test("a run is read from its file by the same client", async () => {
  assert.deepEqual(await watched(page()), { seqs: SEQS, problems: [] });
});

for (const [what, change] of Object.entries({
  "flipped in a bit": flip("part-3"),
  missing: (texts) => texts.delete("part-3"),
  "no base64": (texts) => texts.set("part-3", "!"),
  "of another run": (texts) => texts.set("part-3", texts.get("part-2")),
})) {
  test(`a part that is ${what} is named, once what comes before it is shown`, async () => {
    const { seqs, problems } = await watched(page({ change }));
    assert.deepEqual(seqs, [0, 1, 2]);
    assert.deepEqual(columns(problems, "status", "field"), { status: [500], field: ["parts[3]"] });
  });
}

test("without a digest in the browser, the page shows the unchecked parts", async () => {
  assert.deepEqual((await watched(page({ subtle: undefined }))).seqs, SEQS);
});

test("exact values can be read by step and layer, or for a whole layer", async () => {
  const fetch = page();
  const one = new Uint8Array(await (await fetch("/api/sessions/s1/values?step=1&layer=1")).arrayBuffer());
  assert.deepEqual(one, values(1, 1));
  const layer = await (await fetch("/api/sessions/s1/values?layer=0")).arrayBuffer();
  assert.equal(layer.byteLength, 8 + values(0, 0).length + values(1, 0).length);
});

test("damaged values are named", async () => {
  const response = await page({ change: flip("values-1-0") })("/api/sessions/s1/values?step=1&layer=0");
  assert.equal(response.status, 500);
  assert.equal((await response.json()).field, "values[step 1, layer 0]");
});

test("a request for something that the file lacks is refused as if another model ran", async () => {
  for (const path of ["/head?step=0&layer=0&head=0", "/lens?step=0", "/values?step=9&layer=0"]) {
    assert.equal((await page()(`/api/sessions/s1${path}`)).status, 409);
  }
  const bare = page({ change: (_, manifest) => Object.assign(manifest, { values: null }) });
  assert.equal((await bare("/api/sessions/s1/values?layer=0")).status, 409);
});

test("the glossary and the manifest can be read", async () => {
  const client = createClient({ fetch: page(), connect: () => null });
  assert.equal((await client.glossary({})).token.text, "a piece");
  assert.equal((await client.manifest("s1", {})).id, "s1");
});
