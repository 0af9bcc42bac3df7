import assert from "node:assert/strict";
import { test } from "node:test";
import { ending, reasonOfClose } from "../../../static/facts/endings.js";
import { tellingHead } from "../../../static/facts/opening-head.js";
import { decodeFrame } from "../../../static/log/frames.js";
import { Run } from "../../../static/log/run.js";
import { smallRun } from "../support/wire.js";

const run = new Run("r1");
for (const payload of smallRun()) run.push(decodeFrame(payload));

const handmade = (rows) => ({
  layers: rows.length,
  heads: 1,
  promptLength: rows[0].length,
  row: (layer, _head, query) => Uint8Array.from(rows[layer][query]),
  weight: (layer, _head, query, key) => (rows[layer][query][key] / 255) ** 2,
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
