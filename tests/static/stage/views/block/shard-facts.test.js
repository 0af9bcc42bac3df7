import assert from "node:assert/strict";
import { test } from "node:test";
import {
  crossing,
  deviceChoices,
  holdings,
  joinedIn,
  sharing,
} from "../../../../../kvscope/static/stage/views/block/shard-facts.js";

const floats = (shape, values) => ({ shape, data: Float32Array.from(values) });
const integers = (shape, values) => ({ shape, data: Int32Array.from(values) });

/** Three K/V heads on two devices; d is 2. */
const answer = {
  kv_heads: integers([2, 2], [0, 2, 2, 3]),
  columns: integers([2, 2], [0, 4, 4, 7]),
  parameters: integers([2], [60, 40]),
  "attn.partials": floats([2, 2], [1, 2, 4, -8]),
  "attn.bias": floats([2], [0.5, 0.5]),
  "attn.sum": floats([2], [5.5, -5.5]),
  "attn.change": floats([2], [5.5, -5.25]),
  "mlp.partials": floats([2, 2], [1, 0, 0, 1]),
  "mlp.sum": floats([2], [1, 1]),
  "mlp.change": floats([2], [1, 1]),
};

test("who holds what: whole KV heads with the query heads that read them", () => {
  const [first, second] = holdings(answer, 3);
  assert.deepEqual(first, { kvHeads: 2, kv: [0, 1], heads: [0, 5], columns: 4, parameters: 60, share: 0.6 });
  assert.deepEqual([second.kv, second.heads, second.columns], [[2, 2], [6, 8], 3]);
  assert.match(sharing([first, second], 3), /3 KV heads are divided as 2 \+ 1.*unequal work/);
  assert.equal(sharing([second, second], 2), "Each has 1 of the 2 KV heads.");
});

test("a layer is divided among as many devices as there are KV heads at most", () => {
  assert.deepEqual(deviceChoices(3), [2, 3]);
  assert.deepEqual(deviceChoices(8), [2, 3, 4, 8]);
  assert.deepEqual(deviceChoices(1), []);
});

test("the parts of a change, and how far their sum is from the model's own", () => {
  const { parts, bias, sum, change, difference } = joinedIn(answer, "attn");
  assert.deepEqual(parts.map(String), ["1,2", "4,-8"]);
  assert.deepEqual([bias, sum, change].map(String), ["0.5,0.5", "5.5,-5.5", "5.5,-5.25"]);
  assert.equal(difference, 0.25);
  assert.deepEqual([joinedIn(answer, "mlp").bias, joinedIn(answer, "mlp").difference], [null, 0]);
});

test("bytes that cross: with two devices each sends the whole vector, in a ring of more a little less than twice", () => {
  const model = { d: 576, element_bytes: 4, layers: 30 };
  assert.deepEqual(crossing(model, 2), { sum: 2304, layer: 4608, model: 138_240, waits: 60 });
  assert.equal(crossing(model, 3).sum, 3072);
});
