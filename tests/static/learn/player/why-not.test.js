import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNot } from "../../../../kvscope/static/learn/player/why-not.js";

test("a task that a site cannot compute says so, any other is left to its reader", () => {
  const own = { prompt: { differs_from: "a" } };
  assert.equal(whyNot(own, true), null);
  assert.equal(whyNot({ without_cache: true }, true), null);
  assert.match(whyNot(own, false) ?? "", /has no model/);
  assert.match(whyNot({ beam_search: true }, true) ?? "", /cannot compute the experiment/);
  assert.equal(whyNot({ layer: { equals: 4 } }, false), null);
});
