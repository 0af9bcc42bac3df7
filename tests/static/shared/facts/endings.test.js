import assert from "node:assert/strict";
import { test } from "node:test";
import { ending, reasonOfClose } from "../../../../kvscope/static/shared/facts/endings.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { isWord, tellingLook } from "../../../../kvscope/static/stage/facts/opening-head.js";
import { smallRun } from "../../support/wire.js";

const run = new Run("r1");
for (const payload of smallRun()) run.push(decodeFrame(payload));

const NAMES = ["a", "b", "c", "d", "e"];

const handmade = (rows) => ({
  layers: rows.length,
  heads: 1,
  promptLength: rows[0].length,
  tokens: rows[0].at(-1).map((_, position) => ({ text: NAMES[position], special: false })),
  row: (layer, _head, query) => Uint8Array.from(rows[layer][query]),
  weight: (layer, _head, query, key) => (rows[layer][query][key] / 255) ** 2,
});

test("a run opens with a head that looks at a token other than the first, itself or its neighbour", () => {
  const firstToken = [[255], [255, 1], [255, 1, 1], [255, 1, 2, 1]];
  const neighbour = [[255], [1, 255], [1, 250, 1], [1, 3, 250, 1]];
  const farther = [[255], [1, 255], [1, 1, 1], [1, 120, 1, 1]];
  assert.deepEqual(tellingLook(handmade([firstToken, neighbour, farther])), { layer: 2, head: 0, query: 3, key: 1 });
});

test("a look can be requested from one word to another", () => {
  const run = handmade([[[255], [1, 255], [1, 1, 1], [1, 120, 1, 1], [1, 90, 200, 1, 1]]]);
  assert.deepEqual(tellingLook(run, isWord), { layer: 0, head: 0, query: 4, key: 2 });
  run.tokens[2].text = "?";
  assert.deepEqual(tellingLook(run, isWord), { layer: 0, head: 0, query: 3, key: 1 });
  run.tokens[1].special = true;
  assert.equal(tellingLook(run, isWord), null);
});

test("a prompt that is too short for such a look has no head to open with", () => {
  assert.equal(tellingLook(handmade([[[255], [1, 255]]])), null);
});

test("only a run that failed or was interrupted has a problem", () => {
  assert.equal(ending(null), "");
  assert.match(ending({ reason: "length" }), /limit/);
  assert.equal(reasonOfClose(run), null);
  const failed = reasonOfClose({ steps: [{}], close: { reason: "failed", error: "The disk is full." } });
  assert.match(failed.detail, /The disk is full\..*1 completed step/);
  const close = { reason: "interrupted" };
  const open = { model: { eos: [] }, limits: { max_new_tokens: 9 } };
  const broken = reasonOfClose({ steps: [{ data: { token: { id: 1 } } }], open, close });
  assert.equal(broken.continues, true);
  assert.match(broken.detail, /Continue from its log/);
  assert.doesNotMatch(broken.detail, /Press Run/);
  const empty = reasonOfClose({ steps: [], open, close });
  assert.equal(empty.continues, false);
  assert.match(empty.detail, /Press Run/);
});
