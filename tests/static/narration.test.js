import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../static/contract/frames.js";
import { Run } from "../../static/contract/run.js";
import { ending, reasonOfClose } from "../../static/model/endings.js";
import { tellingHead } from "../../static/model/first-look.js";
import { narrate, strongestLook } from "../../static/model/narration.js";
import { smallRun } from "./wire.js";

const run = new Run("r1");
for (const payload of smallRun()) run.push(decodeFrame(payload));

const plain = (text) => text.replace(/[\u202f\u00a0]/g, " ");

test("the sentence of a prefill and of a decode step is made of the run's numbers", () => {
  assert.equal(
    plain(narrate(run, 0, { layer: 0, head: 0 })),
    "Step 0, prefill: 3 tokens in at once, 100 ms; “c” looks most at itself (layer 0, head 0: 1 %); chose “d” with 50 %.",
  );
  assert.match(plain(narrate(run, 1, { layer: 1, head: 1 })), /^Step 1, decode: one token in, “d”, 40 ms; /);
});

test("there is no sentence for a step that is not there", () => {
  assert.equal(narrate(run, 3, { layer: 0, head: 0 }), "");
  assert.equal(narrate(new Run("empty"), 0, { layer: 0, head: 0 }), "");
});

const handmade = (rows) => ({
  layers: rows.length,
  heads: 1,
  promptLength: rows[0].length,
  row: (layer, _head, query) => Uint8Array.from(rows[layer][query]),
  weight: (layer, _head, query, key) => (rows[layer][query][key] / 255) ** 2,
});

test("the strongest look is the key with the greatest weight, the first one when there are several", () => {
  const one = handmade([[[255], [10, 200], [90, 90, 20]]]);
  assert.equal(strongestLook(one, 1, { layer: 0, head: 0 }).key, 1);
  assert.equal(strongestLook(one, 2, { layer: 0, head: 0 }).key, 0);
});

test("a run opens with the head that looks at something other than the first token, itself or its neighbour", () => {
  const firstToken = [[255], [255, 1], [255, 1, 1], [255, 1, 2, 1]];
  const neighbour = [[255], [1, 255], [1, 250, 1], [1, 3, 250, 1]];
  const farther = [[255], [1, 255], [1, 1, 1], [1, 120, 1, 1]];
  assert.deepEqual(tellingHead(handmade([firstToken, neighbour, farther])), { layer: 2, head: 0 });
});

test("a prompt too short for such a look has no telling head", () => {
  assert.equal(tellingHead(handmade([[[255], [1, 255]]])), null);
});

test("endings in words; only a run that broke off has a reason to tell", () => {
  assert.equal(ending(null), "");
  assert.match(ending({ reason: "length" }), /limit/);
  assert.equal(reasonOfClose(run), null);
  const failed = reasonOfClose({ steps: [{}], close: { reason: "failed", error: "The disk is full." } });
  assert.match(failed.detail, /The disk is full\..*1 step /);
});
