import assert from "node:assert/strict";
import { test } from "node:test";
import { changesIn, hasPlace } from "../../../../kvscope/static/stage/changes/places.js";

const RUN = {
  heads: 4,
  kvHeads: 2,
  experts: (layer, row) => (layer === 1 && row === 5 ? [{ expert: 6 }, { expert: 2 }] : []),
};
const SELECTION = { layer: 1, head: 3, query: null, key: null };
const sites = (view, patch = {}) => changesIn(RUN, view, { ...SELECTION, ...patch }).map(({ site }) => site);

test("each view begins with what it is about", () => {
  const first = (view) => sites(view)[0];
  assert.deepEqual(["model", "block", "head", "pair", "cache"].map(first), ["layer", "layer", "head", "head", "k"]);
  assert.deepEqual(["tokens", "time", "head"].map(hasPlace), [false, false, true]);
});

test("K and V are those of the KV head that the selected head reads, at the selected key", () => {
  const [k] = changesIn(RUN, "cache", { ...SELECTION, key: 2 });
  assert.deepEqual([k.site, k.layer, k.head, k.position], ["k", 1, 1, 2]);
});

test("a token is offered where one is selected", () => {
  assert.ok(!sites("head").includes("token"));
  assert.equal(changesIn(RUN, "head", { ...SELECTION, query: 0 }).at(-1).position, 0);
});

test("of a layer with experts, those that the router chose for the selected token are offered", () => {
  const offered = changesIn(RUN, "block", { ...SELECTION, query: 5 }).filter(({ site }) => site === "expert");
  assert.deepEqual(
    offered.map(({ layer, head }) => [layer, head]),
    [
      [1, 6],
      [1, 2],
    ],
  );
  assert.ok(!sites("block", { query: 4 }).includes("expert"));
});
