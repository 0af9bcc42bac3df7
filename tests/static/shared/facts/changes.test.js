import assert from "node:assert/strict";
import { test } from "node:test";
import {
  baseOf,
  changeInWords,
  changeNamedBy,
  changeRefusal,
  changesAt,
  changesInWords,
  eachChangeInWords,
  fitted,
  headsAt,
  switchedOff,
} from "../../../../kvscope/static/shared/facts/changes.js";
import { opsAt, SITES } from "../../../../kvscope/static/stage/changes/choices.js";
import { assertEach } from "../../support/lists.js";
import { token } from "../../support/wire.js";

const TOKENS = ["The", " animal", " didn"].map((text) => token(text));
const RUN = { heads: 4, kvHeads: 2, layers: 2 };
const head = (patch = {}) => ({ ...switchedOff("head", { layer: 1, head: 3 }), ...patch });

test("a change reads as its place and its operation, and zero differs from mean", () => {
  const words = (change) => changeInWords(change, TOKENS);
  assert.equal(words(head()), "head 3 of layer 1 switched off (zero)");
  assert.equal(words(head({ op: "mean" })), "head 3 of layer 1 switched off (mean over the prompt)");
  assert.equal(words(head({ op: "scale", factor: 0.5 })), "head 3 of layer 1 multiplied by 0.5");
  assert.equal(words(head({ op: "scale", factor: -2 })), "head 3 of layer 1 multiplied by −2");
  assert.equal(words(head({ op: "patch", source: "The sky" })), "head 3 of layer 1 taken from “The sky”");
  const steered = head({ op: "steer", factor: 2, source: "love", away: "hate" });
  assert.equal(words(steered), "head 3 of layer 1 steered by 2 × (“love” − “hate”)");
  assert.equal(words(head({ position: 1 })), "head 3 of layer 1 at “animal” (position 1) switched off (zero)");
  assert.equal(words(head({ from_step: 2 })), "head 3 of layer 1 switched off (zero) from step 2 on");
  assert.equal(words(switchedOff("token", { position: 2 })), "token “didn” (position 2) switched off (zero)");
  const key = switchedOff("k", { layer: 0, head: 1, position: 9 });
  assert.equal(words(key), "K of KV head 1 in layer 0 at position 9 switched off (zero)");
});

test("one change is named, several changes are counted", () => {
  assert.equal(changesInWords([head()], TOKENS), "head 3 of layer 1 switched off (zero)");
  assert.equal(changesInWords([head(), switchedOff("mlp", { layer: 0 })], TOKENS), "2 changes");
});

test("a notice names each of a few changes, and counts many", () => {
  const few = [head(), switchedOff("mlp", { layer: 0 })];
  const words = "head 3 of layer 1 switched off (zero); the MLP of layer 0 switched off (zero)";
  assert.equal(eachChangeInWords(few, TOKENS), words);
  assert.equal(eachChangeInWords([...few, ...few], TOKENS), "4 places in the model");
});

test("a token without known text is named by its position", () => {
  assert.equal(changeInWords(switchedOff("token", { position: 2 }), []), "the token at position 2 switched off (zero)");
});

test("a change has exactly the fields that the API accepts for its site and op", () => {
  for (const { site } of SITES) {
    for (const { op } of opsAt({ site })) {
      const change = fitted({ ...head({ source: "a", away: "b", from_step: 3, factor: 7 }), site, op });
      assert.equal(change.layer === null, site === "token", site);
      assert.equal(change.head === null, !["head", "k", "v", "expert"].includes(site), site);
      assert.equal(change.position === null, site !== "token", site);
      assert.equal(change.source === null, !["patch", "steer"].includes(op), op);
      assert.equal(change.away === null, op !== "steer", op);
      assert.equal(change.from_step, op === "patch" ? 0 : 3);
      assert.equal(change.factor, ["scale", "steer"].includes(op) ? 7 : 1);
    }
  }
});

test("K and V have KV heads", () => {
  const model = { heads: 9, kv_heads: 3 };
  assertEach(["head", "k", "v"], (site) => headsAt({ site }, model), [9, 3, 3]);
});

test("a cell of the map has the changes at its place only", () => {
  const at = (change, place) => changesAt([change], place, RUN).length === 1;
  const cell = { layer: 1, head: 3, query: 2, key: 0 };
  assert.ok(at(head(), cell));
  assert.ok(!at(head(), { ...cell, head: 2 }));
  assert.ok(!at(head(), { ...cell, layer: 0 }));
  assert.ok(at(head({ position: 2 }), cell));
  assert.ok(!at(head({ position: 1 }), cell));
  const k = switchedOff("k", { layer: 1, head: 1, position: 0 });
  assert.ok(at(k, { layer: 1, kvHead: 1, key: 0 }));
  assert.ok(!at(k, { layer: 1, kvHead: 0, key: 0 }));
  assert.ok(!at(k, { layer: 1, kvHead: 1, key: 2 }));
  assert.ok(at(k, cell), "a head that reads this K");
  assert.ok(!at(k, { ...cell, head: 1 }), "a head that reads another K");
  const row = { layer: 1, query: 2 };
  assert.ok(at(switchedOff("mlp", { layer: 1 }), row));
  assert.ok(!at(switchedOff("mlp", { layer: 1 }), cell));
  assert.ok(at(switchedOff("token", { position: 2 }), row));
  assert.ok(!at(switchedOff("token", { position: 1 }), row));
});

test("the changes of a changed run are edited over its original, the changes of its branch over the branch", () => {
  const changed = { of: "original", changes: [head()] };
  assert.equal(baseOf({ id: "a", open: { changed: null, parent: null } }), "a");
  assert.equal(baseOf({ id: "b", open: { changed, parent: null } }), "original");
  assert.equal(baseOf({ id: "c", open: { changed, parent: { run: "b" } } }), "c");
});

test("a refusal of the API is known before the request", () => {
  const run = (patch, open) => ({ saved: null, ...patch, open: { model: { sha256: "x" }, study: null, ...open } });
  assert.equal(changeRefusal(run(), { sha256: "x" }), null);
  assert.equal(changeRefusal(run(), null), null);
  assert.match(changeRefusal(run(), { sha256: "y" }), /another model/);
  assert.match(changeRefusal(run({ saved: {} }), null), /saved/);
  assert.match(changeRefusal(run({}, { study: { kind: "twin" } }), null), /comparison/);
});

test("a problem of the API belongs to the change that it names", () => {
  assert.deepEqual(changeNamedBy({ field: "changes[2].source" }), { index: 2, member: "source" });
  assert.deepEqual(changeNamedBy({ field: "changes[11]" }), { index: 11, member: "" });
  for (const problem of [null, { field: null }, { field: "changes" }, { field: "run" }])
    assert.equal(changeNamedBy(problem), null);
});

test("an expert is named by its number, and takes no patch", () => {
  const change = switchedOff("expert", { layer: 1, head: 6 });
  assert.equal(changeInWords(change, []), "expert 6 of layer 1 switched off (zero)");
  assert.equal(headsAt(change, { heads: 4, kv_heads: 2, experts: { count: 8 } }), 8);
  assert.equal(fitted({ ...change, op: "patch" }).op, "zero");
});
