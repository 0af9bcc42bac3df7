import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, operationOf } from "../../../kvscope/static/by-hand/names.js";
import { tableOf } from "../../../kvscope/static/by-hand/table.js";
import { A, B, worked } from "./worked.js";

test("every block of both examples has a line of the code, and every matrix of results a tensor", () => {
  for (const answer of [A, B].map(worked)) {
    for (const { name, tone } of Object.values(tableOf(answer).blocks)) {
      assert.ok(operationOf(name), name);
      if (tone !== "weights" && !["cooled", "chances"].includes(name)) assert.ok(namesOf(name).length, name);
    }
  }
});

test("the number of a head is no part of the name, and a weight matrix leads to what it makes", () => {
  assert.deepEqual(namesOf("k2"), ["attn.k", "attn.k_rot", "cache.k"]);
  assert.deepEqual(namesOf("w_v1"), []);
  assert.equal(operationOf("w_v1"), "attn.v");
  assert.equal(operationOf("lm_head"), "logits");
});

test("with norms and a residual stream, X is not what the heads read, and their output not what the block gives", () => {
  assert.deepEqual(namesOf("x", true), ["embedded", "resid_in"]);
  assert.deepEqual(namesOf("output", true), ["attn.change"]);
  assert.deepEqual(namesOf("output"), ["attn.change", "resid_mid", "resid_out", "final"]);
  assert.equal(operationOf("w_up", true), "mlp.raised");
});
